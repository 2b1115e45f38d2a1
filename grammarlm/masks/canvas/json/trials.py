"""Tokens of masked positions that are all of a key with the given tokens beside them.

What such a token makes is the same in each row that has the same tokens there, so it is kept from row to row: after one more token
nearly all that a row tries was tried in the row before, though other states are to the left and right of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .spans import Run, Span

MOST_KNOWN = 1 << 11  # pairs of runs


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """One token, and a key that it may make."""

    made: tuple[Span, ...]  # the places of the key that it is part of
    first: int  # they are in the tokens from this position on
    tokens: list[int]

    @property
    def end(self) -> int:
        return self.first + len(self.tokens)


@dataclass(frozen=True, eq=False)
class Trials:
    """Those of a masked position between two runs."""

    before: Run
    after: Run
    known: dict[tuple[int, bytes], Trial] = field(default_factory=dict)

    def of(self, token: int, text: bytes, key: bytes, tokens: Sequence[int]) -> Trial:
        """`tokens`: those of the row; `text`: of the token."""
        known = self.known.get((token, key))
        if known is None:
            position = self.before.end
            here, behind = (position, 0), (position + 1, 0)
            spans = self.before.with_token(text, self.after).spans
            made = tuple(s for s in spans if s.key == key and s.begin <= behind and s.end >= here)
            first = min(position, *(span.begin[0] for span in made)) if made else position
            end = max(position + 1, *(span.behind for span in made)) if made else position + 1
            given = [token if i == position else tokens[i] for i in range(first, end)]
            known = self.known[token, key] = Trial(made, first, given)
        return known


class KnownTrials:
    """Those of some rows."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Trials] = {}

    def between(self, before: Run, after: Run) -> Trials:
        name = id(before), id(after)  # which are kept, so that no others come to have these
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            known = self._known[name] = Trials(before, after)
        return known
