"""Arrays of a beam search over sorted items, as kernels see them: layout and dtypes.

`N` rows and `L` columns of a segment, `S` segments, `B` searches in one batch, `M` entries of each: prefixes of open items, and
finished items. `R` rows of logits, one per open entry, `V` wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

END = 0  # the cell after the last token of a shorter item
LOW_BITS = 16  # of a cell, in the matrix `low`
FINISHED = -1  # in place of a row of logits: the item is finished
NO_TOKEN = -1  # the last step added no token: the item ended now or earlier


@dataclass(frozen=True, eq=False)
class Segment:
    """Sorted rows, stored by column. A cell is the token plus `shift`; END follows the last token of a shorter row."""

    low: np.ndarray  # uint16 [L, N]: the lower bits of each cell
    high: np.ndarray  # uint8 [L, ceil(N * high_bits / 8)]: the upper bits of each cell
    high_bits: int  # 0, 2, 4 or 8
    shift: int  # 1 where END is needed
    largest: int  # upper bound of all cells
    starts: np.ndarray  # int32 [largest + 2]: first row whose first cell is not less than the index

    @cached_property
    def description(self) -> np.ndarray:
        """Addresses and sizes, int64, for compiled kernels. The arrays must outlive it."""
        length, rows = self.low.shape
        sizes = [rows, length, self.high_bits, self.high.shape[1], self.shift, self.largest]
        return np.array([*(a.ctypes.data for a in (self.low, self.high, self.starts)), *sizes], np.int64)


@dataclass(frozen=True, eq=False)
class Selection:
    """A subset of a segment's rows as a bit set, lowest bit first; all rows if there are no words."""

    words: np.ndarray  # uint64 [ceil(N / 64)]
    summary: np.ndarray  # uint64 [ceil(words / 64)]: bit i = word i is not zero

    @cached_property
    def description(self) -> np.ndarray:
        addresses = [a.ctypes.data if len(a) else 0 for a in (self.words, self.summary)]
        return np.array([*addresses, len(self.words)], np.int64)


ALL_ROWS = Selection(np.zeros(0, np.uint64), np.zeros(0, np.uint64))


@dataclass(frozen=True, eq=False)
class Sets:
    """The segments of a set, and for each search the rows that it may return."""

    segments: tuple[Segment, ...]
    selections: tuple[tuple[Selection, ...], ...]  # [B][S]

    @cached_property
    def descriptions(self) -> tuple[np.ndarray, np.ndarray]:
        segments = np.array([s.description for s in self.segments], np.int64).reshape(len(self.segments), -1)
        chosen = np.array([[s.description for s in search] for search in self.selections], np.int64)
        return segments, chosen.reshape(len(self.selections), len(self.segments), -1)

    @cached_property
    def addresses(self) -> tuple[int, int, int, int]:
        """Address and number of the segment descriptions, then address of the selection descriptions and number of searches."""
        segments, selections = self.descriptions
        return segments.ctypes.data, len(segments), selections.ctypes.data, len(selections)


@dataclass(frozen=True, eq=False)
class Beams:
    """The entries of all searches; those of a search are sorted, best first."""

    counts: np.ndarray  # int32 [B]
    scores: np.ndarray  # float64 [B, M]: sum of the log-probabilities of its tokens
    rows: np.ndarray  # int32 [B, M]: its row in the next logits; FINISHED
    depths: np.ndarray  # int32 [B, M]: its number of tokens
    ranges: np.ndarray  # int64 [B, M, S, 2]: range of rows with this prefix; its first row is selected, or it is empty
    parents: np.ndarray  # int32 [B, M]: its parent entry in the previous level
    tokens: np.ndarray  # int32 [B, M]: the token appended to it; NO_TOKEN
    addresses: np.ndarray  # int64 [8]: addresses of these seven, and M

    @classmethod
    def empty(cls, searches: int, width: int, segments: int) -> Beams:
        """All arrays in one allocation: their addresses follow from one, without asking each array."""
        entries, half = searches * width, (searches * width + 1) // 2  # words taken by one int32 per entry
        integers = entries + 2 * entries * segments  # first word of the int32 arrays
        memory = np.zeros(integers + 4 * half + (searches + 1) // 2, np.int64)
        places = [integers + half * i for i in range(5)]  # rows, depths, parents, tokens, counts
        words, start = memory.view(np.int32), memory.ctypes.data
        rows, depths, parents, tokens = (words[2 * at : 2 * at + entries].reshape(searches, width) for at in places[:4])
        begins = (places[4], 0, places[0], places[1], entries, places[2], places[3])
        return cls(
            words[2 * places[4] : 2 * places[4] + searches],
            memory[:entries].view(np.float64).reshape(searches, width),
            rows,
            depths,
            memory[entries:integers].reshape(searches, width, segments, 2),
            parents,
            tokens,
            np.array([*(start + 8 * at for at in begins), width], np.int64),
        )

    @cached_property
    def address(self) -> int:
        """Address of `addresses`."""
        return self.addresses.ctypes.data

    def room(self, words: int) -> int:
        """Address of a cached buffer for the kernel that writes here."""
        if words not in self._rooms:
            memory = np.empty(words, np.int64)
            self._rooms[words] = memory, memory.ctypes.data
        return self._rooms[words][1]

    @cached_property
    def _rooms(self) -> dict[int, tuple[np.ndarray, int]]:
        return {}


def words_of_room(width: int, segments: int) -> int:
    """Scratch memory of the candidates of a step (`room_for` in kernels/cpu/items/best.py): slots of 9 words and their ranges."""
    return (2 * width + 2) * (9 + 2 * segments)


class Level(NamedTuple):
    """One step of all searches: from prefixes of `depth` tokens to prefixes of one more."""

    depth: int
    width: int  # entries kept per search (beam width)
    stop: int  # the token that ends an item; -1: items end without one
    logits: np.ndarray  # float32 [R, V]; NaN and -inf: never chosen
    norms: np.ndarray  # float64 [R]: subtracted from a row's logits to give log-probabilities; [0]: nothing
    # float32 [B, V], none negative: subtracted from a child's score while entries are chosen, but not stored; [0, 0]: none
    penalties: np.ndarray
