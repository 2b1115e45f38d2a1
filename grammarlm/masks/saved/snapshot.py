"""A matcher as bytes: the steps it has read, to be read again.

It contains no states, so a snapshot is valid in any process and any epoch. Each step must be accepted again, which
makes a forged one harmless.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from grammarlm.errors import GrammarError
from grammarlm.masks.trail import Head, steps_of

from .sealed import number, seal, unseal

_MAGIC, _VERSION, _WHAT = b"grammarlm matcher\n", 1, "snapshot"


class Reads(Protocol):
    @property
    def is_finished(self) -> bool: ...

    def advance(self, token: int) -> bool: ...

    def advance_bytes(self, data: bytes) -> bool: ...


Matcher_co = TypeVar("Matcher_co", bound=Reads, covariant=True)


class Constraint(Protocol[Matcher_co]):
    @property
    def fingerprint(self) -> bytes: ...

    def matcher(self, max_tokens: int | None = None) -> Matcher_co: ...


def take(fingerprint: bytes, head: Head, budget: int | None) -> bytes:
    """The budget (0: none, else one more), how many steps, and each: a token as twice its id, bytes as twice their length + 1."""
    steps = steps_of(head)
    out = [fingerprint, number(0 if budget is None else budget + 1), number(len(steps))]
    for step in steps:
        out += [number(2 * step)] if isinstance(step, int) else [number(2 * len(step) + 1), step]
    return seal(_MAGIC, _VERSION, b"".join(out))


def restore(constraint: Constraint[Matcher_co], data: bytes) -> Matcher_co:
    reader = unseal(_MAGIC, _VERSION, data, _WHAT)
    if reader.take(len(constraint.fingerprint)) != constraint.fingerprint:
        raise GrammarError("the snapshot was taken with another grammar or another vocabulary")
    budget = reader.number()
    try:
        matcher = constraint.matcher(max_tokens=None if budget == 0 else budget - 1)
    except ValueError as error:
        raise reader.error(str(error)) from error
    for _ in range(reader.number()):
        step = reader.number()
        if step & 1:
            accepted = not matcher.is_finished and matcher.advance_bytes(reader.take(step >> 1))
        else:
            accepted = matcher.advance(step >> 1)
        if not accepted:
            raise reader.error("a step is not accepted")
    if reader.left:
        raise reader.error("something follows its end")
    return matcher
