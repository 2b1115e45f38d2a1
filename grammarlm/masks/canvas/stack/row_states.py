"""The states of a row of classes at all boundaries, made where they are asked for; where a row like it has the same, taken from it.

A step that asks what is known takes a tenth of a microsecond, but a row with marks is made for each key, and one after each step of
a model: all of it differs from the row before in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .sets import StackSets

FIRST_STEPS, MORE_STEPS = 4, 16  # until it is looked whether states are those of the other row again, and from then on


class StatesOfRow:
    """The lock of `sets` is held wherever it is used."""

    def __init__(
        self,
        sets: StackSets,
        row: np.ndarray,
        begin: int,
        end: int,
        check: Callable[[], None],
        other: StatesOfRow | None,
        height: int = 0,
    ):
        """`begin`, `end`: the states at the edges; `other`: of a row that may be equal in parts; `height`: stacks of more symbols
        are left out, unless it is 0."""
        self.sets, self.row, self.begin, self.end, self._check = sets, row, begin, end, check
        self.height = height
        self.generation, size = sets.generation, len(row)
        self._forward, self._reached = np.zeros(size + 1, np.int32), 0
        self._backward, self._inner, self._left = np.zeros(size + 1, np.int32), np.zeros(size, np.int32), size
        self._forward[0], self._backward[size] = begin, end
        is_like = other is not None and other.generation is sets.generation and other.height == height
        self._other = other if is_like else None
        if self._other is not None:
            self._same_before, self._same_behind = ends_alike(row, self._other.row)
            self._take(self._other)
            self._other._other = None  # or all rows before would be kept

    def _take(self, other: StatesOfRow) -> None:
        """What is left and right of all that differs."""
        if other.begin == self.begin:
            self._reached = min(self._same_before, other._reached)
            self._forward[: self._reached + 1] = other._forward[: self._reached + 1]
        else:
            self._same_before = -1
        shift = len(self.row) - len(other.row)
        if other.end == self.end:
            self._left = max(len(self.row) - self._same_behind, other._left + shift)
            self._backward[self._left :] = other._backward[self._left - shift :]
            self._inner[self._left :] = other._inner[self._left - shift :]
        else:
            self._same_behind = -1

    def forward(self, at: int) -> int:
        """The state at a boundary, from the left."""
        steps = FIRST_STEPS
        while self._reached < at:
            first, end = self._reached, min(at, self._reached + steps)
            self._forward[first : end + 1] = self.sets.forward(
                int(self._forward[first]), self.row[first:end], self._check, self.height
            )
            self._reached = end
            self._follow_right()
            steps = MORE_STEPS
        return int(self._forward[at])

    def _follow_right(self) -> None:
        """Behind all that differs, as soon as a state is that of the other row all that follow are."""
        other, here, size = self._other, self._reached, len(self.row)
        if other is None or here < size - self._same_behind:
            return
        shift = size - len(other.row)
        if here - shift < other._reached and other._forward[here - shift] == self._forward[here]:
            self._reached = other._reached + shift
            self._forward[here : self._reached + 1] = other._forward[here - shift : other._reached + 1]

    def backward(self, at: int) -> int:
        """The state at a boundary, from the right."""
        steps = FIRST_STEPS
        while self._left > at:
            first, end = max(at, self._left - steps), self._left
            found, inner = self.sets.backward(self.row[first:end], int(self._backward[end]), self._check, self.height)
            self._backward[first : end + 1], self._inner[first:end] = found, inner
            self._left = first
            self._follow_left()
            steps = MORE_STEPS
        return int(self._backward[at])

    def _follow_left(self) -> None:
        other, here = self._other, self._left
        if other is None or here > self._same_before:
            return
        if here > other._left and other._backward[here] == self._backward[here]:
            self._left = other._left
            self._backward[other._left : here] = other._backward[other._left : here]
            self._inner[other._left : here] = other._inner[other._left : here]

    def inner(self, at: int) -> int:
        """The state within a token."""
        self.backward(at)
        return int(self._inner[at])

    def leads(self) -> bool:
        """Does the row lead from the one edge to the other? Asked where least is to be made for it."""
        at = self._left if self._other is not None else 0
        return self.sets.meet(self.forward(at), self.backward(at))

    def some(self, starts: Iterable[tuple[int, tuple[int, ...]]], scores: np.ndarray) -> np.ndarray | None:
        """The classes of a completion from one of these places, at each masked position the best of those that lead on."""
        self.backward(0)
        scores = np.ascontiguousarray(scores, np.float64)
        ways = (self.sets.walk(start, self.row, self._inner, scores) for start in starts)
        return next((way for way in ways if way is not None), None)

    def every(self) -> tuple[np.ndarray, np.ndarray]:
        """int32 [L + 1]: the states at all boundaries, from the left; int32 [L]: those within all tokens (read only)."""
        self.forward(len(self.row))
        self.backward(0)
        return self._forward, self._inner


def ends_alike(row: np.ndarray, other: np.ndarray) -> tuple[int, int]:
    """How many of the first classes of two rows are equal, and how many of the last."""
    most = min(len(row), len(other))
    before = np.flatnonzero(row[:most] != other[:most])
    behind = np.flatnonzero(row[len(row) - most :][::-1] != other[len(other) - most :][::-1])
    return int(before[0]) if len(before) else most, int(behind[0]) if len(behind) else most
