"""Token Recycling (Turning Trash into Treasure): what the model has found likely after each token, drawn or not.

    gl.Draft("recycle", tree=RECYCLED)     # its tree of 80 nodes

A table has the best successors of each token, and of each two, of those that the grammar allowed. It is written at every forward,
by what the model says at each token that it reads, and by what followed in the answer; it is read as a tree. It costs a mask and a
partial sort of each row of logits, and a few megabytes. Of no use for texts that seldom repeat a token in a like place, or where
each id read costs, as on a CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.draws import best_ids
from grammarlm.published.trees.tree_tuner import likeliest

KEPT = 8  # successors of a token
MOST_ROWS = 32_768
RATES = (0.60, 0.14, 0.06, 0.04, 0.03, 0.02, 0.015, 0.01)  # how often the successor of each rank is drawn, about
RECYCLED = [path for _, path in likeliest([RATES] * 6, 80)]


class Recycle(NodeDrafter):
    length = 5
    has_probabilities = False  # ranks alone

    def __init__(self) -> None:
        self._row_of: dict[tuple[int, ...], int] = {}  # by the last token, or the last two
        self._after = np.empty((64, KEPT), np.int32)
        self._growths = self.by_row()  # what the target reads next

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        """What followed in the answer. The prompt's own words are no output of the model."""
        for at in range(max(len(row.spec.prompt) + 1, len(row.ids) - len(tokens)), len(row.ids)):
            self._note(row.ids[max(0, at - 2) : at], row.ids[at : at + 1])

    def finish(self, growth: DraftBuilder) -> None:
        self._growths[growth.row] = growth

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        """What was forced is learned; after the text's last token, and after each node, these are the best that may come."""
        growth, read = self._growths.pop(row, None), len(before) - len(tree)
        for at in range(max(0, read - 1), len(before)):
            masked = logits[at] if growth is None else growth.masked(logits[at], at - read)
            if masked is not None:
                found = best_ids(masked, KEPT)
                said = [*row.ids[-2:], *(tree.tokens_to(at - read) if at >= read else ())]
                self._note(said, found[np.isfinite(masked[found])].tolist())

    def _note(self, said: Sequence[int], found: Sequence[int]) -> None:
        """These come first from now on; of those that came before as many as there is room for."""
        for key in (tuple(said[-2:]), tuple(said[-1:])):
            number = self._number(key)
            others = self._after[number].tolist()
            self._after[number] = [*found, *(other for other in others if other not in found)][:KEPT]

    def _number(self, key: tuple[int, ...]) -> int:
        """A row; the one that came first gives way where there are too many."""
        number = self._row_of.get(key)
        if number is None:
            is_full = len(self._row_of) == MOST_ROWS
            number = self._row_of.pop(next(iter(self._row_of))) if is_full else len(self._row_of)
            if number == len(self._after):
                self._after = np.concatenate([self._after, np.empty_like(self._after)])
            self._row_of[key] = number
            self._after[number] = -1
        return number

    def after_node(self, growth: DraftBuilder, node: int) -> Candidates:
        said = (*growth.ids[-2:], *growth.tree.tokens_to(node))
        rows = [self._row_of[key] for key in (said[-2:], said[-1:]) if key in self._row_of]
        tokens = [token for token in dict.fromkeys(self._after[rows].ravel().tolist()) if token >= 0]
        return Candidates(tokens, [-float(rank) for rank in range(len(tokens))])
