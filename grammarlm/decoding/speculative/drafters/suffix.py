"""What followed the longest suffix of the text in this text or in any before it (SuffixDecoding)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .drafter import RunDrafter

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row
    from grammarlm.decoding.speculative.growth import Growth

LENGTHS = (8, 4, 2)  # of the suffixes that are looked up
MOST_TOKENS = 1 << 17  # of finished texts, some 300 bytes each; then the store begins anew


class Suffix(RunDrafter):
    length = 12

    def __init__(self) -> None:
        self._said: list[int] = []  # finished texts, one after the other
        self._ends: dict[int, int] = {}  # hash of (length, last tokens) -> where they end among what was said
        self._own: dict[Row, list[int]] = {}
        self._own_ends: dict[Row, dict[int, int]] = {}

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        ids, ends = self._own.setdefault(row, []), self._own_ends.setdefault(row, {})
        for token in tokens:
            ids.append(token)
            note(ids, len(ids), ends, keeps_earlier=True)

    def drop(self, row: Row) -> None:
        """A finished text is remembered for those after it."""
        self.add(self.forget(row))

    def forget(self, row: Row) -> list[int]:
        self._own_ends.pop(row, None)
        return self._own.pop(row, [])

    def add(self, text: Sequence[int]) -> None:
        if len(self._said) + len(text) > MOST_TOKENS:
            self._said, self._ends = [], {}
        start = len(self._said)
        self._said += text
        for end in range(start + 1, len(self._said) + 1):
            note(self._said, end, self._ends, start)

    def runs(self, growth: Growth, length: int, count: int) -> list[list[int]]:
        ids = self._own[growth.row]
        found: list[list[int]] = []
        for size in LENGTHS:
            if size > len(ids):
                continue
            key = hash((size, *ids[-size:]))
            for texts, ends in ((ids, self._own_ends[growth.row]), (self._said, self._ends)):
                end = ends.get(key)
                if texts is ids and end == len(ids):
                    end = ends.get(-key)
                if end and texts[end - size : end] == ids[-size:] and end < len(texts):
                    found.append(texts[end : end + length])
            if len(found) >= count:
                break
        return found[:count]


def note(ids: list[int], end: int, ends: dict[int, int], start: int = 0, keeps_earlier: bool = False) -> None:
    """Remembers where the last tokens end; if asked to, under the negative hash where they ended before that."""
    for size in LENGTHS:
        if end - start >= size:
            key = hash((size, *ids[end - size : end]))
            if keeps_earlier and key in ends:
                ends[-key] = ends[key]
            ends[key] = end
