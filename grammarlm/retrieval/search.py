"""Where searches over an item set begin, and the items that they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grammarlm.layout.items import FINISHED, Beams, Sets

from .bits import first_selected
from .item_set import ItemSet, Subset
from .segment import ItemSegment


@dataclass(frozen=True, eq=False)
class Searched:
    """An item set as it was when searches over it began, and what each of them may return."""

    segments: tuple[ItemSegment, ...]
    sets: Sets

    @classmethod
    def of(cls, items: ItemSet, subsets: Sequence[Subset | None]) -> Searched:
        segments = items.segments
        known: dict[int, tuple] = {}
        for subset in subsets:  # a subset that several searches share is computed once
            if id(subset) not in known:
                known[id(subset)] = items.selections(subset, segments)
        indices = tuple(segment.index for segment in segments)
        return cls(segments, Sets(indices, tuple(known[id(subset)] for subset in subsets)))

    def roots(self, ends_are_free: bool) -> Beams:
        """The first beams of each search, which read row `search` of the first logits. An item without tokens is
        finished at once."""
        searches, count = len(self.sets.selections), len(self.segments)
        beams = Beams.empty(searches, 2, count)
        for search, selections in enumerate(self.sets.selections):
            ends, going_on = np.zeros((2, count, 2), np.int64)
            for s, (segment, selection) in enumerate(zip(self.segments, selections, strict=True)):
                rows = len(segment)
                first_open = segment.index.after_ends(segment.index.root) if ends_are_free else 0
                ends[s] = first_selected(selection, 0, first_open), first_open
                going_on[s] = first_selected(selection, first_open, rows), rows
            for ranges, row in ((ends, FINISHED), (going_on, search)):
                if (ranges[:, 0] < ranges[:, 1]).any():
                    slot = beams.counts[search]
                    beams.rows[search, slot], beams.ranges[search, slot] = row, ranges
                    beams.counts[search] += 1
        return beams

    def tokens(self, ranges: np.ndarray, depths: np.ndarray) -> list[tuple[int, ...]]:
        """The tokens of each of some entries: ranges [n, S, 2]."""
        found: list[tuple[int, ...]] = [()] * len(ranges)
        waiting = np.ones(len(ranges), bool)
        for s, segment in enumerate(self.segments):
            here = np.flatnonzero(waiting & (ranges[:, s, 0] < ranges[:, s, 1]))
            waiting[here] = False
            rows = segment.index.matrix(ranges[here, s, 0]).tolist()
            for entry, row in zip(here.tolist(), rows, strict=True):
                found[entry] = tuple(row[: depths[entry]])
        return found

    def numbers(self, ranges: np.ndarray) -> np.ndarray:
        """The lowest row number of each of some finished entries: ranges [n, S, 2]."""
        first = np.full(len(ranges), np.iinfo(np.int64).max)
        for s, segment in enumerate(self.segments):
            here = np.flatnonzero(ranges[:, s, 0] < ranges[:, s, 1])
            positions = ranges[here, s, 0]
            order = segment.index.order
            numbers = segment.index.first + positions if order is None else order[positions]
            first[here] = np.minimum(first[here], numbers)
        return first
