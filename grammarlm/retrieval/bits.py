"""Some rows of a segment, as bits: which items are there, or in a group, or asked for."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from grammarlm.layout.items import ALL_ROWS, Selection

WORD = 64


def selection_of(is_in: np.ndarray) -> Selection:
    """bool [N] -> bits."""
    return with_summary(_words(is_in))


def with_summary(words: np.ndarray) -> Selection:
    return Selection(words, _words(words != 0))


def intersection(selections: Iterable[Selection]) -> Selection:
    """The rows in all selections; one without words stands for all rows."""
    chosen = [selection.words for selection in selections if len(selection.words)]
    return with_summary(np.bitwise_and.reduce(chosen)) if chosen else ALL_ROWS


def without(selection: Selection, positions: np.ndarray, count: int) -> Selection:
    """A selection without some positions."""
    words = selection.words.copy() if len(selection.words) else _words(np.ones(count, bool))
    np.bitwise_and.at(words, positions >> 6, ~(np.uint64(1) << (positions & 63).astype(np.uint64)))
    return with_summary(words)


def is_selected(selection: Selection, low: int, high: int) -> np.ndarray:
    """bool [high - low]"""
    if not len(selection.words):
        return np.ones(high - low, bool)
    start = low >> 6
    bits = np.unpackbits(selection.words[start : (high + 63) >> 6].view(np.uint8), bitorder="little")
    return bits[low - start * WORD : high - start * WORD].astype(bool)


def first_selected(selection: Selection, low: int, high: int) -> int:
    """The first selected row of a range; `high` where there is none."""
    if not len(selection.words) or low >= high:
        return low
    at = low >> 6
    bits = int(selection.words[at]) >> (low & 63)
    if bits:
        return min(high, low + (bits & -bits).bit_length() - 1)
    rest = selection.words[at + 1 : (high + 63) >> 6]
    found = np.flatnonzero(rest)[:1]
    if not len(found):
        return high
    bits = int(rest[found[0]])
    return min(high, (at + 1 + int(found[0])) * WORD + (bits & -bits).bit_length() - 1)


def _words(is_in: np.ndarray) -> np.ndarray:
    """uint64: bit i % 64 of word i // 64."""
    packed = np.packbits(is_in, bitorder="little")
    words = np.zeros(-(-len(is_in) // WORD), np.uint64)
    words.view(np.uint8)[: len(packed)] = packed
    return words
