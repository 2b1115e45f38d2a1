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
from grammarlm.masks.canvas.json.duplicate_keys.meeting import KeyPlaces
from grammarlm.masks.canvas.json.duplicate_keys.plain_row import PlainRow
from grammarlm.masks.canvas.json.states.explored import States
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.passes import StackPasses

if TYPE_CHECKING:
    from .rows import JsonRows


class JsonRow:
    """What is known of one row as a whole."""

    def __init__(self, grid: JsonRows, tokens: list[int], states: States, like: JsonRow | None = None):
        """`like`: a row that differs in one token; else the last row of these states is taken for such."""
        self.grid, self.tokens, self.states = grid, tokens, states
        self.lattice = grid.grid(states)
        self.classes: TokenClasses = self.lattice.classes
        self.given = np.array(tokens, np.int64)
        self._like = like
        self.is_completable = self.low is not None or self.inner.is_completable

    def extends(self, before: JsonRow) -> bool:
        """Has the row all tokens of one that can be completed, and maybe more?"""
        if not before.is_completable or before.states != self.states or before.lattice is not self.lattice:
            return False
        return bool(((before.given == MASKED) | (before.given == self.given)).all())

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
        """The row as states have it."""
        grid, like = self.grid, self._like
        found = self.lattice.passes(self._row, grid.latest.get(self.states) if like is None else like.inner)
        if like is None:
            grid.latest[self.states] = found
        return found

    @cached_property
    def _row(self) -> np.ndarray:
        return np.where(self.given == MASKED, MASKED, self.classes.of[self.given]).astype(np.int32)

    @cached_property
    def key_places(self) -> KeyPlaces:
        return KeyPlaces(self.grid, self.tokens, self.states)

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

    def classes_at(self, position: int, most: np.ndarray | None = None) -> np.ndarray:
        """bool [K]: what states allow there; `most`: no others can be."""
        if most is None or self.low is None or self.tokens[position] != MASKED:
            return self.inner.classes_at(position)
        is_open = (most & ~self.low.classes_at(position)).any()
        return most & self.inner.classes_at(position) if is_open else most

    def have_class(self, position: int, ids: np.ndarray) -> np.ndarray:
        """bool: of which of some ids is it known soon, by few open brackets, that the class may stand at a masked position?"""
        row = self.low if self.is_completable else None
        return np.zeros(len(ids), bool) if row is None else row.classes_at(position)[row.classes.of[ids]]

    def lead_between(self, first: int, before: list[int], ids: np.ndarray, after: list[int]) -> np.ndarray:
        """bool: of which of some ids is it known at once that the row can be completed with one of them between these tokens, which
        stand from a position on?"""
        row, found = self.low, np.zeros(len(ids), bool)
        if row is not None:
            of = row.classes.of[ids]
            for token_class in np.unique(of).tolist():
                token = int(ids[of == token_class][0])
                found[of == token_class] = row.leads_on(first, [*before, token, *after])
        return found
