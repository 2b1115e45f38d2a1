"""The canvas of a row, or of a part of it whose left context is final.

All rows and positions are those of the whole row, whichever part the canvas is of. A part is exact: what stands before it is read
by a matcher, and the masked positions after it are the canvas's `room`. So it says what the canvas of the whole row says there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.masks.canvas.protocol import Draw

from .look import Allowed


class Canvas(Protocol):
    """What a board asks a canvas for: `grammarlm.masks.canvas`, free.py and shrinking.py have such."""

    def allowed(self, tokens: Any) -> Allowed: ...

    def commit(self, tokens: Any, positions: Any, ids: Any, *, partial: bool = False) -> Any: ...

    def fill(self, tokens: Any, logits: Any) -> Any: ...

    def drawn(self, tokens: Any, logits: Any, draw: Draw) -> Any: ...

    def is_completable(self, tokens: Any) -> bool: ...


class Board:
    """Positions `first` to `end` of a row."""

    def __init__(self, canvas: Canvas, first: int, end: int):
        self.canvas, self.first, self.end = canvas, first, end

    def allowed(self, row: np.ndarray) -> Allowed:
        return Moved(self.canvas.allowed(self._part(row)), self.first)

    def commit(
        self, row: np.ndarray, positions: Sequence[int], ids: Sequence[int], *, partial: bool = False
    ) -> np.ndarray:
        """A new row with these ids; with `partial`, each in turn where the row can still be completed."""
        moved = [position - self.first for position in positions]
        return self._whole(row, self.canvas.commit(self._part(row), moved, list(ids), partial=partial))

    def fill(self, row: np.ndarray, logits: np.ndarray) -> np.ndarray:
        """The best completion; logits [length of the row, V]."""
        return self._whole(row, self.canvas.fill(self._part(row), logits[self.first : self.end]))

    def drawn(self, row: np.ndarray, logits: np.ndarray, draw: Draw) -> np.ndarray:
        """A completion by softmax of the sum of the logits."""
        return self._whole(row, self.canvas.drawn(self._part(row), logits[self.first : self.end], draw))

    def _part(self, row: np.ndarray) -> list[int]:
        part: list[int] = row[self.first : self.end].tolist()
        return part

    def _whole(self, row: np.ndarray, part: Any) -> np.ndarray:
        whole = row.copy()
        whole[self.first : self.end] = np.asarray(part, np.int64)
        return whole


class Moved:
    """Allowed ids by positions of the whole row."""

    def __init__(self, allowed: Allowed, first: int):
        self._allowed, self._first = allowed, first

    def row(self, position: int) -> np.ndarray:
        return self._allowed.row(position - self._first)

    def test(self, position: int, ids: Any) -> np.ndarray:
        return self._allowed.test(position - self._first, ids)


class Boards:
    """Of one constraint and rows of one length: the whole row's board, and those of parts behind a matcher."""

    def __init__(self, whole: Canvas, length: int, constraint: Any = None, stop_ids: Sequence[int] = ()):
        self.whole = Board(whole, 0, length)
        self.length, self._constraint, self._stops = length, constraint, frozenset(stop_ids)
        self.matcher = None if constraint is None else constraint.matcher()
        self.read = 0  # how many ids the matcher has read: those of the row up to its first masked position or stop id
        self._part: Board | None = None

    def part(self, row: np.ndarray, end: int) -> Board:
        """The board from the first masked position to `end`, or to the last known id if that comes later."""
        if self.matcher is None:
            return self.whole
        known = np.flatnonzero(row >= 0)
        end = min(self.length, max(end, int(known[-1]) + 1 if len(known) else 0))
        moved = self._advance(row)
        if moved or self._part is None or self._part.end != end:
            try:
                canvas = self._constraint.canvas(end - self.read, after=self.matcher.fork(), room=self.length - end)
            except UnsupportedFeature:  # a canvas without `after=`: the whole row's says the same
                self.matcher = None
                return self.whole
            self._part = Board(canvas, self.read, end)
        return self._part

    def _advance(self, row: np.ndarray) -> bool:
        """Moves the matcher over committed ids; it never sees one behind a masked position."""
        before = self.read
        assert self.matcher is not None
        while self.read < self.length and row[self.read] >= 0 and int(row[self.read]) not in self._stops:
            if not self.matcher.advance(int(row[self.read])):
                raise AssertionError(f"the matcher refuses the committed id {row[self.read]} at position {self.read}")
            self.read += 1
        return self.read != before
