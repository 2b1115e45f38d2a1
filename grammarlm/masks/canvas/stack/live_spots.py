"""Whether some classes may stand at a masked position, or a row can be completed at all, where bounds (narrow.py) leave it open.

    live = LiveSpots(grid, row, wide)
    live.leads(position, classes, narrow)        # bool: of each class; None: not known
    live.leads_through(narrow)                   # is there a completion?

All stacks of a row are too many. But of those that lead to a few classes at one position, most are known to lead nowhere by their
tops alone: a spot (spots.py) is **live** if the row, with one of these classes at the position, perhaps leads to it and on from it,
whatever is below. Passes that follow live spots alone are as exact as those over all stacks, and small. They go from the left,
first by the few classes of narrow passes, which are enough for most of what may stand, then by all. What comes to stacks that some
narrow state from the right goes on with, may stand; what dies, or cannot end at the right edge, may not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.spots import Spots as At
from grammarlm.masks.canvas.protocol import MASKED

if TYPE_CHECKING:
    from .grid import StackGrid
    from .narrow import States
    from .narrow_table import RightEdge

SOME = MASKED - 1  # in place of a class: any of those that are asked about (kernels/cpu/canvas/live_spots.py)
STEPS = 32  # of spots between two looks at the clock
FEW_STEPS = 24  # behind the position, by the few classes


class LiveSpots:
    """Of one row of classes; the lock of the table's sets is held in each call."""

    def __init__(self, grid: StackGrid, row: np.ndarray, sides: tuple[np.ndarray, np.ndarray], edge: RightEdge):
        """`sides`: the wide states, from the left and from the right."""
        table, steps = grid.table, len(row)
        assert table.narrow is not None
        self._grid, self._sets, self._table = grid, table.sets, table.narrow
        self._edge = (dict(edge.surely), dict(edge.perhaps))
        self._spots = table.spots()
        grid.check()
        self._given, self._row = np.ascontiguousarray(row, np.int32), np.array(row, np.int32)
        self._words = self._spots.words.copy()
        self._live = np.zeros((steps + 1, -(-self._spots.count // 64)), np.uint64)
        self._taken = np.zeros(len(table.kind_classes), np.uint8)
        self._states = np.zeros((steps + 1, table.controls), np.int32)
        self._sides = tuple(np.ascontiguousarray(side, np.int32) for side in sides)
        for place, array in (
            (At.ROW, self._row), (At.LEFT, self._sides[0]), (At.RIGHT, self._sides[1]), (At.LIVE, self._live),
            (At.TAKEN, self._taken),
        ):  # fmt: skip
            self._words[place] = address_of(array)
        self._words[At.STEPS] = steps
        self._sets.need_classes()
        self._before(0, steps + 1)
        self._whole = self._live.copy()  # of the row as it is, seen from the right
        self._reached = 0

    def leads_through(self, narrow: States) -> bool | None:
        """Has the row a completion?"""
        self._begin(0)
        if not self._reach(len(self._row)):
            return False
        begin = self._sides[0][0]
        if self._ends(0, begin, narrow, is_few=True, most=len(self._row)):
            return True
        return self._ends(0, begin, narrow, is_few=False, most=len(self._row))

    def leads(self, position: int, classes: np.ndarray, narrow: States) -> np.ndarray | None:
        """bool: which of some classes may stand at a masked position. `narrow`: any narrow states of the row."""
        bits = np.zeros(64 * self._grid.table.kind_classes.shape[1], np.uint8)
        bits[classes] = 1
        some = np.packbits(bits, bitorder="little").view(np.uint64)
        self._taken[:] = (self._grid.table.kind_classes & some).any(1)
        self._row[position] = SOME
        try:
            self._begin(position + 1)
            if not self._reach(position + 1):
                return np.zeros(len(classes), bool)
            return self._followed(position, classes, narrow)
        finally:
            self._row[position] = MASKED

    # ------------------------------------------------------------------ inside

    def _begin(self, last: int) -> None:
        """Live spots from the right: those of the row, but before a boundary anew."""
        self._live[:] = self._whole
        self._before(0, last)
        self._reached = 0

    def _before(self, first: int, last: int) -> None:
        given = self._sets.address, address_of(self._words)
        for end in range(last, first, -STEPS):
            entries.live_before(*given, max(first, end - STEPS), end)
            self._grid.check()

    def _reach(self, last: int) -> bool:
        """Leaves those that are led to, up to a boundary; False where there are none."""
        given = self._sets.address, address_of(self._words)
        while self._reached < last:
            end = min(last, self._reached + STEPS)
            entries.live_after(*given, self._reached, end)
            self._reached = end
            self._grid.check()
        return bool(self._live[last].any())

    def _followed(self, position: int, classes: np.ndarray, narrow: States) -> np.ndarray | None:
        """Which of the classes lead on from live spots; None where it is not known of all."""
        found = np.full(len(classes), -1, np.int8)
        masked = np.concatenate([[False], self._given == MASKED])
        first = position - int(np.argmin(masked[position + 1 :: -1])) + 1  # of the gap
        for begin, states, is_few in (
            (first, narrow.left[first], True),
            (0, self._sides[0][0], True),
            (0, self._sides[0][0], False),
        ):
            self._states[begin] = states
            if begin < position:
                self._pass(begin, position, is_few)
            before, known = self._states[position].copy(), dict[bytes, bool | None]()
            for which in np.flatnonzero(found < 0).tolist():
                self._row[position] = classes[which]
                self._states[position] = before
                self._pass(position, position + 1, is_few)
                after = self._states[position + 1].copy()
                key = after.tobytes()
                if key not in known:
                    most = FEW_STEPS if is_few else len(self._row)
                    known[key] = self._ends(position + 1, after, narrow, is_few, most)
                if known[key] or (known[key] is False and not is_few):
                    found[which] = known[key]
            self._row[position] = SOME
            if (found >= 0).all():
                return found > 0
        return None

    def _ends(self, at: int, states: np.ndarray, narrow: States, is_few: bool, most: int) -> bool | None:
        """Is there a completion from these states on? Exact unless `is_few`, but at a right edge of which not all is known."""
        size = len(self._row)
        self._states[at] = states
        while True:
            here = self._states[at]
            if not here.any():
                return False
            if self._meets(here, narrow.right[at]):
                return True
            if at == size:
                break
            if is_few and not most:
                return False
            self._pass(at, at + 1, is_few)
            at, most = at + 1, most - 1
        if self._meets(here, self._edge[0]):
            return True
        return None if self._meets(here, self._edge[1]) else False

    def _pass(self, first: int, last: int, is_few: bool) -> None:
        place = np.array([first, last], np.int64)
        given = address_of(self._table.words), address_of(self._words), address_of(self._states), address_of(place)
        for end in range(first + 1, last + 1):
            self._reach(end)
            place[1] = end
            self._sets.asked(lambda address: entries.live_pass(address, *given, int(is_few)), self._grid.check)
            self._grid.check()

    def _meets(self, states: np.ndarray, others: np.ndarray | dict[int, int]) -> bool:
        """Has some control the same stack in both?"""
        for control in np.flatnonzero(states).tolist():
            other = int(others.get(control, 0) if isinstance(others, dict) else others[control])
            if other and self._sets.has_common(int(states[control]), other):
                return True
        return False
