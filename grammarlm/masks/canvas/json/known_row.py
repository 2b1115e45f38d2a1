"""What the states of a schema do not know, decided row by row.

Which states a row needs is seen from its given tokens (rows.py): whether lengths are counted, which keys are tracked. Where keys
are free, and the states complete the row, a completion in which none comes twice is read (duplicate_keys/witness.py). A
question that is not decided so is not answered: Undecided, a LimitExceeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.json.duplicate_keys.answers import PlainRow
from grammarlm.masks.canvas.json.duplicate_keys.marked_places import MarkedPlaces
from grammarlm.masks.canvas.json.duplicate_keys.marked_row import MarkedRow
from grammarlm.masks.canvas.json.duplicate_keys.repeats import Repeats
from grammarlm.masks.canvas.json.tables.explored import States
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.passes import StackPasses

if TYPE_CHECKING:
    from .rows import JsonRows

MOST_MARKED = 20_000  # states whose objects marks are followed through: marks make more of them than there may be


class JsonRow:
    """What is known of one row as a whole."""

    def __init__(
        self, grid: JsonRows, tokens: list[int], states: States, like: JsonRow | None = None, before: JsonRow | None = None
    ):  # fmt: skip
        """`like`: a row that differs in one token; else the last row of these states is taken for such. `before`: the canvas' row
        before."""
        self.grid, self.tokens, self.states = grid, tokens, states
        self.lattice = grid.grid(states)
        self.classes: TokenClasses = self.lattice.classes
        self._like = like
        self.extends_before = before is not None and self._refines(before)
        self._before = before if self.extends_before else None
        repeats = self.repeats
        if self._before is not None and repeats is not None and repeats.low is None:
            self.__dict__["repeats"] = repeats = self._new_repeats(None)  # what was kept may be why
        if (self.low if repeats is None else repeats.low) is not None:
            self.is_completable = True
        else:
            self.is_completable = self.inner.is_completable if repeats is None else repeats.places.most.is_completable
        self._before = None

    def _refines(self, before: JsonRow) -> bool:
        """Does the row extend that of `before`, and was that completable?"""
        if not before.is_completable or before.states != self.states or before.lattice is not self.lattice:
            return False
        old = before._given_tokens
        return bool(((old == MASKED) | (old == self._given_tokens)).all())

    @cached_property
    def low(self) -> PlainRow | None:
        """The row without completions that have many brackets open at once; None where there is no other, or none is looked for."""
        grid, table = self.grid, self.lattice.table
        if not grid.has_free_keys or table.has_circles:
            return None
        found = PlainRow(self.lattice, self._row, grid.latest_low.get(self.states), grid.height)
        if not found.is_completable:
            return None
        grid.latest_low[self.states] = found
        return found

    @cached_property
    def inner(self) -> StackPasses:
        """The row without marks."""
        grid, like = self.grid, self._like
        found = self.lattice.passes(self._row, grid.latest.get(self.states) if like is None else like.inner)
        if like is None:
            grid.latest[self.states] = found
        return found

    @cached_property
    def _row(self) -> np.ndarray:
        given = self._given_tokens
        return np.where(given == MASKED, MASKED, self.classes.of[given]).astype(np.int32)

    @cached_property
    def _given_tokens(self) -> np.ndarray:
        return np.array(self.tokens, np.int64)

    # ------------------------------------------------------------------ equal keys

    @cached_property
    def repeats(self) -> Repeats | None:
        """The keys that may come twice; None where there are none."""
        may_repeat = self.grid.has_free_keys and not self._has_no_marks
        if not may_repeat:
            return None
        found = self._new_repeats(None if self._before is None else self._before.repeats)
        if not found.places.twins or self.grid.marked_if_few(self.states, 1) is None:
            return None  # where marks make too many states, _has_no_marks says so from now on
        return found

    def _new_repeats(self, like: Repeats | None) -> Repeats:
        known = None if like is None else like.places
        return Repeats(MarkedPlaces(self.grid, self.tokens, self.states, self.classes, known), like)

    @property
    def _has_no_marks(self) -> bool:
        """Are keys that may come twice told apart by completions alone?

        So it is where micro points go round in a circle, as those of some rules beside a schema: then there are no sets of
        stacks to follow marks by. And where there are many states, which marks would make too many.
        """
        table = self.lattice.table
        is_large = table.controls > MOST_MARKED or self.grid.has_no_marks(self.states)
        return self.grid.has_free_keys and (table.has_circles or is_large)

    def has_apart_keys(self) -> bool | None:
        """Has the row a completion in which no key comes twice? None: that is not decided."""
        if self._has_no_marks:
            return None
        return self.repeats is None or self.repeats.is_completable

    def is_read(self, row: Sequence[int]) -> bool:
        """Does the machine read a row?"""
        text, stops = self.grid.text(row), self.grid.stops
        return all(token in stops for token in row[len(text) :]) and self.grid.reads(text, len(text) < len(row))

    def of_states(self, states: States) -> JsonRow:
        """The row over other states."""
        return JsonRow(self.grid, self.tokens, states)

    def with_token(self, position: int, token: int) -> JsonRow:
        """The row with another token, or none, at a position."""
        return JsonRow(self.grid, [*self.tokens[:position], token, *self.tokens[position + 1 :]], self.states, self)

    def have_class(self, position: int, ids: np.ndarray) -> np.ndarray:
        """bool: of which of some ids is it known soon, by few open brackets, that the class may stand at a masked position?"""
        row = self._bound if self.is_completable else None
        return np.zeros(len(ids), bool) if row is None else row.classes_at(position)[row.classes.of[ids]]

    def lead_between(self, first: int, before: list[int], ids: np.ndarray, after: list[int]) -> np.ndarray:
        """bool: of which of some ids is it known at once that the row can be completed with one of them between these tokens, which
        stand from a position on?"""
        row, found = self._bound, np.zeros(len(ids), bool)
        if row is not None:
            of = row.classes.of[ids]
            for token_class in np.unique(of).tolist():
                token = int(ids[of == token_class][0])
                found[of == token_class] = row.leads_on(first, [*before, token, *after])
        return found

    @property
    def _bound(self) -> PlainRow | MarkedRow | None:
        """What it allows is allowed."""
        return self.low if self.repeats is None else self.repeats.bound
