"""A row of classes by the states at its boundaries alone: soon made where it is like another, and of few open brackets if asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.stack.row_states import StatesOfRow

if TYPE_CHECKING:
    from grammarlm.masks.canvas.classes import TokenClasses
    from grammarlm.masks.canvas.stack.grid import StackGrid


class PlainRow:
    """What is known of it."""

    def __init__(self, lattice: StackGrid, row: np.ndarray, before: PlainRow | None, height: int = 0):
        """`height`: completions that have more brackets open at once are left out, unless it is 0."""
        self.lattice, self._row, self._height = lattice, row, height
        self._states: StatesOfRow
        self._begin(before)

    def _begin(self, before: PlainRow | None = None) -> None:
        sets = self.lattice.table.sets
        with sets.lock:
            sets.begin_row()
            begin, end = self.lattice.borders()
            other = None if before is None else before._states
            self._states = StatesOfRow(sets, self._row, begin, end, self.lattice.check, other, self._height)
            self.is_completable = self._states.leads()

    def states(self) -> StatesOfRow:
        """Made again where their numbers were given up. The lock of the sets is held."""
        if self._states.generation is not self.lattice.table.sets.generation:
            self._begin()
        return self._states

    @property
    def classes(self) -> TokenClasses:
        return self.lattice.classes

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K] (read only)."""
        with self.lattice.table.sets.lock:
            states = self.states()
            return states.sets.classes(states.forward(position), states.inner(position))

    def some(self, scores: np.ndarray) -> np.ndarray | None:
        """As StackPasses.some; None where none begins like this."""
        with self.lattice.table.sets.lock:
            return self.states().some(self.lattice.starts, scores)

    def leads_on(self, first: int, tokens: Sequence[int]) -> bool:
        """Is there a completion with these tokens from a position on, instead of those of the row?"""
        row, sets = self.classes.of[tokens], self.lattice.table.sets
        with sets.lock:
            states = self.states()
            reached = sets.forward(states.forward(first), np.ascontiguousarray(row, np.int32), self.lattice.check)
            return sets.meet(int(reached[-1]), states.backward(first + len(row)))
