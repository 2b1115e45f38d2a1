"""The arrays of a search over sorted items, as kernels see them: what lies where, and of which type.

`N` rows and `L` columns of a segment, `S` segments, `B` searches side by side, `M` entries of each: prefixes of items that are
open, and items that are finished. `R` rows of logits, one for each open entry, `V` wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

END = 0  # the cell behind a shorter item's last token
LOW_BITS = 16  # of a cell, in the matrix `low`
FINISHED = -1  # in place of a row of logits: the item has ended
NO_TOKEN = -1  # the last step added none: an item ended, or had ended before


@dataclass(frozen=True, eq=False)
class Segment:
    """Sorted rows with their columns apart. A cell is the token plus `shift`; END stands behind a shorter row's last token."""

    low: np.ndarray  # uint16 [L, N]: the lower bits of each cell
    high: np.ndarray  # uint8 [L, ceil(N * high_bits / 8)]: the others
    high_bits: int  # 0, 2, 4 or 8
    shift: int  # 1 where END is needed
    largest: int  # no cell is more
    starts: np.ndarray  # int32 [largest + 2]: the first row whose first cell is not less

    @cached_property
    def description(self) -> np.ndarray:
        """Addresses and sizes, int64: what compiled kernels take. The arrays must live as long as it is used."""
        length, rows = self.low.shape
        sizes = [rows, length, self.high_bits, self.high.shape[1], self.shift, self.largest]
        return np.array([*(a.ctypes.data for a in (self.low, self.high, self.starts)), *sizes], np.int64)


@dataclass(frozen=True, eq=False)
class Selection:
    """Some rows of a segment, as bits, lowest first; all rows where there are no words."""

    words: np.ndarray  # uint64 [ceil(N / 64)]
    summary: np.ndarray  # uint64 [ceil(words / 64)]: bit i = word i is not zero

    @cached_property
    def description(self) -> np.ndarray:
        addresses = [a.ctypes.data if len(a) else 0 for a in (self.words, self.summary)]
        return np.array([*addresses, len(self.words)], np.int64)


ALL_ROWS = Selection(np.zeros(0, np.uint64), np.zeros(0, np.uint64))


@dataclass(frozen=True, eq=False)
class Sets:
    """The segments of a set, and of each search which of their rows it may return."""

    segments: tuple[Segment, ...]
    selections: tuple[tuple[Selection, ...], ...]  # [B][S]

    @cached_property
    def descriptions(self) -> tuple[np.ndarray, np.ndarray]:
        segments = np.array([s.description for s in self.segments], np.int64).reshape(len(self.segments), -1)
        chosen = np.array([[s.description for s in search] for search in self.selections], np.int64)
        return segments, chosen.reshape(len(self.selections), len(self.segments), -1)

    @cached_property
    def addresses(self) -> tuple[int, int, int, int]:
        """Where the descriptions of segments lie and how many, and of which searches those of selections."""
        segments, selections = self.descriptions
        return segments.ctypes.data, len(segments), selections.ctypes.data, len(selections)


@dataclass(frozen=True, eq=False)
class Beams:
    """The entries of all searches, each search's best first."""

    counts: np.ndarray  # int32 [B]
    scores: np.ndarray  # float64 [B, M]: the sum of the log-probabilities of its tokens
    rows: np.ndarray  # int32 [B, M]: its row of the next logits; FINISHED
    depths: np.ndarray  # int32 [B, M]: how many tokens it has
    ranges: np.ndarray  # int64 [B, M, S, 2]: the rows that begin with it; the first one is selected, or there is none
    parents: np.ndarray  # int32 [B, M]: the entry of the level before that it comes from
    tokens: np.ndarray  # int32 [B, M]: what it adds to it; NO_TOKEN
    addresses: np.ndarray  # int64 [8]: where these seven lie, and M

    @classmethod
    def empty(cls, searches: int, width: int, segments: int) -> Beams:
        """All arrays in one piece of memory: what lies where is known then, and need not be asked of each."""
        entries, half = searches * width, (searches * width + 1) // 2  # int32 of all entries take so many words
        integers = entries + 2 * entries * segments  # the word with which they begin
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
        """That of `addresses`."""
        return self.addresses.ctypes.data

    def room(self, words: int) -> int:
        """The address of memory for what writes here, kept for the next time."""
        if words not in self._rooms:
            memory = np.empty(words, np.int64)
            self._rooms[words] = memory, memory.ctypes.data
        return self._rooms[words][1]

    @cached_property
    def _rooms(self) -> dict[int, tuple[np.ndarray, int]]:
        return {}


class Level(NamedTuple):
    """One step of all searches: from prefixes of `depth` tokens to those of one more."""

    depth: int
    width: int  # how many entries each search keeps
    stop: int  # the token that ends an item; -1: items end without one
    logits: np.ndarray  # float32 [R, V]; NaN and -inf: never taken
    norms: np.ndarray  # float64 [R]: what is taken from a row's logits to make log-probabilities; [0]: nothing
    # float32 [B, V], none negative: taken from a child's score while entries are chosen, not kept; [0, 0]: none
    penalties: np.ndarray
