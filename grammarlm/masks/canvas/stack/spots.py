"""Bounds of rows of large tables that know of a stack its top alone, and exact samples by them, each row drawn as one.

Where what is below the symbol on top may be anything, a token leads from a control and that symbol, a **spot**, to a few others:
which those are is found once a table. The sum over the rows that a spot can be completed with, on any of its stacks, is no more
than that over its tokens and the spots that these lead to; so all bounds of a row are one pass from the right, a number a spot.
A row is drawn from the left (kernels/cpu/canvas/spot_draws.py) as one *set* of controls and stacks, the state that it leads to. So
it counts once, in however many ways it is read, and tries end early only for what bounds do not know of stacks.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.spots import Spots as At

from .bits import bits
from .narrow_table import NEAR_ROOM

if TYPE_CHECKING:
    from grammarlm.masks.canvas.scores import SoftmaxDraw

    from .grid import StackGrid
    from .narrow import RowBounds
    from .table import StackTable

STEPS = 8  # of a row between two looks at the clock
FIRST_ROUND, MOST_ROUND = 2, 64  # tries between two looks at the clock
MOST_TRIES = 1 << 12
FIRST_GOALS, FIRST_MEMBERS = 1 << 15, 1 << 17  # behind the spots themselves


class Spots:
    """The spots of a table, and what its tokens lead to from each; the lock of its sets is held."""

    def __init__(self, table: StackTable):
        entries.load("spots")
        self._table: StackTable = weakref.proxy(table)  # which keeps its spots
        self._arrays: dict[At, np.ndarray] = {}
        self.tops, self.belows = table.sets.tops.copy(), table.sets.belows.copy()
        self.words = np.zeros(At.LENGTH, np.int64)
        is_spot = bits(self.tops[: table.controls], table.symbols)
        numbers = np.where(is_spot, np.cumsum(is_spot).reshape(is_spot.shape) - 1, -1).astype(np.int32)
        self.count = int(is_spot.sum())
        self.words[At.SPOTS] = self.count
        self._put(At.SPOT_OF, numbers)
        self._find_goals(numbers)
        self._find_terms()

    @property
    def is_current(self) -> bool:
        """May on each symbol stand what might before?"""
        sets = self._table.sets
        return bool((sets.tops == self.tops).all() and (sets.belows == self.belows).all())

    def _put(self, place: At, array: np.ndarray) -> None:
        self._arrays[place] = array
        self.words[place] = address_of(array)

    def _find_goals(self, numbers: np.ndarray) -> None:
        table, more = self._table, 1
        while True:
            goals, members = self.count + more * FIRST_GOALS, more * FIRST_MEMBERS
            slots = 1 << (2 * goals).bit_length()
            self.words[At.GOALS], self.words[At.GOAL_CAPACITY] = self.count, goals
            self.words[At.MEMBER_CAPACITY], self.words[At.GOAL_SLOTS] = members, slots
            goal_of = np.full((table.points, table.symbols), -1, np.int32)
            goal_of[: table.controls] = numbers
            for place, size in ((At.MEMBER_START, goals + 1), (At.MEMBER, members), (At.GOAL_SLOT, slots)):
                self._put(place, np.zeros(size, np.int32))
            self._put(At.GOAL_OF, goal_of)
            if entries.find_goals(table.sets.address, address_of(self.words)) == 0:
                self._arrays.pop(At.GOAL_SLOT)
                return
            more *= 4

    def _find_terms(self) -> None:
        given = self._table.sets.address, address_of(self.words)
        self._put(At.TERM_START, np.zeros(self.count + 1, np.int32))
        terms = entries.find_terms(*given, 0)
        for place in (At.TERM_KIND, At.TERM_GOAL):
            self._put(place, np.zeros(terms, np.int32))
        entries.find_terms(*given, 1)


class SpotBounds:
    """The bounds of one row. The lock of the table's sets is held while it is made, and in each call."""

    def __init__(self, grid: StackGrid, row: np.ndarray, bounds: RowBounds, scores: np.ndarray, is_sum: bool):
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
            At.LEFT: np.ascontiguousarray(bounds.wide.left, np.int32),
            At.RIGHT: np.ascontiguousarray(bounds.wide.right, np.int32),
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

    def drawn(self, draw: SoftmaxDraw) -> np.ndarray | None:
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
                if is_drawn and self._ends():
                    return self._found
            tried, round_ = tried + round_, min(2 * round_, MOST_ROUND)
        return None

    def _ends(self) -> bool:
        """May the row that was drawn be followed by the right edge?"""
        near = min(self._grid.room, NEAR_ROOM)
        if self._sets.meet(int(self.words[At.END]), self._sets.end(near, self._grid.check)):
            return True
        return near < self._grid.room and self._grid.passes(self._found.copy(), None).is_completable


def drawn_by_spots(
    grid: StackGrid, row: np.ndarray, bounds: RowBounds, scores: np.ndarray, draw: SoftmaxDraw
) -> np.ndarray | None:
    """int32 [L]: the classes of a completion by the softmax of its score; None where too many tries end early: bounds promise rows
    that are far more probable than all completions. The lock of the sets is held."""
    draws = SpotBounds(grid, row, bounds, scores, is_sum=True)
    if np.isneginf(draws.bound):
        raise ValueError("the logits give every completion of the row the probability 0")
    return draws.drawn(draw)
