"""Jacobi Forcing's n-gram pool: what the model would have written after each two tokens that it has read, drawn or refused.

Drafts that were refused are not lost: what the model made of their tokens may be right elsewhere. Together with "jacobi",
whose wrong guesses fill the pool. It costs a mask and an argmax for each token read. Of no use alone: then it is a bigram table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import RunDrafter

MOST = 65_536  # pairs that are remembered


class Pool(RunDrafter):
    length = 6

    def __init__(self) -> None:
        self._after: dict[tuple[int, int], int] = {}
        self._growths = self.by_row()  # what the target reads next

    def finish(self, growth: DraftBuilder) -> None:
        self._growths[growth.row] = growth

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        """At each node the best of the tokens that may come there."""
        growth, read = self._growths.pop(row, None), len(before) - len(tree)
        if growth is None or not read:
            return
        for node in range(ROOT, len(tree)):
            said = [*growth.ids[-2:], *tree.tokens_to(node)][-2:]
            masked = growth.masked(logits[read + node], node)
            if masked is not None and len(said) == 2:
                self._note(said[0], said[1], int(masked.argmax()))

    def _note(self, first: int, second: int, after: int) -> None:
        if len(self._after) >= MOST and (first, second) not in self._after:
            del self._after[next(iter(self._after))]
        self._after[first, second] = after

    def runs(self, growth: DraftBuilder, length: int, count: int) -> list[list[int]]:
        found: list[int] = []
        first, second = growth.ids[-2:] if len(growth.ids) > 1 else (-1, growth.ids[-1])
        while len(found) < length and (token := self._after.get((first, second))) is not None:
            found.append(token)
            first, second = second, token
        return [found] if found else []
