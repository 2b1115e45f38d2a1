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

from grammarlm.errors import UnsupportedFeature

from .boards import Canvas
from .look import Allowed, Logits
from .several import SeveralCanvases
from .together import RowReader

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


class ShrinkingCanvas(SeveralCanvases):
    """A canvas over the ids of the vocabulary and EMPTY, which is the next one."""

    def __init__(self, length: int, holes: Sequence[tuple[int, int]], size: int, canvas_of: Callable[[int], Canvas]):
        ways = math.prod(end - first + 1 for first, end in holes)
        if ways > MOST_SIZES:
            raise UnsupportedFeature(
                f"the holes that may shrink can have {ways} combinations of sizes, of which at most {MOST_SIZES} are tried; "
                "make them smaller, or give some of them an exact size"
            )
        self.empty, self.size, self.length = size, size + 1, length
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
        return row, [one for one in self.sizes if one.fits(row, self.empty)]

    def is_completable(self, tokens: Any) -> bool:
        row = np.asarray(tokens, np.int64)
        return any(one.fits(row, self.empty) for one in self.sizes)

    def allowed(self, tokens: Any) -> Allowed:
        row, fitting = self._fitting(tokens)
        return ShrinkingRows(self.empty, [(one, one.canvas.allowed(row[one.kept].tolist())) for one in fitting])

    def fill(self, tokens: Any, logits: Any) -> list[int]:
        """The best of the best fills of each size."""
        row, fitting = self._fitting(tokens)
        if not fitting:
            raise ValueError("the row cannot be completed")
        masked, scores = row < 0, np.asarray(logits, np.float64)
        found = []
        for one in fitting:
            filled = np.full(self.length, self.empty)
            filled[one.kept] = one.canvas.fill(row[one.kept].tolist(), np.asarray(logits)[one.kept, : self.empty])
            found.append((float(scores[masked, filled[masked]].sum()), filled))
        best: list[int] = max(found, key=lambda pair: pair[0])[1].tolist()
        return best


class ShrinkingRows(Allowed):
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


class ShrinkingReader:
    """A reader of rows with EMPTY: the model does not see those positions. EMPTY has the logit of the likeliest stop id."""

    def __init__(self, reader: RowReader, size: int, stop_ids: Sequence[int]):
        self._reader, self.size, self._stops = reader, size, list(stop_ids)

    @property
    def calls(self) -> int:
        return self._reader.calls

    def read(self, rows: np.ndarray) -> Sequence[Logits]:
        """Rows of different lengths are read in different calls."""
        found = np.full((*rows.shape, self.size + 1), -np.inf, np.float32)
        kept = rows != self.size
        for count in np.unique(kept.sum(1)):
            of = np.flatnonzero(kept.sum(1) == count)
            logits = self._reader.read(np.stack([rows[index][kept[index]] for index in of]))
            for index, own in zip(of, map(np.asarray, logits), strict=True):
                found[index, kept[index], : self.size] = own
                found[index, kept[index], self.size] = own[:, self._stops].max(1)
        return list(found)
