"""Some rows of a segment, as bits: which items are there, or in a group, or asked for."""

from __future__ import annotations

import numpy as np

from ..kernels.item_arrays import Selection

WORD = 64


def selection_of(is_in: np.ndarray) -> Selection:
    """bool [N] -> bits."""
    return with_summary(_words(is_in))


def with_summary(words: np.ndarray) -> Selection:
    return Selection(words, _words(words != 0))


def everything(count: int) -> np.ndarray:
    """The words of a selection of all rows."""
    return _words(np.ones(count, bool))


def both(first: Selection, second: Selection) -> Selection:
    """What is in both; a selection without words is everything."""
    if not len(first.words) or not len(second.words):
        return second if len(second.words) else first
    return with_summary(first.words & second.words)


def first_selected(selection: Selection, low: int, high: int) -> int:
    """The first selected row of a range; `high` where there is none."""
    if not len(selection.words) or low >= high:
        return low
    place = low >> 6
    bits = int(selection.words[place]) >> (low & 63)
    if bits:
        return min(high, low + (bits & -bits).bit_length() - 1)
    rest = selection.words[place + 1 : (high + 63) >> 6]
    found = np.flatnonzero(rest)[:1]
    if not len(found):
        return high
    bits = int(rest[found[0]])
    return min(high, (place + 1 + int(found[0])) * WORD + (bits & -bits).bit_length() - 1)


def _words(is_in: np.ndarray) -> np.ndarray:
    """uint64: bit i % 64 of word i // 64."""
    packed = np.packbits(is_in, bitorder="little")
    words = np.zeros(-(-len(is_in) // WORD), np.uint64)
    words.view(np.uint8)[: len(packed)] = packed
    return words
