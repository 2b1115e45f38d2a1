"""Holes that may become shorter, on canvases of exact lengths.

A row has room for the most tokens. At the end of a hole that may shrink, positions may be EMPTY, an id beyond the vocabulary: the
text goes on there as if they did not exist. For each number of tokens that the holes may have there is a canvas; what may stand at
a position is what one of the canvases allows there; a row keeps at least one token. EMPTY is as probable as the end of the text:
models are trained to pad with it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .boards import Canvas
from .draws import Draw
from .look import Allowed
from .together import Reader

MOST_SIZES = 256


class Sizes:
    """One way to shrink: the positions that are kept, and those that are empty."""

    def __init__(self, length: int, empty: Sequence[int], canvas: Canvas):
        self.empty = np.array(sorted(empty), np.int64)
        self.kept = np.setdiff1d(np.arange(length), self.empty)
        self.place = {int(position): index for index, position in enumerate(self.kept)}
        self.canvas = canvas

    def fits(self, row: np.ndarray, empty_id: int) -> bool:
        """Is this still possible with the ids that are known?"""
        return bool(
            np.isin(row[self.empty], (-1, empty_id)).all()
            and (row[self.kept] != empty_id).all()
            and self.canvas.is_completable(row[self.kept].tolist())
        )


class ShrinkingCanvas:
    """A canvas over the ids of the vocabulary and EMPTY, which is `size`."""

    def __init__(self, length: int, holes: Sequence[tuple[int, int]], size: int, canvas_of: Callable[[int], Canvas]):
        ways = math.prod(end - first + 1 for first, end in holes)
        if ways > MOST_SIZES:
            raise ValueError(
                f"the holes that may shrink can have {ways} combinations of sizes, of which at most {MOST_SIZES} are tried; "
                "make them smaller, or give some of them an exact size"
            )
        self.size, self.length = size, length
        canvases: dict[int, Canvas] = {}
        self.sizes = []
        for keeps in itertools.product(*(range(end - first, -1, -1) for first, end in holes)):
            empty = [p for (first, end), kept in zip(holes, keeps, strict=True) for p in range(first + kept, end)]
            left = length - len(empty)
            if left and left not in canvases:
                canvases[left] = canvas_of(left)
            if left:
                self.sizes.append(Sizes(length, empty, canvases[left]))

    def _fitting(self, tokens: Any) -> tuple[np.ndarray, list[Sizes]]:
        row = np.asarray(tokens, np.int64)
        return row, [one for one in self.sizes if one.fits(row, self.size)]

    def is_completable(self, tokens: Any) -> bool:
        row = np.asarray(tokens, np.int64)
        return any(one.fits(row, self.size) for one in self.sizes)

    def allowed(self, tokens: Any) -> Allowed:
        row, fitting = self._fitting(tokens)
        return ShrinkingRows(self.size, [(one, one.canvas.allowed(row[one.kept].tolist())) for one in fitting])

    def commit(self, tokens: Any, positions: Any, ids: Any, *, partial: bool = False) -> list[int]:
        """With `partial` the longest completable prefix, found by bisection, then each later one where the row allows it."""
        row, setting = np.array(tokens, np.int64), list(zip(positions, ids, strict=True))
        least, most = 0, len(setting)
        while least < most:
            tried = most if not least and most == len(setting) else (least + most + 1) // 2
            if self.is_completable(with_(row, setting[:tried])):
                least = tried
            else:
                most = tried - 1
        if least < len(setting) and not partial:
            position, token = setting[least]
            raise ValueError(f"id {token} cannot stand at position {position}")
        row = with_(row, setting[:least])
        for one in setting[least + 1 :]:
            after = with_(row, [one])
            row = after if self.is_completable(after) else row
        committed: list[int] = row.tolist()
        return committed

    def fill(self, tokens: Any, logits: Any) -> list[int]:
        """The best of the best fills of each size."""
        row, fitting = self._fitting(tokens)
        if not fitting:
            raise ValueError("the row cannot be completed")
        masked, scores = row < 0, np.asarray(logits, np.float64)
        found = []
        for one in fitting:
            filled = np.full(self.length, self.size)
            filled[one.kept] = one.canvas.fill(row[one.kept].tolist(), np.asarray(logits)[one.kept, : self.size])
            found.append((float(scores[masked, filled[masked]].sum()), filled))
        best: list[int] = max(found, key=lambda pair: pair[0])[1].tolist()
        return best

    def drawn(self, tokens: Any, logits: Any, draw: Draw) -> list[int]:
        """Position by position, each from its own law under the constraint: not the joint law."""
        row, numbers = np.array(tokens, np.int64), np.asarray(logits, np.float64)
        for position in np.flatnonzero(row < 0):
            possible = np.flatnonzero(self.allowed(row).test(int(position), np.arange(self.size + 1)))
            row[position] = possible[draw(numbers[position, possible])]
        drawn: list[int] = row.tolist()
        return drawn


def with_(row: np.ndarray, setting: Sequence[tuple[int, int]]) -> np.ndarray:
    """A copy of the row with these ids at these positions."""
    after = row.copy()
    for position, token in setting:
        after[position] = token
    return after


class ShrinkingRows:
    """What one of the sizes allows."""

    def __init__(self, size: int, found: list[tuple[Sizes, Allowed]]):
        self.size, self.found = size, found

    def row(self, position: int) -> np.ndarray:
        words = np.zeros(self.size // 32 + 1, np.int32)
        for one, allowed in self.found:
            if position in one.place:
                own = allowed.row(one.place[position])
                words[: len(own)] |= own
            else:
                words[self.size // 32] |= np.array(1 << self.size % 32, np.uint32).astype(np.int32)
        return words

    def test(self, position: int, ids: Any) -> np.ndarray:
        words, at = self.row(position).view(np.uint32), np.asarray(ids, np.int64)
        return (words[at >> 5] >> (at & 31).astype(np.uint32) & 1).astype(bool)


class ShrinkingReader:
    """A reader of rows with EMPTY: the model does not see those positions. EMPTY has the logit of the likeliest stop id."""

    def __init__(self, reader: Reader, size: int, stop_ids: Sequence[int]):
        self._reader, self.size, self._stops = reader, size, list(stop_ids)

    @property
    def calls(self) -> int:
        return self._reader.calls

    def read(self, rows: np.ndarray) -> np.ndarray:
        """Rows of different lengths are read in different calls."""
        found = np.full((*rows.shape, self.size + 1), -np.inf, np.float32)
        kept = rows != self.size
        for count in np.unique(kept.sum(1)):
            of = np.flatnonzero(kept.sum(1) == count)
            logits = self._reader.read(np.stack([rows[index][kept[index]] for index in of]))
            for index, own in zip(of, logits, strict=True):
                found[index, kept[index], : self.size] = own
                found[index, kept[index], self.size] = own[:, self._stops].max(1)
        return found
