"""Canvases made of several: a row is allowed where one of them allows it.

That of a | b, where a or b has a view for canvases and both together have none (items or a regex); and that of rows whose holes may
shrink (shrinking.py), which has a canvas for each number of tokens that they may have. What is said is exact. Of draws from whole
rows it is the law of each position, not of the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grammarlm.decoding.compiled_caches import constraint_of
from grammarlm.errors import UnsatisfiableGrammar, UnsupportedFeature
from grammarlm.grammars.compose import Choice
from grammarlm.masks.canvas.canvas import longest_prefix
from grammarlm.masks.canvas.protocol import Draw
from grammarlm.masks.constraint import Constraint

from .boards import Canvas
from .look import Allowed


class Way:
    """One of the canvases: it is of the positions that are kept; the others are empty."""

    def __init__(self, canvas: Canvas, length: int, empty: Sequence[int] = ()):
        self.canvas, self.empty = canvas, np.array(sorted(empty), np.int64)
        self.kept = np.setdiff1d(np.arange(length), self.empty)
        self.place = {int(position): index for index, position in enumerate(self.kept)}

    def fits(self, row: np.ndarray, empty_id: int) -> bool:
        """Is this still possible with the ids that are known?"""
        return bool(
            np.isin(row[self.empty], (-1, empty_id)).all()
            and (row[self.kept] != empty_id).all()
            and self.canvas.is_completable(row[self.kept].tolist())
        )


class SeveralCanvases:
    """Rows of `length` ids below `size`; `empty_id` stands where a way is empty."""

    def __init__(self, ways: Sequence[Way], length: int, size: int, empty_id: int):
        self.ways, self.length, self.size, self.empty_id = list(ways), length, size, empty_id

    def _fitting(self, tokens: Any) -> tuple[np.ndarray, list[Way]]:
        row = np.asarray(tokens, np.int64)
        return row, [way for way in self.ways if way.fits(row, self.empty_id)]

    def is_completable(self, tokens: Any) -> bool:
        row = np.asarray(tokens, np.int64)
        return any(way.fits(row, self.empty_id) for way in self.ways)

    def allowed(self, tokens: Any) -> Allowed:
        row, fitting = self._fitting(tokens)
        found = [(way, way.canvas.allowed(row[way.kept].tolist())) for way in fitting]
        return SeveralRows(found, self.size, self.empty_id)

    def fill(self, tokens: Any, logits: Any) -> list[int]:
        """The best of the best fills of each way."""
        row, fitting = self._fitting(tokens)
        if not fitting:
            raise ValueError("the row cannot be completed")
        masked, numbers, found = row < 0, np.asarray(logits), []
        for way in fitting:
            filled = np.full(self.length, self.empty_id)
            filled[way.kept] = way.canvas.fill(row[way.kept].tolist(), numbers[way.kept, : self.empty_id])
            found.append((float(numbers[masked, filled[masked]].sum(dtype=np.float64)), filled))
        best: list[int] = max(found, key=lambda pair: pair[0])[1].tolist()
        return best

    def commit(self, tokens: Any, positions: Any, ids: Any, *, partial: bool = False) -> list[int]:
        """With `partial` the longest completable prefix, found by bisection, then each later one where the row allows it."""
        row, setting = np.array(tokens, np.int64), list(zip(positions, ids, strict=True))
        least = longest_prefix(row, setting, lambda count: self.is_completable(with_(row, setting[:count])))
        if least < len(setting) and not partial:
            position, token = setting[least]
            raise ValueError(f"id {token} cannot stand at position {position}")
        row = with_(row, setting[:least])
        for one in setting[least + 1 :]:
            after = with_(row, [one])
            row = after if self.is_completable(after) else row
        committed: list[int] = row.tolist()
        return committed

    def drawn(self, tokens: Any, logits: Any, draw: Draw) -> list[int]:
        """Position by position, each from its own law under the constraint: not the joint law."""
        row, numbers = np.array(tokens, np.int64), np.asarray(logits, np.float64)
        for position in np.flatnonzero(row < 0):
            possible = np.flatnonzero(self.allowed(row).test(int(position), np.arange(self.size)))
            row[position] = possible[draw(numbers[position, possible])]
        drawn: list[int] = row.tolist()
        return drawn


class SeveralRows(Allowed):
    """What one of the ways allows."""

    def __init__(self, found: Sequence[tuple[Way, Allowed]], size: int, empty_id: int):
        self.found, self.size, self.empty_id = found, size, empty_id

    def row(self, position: int) -> np.ndarray:
        words = np.zeros((self.size + 31) // 32, np.int32)
        for way, allowed in self.found:
            if position in way.place:
                own = allowed.row(way.place[position])
                words[: len(own)] |= own
            else:
                words[self.empty_id // 32] |= np.array(1 << self.empty_id % 32, np.uint32).astype(np.int32)
        return words


def canvas_of(constraint: Constraint, length: int) -> Canvas:
    """The constraint's own, or that of its alternatives, which are compiled for it; UnsupportedFeature where there is neither."""
    try:
        found: Canvas = constraint.canvas(length)
        return found
    except UnsupportedFeature:
        if not isinstance(constraint.grammar, Choice) or constraint.is_canonical:
            raise
    alternatives = [alternative_of(constraint, part) for part in constraint.grammar.parts]
    ways = [Way(canvas_of(one, length), length) for one in alternatives if one is not None]
    return SeveralCanvases(ways, length, constraint.vocab.size, constraint.vocab.size)


def alternative_of(constraint: Constraint, part: Any) -> Constraint | None:
    """None where it has no text."""
    try:
        return constraint_of(part, constraint.vocab, constraint.report.limits)[0]
    except UnsatisfiableGrammar:
        return None


def with_(row: np.ndarray, setting: Sequence[tuple[int, int]]) -> np.ndarray:
    """A copy of the row with these ids at these positions."""
    after = row.copy()
    for position, token in setting:
        after[position] = token
    return after
