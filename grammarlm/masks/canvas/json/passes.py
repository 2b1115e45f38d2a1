"""What may stand at the positions of one row: what its states allow, without single tokens that no completion has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.masks.canvas.json.duplicate_keys.marked_row import NO_TOKENS
from grammarlm.masks.canvas.json.duplicate_keys.shown import not_shown
from grammarlm.masks.canvas.json.duplicate_keys.witness import amended
from grammarlm.masks.canvas.protocol import MASKED, Draw

from .known_row import JsonRow
from .singles import Singles


class JsonPasses:
    """What is known of one row."""

    def __init__(self, row: JsonRow, before: JsonPasses | None = None):
        """`before`: over the canvas' row before."""
        self.row, self.classes = row, row.classes
        self._singles = Singles(row, JsonPasses)
        self._classes: dict[int, np.ndarray] = {}
        self._refused: dict[int, np.ndarray] = {}
        self._given: dict[int, JsonPasses] = {}
        # Of positions of rows with less tokens: no other classes may stand there, and none of these tokens.
        self._most: dict[int, np.ndarray] = {}
        self._least: dict[int, np.ndarray] = {}
        if before is not None and row.extends(before.row):
            self._most = before._most | before._classes
            self._least = before._least | before._refused

    @property
    def is_completable(self) -> bool:
        return self.row.is_completable

    def classes_at(self, position: int) -> np.ndarray:
        if not self.is_completable:
            return np.zeros(self.classes.count, bool)
        if position not in self._classes:
            self._classes[position] = self.row.classes_at(position, self._most.get(position))
        return self._classes[position]

    def refused(self, position: int) -> np.ndarray:
        """Those of equal keys, and of too long strings (singles.py)."""
        if not self.is_completable:
            return NO_TOKENS
        if position not in self._refused:
            is_masked = self.row.tokens[position] == MASKED
            self._refused[position] = self._found(position) if is_masked else self._without(position).refused(position)
        return self._refused[position]

    def _found(self, position: int) -> np.ndarray:
        row, classes = self.row, self.classes_at(position)
        found = united(self._least.get(position, NO_TOKENS), self._singles.too_long(position, classes))
        if row.grid.has_free_keys:
            for marked in row.key_places.telling:
                found = united(found, marked.refused(position, classes, self.classes))
            asked = not_shown if row.grid.is_small(row.tokens) else self._singles.again
            found = united(found, asked(row, position, classes, found))
        return found

    def _without(self, position: int) -> JsonPasses:
        """Passes over the row without a given token."""
        if position not in self._given:
            self._given[position] = JsonPasses(self.row.with_token(position, MASKED))
        return self._given[position]

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


def united(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The ids of both: mostly one of them has none, and is not worth a sort."""
    if len(one) and len(other):
        return np.union1d(one, other)
    return one if len(one) else other
