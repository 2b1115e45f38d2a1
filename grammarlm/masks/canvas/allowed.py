"""What may stand where in a partly filled row, made as it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .classes import TokenClasses
from .protocol import Passes


class Allowed:
    """The ids that may stand at each position, all other tokens of the row as given. Nothing is allowed in a row that cannot
    be completed."""

    def __init__(self, passes: Passes, classes: TokenClasses, length: int, rows: dict[bytes, np.ndarray]):
        self._passes, self._classes, self._length = passes, classes, length
        self._rows = rows  # by classes, shared by all rows of a canvas
        self._known: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return self._length

    def classes(self, position: int) -> np.ndarray:
        """bool [K]: the classes that may stand there (read only)."""
        known = self._known.get(position)
        if known is None:
            if not -self._length <= position < self._length:
                raise IndexError(f"position {position} of a row of {self._length} tokens")
            known = self._known[position] = self._passes.classes_at(position % self._length)
        return known

    def test(self, position: int, ids: Sequence[int] | Any) -> np.ndarray:
        """bool: which of these ids may stand at a position."""
        asked = np.asarray(ids, np.int64)
        inside = (asked >= 0) & (asked < len(self._classes.of))
        found: np.ndarray = self.classes(position)[self._classes.of[np.where(inside, asked, 0)]] & inside
        return found

    def row(self, position: int) -> np.ndarray:
        """int32 [W], read only: the mask row of a position."""
        allowed = self.classes(position)
        key = np.packbits(allowed).tobytes()
        row = self._rows.get(key)
        if row is None:
            row = self._classes.row(allowed)
            row.setflags(write=False)
            if len(self._rows) >= MOST_ROWS:
                self._rows.clear()
            self._rows[key] = row
        return row


MOST_ROWS = 1024  # of 16 KB where there are 128,000 ids
