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

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.narrow import Narrow as At
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.bits import bits

from .live_spots import LiveSpots
from .narrow_states import Sides, States, with_plain
from .one_class import OneClass

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.rows import StackRows

    from .narrow_table import RightEdge

FREE_STEPS = 2  # so many masked tokens beside given ones may change the stack, others leave it as it is
MANY_MASKED = 96  # tokens of a row; it has many stacks anyway, and fewer of its classes stay open
FEW_FREE_STEPS = 1  # there
MOST_ALONE = 32  # classes that are left open are asked about one by one


class RowBounds:
    """The bounds of one row of classes. The lock of the table's sets is held while it is made, and in each call."""

    def __init__(self, grid: StackRows, row: np.ndarray, before: RowBounds | None = None):
        """`before`: of a row like this, which gives what is equal."""
        self._grid, self._row, self._sets = grid, row, grid.table.sets
        assert grid.table.narrow is not None
        self._table = grid.table.narrow
        self._masked = int((row == MASKED).sum())
        self._begin = self._sets.sets_of(grid.left_border())
        self._table.begin_row(grid.check)
        self._sets.need_classes()
        self.generation = self._sets.generation
        self._other = None if before is None or before.generation is not self.generation else before
        if self._other is not None:
            self._other._other = None  # or all rows before would be kept
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
    def edge(self) -> RightEdge:
        return self._table.right_edge(self._grid.room, self._grid.check)

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
    def wide(self) -> Sides:
        return self._wide.sides

    # ------------------------------------------------------------------ inside

    def _is_less_than(self, row: np.ndarray) -> bool:
        """Has another row all tokens of this one?"""
        return len(row) == len(self._row) and bool(((self._row == MASKED) | (self._row == row)).all())

    def _decided(self, position: int, classes: np.ndarray | slice) -> np.ndarray | None:
        """bool: which of some classes may stand at a position; None: not known."""
        surely, perhaps = self.bounds_at(position)
        if position in self._most:
            perhaps = perhaps & self._most[position]
        surely, left = surely.copy(), np.arange(len(perhaps))[classes]
        left = np.unique(left[perhaps[left]])
        if len(left) <= MOST_ALONE:
            verdicts = [self._one_class.leads(position, token_class, self._narrow) for token_class in left.tolist()]
            surely[left] = [verdict is True for verdict in verdicts]
            left = left[[verdict is None for verdict in verdicts]]
        if len(left):
            live = self._live_spots.leads(position, left, self._narrow)
            if live is None:
                return None
            surely[left] = live
        found: np.ndarray = surely[classes]
        return found

    @cached_property
    def _live_spots(self) -> LiveSpots:
        return LiveSpots(self._grid, self._row, self._wide.sides, self.edge, self._live_before)

    @cached_property
    def _wide(self) -> States:
        ends, like = (
            (self._begin, self.edge.perhaps),
            None if self._other is None else self._other.__dict__.get("_wide"),
        )
        return States(self._grid, self._table.words, ends, self._row, None, like)

    @cached_property
    def _one_class(self) -> OneClass:
        return OneClass(self._grid, self._row, self._wide)

    @property
    def _ends(self) -> tuple[list[tuple[int, int]], ...]:
        return self._begin, self.edge.surely

    @cached_property
    def _narrow(self) -> States:
        other = self._other
        like = None if other is None else other.__dict__.get("_narrow")
        row = with_plain(self._row, FEW_FREE_STEPS if self._masked > MANY_MASKED else FREE_STEPS)
        found = States(self._grid, self._table.words, self._ends, row, self._wide.sides, like)
        if like is not None and other is not None and len(like.row) == len(self._row):
            self._take_rows(other, found, like)
        return found

    def _take_rows(self, other: RowBounds, narrow: States, like: States) -> None:
        """What was found out about positions beside which all is as it was; of what was asked about alone where this row allows no
        more."""
        if other._most and not other._is_less_than(self._row):
            return
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
            most = self._most.get(position)
            asks, asked = self._table.words.copy(), np.zeros(8 * words.shape[1], np.uint8)
            if most is not None:
                asked[: -(-len(most) // 8)] = np.packbits(most, bitorder="little")
                asks[At.MOST] = address_of(asked)
            wide = self._wide.left[position], self._wide.right[position + 1]
            beside = np.stack([narrow.left[position], narrow.right[position + 1], *wide])
            given = address_of(asks), address_of(beside), address_of(words), address_of(words[1])
            self._sets.asked(lambda address: entries.narrow_classes(address, *given), self._grid.check)
            self._grid.check()
            surely, perhaps = bits(words, table.classes)
            known = self._rows[position] = surely, perhaps
        return known
