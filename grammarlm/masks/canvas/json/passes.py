"""What may stand at the positions of one row: by bounds, without single tokens that no completion has."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from grammarlm.masks.canvas.json.duplicate_keys.answers import NO_TOKENS, Answer, plain_answer
from grammarlm.masks.canvas.json.duplicate_keys.bounds import Bounds
from grammarlm.masks.canvas.json.duplicate_keys.shown import only_shown
from grammarlm.masks.canvas.json.duplicate_keys.witness import amended
from grammarlm.masks.canvas.protocol import MASKED, Draw

from .known_row import JsonRow
from .singles import Singles

NO_KEYS = frozenset[bytes]()


class JsonPasses:
    """What is known of one row."""

    def __init__(self, row: JsonRow, before: JsonPasses | None = None):
        """`before`: over the canvas' row before."""
        self.row, self.classes = row, row.classes
        self._answers: dict[int, Answer] = {}
        self._singles = Singles(row, JsonPasses)
        self._older: dict[int, tuple[Answer, frozenset[bytes]]] = {}
        self.previous: JsonPasses | None = None  # of the canvas' row before
        self._given: dict[int, JsonPasses] = {}
        self._refused: dict[int, np.ndarray] = {}
        if before is not None and row.extends_before:
            self._take(before)

    def _take(self, before: JsonPasses) -> None:
        """What is known of positions in the row before."""
        repeats, added = self.row.repeats, frozenset[bytes]()
        if repeats is not None:
            added = repeats.places.keys if repeats.places.added is None else repeats.places.added
        older = {position: (answer, keys | added) for position, (answer, keys) in before._older.items()}
        older |= {position: (answer, added) for position, answer in before._answers.items()}
        for position, (answer, keys) in older.items():
            self._older[position] = self._singles.still_known(position, answer), keys

    @property
    def is_completable(self) -> bool:
        return self.row.is_completable

    @cached_property
    def _bounds(self) -> Bounds:
        assert self.row.repeats is not None
        return Bounds(self.row.repeats)

    def refused(self, position: int) -> np.ndarray:
        """See singles.py."""
        if not self.is_completable:
            return NO_TOKENS
        if self.row.tokens[position] != MASKED:
            return self._without(position).refused(position)
        if position not in self._refused:
            known = self._answer(position)
            again = self._singles.again(position, known) if self.row.grid.has_free_keys else NO_TOKENS
            self._refused[position] = np.union1d(known.refused, again) if len(again) else known.refused
        return self._refused[position]

    def _answer(self, position: int) -> Answer:
        """What may stand at a masked position of a row that can be completed."""
        known, grid = self._answers.get(position), self.row.grid
        if known is None:
            known = self._found(position)
            if grid.is_small(self.row.tokens):
                known = only_shown(self.row, position, known)
            self._answers[position] = known
        return known

    def _found(self, position: int) -> Answer:
        row, (older, added) = self.row, self._older.get(position, (None, NO_KEYS))
        if row.repeats is None:
            found = plain_answer(row.low, position, older, row.inner.classes_at)
        else:
            if older is not None and self._bounds.holds(older, added):
                return older
            found = self._bounds.answer(position, older)
        if found is older:
            return found
        return self._singles.less(position, found)

    def _without(self, position: int) -> JsonPasses:
        """Passes over the row without a given token."""
        if position not in self._given:
            row, known = self.row, self.previous
            tokens = [*row.tokens[:position], MASKED, *row.tokens[position + 1 :]]
            is_known = known is not None and known.row.tokens == tokens and known.row.states == row.states
            self._given[position] = known if known and is_known else JsonPasses(row.with_token(position, MASKED))
        return self._given[position]

    def classes_at(self, position: int) -> np.ndarray:
        if not self.is_completable:
            return np.zeros(self.classes.count, bool)
        row = self.row
        if row.tokens[position] == MASKED:
            return self._answer(position).classes
        known = self.previous
        if known is not None and self._without(position) is known:
            return known.classes_at(position)
        return row.inner.classes_at(position) if row.repeats is None else row.repeats.places.classes_at(position)

    def amended(self, row: Sequence[int]) -> JsonPasses:
        return JsonPasses(amended(self.row, row))

    def is_read(self, row: Sequence[int]) -> bool:
        return self.row.is_read(row)

    def reads(self, position: int, token_class: int) -> bool:
        return self.row.inner.reads(position, token_class)

    def best(self, scores: np.ndarray) -> np.ndarray:
        return self.row.inner.best(scores)

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        return self.row.inner.sample(scores, draw)
