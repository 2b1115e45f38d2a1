"""Bounds of rows of large tables that know of a stack its top alone, and exact samples by them, each row drawn as one.

The sum over the rows that a spot (spots.py) can be completed with, on any of its stacks, is no more than that over its tokens and
the spots that these lead to; so all bounds of a row are one pass from the right, a number a spot. A row is drawn from the left
(kernels/cpu/canvas/large/spot_draws.py) as one *set* of controls and stacks, the state that it leads to. So it counts once, in
however many ways it is read, and tries end early only for what bounds do not know of stacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.spots import Spots as At

from .narrow_table import NEAR_ROOM

if TYPE_CHECKING:
    from grammarlm.masks.canvas.scores import SoftmaxDraw
    from grammarlm.masks.canvas.stack.rows import StackRows

    from .narrow_states import Sides

STEPS = 8  # of a row between two looks at the clock
FIRST_ROUND, MOST_ROUND = 2, 64  # tries between two looks at the clock
MOST_TRIES = 1 << 12


class SpotBounds:
    """The bounds of one row. The lock of the table's sets is held while it is made, and in each call."""

    def __init__(self, grid: StackRows, row: np.ndarray, wide: Sides, scores: np.ndarray, is_sum: bool):
        table, steps = grid.table, len(row)
        self._grid, self._sets, self._row = grid, table.sets, row
        self._begin = grid.left_border()
        self._spots = table.spots()
        grid.check()
        self.words, self._found = self._spots.words.copy(), np.zeros(steps, np.int32)
        self.weights = np.empty((steps, len(table.kind_classes)))
        self._ahead = np.empty((steps + 1, self._spots.count))
        self._arrays: dict[At, np.ndarray] = {
            At.ROW: np.ascontiguousarray(row, np.int32),
            At.SCORES: np.ascontiguousarray(scores, np.float64),
            At.LEFT: np.ascontiguousarray(wide.left, np.int32),
            At.RIGHT: np.ascontiguousarray(wide.right, np.int32),
            At.WEIGHT: self.weights,
            At.AHEAD: self._ahead,
            At.FOUND: self._found,
        }
        for place, array in self._arrays.items():
            self.words[place] = address_of(array)
        self.words[At.STEPS], self.words[At.IS_SUM] = steps, is_sum
        for last in range(steps + 1, 0, -STEPS):
            entries.weigh_spots(self._sets.address, address_of(self.words), max(0, last - STEPS), last)
            grid.check()

    @property
    def bound(self) -> float:
        """Of all completions: the best has no more, or they together have not."""
        begin: np.ndarray = self._ahead[0]  # only where rows may begin it is known
        return float(np.logaddexp.reduce(begin) if self.words[At.IS_SUM] else begin.max())

    def drawn(self, draw: SoftmaxDraw, is_completable: Callable[[np.ndarray], bool]) -> np.ndarray | None:
        """int32 [L]: the classes of a row; None where too many tries end early."""
        sets, tried, round_, most = self._sets, 0, FIRST_ROUND, 3 * len(self._row) + 1
        sets.need_classes()
        while tried < MOST_TRIES:
            uniforms, is_drawn = draw.uniforms(round_ * most), 1
            self.words[At.USED] = 0
            given = address_of(self.words), self._begin, address_of(uniforms), len(uniforms)
            while is_drawn:
                is_drawn = sets.asked(lambda address: entries.spots_draw(address, *given), self._grid.check)  # noqa: B023
                self._grid.check()
                if is_drawn and self._ends(is_completable):
                    return self._found
            tried, round_ = tried + round_, min(2 * round_, MOST_ROUND)
        return None

    def _ends(self, is_completable: Callable[[np.ndarray], bool]) -> bool:
        """May the row that was drawn be followed by the right edge?"""
        near = min(self._grid.room, NEAR_ROOM)
        if self._sets.meet(int(self.words[At.END]), self._sets.end(near, self._grid.check)):
            return True
        return near < self._grid.room and is_completable(self._found.copy())


def drawn_by_spots(
    grid: StackRows,
    row: np.ndarray,
    wide: Sides,
    scores: np.ndarray,
    draw: SoftmaxDraw,
    is_completable: Callable[[np.ndarray], bool],
) -> np.ndarray | None:
    """int32 [L]: the classes of a completion by the softmax of its score; None where too many tries end early: bounds promise rows
    that are far more probable than all completions. `is_completable`: can a row? The lock of the sets is held."""
    draws = SpotBounds(grid, row, wide, scores, is_sum=True)
    if np.isneginf(draws.bound):
        raise ValueError("the logits give every completion of the row the probability 0")
    return draws.drawn(draw, is_completable)
