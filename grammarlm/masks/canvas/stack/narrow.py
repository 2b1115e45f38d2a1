"""What may stand in a row of a large table, without all stacks that are possible: by bounds from below and from above.

After some masked tokens nearly all stacks that a grammar knows are possible, thousands of sets, and nearly all tokens may stand
there: a row's answer is short, and most of what it was made of does not matter. So two pairs of passes come before those over all
stacks (sets.py):

- *narrow* ones take masked tokens to be of a few classes (few.py): what leads through, does;
- *wide* ones know, behind a masked token, which controls can be there, and of stacks what any token leaves: what does not lead
  through, does not.

A class that leads from a narrow state to another may stand, one that leads from no wide state to another may not. Where classes are
left, they are followed by themselves (one_class.py), and then with all stacks that may lead to them (live_spots.py).

    bounds = RowBounds(grid, row, before)
    bounds.classes_at(position)           # bool [K], None where they are not enough
    bounds.test(position, classes)        # bool, of these alone
    bounds.is_completable                 # None: not known
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.masks.canvas.protocol import MASKED

from .few import bits
from .live_spots import LiveSpots
from .one_class import OneClass
from .row_states import ends_alike

if TYPE_CHECKING:
    from .grid import StackGrid
    from .narrow_table import NarrowTable
    from .sets import StackSets

STEPS = 8  # of a row between two looks at the clock
FREE_STEPS = 2  # so many masked tokens beside given ones may change the stack, others leave it as it is
MANY_MASKED = 96  # tokens of a row; it has many stacks anyway, and fewer of its classes stay open
FEW_FREE_STEPS = 1  # there
MOST_ALONE = 32  # classes that are left open are asked about one by one
PLAIN = MASKED - 1  # in place of a masked token: one that leaves the stack as it is


class RowBounds:
    """The bounds of one row of classes. The lock of the table's sets is held while it is made, and in each call."""

    def __init__(self, grid: StackGrid, row: np.ndarray, before: RowBounds | None = None):
        """`before`: of a row like this, which gives what is equal."""
        self._grid, self._row, self._sets = grid, row, grid.table.sets
        assert grid.table.narrow is not None
        self._table = grid.table.narrow
        begin = self._sets.sets_of(grid.left_border())
        self._table.begin_row(grid.check)
        self._sets.need_classes()
        self.edge = edge = self._table.right_edge(grid.room, grid.check)
        self._ends, self._wide_ends = (begin, edge.surely), (begin, edge.perhaps)
        self.generation = self._sets.generation
        self._other = None if before is None or before.generation is not self.generation else before
        if self._other is not None:
            self._other._other = None  # or all rows before would be kept
        self._wide: States = States(
            grid, self._table, self._wide_ends, row, None, None if self._other is None else self._other._wide
        )
        self._one_class = OneClass(grid, row, self._wide)
        self._decided_rows: dict[int, np.ndarray] = {}
        # What may stand at positions at most: what did where fewer tokens were given.
        self._most: dict[int, np.ndarray] = {}
        self._live_before: LiveSpots | None = None
        if before is not None and before._is_less_than(row):
            self._most = before._most | before._decided_rows
            if self._other is not None:
                self._live_before = before.__dict__.get("_live_spots")
        self._rows: dict[int, tuple[np.ndarray, np.ndarray]] = {}  # by position

    @cached_property
    def is_completable(self) -> bool | None:
        """Is there a way through? None where it is not known."""
        edges = 0, len(self._row)
        if not all(self._wide.meet(self._sets, at) for at in edges):
            return False
        if any(self._narrow.meet(self._sets, at) for at in edges):
            return True
        return self._live_spots.leads_through(self._narrow)

    def classes_at(self, position: int) -> np.ndarray | None:
        """bool [K] (read only): the classes that may stand at a masked position; None where it is not known of all."""
        known = self._decided_rows.get(position)
        if known is None:
            known = self._decided(position, slice(None))
            if known is not None:
                self._decided_rows[position] = known
        return known

    def test(self, position: int, classes: np.ndarray) -> np.ndarray | None:
        """bool: which of these may stand at a masked position; None where it is not known of all."""
        return self._decided(position, classes)

    @property
    def wide(self) -> _Sides:
        return self._wide.sides

    # ------------------------------------------------------------------ inside

    def _is_less_than(self, row: np.ndarray) -> bool:
        """Has another row all tokens of this one?"""
        return len(row) == len(self._row) and bool(((self._row == MASKED) | (self._row == row)).all())

    def _decided(self, position: int, classes: np.ndarray | slice) -> np.ndarray | None:
        surely, perhaps = (each.copy() for each in self.bounds_at(position))
        if position in self._most:
            perhaps &= self._most[position]
        left = np.arange(len(perhaps))[classes]
        left = np.unique(left[perhaps[left]])
        if len(left) <= MOST_ALONE:
            for token_class in left.tolist():
                verdict = self._one_class.leads(position, token_class, self._narrow)
                if verdict is not None:
                    perhaps[token_class], surely[token_class] = False, verdict
            left = left[perhaps[left]]
        if len(left):
            verdicts = self._live_spots.leads(position, left, self._narrow)
            if verdicts is None:
                return None
            surely[left] = verdicts
        found: np.ndarray = surely[classes]
        return found

    @cached_property
    def _live_spots(self) -> LiveSpots:
        return LiveSpots(self._grid, self._row, self._wide.sides, self.edge, self._live_before)

    @cached_property
    def _narrow(self) -> States:
        other = self._other
        like = None if other is None else other.__dict__.get("_narrow")
        is_many = int((self._row == MASKED).sum()) > MANY_MASKED
        row = _with_plain(self._row, FEW_FREE_STEPS if is_many else FREE_STEPS)
        found = States(self._grid, self._table, self._ends, row, self._wide.sides, like)
        if like is not None and other is not None and len(like.row) == len(self._row):
            self._take_rows(other, found, like)
        return found

    def _take_rows(self, other: RowBounds, narrow: States, like: States) -> None:
        """What was found out about positions beside which all is as it was."""
        pairs = ((narrow, like), (self._wide, other._wide))
        before = np.logical_and.reduce([(a.left == b.left).all(1)[:-1] for a, b in pairs])
        behind = np.logical_and.reduce([(a.right == b.right).all(1)[1:] for a, b in pairs])
        self._rows = {position: rows for position, rows in other._rows.items() if before[position] and behind[position]}

    def bounds_at(self, position: int) -> tuple[np.ndarray, np.ndarray]:
        """bool [K] twice: the classes that may stand there, and those of which it is not known."""
        narrow = self._narrow  # which may take what was found out
        known = self._rows.get(position)
        if known is None:
            table = self._grid.table
            words = np.zeros((2, table.kind_classes.shape[1]), np.uint64)
            wide = self._wide.left[position], self._wide.right[position + 1]
            beside = np.stack([narrow.left[position], narrow.right[position + 1], *wide])
            given = address_of(self._table.words), address_of(beside), address_of(words), address_of(words[1])
            self._sets.asked(lambda address: entries.narrow_classes(address, *given), self._grid.check)
            self._grid.check()
            surely, perhaps = bits(words, table.classes)
            known = self._rows[position] = surely, perhaps
        return known


class _Sides(NamedTuple):
    """int32 [boundaries, controls]: states from the left, and from the right."""

    left: np.ndarray
    right: np.ndarray


class States:
    """The states of a row from both sides: narrow, of controls that wide ones have stacks at from the other side; or wide."""

    def __init__(
        self,
        grid: StackGrid,
        table: NarrowTable,
        ends: tuple[list[tuple[int, int]], ...],
        row: np.ndarray,
        facing: _Sides | None,
        like: States | None,
    ):
        """`facing`: the wide ones, None: these are; `like`: of a row that may be equal in parts."""
        self._grid, self._table, self._facing = grid, table, facing
        self.row, size = row, len(row)
        self.left, self.right = self.sides = _Sides(*np.zeros((2, size + 1, grid.table.controls), np.int32))
        for side, at, end in ((self.left, 0, ends[0]), (self.right, size, ends[1])):
            for control, number in end:
                side[at, control] = number
        like = like if like is not None and len(like.row) == size else None
        # Controls without stacks from the other side are left out; wide states are made from the left first.
        self._others = (None, self.left) if facing is None else (facing.right, facing.left)
        self._pass(True, self.left, like)
        self._pass(False, self.right, like)

    def _pass(self, is_right: bool, states: np.ndarray, like: States | None) -> None:
        """From where the row differs from the other; as soon as it is as there, it is taken from there."""
        size, first = len(self.row), 0 if is_right else len(self.row)
        known, same_before, same_behind = None, 0, 0
        if like is not None and self._knows_as_much(like, is_right):
            same_before, same_behind = ends_alike(self.row, like.row)
            known = like.left if is_right else like.right
            if (known[first] == states[first]).all():
                first = same_before if is_right else size - same_behind
                kept = slice(None, first + 1) if is_right else slice(first, None)
                states[kept] = known[kept]
            else:
                known = None
        last = size if is_right else 0
        place = np.array([first, last], np.int64)
        facing = self._others[0 if is_right else 1]
        others = np.ones_like(states) if facing is None else facing
        given = (
            address_of(self._table.words), address_of(self.row), size, address_of(states), address_of(others), address_of(place),
            int(is_right), int(self._facing is None),
        )  # fmt: skip
        while place[0] != last:
            place[1] = min(size, place[0] + STEPS) if is_right else max(0, place[0] - STEPS)
            self._grid.table.sets.asked(lambda address: entries.narrow_pass(address, *given), self._grid.check)
            self._grid.check()
            here = int(place[0])
            is_beyond = here >= size - same_behind if is_right else here <= same_before
            if known is not None and is_beyond and (known[here] == states[here]).all():
                rest = slice(here, None) if is_right else slice(None, here + 1)
                states[rest] = known[rest]
                break

    def _knows_as_much(self, like: States, is_right: bool) -> bool:
        """Has the other row left out no control that may matter here?"""
        here, there = (of._others[0 if is_right else 1] for of in (self, like))
        if here is None or there is None:
            return here is there
        return not ((here > 0) & (there == 0)).any()

    def meet(self, sets: StackSets, at: int) -> bool:
        """Has some control the same stack from both sides?"""
        return sets.rows_meet(self.left[at], self.right[at])


def _with_plain(row: np.ndarray, steps: int) -> np.ndarray:
    """The row with PLAIN for masked tokens that have so many others on both sides before one that is given."""
    found = row.copy()
    given = np.flatnonzero(np.concatenate([[True], row != MASKED, [True]])) - 1
    for before, behind in itertools.pairwise(given.tolist()):
        found[before + 1 + steps : max(0, behind - steps)] = PLAIN
    return found
