"""A matcher as bytes: the steps it has read, to be read again.

It contains no states, so a snapshot is valid in any process and any epoch. Each step must be accepted again, which
makes a forged one harmless.

    [fingerprint, budget or null, [step, ...]]      a step: a token's id, or bytes as text
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from grammarlm.errors import GrammarError
from grammarlm.masks.matcher_like import MatcherLike
from grammarlm.masks.trail import Head, steps_of

from .sealed import as_json, bytes_as_text, seal, text_as_bytes, unreadable, unseal

_MAGIC, _VERSION, _WHAT = b"grammarlm matcher\n", 2, "snapshot"


Matcher_co = TypeVar("Matcher_co", bound=MatcherLike, covariant=True)


class Constraint(Protocol[Matcher_co]):
    @property
    def fingerprint(self) -> bytes: ...

    def matcher(self, max_tokens: int | None = None) -> Matcher_co: ...


def take(fingerprint: bytes, head: Head, budget: int | None) -> bytes:
    steps = [bytes_as_text(step) if isinstance(step, bytes) else step for step in steps_of(head)]
    return seal(_MAGIC, _VERSION, as_json([fingerprint.hex(), budget, steps]))


def restore(constraint: Constraint[Matcher_co], data: bytes) -> Matcher_co:
    content = unseal(_MAGIC, _VERSION, data, _WHAT)
    if not isinstance(content, list) or len(content) != 3 or not isinstance(content[2], list):
        raise unreadable(_WHAT, "it is no fingerprint, budget and steps")
    fingerprint, budget, steps = content
    if fingerprint != constraint.fingerprint.hex():
        raise GrammarError("the snapshot was taken with another grammar or another vocabulary")
    try:
        matcher = constraint.matcher(max_tokens=budget)
        for step in steps:
            if not (_read_bytes(matcher, step) if isinstance(step, str) else matcher.advance(step)):
                raise unreadable(_WHAT, "a step is not accepted")
    except GrammarError:
        raise
    except (TypeError, ValueError) as error:
        raise unreadable(_WHAT, str(error)) from error
    return matcher


def _read_bytes(matcher: MatcherLike, step: str) -> bool:
    return not matcher.is_finished and matcher.advance_bytes(text_as_bytes(step))
