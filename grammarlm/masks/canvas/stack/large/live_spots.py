"""Whether some classes may stand at a masked position, or a row can be completed at all, where bounds (narrow.py) leave it open.

    live = LiveSpots(grid, row, wide)
    live.leads(position, classes, narrow)        # bool: of each class; None: not known
    live.leads_through(narrow)                   # is there a completion?

All stacks of a row are too many. But of those that lead to a few classes at one position, most are known to lead nowhere by their
tops alone: a spot (spots.py) is **live** if the row, with one of these classes at the position, perhaps leads to it and on from it,
whatever is below. Passes that follow live spots alone are as exact as those over all stacks, and small. They go from the left,
first by the few classes of narrow passes, which are enough for most of what may stand, then by all. What comes to stacks that some
narrow state from the right goes on with, may stand; what dies, or cannot end at the right edge, may not. Most of what may not
dies soon, whatever the stack was a few tokens before: so from there all stacks of the wide states are followed, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.spots import Spots as At
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.bits import bits
from grammarlm.masks.canvas.stack.grammars.columns import row_numbers

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.rows import StackRows

    from .narrow_states import States
    from .narrow_table import RightEdge

SOME = MASKED - 1  # in place of a class: any of those that are asked about (kernels/cpu/canvas/large/live_spots.py)
STEPS = 32  # of spots between two looks at the clock
STEPS_BEHIND = 16  # the position, where all stacks before it are not known
MORE_GAPS = 4
STEPS_BEFORE = 4  # from so far before a position the stacks of wide states are followed


class Way(NamedTuple):
    """Passes to a position: from which boundary on, whether they follow few classes, and whether all stacks of the wide states, so
    that they only show what may not stand."""

    first: int
    is_few: bool = False
    is_wide: bool = False


class LiveSpots:
    """Of one row of classes; the lock of the table's sets is held in each call."""

    def __init__(
        self,
        grid: StackRows,
        row: np.ndarray,
        sides: tuple[np.ndarray, np.ndarray],
        edge: RightEdge,
        like: LiveSpots | None = None,
    ):
        """`sides`: the wide states, from the left and from the right; `like`: of a row that this one has more tokens than."""
        table, steps = grid.table, len(row)
        assert table.narrow is not None
        self._grid, self._sets, self._table = grid, table.sets, table.narrow
        self._edges = np.zeros((2, table.controls), np.int32)
        for side, stacks in zip(self._edges, edge, strict=True):
            for control, number in stacks:
                side[control] = number
        self._spots = table.spots()
        grid.check()
        self._given, self._row = np.ascontiguousarray(row, np.int32), np.array(row, np.int32)
        self._words = self._spots.words.copy()
        self._live = np.zeros((steps + 1, -(-self._spots.count // 64)), np.uint64)
        self._taken = np.zeros(len(table.kind_classes), np.uint8)
        self._states = np.zeros((steps + 1, table.controls), np.int32)
        self._begin = np.ascontiguousarray(sides[0][0], np.int32)
        self._sides = tuple(np.ascontiguousarray(side, np.int32) for side in sides)
        for place, array in (
            (At.ROW, self._row), (At.LEFT, self._sides[0]), (At.RIGHT, self._sides[1]), (At.LIVE, self._live),
            (At.TAKEN, self._taken),
        ):  # fmt: skip
            self._words[place] = address_of(array)
        self._words[At.STEPS] = steps
        self._sets.need_classes()
        self._ahead, self._known = np.zeros_like(self._live), steps + 1  # seen from the right, from a boundary on
        if like is not None and like._spots is self._spots:
            differs = np.flatnonzero(like._given != self._given)
            self._known = max(like._known, int(differs[-1]) + 1 if len(differs) else 0)
            self._ahead[self._known :] = like._ahead[self._known :]
        self._reached = 0
        # By position, what was enough.
        self._way_of: dict[int, Way] = {} if like is None else like._way_of.copy()

    def leads_through(self, narrow: States) -> bool | None:
        """Has the row a completion?"""
        size = len(self._row)
        self._look(0, 0)
        if not self._reach(size):
            return False
        if self._ends(0, self._begin, narrow, is_few=True, most=STEPS_BEHIND):
            return True
        return self._ends(0, self._begin, narrow, is_few=False, most=size)

    def leads(self, position: int, classes: np.ndarray, narrow: States) -> np.ndarray | None:
        """bool: which of some classes may stand at a masked position. `narrow`: any narrow states of the row. None: not known."""
        found, looked = np.full(len(classes), -1, np.int8), -1
        try:
            for way in self._ways(position):
                if way.first != looked:
                    self._ask(position, classes[found < 0])
                    self._look(way.first, position + 1)
                    looked = way.first
                    if not self._reach(position + 1):
                        found[found < 0] = 0
                        break
                self._follow(way, position, classes, found, narrow)
                if (found >= 0).all():
                    self._way_of[position] = way
                    break
        finally:
            self._row[position] = MASKED
        return found > 0 if (found >= 0).all() else None

    # ------------------------------------------------------------------ inside

    def _ask(self, position: int, classes: np.ndarray) -> None:
        """At the position stands one of these classes."""
        bits = np.zeros(64 * self._grid.table.kind_classes.shape[1], np.uint8)
        bits[classes] = 1
        some = np.packbits(bits, bitorder="little").view(np.uint64)
        self._taken[:] = (self._grid.table.kind_classes & some).any(1)
        self._row[position] = SOME

    def _ways(self, position: int) -> list[Way]:
        """Passes to a position: from its gap on, from others before it, from the beginning of the row. First what was enough where
        fewer tokens were given."""
        masked = self._given[: position + 1] == MASKED
        starts = np.flatnonzero(masked & ~np.concatenate([[False], masked[:-1]]))
        begins, back = list[int](), 1
        while back < len(starts):
            begins.append(int(starts[-back]))
            back *= MORE_GAPS
        if not begins or begins[-1]:
            begins.append(0)
        gap, *others = begins
        ways = [Way(gap, True), Way(gap)] if gap else [Way(0, True)]
        ways.append(Way(max(gap, position - STEPS_BEFORE), is_wide=True))
        ways += [*(Way(first, True) for first in others), Way(0)]
        known = self._way_of.get(position)
        return ways if known is None else [known, *ways]

    def _look(self, first: int, end: int) -> None:
        """Live spots from a boundary on, seen from the right; before another one with what is asked about."""
        known = self._known
        if known > end:
            self._live[known:] = self._ahead[known:]
            self._before(end, known)
            self._ahead[end:known], self._known = self._live[end:known], end
        self._live[end:] = self._ahead[end:]
        self._before(first, end)
        self._reached = first

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

    def _follow(self, way: Way, position: int, classes: np.ndarray, found: np.ndarray, narrow: States) -> None:
        """Finds out about classes of which it is not known (found < 0)."""
        first, is_few = way.first, way.is_few
        shows_no, shows_yes = way.is_wide or not (first or is_few), not way.is_wide
        self._states[first] = self._sides[0][first] if way.is_wide else narrow.left[first] if first else self._begin
        self._pass(first, position, is_few)
        before, known = self._states[position].copy(), dict[bytes, bool | None]()
        open_ = np.flatnonzero(found < 0)
        alike = self._alike(np.flatnonzero(before), classes[open_])
        for number in range(alike.max() + 1):
            group = open_[alike == number]
            self._row[position] = classes[group[0]]
            self._states[position] = before
            self._pass(position, position + 1, is_few)
            after = self._states[position + 1].copy()
            key = after.tobytes()
            if key not in known:
                most = len(self._row) if shows_no and shows_yes else STEPS_BEHIND
                known[key] = self._ends(position + 1, after, narrow, is_few, most)
            verdict = known[key]
            if (verdict and shows_yes) or (verdict is False and shows_no):
                found[group] = verdict
        self._row[position] = SOME

    def _alike(self, controls: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """int64: the same number for classes that take the same edges from some controls, so lead to the same."""
        table = self._grid.table
        starts, edges = table.edges_from_controls
        of = [edges[starts[control] : starts[control + 1]] for control in controls.tolist()]
        kinds = np.unique(table.edge_kind[np.concatenate([edges[:0], *of])])
        takes = bits(table.kind_classes[kinds], table.classes)[:, classes]
        return row_numbers(np.packbits(takes, axis=0).T)

    def _ends(self, at: int, states: np.ndarray, narrow: States, is_few: bool, most: int) -> bool | None:
        """Is there a completion from these states on? None after `most` steps, or where not enough is known of the right edge."""
        size = len(self._row)
        self._states[at] = states
        while True:
            here = self._states[at]
            if not here.any():
                return False
            if self._sets.rows_meet(here, narrow.right[at]):
                return True
            if at == size:
                break
            if not most:
                return None
            self._pass(at, at + 1, is_few)
            at, most = at + 1, most - 1
        if self._sets.rows_meet(here, self._edges[0]):
            return True
        return None if self._sets.rows_meet(here, self._edges[1]) else False

    def _pass(self, first: int, last: int, is_few: bool) -> None:
        place = np.array([first, last], np.int64)
        given = address_of(self._table.words), address_of(self._words), address_of(self._states), address_of(place)
        for end in range(first + 1, last + 1):
            self._reach(end)
            place[1] = end
            self._sets.asked(lambda address: entries.live_pass(address, *given, int(is_few)), self._grid.check)
            self._grid.check()
