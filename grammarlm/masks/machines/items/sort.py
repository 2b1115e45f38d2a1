"""The order of an index: its rows sorted by their cells with a stable sort, so equal rows stay in the order in which they came.

A row's first cells are packed into one word of 64 bits (five tokens of a vocabulary of 2,048), and the words are
sorted; only rows with equal words are compared again, by their next cells. In real sets the first word or two decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grammarlm.grammars.items.tokens import CHUNK

WORD = 64  # bits of a key

Cells = Callable[[Any], np.ndarray]  # a slice or an array of row numbers -> their cells, [rows, L], none negative


def sorted_order(cells: Cells, count: int, length: int, largest: int) -> np.ndarray | None:
    """The sorted order as row numbers; None where the rows are in order already. No cell is more than `largest`."""
    bits = max(1, largest.bit_length())
    width = WORD // bits  # cells in a word
    keys = _first_keys(cells, count, width, bits)
    if (keys[:-1] <= keys[1:]).all():
        order = np.arange(count)
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
    places, groups = _ties(keys, np.zeros(count, np.int64))
    for start in range(width, length, width):
        if not len(places):
            break
        rows = order[places]
        keys = np.empty(len(rows), np.uint64)
        for at in range(0, len(rows), CHUNK):
            keys[at : at + CHUNK] = _packed(cells(rows[at : at + CHUNK])[:, start : start + width], bits)
        by_key = np.lexsort((keys, groups))
        order[places] = rows[by_key]
        still, groups = _ties(keys[by_key], groups)
        places = places[still]
    return None if (order[:-1] < order[1:]).all() else order.astype(np.int32)


def _first_keys(cells: Cells, count: int, width: int, bits: int) -> np.ndarray:
    keys = np.empty(count, np.uint64)
    for start in range(0, count, CHUNK):
        keys[start : start + CHUNK] = _packed(cells(slice(start, start + CHUNK))[:, :width], bits)
    return keys


def _packed(cells: np.ndarray, bits: int) -> np.ndarray:
    """Each row's cells as one number, in the same order."""
    words = np.zeros(len(cells), np.uint64)
    for column in cells.T:
        words = (words << np.uint64(bits)) | column.astype(np.uint64)
    return words


def _ties(keys: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places whose key and group equal those of a neighbour, and the new group of each."""
    differs = (keys[1:] != keys[:-1]) | (groups[1:] != groups[:-1])
    begins, ends = np.concatenate([[True], differs]), np.concatenate([differs, [True]])
    places = np.flatnonzero(~(begins & ends))
    return places, np.cumsum(begins[places])
