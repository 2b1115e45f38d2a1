"""Token Recycling (Turning Trash into Treasure): what the model has found likely after each token, drawn or not.

A table of each token's best successors is written at every forward, and read as a tree. It costs a partial sort of each row of
logits, and 1.5 MB. Of no use for texts that seldom repeat a token in a like place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.draws import best_ids

KEPT = 8  # successors of a token
MOST_ROWS = 32_768  # tokens that are remembered: 1.5 MB


class Recycle(NodeDrafter):
    length = 5
    has_probabilities = False  # ranks alone

    def __init__(self) -> None:
        self._row_of: dict[int, int] = {}
        self._after = np.empty((64, KEPT), np.int32)

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        for token, found in zip(before, best_ids(logits[: len(before)], KEPT), strict=True):
            number = self._number(token)  # first: it may make another array
            self._after[number, : len(found)] = found

    def _number(self, token: int) -> int:
        """The row of a token; the one that came first gives way where there are too many."""
        number = self._row_of.get(token)
        if number is None:
            is_full = len(self._row_of) == MOST_ROWS
            number = self._row_of.pop(next(iter(self._row_of))) if is_full else len(self._row_of)
            if number == len(self._after):
                self._after = np.concatenate([self._after, np.empty_like(self._after)])
            self._row_of[token] = number
            self._after[number] = -1
        return number

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        found = []
        for growth, node in asked:
            last = growth.ids[-1] if node < 0 else growth.tree.tokens[node]
            number = self._row_of.get(last)
            tokens = [] if number is None else [token for token in self._after[number].tolist() if token >= 0]
            found.append(Candidates(tokens, [-float(rank) for rank in range(len(tokens))]))
        return found
