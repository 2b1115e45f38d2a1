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

import numpy as np

from grammarlm.errors import UnsupportedFeature

from .boards import Canvas
from .look import Logits
from .several import SeveralCanvases, Way
from .together import RowReader

MOST_SIZES = 256


def shrinking_canvas(
    length: int, holes: Sequence[tuple[int, int]], size: int, canvas_of: Callable[[int], Canvas]
) -> SeveralCanvases:
    """A canvas over the ids of the vocabulary and EMPTY, which is the next one."""
    count = math.prod(end - first + 1 for first, end in holes)
    if count > MOST_SIZES:
        raise UnsupportedFeature(
            f"the holes that may shrink can have {count} combinations of sizes, of which at most {MOST_SIZES} are tried; "
            "make them smaller, or give some of them an exact size"
        )
    canvases: dict[int, Canvas] = {}
    ways = []
    for keeps in itertools.product(*(range(end - first, -1, -1) for first, end in holes)):
        empty = [p for (first, end), kept in zip(holes, keeps, strict=True) for p in range(first + kept, end)]
        left = length - len(empty)
        if left and left not in canvases:
            canvases[left] = canvas_of(left)
        if left:
            ways.append(Way(canvases[left], length, empty))
    return SeveralCanvases(ways, length, size + 1, size)


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
