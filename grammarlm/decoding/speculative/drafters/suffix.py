"""What followed the longest suffix of the text most often, in this text or in answers before it (SuffixDecoding)."""

from __future__ import annotations

from collections.abc import Sequence

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.suffix_tree import Proposals, SuffixTree

from .drafter import RunDrafter

MOST_TOKENS = 1 << 17  # of finished answers
MOST_OWN = 1 << 16  # of a running text
BEFORE = 8  # tokens of a prompt that are remembered with its answer


class Suffix(RunDrafter):
    """`chance`: a draft ends where all of it is less likely to be drawn than that."""

    length = 16

    def __init__(self, chance: float = 0.002) -> None:
        check_number("chance", chance, lambda p: 0 <= p < 1, "between 0 and 1")
        self.chance = chance
        self._finished = SuffixTree(MOST_TOKENS)
        self._own: dict[Row, SuffixTree] = {}
        self._kept: dict[Row, int] = {}  # how many of a row's last tokens are remembered later
        self._proposals = Proposals()

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        own = self._own.get(row)
        if own is None:
            own = self._own[row] = SuffixTree(MOST_OWN)
            self._kept[row] = min(BEFORE, len(tokens))
        else:
            self._proposals.judge(own, tokens[0])
            self._kept[row] += len(tokens)
        own.append(tokens)

    def drop(self, row: Row) -> None:
        """A finished answer is remembered for those after it."""
        self.add(self.forget(row))

    def forget(self, row: Row) -> list[int]:
        own, kept = self._own.pop(row, None), self._kept.pop(row, 0)
        if own is None:  # nothing was drafted for it
            return row.ids[-(len(row.tokens) + BEFORE) :] if row.tokens else []
        return own.tokens()[-kept:] if kept else []

    def add(self, text: Sequence[int]) -> None:
        if text:
            self._finished.add(text)

    def runs(self, growth: DraftBuilder, length: int, count: int) -> list[list[int]]:
        own = self._own[growth.row]
        return self._proposals.runs(own, self._finished, length, count, self.chance, growth.most)

    @property
    def nbytes(self) -> int:
        """Of all texts that are remembered."""
        return self._finished.nbytes + sum(own.nbytes for own in self._own.values())
