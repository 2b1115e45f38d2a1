"""What may stand at a position of a row, and why that is so in rows with more tokens, too.

A row with one more token has no completion that it had not without. So what may not stand at a position may not from then on; and
what may still does if a completion shows it. Those that have shown it are known by what is left of a few positions, and right of
them: where both are what they were, they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammarlm.masks.canvas.stack.row_states import StatesOfRow

if TYPE_CHECKING:
    from grammarlm.masks.canvas.classes import TokenClasses
    from grammarlm.masks.canvas.stack.grid import StackGrid

    from .spans import Span

PLAIN, BOUND, MOST, EVERY = (
    "plain",
    "bound",
    "most",
    "every",
)  # rows that show what is allowed; with marks around one key: (key,)
NO_TOKENS = np.zeros(0, np.int64)


class Window(NamedTuple):
    """Two positions, and what some rows with marks are like between them and beside them."""

    first: int
    end: int
    shown_by: tuple[tuple[object, object], ...]  # Repeats.named, MarkedRow.between
    freed: frozenset[bytes] = frozenset()  # the keys of places that were let free in such a row
    hangs_on_twins: bool = False  # is something shown by marks around each key that may come twice?


@dataclass(frozen=True, eq=False)
class Answer:
    """What may stand at a position."""

    classes: np.ndarray  # bool [K]
    refused: np.ndarray  # int64: tokens of these that may not
    shown: Window | None  # where equal, all of it may stand there still; None: that is not known


@dataclass(eq=False)
class Proof:
    """What shows that all that is allowed at a position is."""

    is_whole: bool = True  # False: something only does that is asked anew in each row
    near: list[Span] = field(default_factory=list)  # places let free
    rows: dict[object, None] = field(default_factory=lambda: {BOUND: None})  # Repeats.named
    hangs_on_twins: bool = False  # as of Window


class PlainRow:
    """A row without marks, and without completions that have many brackets open at once."""

    def __init__(self, lattice: StackGrid, row: np.ndarray, before: PlainRow | None, height: int):
        self._lattice, self._row, self._height = lattice, row, height
        self._states: StatesOfRow
        self._begin(before)

    def _begin(self, before: PlainRow | None = None) -> None:
        sets = self._lattice.table.sets
        with sets.lock:
            sets.begin_row()
            begin, end = self._lattice.borders()
            other = None if before is None else before._states
            self._states = StatesOfRow(sets, self._row, begin, end, self._lattice.check, other, self._height)
            self.is_completable = self._states.leads()

    def _known(self) -> StatesOfRow:
        """The states, made again where their numbers were given up."""
        if self._states.generation is not self._lattice.table.sets.generation:
            self._begin()
        return self._states

    def classes_at(self, position: int) -> np.ndarray:
        """bool [K] (read only)."""
        with self._lattice.table.sets.lock:
            states = self._known()
            return states.sets.classes(states.forward(position), states.inner(position))

    @property
    def classes(self) -> TokenClasses:
        return self._lattice.classes

    def some(self, scores: np.ndarray) -> np.ndarray | None:
        """As StackPasses.some; None where none begins like this."""
        with self._lattice.table.sets.lock:
            return self._known().some(self._lattice.starts, scores)

    def leads_on(self, first: int, tokens: Sequence[int]) -> bool:
        """As MarkedRow.leads_on."""
        row, sets = self.classes.of[tokens], self._lattice.table.sets
        with sets.lock:
            states = self._known()
            reached = sets.forward(states.forward(first), np.ascontiguousarray(row, np.int32), self._lattice.check)
            return sets.meet(int(reached[-1]), states.backward(first + len(row)))

    def between(self, first: int, end: int, hangs_on_keys: bool = True) -> object:
        """As MarkedRow.between."""
        with self._lattice.table.sets.lock:
            states = self._known()
            return states.generation, states.forward(first), states.backward(end), self._row[first:end].tobytes()


def plain_answer(
    low: PlainRow | None, position: int, older: Answer | None, classes_at: Callable[[int], np.ndarray]
) -> Answer:
    """What may stand at a position of a row that has no keys which matter; `older`: in a row with less tokens."""
    if low is None:
        return Answer(classes_at(position), NO_TOKENS if older is None else older.refused, None)
    shown = Window(position, position + 1, ((PLAIN, low.between(position, position + 1)),))
    if older is not None and older.shown == shown:
        return older
    classes = classes_at(position) if older is None else older.classes
    doubted = classes & ~low.classes_at(position)
    if older is not None and doubted.any():
        classes = classes & classes_at(position)
        doubted = doubted & classes
    return Answer(classes, NO_TOKENS if older is None else older.refused, None if doubted.any() else shown)
