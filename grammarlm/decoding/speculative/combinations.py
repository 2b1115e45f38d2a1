"""Which options of a draft go together: one that could do nothing beside the others is refused by name.

Lossless rules go with everything: tokens that they cannot compare are drawn by the answer itself, of which they would take as many.
"""

from __future__ import annotations

from collections.abc import Sequence

from .acceptance import Rule, name_of
from .draft_builder import Accepts
from .drafters.combined import leaves
from .drafters.drafter import Drafter, NodeDrafter
from .schedule import Schedule

PROBABLE = "needs a drafter that says how probable its tokens are, such as a draft model; {} does not"


def check_combination(
    drafter: Drafter,
    tree: str,
    widths: Sequence[int] | None,
    stop: float | None,
    accepts: Accepts | None,
    rule: Rule,
    schedule: Schedule,
) -> None:
    """ValueError where one of these would be of no effect."""
    members = leaves(drafter)
    blind = [member for member in members if not member.has_probabilities]
    if rule.needs_probabilities and blind:
        raise ValueError(f"the acceptance rule {name_of(rule)!r} {PROBABLE.format(of(blind[0]))}")
    for name, option in (("stop", stop), ("accepts", accepts)):
        if option is not None and len(blind) == len(members):
            raise ValueError(f"{name}= {PROBABLE.format(of(blind[0]))}")
    if accepts is not None and stop is None and tree != "best_first":
        raise ValueError("accepts= needs stop=, or tree='best_first'")
    if widths is not None and not any(isinstance(member, NodeDrafter) for member in members):
        raise ValueError(f"widths= needs a drafter that goes on token by token; {of(members[0])} finds whole texts")
    chains = {
        f"the acceptance rule {name_of(rule)!r}": rule.needs_chain,
        f"the schedule {of(schedule)}": schedule.needs_chain,
        **{f"the drafter {of(member)}": member.needs_chain for member in members},
    }
    for name, needs_chain in chains.items():
        if needs_chain and tree != "chain":
            raise ValueError(f"{name} needs tree='chain'")
    besides = [member for member in members if member.adds_asides]
    if rule.adds_asides and besides:
        raise ValueError(
            f"the acceptance rule {name_of(rule)!r} needs a drafter that has nothing read beside its drafts; {of(besides[0])} does"
        )


def of(thing: object) -> str:
    return type(thing).__name__
