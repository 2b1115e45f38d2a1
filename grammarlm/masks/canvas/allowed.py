"""What may stand where in a partly filled row, made as it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from grammarlm.masks.mask_array import as_integer

from .classes import TokenClasses
from .protocol import Passes

if TYPE_CHECKING:
    from .protocol import TokenPasses

NO_IDS = np.zeros(0, np.int64)


class Allowed:
    """The ids that may stand at each position, all other tokens of the row as given. Nothing is allowed in a row that cannot
    be completed."""

    def __init__(
        self,
        passes: Passes,
        classes: TokenClasses,
        length: int,
        rows: dict[bytes, np.ndarray],
        tells_tokens: bool,
        begin: Callable[[], None],
    ):
        """`tells_tokens`: the passes are TokenPasses, which refuse some tokens of a class; `begin` before each answer: it may take
        as long as any call."""
        self._passes, self._classes, self._length = passes, classes, length
        self._rows = rows  # by classes, shared by all rows of a canvas
        self._tells_tokens, self._begin = tells_tokens, begin
        self._known: dict[int, np.ndarray] = {}
        self._sooner: Callable[[int, np.ndarray], np.ndarray | None] | None = getattr(passes, "test", None)

    def __len__(self) -> int:
        return self._length

    def classes(self, position: int) -> np.ndarray:
        """bool [K]: the classes that may stand there (read only)."""
        known = self._known.get(position)
        if known is None:
            position = as_integer(position, "a position of a row")
            if not -self._length <= position < self._length:
                raise IndexError(f"position {position} of a row of {self._length} tokens")
            self._begin()
            known = self._known[position] = self._passes.classes_at(position % self._length)
        return known

    def _refused(self, position: int) -> np.ndarray:
        """Ids that may not stand at a position though their class may."""
        if not self._tells_tokens:
            return NO_IDS
        self._begin()
        return cast("TokenPasses", self._passes).refused(position % self._length)

    def test(self, position: int, ids: Sequence[int] | Any) -> np.ndarray:
        """bool: which of these ids may stand at a position."""
        position, asked = as_integer(position, "a position of a row"), np.asarray(ids)
        if asked.dtype.kind != "i":
            asked = np.array([as_integer(one, "test(position, ids) takes token ids") for one in ids], np.int64)
        inside = (asked >= 0) & (asked < len(self._classes.of))
        found: np.ndarray = self._test(position, self._classes.of[np.where(inside, asked, 0)]) & inside
        refused = self._refused(position)
        return found & ~np.isin(asked, refused) if len(refused) else found

    def _test(self, position: int, classes: np.ndarray) -> np.ndarray:
        """Which of these classes may stand there: some passes know that sooner than of all."""
        if self._sooner is not None and position not in self._known and 0 <= position < self._length:
            self._begin()
            found = self._sooner(position, classes)
            if found is not None:
                return found
        known: np.ndarray = self.classes(position)[classes]
        return known

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
        refused = self._refused(position)
        if len(refused):
            row = row.copy()
            np.bitwise_and.at(row.view(np.uint32), refused >> 5, ~_bits_of(refused))
            row.setflags(write=False)
        return row


def _bits_of(ids: np.ndarray) -> np.ndarray:
    """uint32: the bit of each id in its word."""
    return np.uint32(1) << (ids & 31).astype(np.uint32)


MOST_ROWS = 1024  # of 16 KB where there are 128,000 ids
