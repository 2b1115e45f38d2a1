"""Token Recycling (Turning Trash into Treasure): what the model has found likely after each token, drawn or not.

    gl.Draft("recycle", tree=RECYCLED)     # its tree of 80 nodes

A table of each token's best successors, of those that the grammar allowed, is written at every forward, and read as a tree. It
costs a mask and a partial sort of each row of logits, and 1.5 MB. Of no use for texts that seldom repeat a token in a like place,
or on a CPU, where each id read costs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.draws import best_ids
from grammarlm.published.trees.tree_tuner import likeliest

KEPT = 8  # successors of a token
MOST_ROWS = 32_768  # tokens that are remembered: 1.5 MB
# How often the successor of each rank was drawn: on the embedded model's records, at any depth.
RATES = (0.60, 0.14, 0.06, 0.04, 0.03, 0.02, 0.015, 0.01)
RECYCLED = [path for _, path in likeliest([RATES] * 6, 80)]


class Recycle(NodeDrafter):
    length = 5
    has_probabilities = False  # ranks alone

    def __init__(self) -> None:
        self._row_of: dict[int, int] = {}
        self._after = np.empty((64, KEPT), np.int32)
        self._growths = self.by_row()  # what the target reads next

    def finish(self, growth: DraftBuilder) -> None:
        self._growths[growth.row] = growth

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        growth, first = self._growths.pop(row, None), len(before) - len(tree) - 1
        for at, token in enumerate(before):
            if at < first:  # between them the grammar left no choice
                self._note(token, before[at + 1 : at + 2])
            elif growth is None:
                self._note(token, best_ids(logits[at], KEPT))
            elif (masked := growth.masked(logits[at], ROOT + at - first)) is not None:
                found = best_ids(masked, KEPT)
                self._note(token, found[np.isfinite(masked[found])])

    def _note(self, token: int, found: Sequence[int] | np.ndarray) -> None:
        """These come first from now on; of those that came before as many as there is room for."""
        number = self._number(token)
        others = self._after[number]
        self._after[number] = [*found, *others[~np.isin(others, found)]][:KEPT]

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
