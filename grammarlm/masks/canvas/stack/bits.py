"""Sets of numbers as bits: of an integer, and of the words of an array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def members(numbers: int) -> Iterator[int]:
    """The numbers of a set (bit n = n), ascending."""
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest


def numbers(words: np.ndarray) -> list[int]:
    """Sets of numbers, uint64 [sets, words], as integers."""
    return [int.from_bytes(row.tobytes(), "little") for row in words]


def bits(words: np.ndarray, size: int) -> np.ndarray:
    """Sets of numbers, uint64 [sets, words], as bool [sets, size]."""
    found: np.ndarray = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return found[:, :size].view(bool)


def packed(numbers: np.ndarray, words: int) -> np.ndarray:
    """Some numbers as a set, uint64 [words]."""
    found = np.zeros(64 * words, np.uint8)
    found[numbers] = 1
    return np.packbits(found, bitorder="little").view(np.uint64)


def any_of(rows: np.ndarray) -> np.ndarray:
    """bool [rows]: is there anything in each?"""
    found: np.ndarray = np.any(rows, axis=1)
    return found
