"""A segment of an item set: sorted rows that never change, and which of them are still there.

A set begins as one segment. Added rows become segments of their own, and removed rows lose their bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grammarlm.grammars.items.tokens import CHUNK, Tokens
from grammarlm.layout.items import ALL_ROWS, Selection
from grammarlm.masks.machines.items.index import ItemIndex

from .bits import is_selected, selection_of, without


@dataclass(frozen=True, eq=False)
class ItemSegment:
    """Sorted rows of a set; `index` numbers them as the set does."""

    index: ItemIndex
    alive: Selection = ALL_ROWS
    groups: dict[Any, Selection] = field(default_factory=dict)  # by name and label, made on first use

    def __len__(self) -> int:
        return len(self.index)

    @property
    def nbytes(self) -> int:
        return self.index.nbytes + sum(s.words.nbytes + s.summary.nbytes for s in (self.alive, *self.groups.values()))

    @property
    def count_alive(self) -> int:
        return int(is_selected(self.alive, 0, len(self)).sum())

    def where(self, is_in: np.ndarray) -> Selection:
        """bool by row number -> bits by position."""
        order, first = self.index.order, self.index.first
        if order is None:
            return selection_of(is_in[first : first + len(self)])
        found = np.empty(len(self), bool)
        for start in range(0, len(self), CHUNK):
            found[start : start + CHUNK] = is_in[order[start : start + CHUNK]]
        return selection_of(found)

    def group(self, key: Any, find: Callable[[], np.ndarray]) -> Selection:
        """The rows of a named group, cached."""
        if key not in self.groups:
            self.groups[key] = self.where(find())
        return self.groups[key]

    def without(self, positions: np.ndarray) -> ItemSegment:
        """The same rows, some of them removed."""
        return replace(self, alive=without(self.alive, positions, len(self))) if len(positions) else self


def merged(first: ItemSegment, second: ItemSegment) -> ItemSegment:
    """One segment of the rows of two that are not removed."""
    rows, numbers = [], []
    for segment in (first, second):
        alive = np.flatnonzero(is_selected(segment.alive, 0, len(segment)))
        rows.append(segment.index.matrix(alive))
        numbers.append(segment.index.numbers()[alive])
    all_numbers = np.concatenate(numbers)
    by_number = np.argsort(all_numbers)
    all_numbers = all_numbers[by_number].astype(np.int32)
    widest = max(matrix.shape[1] for matrix in rows)
    filled = [np.pad(m, ((0, 0), (0, widest - m.shape[1])), constant_values=-1) for m in rows]
    index = ItemIndex.build(Tokens(np.concatenate(filled)[by_number]))
    return ItemSegment(replace(index, order=all_numbers if index.order is None else all_numbers[index.order]))
