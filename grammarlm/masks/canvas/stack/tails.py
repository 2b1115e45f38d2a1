"""What may stand at the first masked position of a row that has masked tokens alone from there on, as blocks after a text begin.

What may follow is then the same for all such rows, so it is kept, by the number of tokens (narrow_table.py): stacks that few tokens
of few classes can complete are enough for nearly all that may stand. What precedes is given, and few stacks come from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.masks.canvas.protocol import MASKED

from .few import bits
from .narrow_states import Sides
from .one_class import STEPS, OneClass

if TYPE_CHECKING:
    from .grid import StackGrid
    from .narrow_table import NarrowTable

TOKENS = 16, 48  # that are to be enough to complete a text
MOST_GIVEN = 64  # tokens before the position
MOST_ALONE = 32  # classes that are left open are followed by themselves


class Tail:
    """Of one row of classes; the lock of the table's sets is held while it is made, and in each call."""

    def __init__(self, grid: StackGrid, table: NarrowTable, row: np.ndarray, begin: list[tuple[int, int]]):
        """`begin`: the controls at the left edge, and the set of stacks of each."""
        self._grid, self._table = grid, table
        given = np.flatnonzero(row != MASKED)
        self._position = int(given[-1]) + 1 if len(given) else 0
        self._behind = len(row) - self._position - 1 + grid.room  # tokens after the position
        self._left: np.ndarray | None = None
        if self._position < len(row) and len(given) == self._position <= MOST_GIVEN:
            self._left = self._read(row[: self._position], begin)

    @property
    def leads_through(self) -> bool:
        """Has the row a completion, as far as few tokens show it?"""
        if self._left is None:
            return False
        behind = self._table.tail(min(TOKENS[0], self._behind + 1), False, self._grid.check)
        return self._grid.table.sets.rows_meet(self._left, behind)

    def classes_at(self, position: int) -> np.ndarray | None:
        """bool [K]: the classes that may stand there; None where it is not known of all."""
        if position != self._position or self._left is None:
            return None
        table, check = self._grid.table, self._grid.check
        for tokens in TOKENS:
            words = np.zeros((2, table.kind_classes.shape[1]), np.uint64)
            narrow, wide = (
                self._table.tail(min(tokens, self._behind), False, check),
                self._table.tail(self._behind, True, check),
            )
            beside = np.stack([self._left, narrow, self._left, wide])
            given = address_of(self._table.words), address_of(beside), address_of(words), address_of(words[1])
            table.sets.asked(lambda address: entries.narrow_classes(address, *given), check)  # noqa: B023
            check()
            found: np.ndarray
            found, perhaps = bits(words, table.classes)
            left = np.flatnonzero(perhaps)
            if len(left) <= MOST_ALONE:
                verdicts = self._alone(left, tokens)
                if None not in verdicts:
                    found[left] = np.array(verdicts, bool)
                    return found
        return None

    def _alone(self, classes: np.ndarray, tokens: int) -> list[bool | None]:
        """Whether each class may stand there; it is followed by itself."""
        if not len(classes):
            return []
        assert self._left is not None
        row = np.full(min(STEPS, self._behind) + 1, MASKED, np.int32)
        behind = [self._behind + 1 - at for at in range(len(row) + 1)]
        left = np.stack([self._left] * len(behind))
        narrow, wide = (
            Sides(left, np.stack([self._table.tail(min(most, more), is_wide, self._grid.check) for more in behind]))
            for is_wide, most in ((False, tokens), (True, self._behind + 1))
        )
        alone = OneClass(self._grid, row, wide)
        return [alone.leads(0, token_class, narrow) for token_class in classes.tolist()]

    def _read(self, given: np.ndarray, begin: list[tuple[int, int]]) -> np.ndarray:
        """What comes to the position."""
        states = np.zeros((len(given) + 1, self._grid.table.controls), np.int32)
        for control, number in begin:
            states[0, control] = number
        row, others = np.ascontiguousarray(given, np.int32), np.ones_like(states)
        place = np.array([0, len(given)], np.int64)
        words = address_of(self._table.words), address_of(row), len(row), address_of(states)
        self._grid.table.sets.asked(
            lambda address: entries.narrow_pass(address, *words, address_of(others), address_of(place), 1, 0),
            self._grid.check,
        )
        return states[-1].copy()
