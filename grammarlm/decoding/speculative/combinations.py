"""Which options of a draft go together: one that could do nothing beside the others is refused by name.

Lossless rules go with everything: tokens that they cannot compare are drawn by the answer itself, of which they would take as many.
"""

from __future__ import annotations

from collections.abc import Sequence

from .acceptance import Rule, name_of
from .drafters.combined import leaves
from .drafters.drafter import Drafter, NodeDrafter
from .schedule import Schedule

PROBABLE = "needs a drafter that says how probable its tokens are, such as a draft model; {} does not"
CHAIN = "needs tree='chain', and drafters that make one"


def check_combination(
    drafter: Drafter, tree: str, widths: Sequence[int] | None, stop: float | None, rule: Rule, schedule: Schedule
) -> None:
    """ValueError where one of these would be of no effect."""
    members = leaves(drafter)
    blind = [member for member in members if not member.has_probabilities]
    shaped = [member for member in members if member.own_shape]
    is_chain = tree == "chain" and all(member.own_shape != "tree" for member in members)
    if rule.needs_probabilities and blind:
        raise ValueError(f"the acceptance rule {name_of(rule)!r} {PROBABLE.format(of(blind[0]))}")
    if stop is not None and len(blind) == len(members):
        raise ValueError(f"stop= {PROBABLE.format(of(blind[0]))}")
    if widths is not None and not any(isinstance(member, NodeDrafter) for member in members):
        raise ValueError(f"widths= needs a drafter that goes on token by token; {of(members[0])} finds whole texts")
    if shaped and tree != "chain":
        raise ValueError(
            f"{of(shaped[0])} drafts a {shaped[0].own_shape} of its own: it needs tree='chain', the default"
        )
    if rule.needs_chain and not is_chain:
        raise ValueError(f"the acceptance rule {name_of(rule)!r} {CHAIN}")
    if schedule.needs_chain and not is_chain:
        raise ValueError(f"the schedule {of(schedule)} {CHAIN}")
    besides = [member for member in members if member.adds_asides]
    if rule.adds_asides and besides:
        raise ValueError(
            f"the acceptance rule {name_of(rule)!r} needs a drafter that has nothing read beside its drafts; {of(besides[0])} does"
        )


def of(thing: object) -> str:
    return type(thing).__name__
