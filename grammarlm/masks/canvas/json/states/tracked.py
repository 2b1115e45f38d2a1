"""What a canvas tracks by bits: free keys that may come twice, and items of arrays that must differ.

The program's rows are copied with a table of the tracked keys after them, and without `uniqueItems`: an array's frame has a bit for
each of its values instead (kernels/cpu/json/canvas/explore.py). Large maxLengths are left out where no row can break them
(json/lengths.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from grammarlm.errors import UnsupportedFeature
from grammarlm.layout.json import ARRAY_BIT, Array, Key, Shape
from grammarlm.layout.numbers import Flag, Number
from grammarlm.masks.machines.json.program import JsonProgram

MOST_COUNTED = 128  # characters: where a string may have more, they are counted only in rows that can break that
LITERALS = {1: b"true", 2: b"false", 3: b"null"}
MOST_BITS = 12  # of one object or array: 2^12 sets
LITERAL_ENDS = {1: 4, 2: 9, 3: 13}  # true, false, null: the index of the last byte (kernels/cpu/json/step/lexemes.py)


def long_strings(rows: Sequence[int], strings: Iterable[int], counted: int = MOST_COUNTED) -> list[int]:
    """The rows of strings that may have more characters than are counted."""
    return [row for row in strings if rows[row + 1] > counted and rows[row + 3] == 0]


@dataclass(frozen=True, eq=False)
class TrackedProgram:
    """Rows for the kernel; see layout/json_canvas.py for `words` and `items`."""

    rows: np.ndarray  # int64; after them the bytes of keys and words
    blob_at: int  # in bytes
    words: int
    word_count: int
    items: np.ndarray  # int64 [N, 3]
    bits: dict[int, dict[bytes, int]]  # by array: the bit of each value's text
    keys: tuple[bytes, ...]


def tracked_program(
    program: JsonProgram,
    keys: Sequence[bytes],
    arrays: Sequence[int],
    uncounted: Iterable[int],
) -> TrackedProgram:
    """`keys`: free keys to be tracked, sorted; `arrays`: rows of arrays whose items must differ; `uncounted`: of strings of which
    no more characters are counted than the fewest."""
    count = program.blob_at // 8
    whole = np.frombuffer(program.rows, np.int64)
    rows, blob = whole[:count].copy(), whole[count:].tobytes()
    bits: dict[int, dict[bytes, int]] = {row: {} for row in arrays}
    items = [item for row in arrays for item in _items(rows, blob, row, bits[row])]
    for row in arrays:
        rows[row + Array.UNIQUE] = 0
    for row in uncounted:
        rows[row + 1] = -1
    table = np.zeros((len(keys), Key.LENGTH), np.int64)
    for i, key in enumerate(keys):
        table[i, : Key.SIZE + 1] = len(blob), len(key)
        blob += key
    blob += bytes(-len(blob) % 8)
    rows = np.concatenate([rows, table.ravel(), np.frombuffer(blob, np.int64)])
    return TrackedProgram(
        rows, 8 * (count + table.size), count, len(keys), np.array(items, np.int64).reshape(-1, 3), bits,
        tuple(keys),
    )  # fmt: skip


def _items(rows: np.ndarray, blob: bytes, array: int, bits: dict[bytes, int]) -> list[tuple[int, int, int]]:
    """(row of the array, what its kind of thread says when it ends, bit) of each value that an item can have; fills `bits`."""
    found = []
    for position in range(int(rows[array + Array.PREFIX]) + 1):
        ways = int(rows[rows[array + Array.ITEMS] + position])
        for way in range(int(rows[ways])):
            for value, text in _values(rows, blob, int(rows[ways + 1 + 2 * way])):
                found.append((array | ARRAY_BIT, value, bits.setdefault(text, len(bits))))
    if len(bits) > MOST_BITS:
        raise UnsupportedFeature(
            f"a canvas over an array with uniqueItems whose items can have {len(bits)} values; {MOST_BITS} at most are followed"
        )
    return sorted(set(found))


def _values(rows: np.ndarray, blob: bytes, node: int) -> list[tuple[int, bytes]]:
    """Of each value of a node: what the thread says when it ends, and its text as frames keep it."""
    found = []
    for i in range(int(rows[node])) if node >= 0 else ():
        kind, row = int(rows[node + 2 + 2 * i]), int(rows[node + 3 + 2 * i])
        if kind == Shape.LITERAL:
            found.append((LITERAL_ENDS[row], LITERALS[row]))
        elif kind == Shape.WORDS:
            table, first, last = (int(word) for word in rows[row : row + 3])
            for index in range(first, last):
                key = table + index * Key.LENGTH
                start, size = int(rows[key + Key.BYTES]), int(rows[key + Key.SIZE])
                found.append((key, b'"' + blob[start : start + size]))
        elif kind == Shape.NUMBER and rows[row + Number.FLAGS] & Flag.SINGLE:
            start, size = int(rows[row - 2]), int(rows[row - 1])
            found.append((row, blob[start : start + size]))
        else:
            raise UnsupportedFeature(
                "a canvas over an array with uniqueItems whose items are no finite set of strings, numbers and literals"
            )
    return found
