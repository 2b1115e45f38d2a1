"""Jacobi decoding, and SJD (Speculative Jacobi Decoding): what the model itself would have written, given the draft before.

The logits of those places are kept as the model gave them, and masked anew in each round by what has come before them since.
Greedy, a guess is the best token that is left; else it is drawn, under the rules that compare probabilities from exactly these
logits (SJD). It costs no model. Of no use for a model that has not been trained on its own trajectories: few guesses are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter


@dataclass
class Window:
    """The logits of some places in a row."""

    first: int  # how many ids come before the first of them
    logits: np.ndarray

    def of(self, place: int) -> np.ndarray:
        """Those of a place; of the last one where it is beyond."""
        return np.asarray(self.logits[min(max(place - self.first, 0), len(self.logits) - 1)])


class Jacobi(NodeDrafter):
    length = 8

    def __init__(self) -> None:
        self._windows = self.by_row()

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        """Along the tree's first path, as a chain has no other."""
        nodes = len(before) - len(tree)
        if nodes:
            path = tree.path(tree.leaves[0]) if tree.leaves else []
            self._windows[row] = Window(len(row.ids), logits[[nodes - 1, *(nodes + node for node in path)]])

    def after_node(self, growth: DraftBuilder, node: int) -> Candidates:
        window: Window | None = self._windows.get(growth.row)
        place = len(growth.ids) + growth.depth(node)
        logits = np.zeros(growth.width, np.float32) if window is None else window.of(place)
        return Candidates.of(growth, node, logits)
