"""The union of many sets of stacks, without those of some of them, of which each would be a record."""

import numpy as np
from numba import carray, int32, int64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Record, StackSets

from .records import record, sets_arena, words_of
from .stack_sets import union

WHOLE = -1  # in place of a set: the empty stack below ROOT


@part
def add_set(address, by_symbol, stacks):
    """Adds what a set has below each symbol; below ROOT there is WHOLE."""
    words = words_of(sets_arena(address), stacks)
    for i in range(1, len(words), 2):
        symbol = int64(words[i])
        if symbol == ROOT:
            by_symbol[symbol] = WHOLE
        elif by_symbol[symbol] != words[i + 1]:
            by_symbol[symbol] = union(address, int64(by_symbol[symbol]), int64(words[i + 1]))


@part
def set_of_symbols(address, by_symbol):
    """The set of what has been added, which is cleared."""
    arena = sets_arena(address)
    pairs, used = carray(pointer(arena[StackSets.PAIRS]), arena[StackSets.PAIR_CAPACITY], np.int32), int64(1)
    if 2 * len(by_symbol) + 1 > len(pairs):
        arena[StackSets.FULL] = 2
    is_full = arena[StackSets.FULL] != 0
    pairs[0] = Record.SET
    for symbol in range(len(by_symbol)):
        if by_symbol[symbol] != 0:
            if not is_full:
                pairs[used], pairs[used + 1] = int32(symbol), max(by_symbol[symbol], int32(0))
                used += 2
            by_symbol[symbol] = 0
    return record(address, arena[StackSets.PAIRS], used, int64(1)) if used > 1 else int64(0)
