"""Copies from the text itself: what followed the last place where it had the same last tokens (prompt look-up, CopySpec)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .drafter import RunDrafter

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row
    from grammarlm.decoding.speculative.growth import Growth

PLACES = 8  # of a pair of tokens are remembered
LONGEST = 32  # tokens are compared backwards


@dataclass
class Index:
    """Where each pair of tokens ends in a text."""

    ids: list[int] = field(default_factory=list)
    ends: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            if self.ids:
                places = self.ends.setdefault((self.ids[-1], token), [])
                places.append(len(self.ids))
                del places[:-PLACES]
            self.ids.append(token)

    def matches(self) -> list[tuple[int, int]]:
        """(tokens in common with the end of the text, place after them) of earlier places, the best first."""
        if len(self.ids) < 3:
            return []
        ends = self.ends.get((self.ids[-2], self.ids[-1]), [])
        return sorted(((self._common(end), end + 1) for end in ends if end < len(self.ids) - 1), reverse=True)

    def _common(self, end: int) -> int:
        ids, last, length = self.ids, len(self.ids) - 1, 2
        while length < LONGEST and end - length >= 0 and ids[end - length] == ids[last - length]:
            length += 1
        return length


class Copy(RunDrafter):
    """`least`: so many last tokens must be the same."""

    length = 10

    def __init__(self, least: int = 2):
        self.least = max(2, least)
        self._texts: dict[Row, Index] = {}

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        self._texts.setdefault(row, Index()).extend(tokens)

    def drop(self, row: Row) -> None:
        self._texts.pop(row, None)

    def runs(self, growth: Growth, length: int, count: int) -> list[list[int]]:
        index = self._texts[growth.row]
        found = [(common, index.ids[at : at + length]) for common, at in index.matches() if common >= self.least]
        return [run for _, run in found[:count]]
