"""Rules by which a drafted token becomes the token that is drawn: their interface, and the exact one.

A rule is asked at each place of a draft, with the target's logits there, after the grammar's mask: it takes one of the
drafted tokens, or leaves the draw to the row. So the grammar holds whatever a rule says. A lossless rule leaves the law of the
answers as it is.
"""

from __future__ import annotations

from inspect import Parameter, signature

import numpy as np

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.observer import Observer
from grammarlm.decoding.systems import ACCEPTANCE, system


class Rule(Observer):
    """By default the target's own draw, with its own noise: what was drafted changes nothing."""

    name = ""  # in gl.Draft.ACCEPTANCE
    lossless = False
    draws = "coupled"  # how a draft model draws for it: draws.py
    above = 0.0  # a path of the draft ends where the draft itself gives a token no more than this probability
    needs_probabilities = False  # of the drafted tokens, by the draft

    def room(self, row: Row, room: int) -> int:
        """How many tokens may be drafted, of the `room` that there is."""
        return room

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        """One of `row.unread.proposed`, or None: the row draws by itself. `logits` are masked, and are not written to."""
        return None


class Exact(Rule):
    name, lossless = "exact", True


def name_of(rule: Rule) -> str:
    """The name that it has in the table, or that of its class."""
    return rule.name or type(rule).__name__


def rule_of(name: str) -> Rule:
    """ValueError where the rule cannot be made from its name alone."""
    place, _ = ACCEPTANCE[name]
    found = system(place)
    if isinstance(found, Rule):
        return found
    needed = [each.name for each in signature(found).parameters.values() if each.default is Parameter.empty]
    if needed:
        own = f"{found.__module__}.{found.__name__}({', '.join(needed)})"
        raise ValueError(f"the acceptance rule {name!r} needs an object: acceptance={own}")
    made: Rule = found()
    return made


def first_allowed(row: Row, logits: np.ndarray) -> int | None:
    """The first drafted token that may come."""
    return next((token for _, token in row.unread.proposed if np.isfinite(logits[token])), None)
