"""What the model itself would have written at the next places, given the draft of the round before (Jacobi decoding)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.decoding.readers.draft_tree import DraftTree

from .drafter import RunDrafter

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row
    from grammarlm.decoding.speculative.growth import Growth


class Jacobi(RunDrafter):
    length = 8

    def __init__(self) -> None:
        self._guesses: dict[Row, list[int]] = {}  # of the places after the text
        self._places: dict[Row, int] = {}  # how many ids the text had where the guesses begin

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        """The best token at each place; along the tree's first path, as a chain has no other."""
        nodes = len(before) - len(tree)
        if nodes:
            path = tree.path(tree.leaves[0]) if tree.leaves else []
            self._guesses[row] = logits[[nodes - 1, *(nodes + node for node in path)]].argmax(1).tolist()
            self._places[row] = len(row.ids)

    def drop(self, row: Row) -> None:
        self._guesses.pop(row, None)
        self._places.pop(row, None)

    def runs(self, growth: Growth, length: int, count: int) -> list[list[int]]:
        gone = len(growth.ids) - self._places.get(growth.row, 0)
        guesses = self._guesses.get(growth.row, [])[gone:] if gone >= 0 else []
        return [[*guesses, *[growth.ids[-1]] * (length - len(guesses))][:length]]
