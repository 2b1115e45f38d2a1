"""The index of an item set: a sorted matrix, stored by columns, without a trie.

Rows of a sorted matrix that begin with the same tokens are adjacent, so a **node** of the trie of all items is a range
of rows and a depth. Its children are the runs of equal cells in the next column; where the range is one row the child
is that cell. A node takes no memory of the index.

    index = ItemIndex.build(Tokens([[7, 4], [7, 9, 1]]))
    node = index.child(index.root, 7)
    index.children(node)        # [4, 9]

A cell is 16 bits, and 2, 4 or 8 more in a second matrix where tokens are larger. Where items have different lengths a
cell is the token plus one, and 0 (END) after the last; so a prefix sorts before its continuations. The order of the
input's rows is stored only if the input was not sorted. Equal items all keep their rows, the first one foremost.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.items.tokens import CHUNK, Tokens
from grammarlm.layout.items import END, LOW_BITS, Segment

from .sort import sorted_order

HIGH = (0, 2, 4, 8)  # possible numbers of further bits of a cell
MOST_ROWS = 2**31 - 1


class Node(NamedTuple):
    """The items that begin with the same `depth` tokens: rows `low` to `high` of the sorted matrix."""

    low: int
    high: int
    depth: int


@dataclass(frozen=True, eq=False)
class ItemIndex(Segment):
    """Sorted rows, never changed."""

    order: np.ndarray | None  # int32 [N]: the row number at each place; None where they are `first`, `first` + 1, ...
    first: int  # number of the input's first row

    @classmethod
    def build(cls, tokens: Tokens, first: int = 0) -> ItemIndex:
        """Sorts; ValueError where a row is not an item. Rows are numbered from `first` on."""
        facts, rows = tokens.facts, tokens.rows
        count, length = len(rows), facts.longest
        if count > MOST_ROWS:
            raise LimitExceeded(f"there are {count:,} items; an index holds {MOST_ROWS:,}: make two and search both")
        shift = int(facts.is_ragged)
        largest = max(0, facts.largest_token + shift)

        def cells(at: slice | np.ndarray) -> np.ndarray:
            found = np.asarray(rows[at])[:, :length]
            return found.astype(np.int32) + 1 if shift else found

        order = sorted_order(cells, count, length, largest)
        bits = next(bits for bits in HIGH if largest >> (LOW_BITS + bits) == 0)
        low = np.empty((length, count), np.uint16)
        high = np.empty((length, -(-count * bits // 8)), np.uint8)
        for start in range(0, count, CHUNK):
            end = min(start + CHUNK, count)
            chunk = np.ascontiguousarray(cells(slice(start, end) if order is None else order[start:end]).T)
            low[:, start:end] = chunk & 0xFFFF
            if bits:
                high[:, start * bits // 8 : -(-end * bits // 8)] = _packed_high(chunk >> LOW_BITS, bits)
        if order is not None and first:
            order += np.int32(first)
        index = cls(low, high, bits, shift, largest, np.zeros(0, np.int32), order, first)
        return replace(index, starts=index.first_rows())

    def __len__(self) -> int:
        return self.low.shape[1]

    @property
    def length(self) -> int:
        """The length of the longest item."""
        return self.low.shape[0]

    @property
    def nbytes(self) -> int:
        return (
            self.low.nbytes + self.high.nbytes + self.starts.nbytes + (0 if self.order is None else self.order.nbytes)
        )

    @property
    def root(self) -> Node:
        return Node(0, len(self), 0)

    def children(self, node: Node) -> np.ndarray:
        """The tokens that can come next, sorted, int32."""
        low = self.after_ends(node)
        if node.depth == self.length or low == node.high:
            return np.zeros(0, np.int32)
        cells = self.cells(node.depth, low, node.high)
        return np.concatenate([cells[:1], cells[1:][cells[1:] != cells[:-1]]]).astype(np.int32) - np.int32(self.shift)

    def child(self, node: Node, token: int) -> Node | None:
        """The child for a token; None where there is none."""
        cell = token + self.shift
        if node.depth == self.length or token < 0 or cell > self.largest:
            return None
        if node.depth == 0:
            low, high = int(self.starts[cell]), int(self.starts[cell + 1])
        else:
            cells = self.cells(node.depth, node.low, node.high)
            low, high = (node.low + int(np.searchsorted(cells, cell, side)) for side in ("left", "right"))
        return Node(low, high, node.depth + 1) if low < high else None

    def is_end(self, node: Node) -> bool:
        """Is the path to the node an item?"""
        if node.low == node.high:
            return False
        return node.depth == self.length or (
            self.shift == 1 and int(self.cells(node.depth, node.low, node.low + 1)[0]) == END
        )

    def item(self, node: Node) -> int:
        """The row of the input that holds the item, the first where there are several; ValueError where none ends here."""
        if not self.is_end(node):
            raise ValueError(f"no item ends at {node}; ask is_end(node) first")
        return self.number(node.low)

    def number(self, place: int) -> int:
        """The row number at this place."""
        return self.first + place if self.order is None else int(self.order[place])

    def numbers(self) -> np.ndarray:
        return np.arange(self.first, self.first + len(self)) if self.order is None else self.order

    def matrix(self, places: np.ndarray) -> np.ndarray:
        """int32 [n, L]: the tokens of the rows at some places, padded with -1."""
        cells = self.low[:, places].T.astype(np.int32)
        if self.high_bits:
            per_byte = 8 // self.high_bits
            bits = self.high[:, places // per_byte].T >> (places % per_byte * self.high_bits).astype(np.uint8)[:, None]
            cells |= (bits & (2**self.high_bits - 1)).astype(np.int32) << LOW_BITS
        return cells - np.int32(self.shift)

    def rows_of(self, item: Iterable[int]) -> tuple[int, int]:
        """The places (low, high) of all rows that equal this item."""
        node: Node | None = self.root
        for token in item:
            node = node and self.child(node, operator.index(token))
        if node is None or not self.is_end(node):
            return 0, 0
        return node.low, self.after_ends(node)

    def cells(self, depth: int, low: int, high: int) -> np.ndarray:
        """A column's cells from one row to another."""
        cells = self.low[depth, low:high]
        if self.high_bits:
            per_byte = 8 // self.high_bits
            at = np.arange(low, high)
            bits = self.high[depth, at // per_byte] >> (at % per_byte * self.high_bits).astype(np.uint8)
            return cells.astype(np.int32) | (bits & (2**self.high_bits - 1)).astype(np.int32) << LOW_BITS
        return cells

    def first_rows(self) -> np.ndarray:
        """The table of the first column: the first row of each cell value."""
        cells = self.cells(0, 0, len(self)) if self.length else np.zeros(len(self), np.int32)
        return np.searchsorted(cells, np.arange(self.largest + 2)).astype(np.int32)

    def after_ends(self, node: Node) -> int:
        """The first row of the node whose item goes on."""
        if node.depth == self.length:
            return node.high
        if not self.shift or node.low == node.high:
            return node.low
        return node.low + int(np.searchsorted(self.cells(node.depth, node.low, node.high), 1))


def _packed_high(bits: np.ndarray, width: int) -> np.ndarray:
    """uint8: numbers of `width` bits, the lowest place first; rows begin at a whole byte, since CHUNK is a multiple of 8."""
    per_byte = 8 // width
    padded = np.zeros((len(bits), -(-bits.shape[1] // per_byte) * per_byte), np.uint8)
    padded[:, : bits.shape[1]] = bits
    places = padded.reshape(len(bits), -1, per_byte) << (np.arange(per_byte, dtype=np.uint8) * width)
    return np.bitwise_or.reduce(places, axis=2)
