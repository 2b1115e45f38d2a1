"""Canvases made of several: a row is allowed where one of them allows it.

`EitherCanvas` is that of a | b, where a or b has a view for canvases and both together have none (items or a regex).
What is said is exact. Of draws from whole rows it is the law of each position, not of the row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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


class SeveralCanvases(ABC):
    """What follows from `allowed` and `is_completable`."""

    size: int  # ids are below it

    @abstractmethod
    def is_completable(self, tokens: Any) -> bool: ...

    @abstractmethod
    def allowed(self, tokens: Any) -> Allowed: ...

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


class EitherCanvas(SeveralCanvases):
    """Rows of any of some canvases of one length."""

    def __init__(self, canvases: Sequence[Canvas], length: int, size: int):
        self.canvases, self.length, self.size = list(canvases), length, size

    def _fitting(self, tokens: Any) -> tuple[list[int], list[Canvas]]:
        row: list[int] = np.asarray(tokens, np.int64).tolist()
        return row, [one for one in self.canvases if one.is_completable(row)]

    def is_completable(self, tokens: Any) -> bool:
        row: list[int] = np.asarray(tokens, np.int64).tolist()
        return any(one.is_completable(row) for one in self.canvases)

    def allowed(self, tokens: Any) -> Allowed:
        row, fitting = self._fitting(tokens)
        return EitherRows([one.allowed(row) for one in fitting], self.size)

    def fill(self, tokens: Any, logits: Any) -> list[int]:
        """The best of the best fills."""
        row, fitting = self._fitting(tokens)
        if not fitting:
            raise ValueError("the row cannot be completed")
        masked, scores = np.flatnonzero(np.array(row) < 0), np.asarray(logits, np.float64)
        found = [one.fill(row, logits) for one in fitting]
        best: list[int] = max(found, key=lambda filled: scores[masked, np.asarray(filled)[masked]].sum())
        return best


class EitherRows:
    """What one of several allows."""

    def __init__(self, each: Sequence[Allowed], size: int):
        self.each, self.size = each, size

    def row(self, position: int) -> np.ndarray:
        words = np.zeros((self.size + 31) // 32, np.int32)
        for one in self.each:
            words |= one.row(position)
        return words

    def test(self, position: int, ids: Any) -> np.ndarray:
        found = np.zeros(len(ids), bool)
        for one in self.each:
            found |= one.test(position, ids)
        return found


def canvas_of(constraint: Constraint, length: int) -> Canvas:
    """The constraint's own, or that of its alternatives, which are compiled for it; UnsupportedFeature where there is neither."""
    try:
        found: Canvas = constraint.canvas(length)
        return found
    except UnsupportedFeature:
        if not isinstance(constraint.grammar, Choice) or constraint.is_canonical:
            raise
    alternatives = [alternative_of(constraint, part) for part in constraint.grammar.parts]
    return EitherCanvas(
        [canvas_of(one, length) for one in alternatives if one is not None], length, constraint.vocab.size
    )


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
