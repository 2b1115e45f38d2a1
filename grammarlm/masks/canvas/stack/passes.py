"""The passes over one row: what may stand where, the best completion and samples, by sets of stacks (sets.py)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.protocol import MASKED, Draw
from grammarlm.masks.canvas.stack.draws.law import drawn_row
from grammarlm.masks.canvas.stack.large.narrow import RowBounds
from grammarlm.masks.canvas.stack.large.spot_bounds import drawn_by_spots
from grammarlm.masks.canvas.stack.large.wide import best_by_bounds

from .guided import Guided, best_led, drawn_led
from .heights import height_of
from .row_states import StatesOfRow

if TYPE_CHECKING:
    from grammarlm.masks.canvas.scores import SoftmaxDraw

    from .rows import StackRows
    from .sets import StackSets


ROWS_KEPT = 1024  # answers of rows of large tables


class StackPasses:
    """What is known of one row."""

    def __init__(self, grid: StackRows, row: np.ndarray, before: StackPasses | None = None):
        """`before`: over a row like this, which gives what is equal."""
        self.grid, self.row = grid, np.ascontiguousarray(row, np.int32)
        self._like: RowStates | None = None if before is None else before.__dict__.get("_states")
        self._bounds_before: RowBounds | None = None if before is None else before._bounds
        self._bounds: RowBounds | None = None

    @cached_property
    def is_completable(self) -> bool:
        if self.grid.table.narrow is not None:
            with self.grid.table.sets.lock:
                known = self._known_bounds().is_completable
            if known is not None:
                return known
        return self._states.is_completable

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K] (read only)."""
        if not self.is_completable:
            return np.zeros(self.grid.table.classes, bool)
        if self.grid.table.narrow is not None:
            bounded = self._bounded(position)
            if bounded is not None:
                return bounded
        if self.grid.table.sets.rounds == 0 and self.row[position] != MASKED:  # others may lead to higher stacks
            others = self.row.copy()
            others[position] = MASKED
            return self.of_row(others).classes_at(position)
        return self.known_states().classes_at(position)

    def test(self, position: int, classes: np.ndarray) -> np.ndarray | None:
        """bool: which of these classes may stand there, where that is known sooner than of all; else None."""
        if self.grid.table.narrow is None or self.row[position] != MASKED or not self.is_completable:
            return None
        with self.grid.table.sets.lock:
            return self._known_bounds().test(position, classes)

    def of_row(self, row: np.ndarray) -> StackPasses:
        """Over another row."""
        return StackPasses(self.grid, row)

    def reads(self, position: int, token_class: int) -> bool:
        return self.known_states().reads(position, token_class)

    def some(self, scores: np.ndarray) -> np.ndarray:
        """int32 [L]: the classes of some completion, found from the left: at each position the best of those that lead on."""
        found = self.known_states().some(scores)
        return self.best(scores) if found is None else found

    def best(self, scores: np.ndarray) -> np.ndarray:
        with self.grid.table.sets.lock:
            if self.grid.table.narrow is not None:
                found = best_by_bounds(self.grid, self.row, self._known_bounds().wide, scores)
            else:
                found = self._best_led(scores)
        if found is None:
            raise LimitExceeded("a fill: too many beginnings of completions are as good as the best; give more tokens")
        return found

    def _best_led(self, scores: np.ndarray) -> np.ndarray | None:
        return best_led(self.known_states().guided(scores, is_sum=False), self.grid.check)

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        return drawn_row(self, scores, draw)

    def tried(self, scores: np.ndarray, draw: SoftmaxDraw, is_single: bool) -> np.ndarray | None:
        """A sample by rejection; None where too many tries fail. `is_single`: each row has one derivation at most."""
        with self.grid.table.sets.lock:
            if self.grid.table.narrow is not None:
                wide = self._known_bounds().wide
                return drawn_by_spots(
                    self.grid, self.row, wide, scores, draw, lambda row: self.of_row(row).is_completable
                )
            guide = self.known_states().guided(scores, is_sum=True)
            if np.isneginf(guide.bound):
                raise ValueError("the logits give every completion of the row the probability 0")
            return drawn_led(guide, draw, is_single, self.grid.check)

    # ------------------------------------------------------------------ inside

    @cached_property
    def _states(self) -> RowStates:
        like, self._like = self._like, None
        return RowStates(self.grid, self.row, like)

    def _known_bounds(self) -> RowBounds:
        """The bounds, made again where their numbers were given up; the lock of the sets is held."""
        sets = self.grid.table.sets
        if self._bounds is None or self._bounds.generation is not sets.generation:
            sets.begin_row()
            self._bounds = RowBounds(self.grid, self.row, self._bounds_before)
            self._bounds_before = None
        return self._bounds

    def _bounded(self, position: int) -> np.ndarray | None:
        """bool [K] (read only), by bounds; None where they do not know it. What a row with a token allows in its place is what the
        row without it does, which was often asked just before."""
        row = self.row
        if row[position] != MASKED:
            row = row.copy()
            row[position] = MASKED
        key, known = (position, row.tobytes()), self.grid.known_rows
        if key not in known:
            passes = self if row is self.row else StackPasses(self.grid, row, self)
            with self.grid.table.sets.lock:
                found = passes._known_bounds().classes_at(position)
            if found is None:
                return None
            if len(known) >= ROWS_KEPT:
                known.clear()
            known[key] = found
        return known[key]

    def known_states(self) -> RowStates:
        """The states, made again where their numbers were given up."""
        if not self._states.is_current:
            self._states = RowStates(self.grid, self.row)
        return self._states


class RowStates:
    """The states of a row at its boundaries and within its tokens, by number."""

    def __init__(self, grid: StackRows, row: np.ndarray, before: RowStates | None = None):
        self._grid, self._row = grid, row
        self._sets: StackSets = grid.table.sets
        with self._sets.lock:
            self._sets.begin_row()
            begin = grid.left_border()
            height = 0 if self._sets.rounds else height_of(self._sets, begin, row, grid.check)
            end = grid.right_border(height)
            other: StatesOfRow | None = None if before is None else before._states
            self._states: StatesOfRow = StatesOfRow(self._sets, row, begin, end, grid.check, other, height)
            self.is_completable = self._states.leads()

    @property
    def is_current(self) -> bool:
        return self._sets.generation is self._states.generation

    def classes_at(self, position: int) -> np.ndarray:
        with self._sets.lock:
            return self._sets.classes(self._states.forward(position), self._states.inner(position))

    def some(self, scores: np.ndarray) -> np.ndarray | None:
        with self._sets.lock:
            return self._states.some(self._grid.starts, scores)

    def guided(self, scores: np.ndarray, is_sum: bool) -> Guided:
        """Bounds of completions; the lock of the sets is held as long as they are used."""
        rounds = self._sets.rounds or self._states.height + 1
        return Guided(self._grid, self._row, *self._states.every(), scores, is_sum, rounds)

    def reads(self, position: int, token_class: int) -> bool:
        """Does a token of the class lead on from what precedes the position, whatever follows?"""
        with self._sets.lock:
            after = self._sets.forward(self._states.forward(position), np.array([token_class], np.int32))
            return self._sets.has_stacks(int(after[1]))
