"""What bounds know of a stack: which contexts (kernels/cpu/canvas/contexts.py) a point can have.

numbers, count = pair_numbers(sets, height)      # int32 [points, contexts]: the pairs of both that can be, -1: cannot
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .table import ROOT

if TYPE_CHECKING:
    from .sets import StackSets

HEIGHTS = (0, 2, 4, 8)  # tried in turn: a row is led by the coarsest bounds that lead it somewhere soon
MOST_CELLS = 1 << 25  # numbers that bounds of a row take
MOST_PAIRS = 1 << 23


def contexts_of(symbols: int, height: int) -> int:
    return 1 + (symbols - 1) ** 2 * height


def fits(sets: StackSets, steps: int, height: int) -> bool:
    """Are there symbols to know, and few enough contexts? Operations (operations.py) are bounded without contexts alone: tables
    that have them have hundreds of symbols."""
    if height == 0:
        return True
    if sets.table.operations:
        return False
    count = contexts_of(sets.table.symbols, height)
    is_small = sets.table.points * count <= MOST_PAIRS and sets.records * (-(-count // 64)) <= MOST_PAIRS
    return sets.table.symbols > 1 and is_small and (steps + 1) * pair_numbers(sets, height)[1] <= MOST_CELLS


def pair_numbers(sets: StackSets, height: int) -> tuple[np.ndarray, int]:
    points, symbols = sets.table.points, sets.table.symbols
    if height == 0:
        return np.arange(points, dtype=np.int32)[:, None], points
    tops, belows = (_bits(words, symbols) for words in (sets.tops, sets.belows))
    top, bottom, high = np.indices((symbols - 1, symbols - 1, height)).reshape(3, -1) + 1
    can_be = belows[bottom, ROOT] & ((high > 1) | (top == bottom))
    allowed = np.concatenate([tops[:, [ROOT]], tops[:, top] & can_be], axis=1)
    count = int(allowed.sum())
    return np.where(allowed, np.cumsum(allowed).reshape(allowed.shape) - 1, -1).astype(np.int32), count


def _bits(words: np.ndarray, count: int) -> np.ndarray:
    """bool [rows, count]."""
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :count].astype(bool)
