"""Item sets that change: a large sorted segment, small ones after it, and bits for removed rows.

    items = ItemSet(Tokens(matrix), groups={"category": labels, "fresh": flags})
    items.add([[7, 4, 1]], groups={"category": ["shoes"], "fresh": [True]})      # sorts the new rows only
    items.remove(rows=[3, 17])                                                    # clears bits
    beam_search(model, items, subset=items.subset(category="shoes", fresh=True))  # no rebuild

Rows are numbered in the order in which they came, and no number is reused. Added rows become a segment of their own;
segments of similar size are merged, so there are never more than a few, and the first one is never merged. A search
works on a snapshot of the set from when it began: `add` and `remove` replace segments, and never change one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from grammarlm.grammars.items.tokens import Tokens
from grammarlm.layout.items import Selection
from grammarlm.masks.machines.items.index import ItemIndex
from grammarlm.masks.runtime.shared_lock import MOMENT, shared_lock

from . import files
from .bits import intersection, is_selected, without
from .segment import ItemSegment, merged

SIMILAR = 4  # a segment is merged with the one before it where that is at most so many times as large


@dataclass(frozen=True, eq=False)
class Subset:
    """Some of a set's items, for one search."""

    rows: np.ndarray | None = None  # bool by row number, or row numbers
    groups: Mapping[str, Any] = field(default_factory=dict)  # a label, a list of labels, or a function of all labels
    exclude: tuple[tuple[int, ...], ...] = ()  # items that must not be returned

    def without(self, items: Iterable[Sequence[int]]) -> Subset:
        return replace(self, exclude=(*self.exclude, *(tuple(item) for item in items)))


class ItemSet:
    """A set of items that can be searched while it changes. `groups`: an array of labels for each name, one label a row."""

    def __init__(self, tokens: Any, *, groups: Mapping[str, Any] | None = None):
        tokens = tokens if isinstance(tokens, Tokens) else Tokens(tokens)
        self._lock = shared_lock(MOMENT)
        self.segments: tuple[ItemSegment, ...] = (ItemSegment(ItemIndex.build(tokens)),)
        self.count = len(tokens)  # rows so far, including removed ones
        self.ids: np.ndarray | None = tokens.ids
        self.labels = {name: _labels(name, values, len(tokens)) for name, values in (groups or {}).items()}

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(
            "an ItemSet is not pickled: save(folder) it, and ItemSet.load(folder) maps its arrays, in any number of processes"
        )

    @property
    def nbytes(self) -> int:
        return sum(segment.nbytes for segment in self.segments)

    @property
    def longest(self) -> int:
        """The number of tokens of the longest item."""
        return max(segment.index.length for segment in self.segments)

    def __repr__(self) -> str:
        return f"<ItemSet of {len(self):,} items, {self.nbytes:,} bytes>"

    def __len__(self) -> int:
        """The number of rows that are not removed."""
        return sum(segment.count_alive for segment in self.segments)

    def add(self, tokens: Any, *, groups: Mapping[str, Any] | None = None) -> range:
        """Adds rows; returns their numbers."""
        tokens = tokens if isinstance(tokens, Tokens) else Tokens(tokens)
        given = {name: _labels(name, values, len(tokens)) for name, values in (groups or {}).items()}
        if set(given) != set(self.labels):
            raise ValueError(
                f"the groups are {sorted(self.labels)}, and {sorted(given)} are given; label each new row in all of them"
            )
        if (tokens.ids is None) != (self.ids is None):
            raise ValueError(
                f"the rows of this set have {'no ids' if self.ids is None else 'ids'}; new ones must be alike"
            )
        with self._lock:
            rows = range(self.count, self.count + len(tokens))
            segments = (
                [*self.segments, ItemSegment(ItemIndex.build(tokens, self.count))] if len(tokens) else [*self.segments]
            )
            while len(segments) > 2 and len(segments[-2]) <= SIMILAR * len(segments[-1]):
                segments[-2:] = [merged(segments[-2], segments[-1])]
            self.labels = {name: np.concatenate([labels, given[name]]) for name, labels in self.labels.items()}
            self.ids = None if self.ids is None else np.concatenate([self.ids, tokens.ids])  # type: ignore[list-item]
            self.count, self.segments = rows.stop, tuple(segments)
        return rows

    def remove(self, *, rows: Iterable[int] | None = None, items: Iterable[Sequence[int]] | None = None) -> int:
        """Removes rows by their numbers, or all rows of some items; returns how many. ValueError where one is not there."""
        with self._lock:
            positions = (
                self._positions_of_rows(rows) if rows is not None else [np.zeros(0, np.int64) for _ in self.segments]
            )
            if items is not None:
                positions = [
                    np.concatenate(both) for both in zip(positions, self._positions_of_items(items), strict=True)
                ]
            positions = [np.unique(found) for found in positions]
            self.segments = tuple(
                segment.without(found) for segment, found in zip(self.segments, positions, strict=True)
            )
        return sum(map(len, positions))

    def subset(self, rows: Any = None, *, exclude: Iterable[Sequence[int]] = (), **groups: Any) -> Subset:
        """Some of the items: `rows` as flags or numbers, groups by their names, and without the items in `exclude`."""
        unknown = sorted(set(groups) - set(self.labels))
        if unknown:
            raise ValueError(f"there is no group {unknown[0]!r}; there are {sorted(self.labels) or 'none'}")
        return Subset(None if rows is None else _flags_or_numbers(rows), groups, tuple(tuple(item) for item in exclude))

    def selections(
        self, subset: Subset | None, segments: tuple[ItemSegment, ...] | None = None
    ) -> tuple[Selection, ...]:
        """Of each segment the rows that are there and in the subset."""
        segments = self.segments if segments is None else segments
        if subset is None:
            return tuple(segment.alive for segment in segments)
        rows = None if subset.rows is None else self._flags(subset.rows)
        chosen = []
        for segment in segments:
            wanted = [segment.alive] + [self._group(segment, name, label) for name, label in subset.groups.items()]
            wanted += [] if rows is None else [segment.where(rows)]
            selection = intersection(wanted)
            positions = [np.arange(*segment.index.rows_of(item)) for item in subset.exclude]
            found = np.concatenate(positions) if positions else np.zeros(0, np.int64)
            chosen.append(without(selection, found, len(segment)) if len(found) else selection)
        return tuple(chosen)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the set as arrays that `load` maps; the folder must not exist."""
        files.save(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> ItemSet:
        """Loads what `save` wrote; GrammarError where it is damaged."""
        items = cls.__new__(cls)
        items._lock = shared_lock(MOMENT)
        files.load(items, folder)
        return items

    def _group(self, segment: ItemSegment, name: str, label: Any) -> Selection:
        labels = self.labels[name]
        if callable(label):
            return segment.where(np.asarray(label(labels), bool))
        if isinstance(label, (list, tuple, set, frozenset, np.ndarray)):
            return segment.where(np.isin(labels, list(label)))
        return segment.group((name, label), lambda: labels == label)

    def _flags(self, rows: np.ndarray) -> np.ndarray:
        """bool by row number."""
        if rows.dtype == bool:
            if len(rows) != self.count:
                raise ValueError(f"the subset has {len(rows):,} flags for {self.count:,} rows; give one for each")
            return rows
        if len(rows) and (rows.min() < 0 or rows.max() >= self.count):
            raise ValueError(
                f"row {rows.min() if rows.min() < 0 else rows.max()} is not there; there are {self.count:,}"
            )
        flags = np.zeros(self.count, bool)
        flags[rows] = True
        return flags

    def _positions_of_rows(self, rows: Iterable[int]) -> list[np.ndarray]:
        flags = self._flags(_flags_or_numbers(rows))
        numbers = np.flatnonzero(flags)
        chosen = [intersection([segment.alive, segment.where(flags)]) for segment in self.segments]
        positions = [
            np.flatnonzero(is_selected(c, 0, len(segment))) for c, segment in zip(chosen, self.segments, strict=True)
        ]
        if sum(map(len, positions)) < len(numbers):
            there = np.concatenate(
                [segment.index.numbers()[found] for segment, found in zip(self.segments, positions, strict=True)]
            )
            raise ValueError(f"row {np.setdiff1d(numbers, there)[0]} was removed before")
        return positions

    def _positions_of_items(self, items: Iterable[Sequence[int]]) -> list[np.ndarray]:
        found: list[list[np.ndarray]] = [[np.zeros(0, np.int64)] for _ in self.segments]
        for item in items:
            is_there = False
            for segment, positions in zip(self.segments, found, strict=True):
                low, high = segment.index.rows_of(item)
                positions.append(low + np.flatnonzero(is_selected(segment.alive, low, high)))
                is_there = is_there or len(positions[-1]) > 0
            if not is_there:
                raise ValueError(f"the item {list(item)!r:.80} is not in the set")
        return [np.concatenate(positions) for positions in found]


def item_set(items: Any, encode: Callable[[str], Sequence[int]] | None = None) -> ItemSet:
    """The ItemSet of anything that can be searched; for a description it is built once and cached there."""
    if isinstance(items, ItemSet):
        return items
    tokens = items if isinstance(items, Tokens) else Tokens(items)
    if tokens.strings is not None and encode is not None:
        return ItemSet(tokens.spelled(encode))
    if tokens.built is None:
        tokens.built = ItemSet(tokens)
    return tokens.built  # type: ignore[return-value]


def _labels(name: str, values: Any, count: int) -> np.ndarray:
    labels = np.asarray(values)
    if labels.shape != (count,) or labels.dtype.kind == "O":
        raise ValueError(
            f"group {name!r} is an array of {labels.dtype} with shape {list(labels.shape)}; give one number, string or flag "
            f"for each of {count:,} rows"
        )
    return labels


def _flags_or_numbers(rows: Any) -> np.ndarray:
    found = np.asarray(rows if hasattr(rows, "__array__") else list(rows))
    if found.ndim != 1 or (len(found) and found.dtype.kind not in "biu"):
        raise TypeError(f"rows is an array of {found.dtype} with shape {list(found.shape)}; give flags or row numbers")
    return found if found.dtype == bool else found.astype(np.int64)
