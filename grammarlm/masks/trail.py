"""What a matcher has read: a trail of steps, and heads, which are places on it.

A trail is a list that one matcher appends to, three entries a step: a token makes no object that Python's collector
counts. Otherwise long texts would trigger a full collection, in the middle of one. The part of a trail before a head
never changes; a matcher that reads on where another one may share the trail begins one of its own that starts from that
head.

    trail    the head that it starts from, or None; an epoch; then of each step: a state of the epoch, the token or
             bytes, a budget
    head     trail, epoch, state, step, budget, where these three begin in the trail
"""

from __future__ import annotations

from typing import Any

from .protocol import Epoch

Trail = list[Any]
# Tokens left; a plan, tokens that end the text, stored only where the computed completion takes more tokens than are left; how
# many steps are safe, whatever they read (filters/matcher.py).
Budget = tuple[int, "tuple[int, ...] | None", int]
Head = tuple[
    Trail, Any, int, "int | bytes | None", Any, int
]  # the epoch and the budget are those of the matcher's class
FIRST_STEP, STRIDE = 2, 3


def first_head(epoch: Epoch, state: int, budget: Budget | None = None) -> Head:
    """The start of a text, where nothing has been read."""
    return [None, epoch, state, None, budget], epoch, state, None, budget, FIRST_STEP


def before(head: Head) -> Head | None:
    """The head one step back; None at the start of the text."""
    trail, epoch, _, _, _, at = head
    if at == FIRST_STEP:
        earlier: Head | None = trail[0]
        return earlier
    at -= STRIDE
    return trail, epoch, trail[at], trail[at + 1], trail[at + 2], at


def back(head: Head, steps: int) -> Head:
    """The head `steps` steps back."""
    left = steps
    while left:
        trail, epoch, _, _, _, at = head
        here = min((at - FIRST_STEP) // STRIDE, left)
        if here:
            at -= STRIDE * here
            head = trail, epoch, trail[at], trail[at + 1], trail[at + 2], at
            left -= here
        elif trail[0] is None:
            raise ValueError(f"rollback({steps}): only {steps - left} steps have been read")
        else:
            head = trail[0]
            left -= 1
    return head


def steps_of(head: Head) -> list[int | bytes]:
    """All that has been read, in order."""
    found: list[int | bytes] = []
    here: Head | None = head
    while here is not None:
        trail, at = here[0], here[5]
        found += trail[at + 1 : FIRST_STEP : -STRIDE]
        here = trail[0]
    if found[-1] is None:  # no step led to the start
        found.pop()
    return found[::-1]
