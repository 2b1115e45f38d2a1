"""Patterns: which points have stacks, and which of a state's sets each of them has.

Most states of a row have few of thousands of points, so a pattern lists those that have stacks. What is looked up by point is
spread over scratch (NUMBER_OF) and cleared again, both in the time of the list.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack_sets import StackSets

from .arrays import lowest
from .records import sets_arena, words_of


@inlined
def pattern_of(arena, state):
    return int64(words_of(arena, state)[1])


@inlined
def write_numbers(arena, pattern, numbers, keeps):
    """Into `numbers`, of points as far as it goes, those of a pattern; 0 instead, unless it keeps them."""
    words = words_of(arena, pattern)
    for i in range(1, len(words), 2):
        if words[i] >= len(numbers):
            break
        numbers[words[i]] = words[i + 1] if keeps else 0


@part
def spread(address, pattern):
    """NUMBER_OF: the number of each point of a pattern."""
    arena = sets_arena(address)
    write_numbers(arena, pattern, carray(pointer(arena[StackSets.NUMBER_OF]), arena[StackSets.POINTS], np.int32), True)


@part
def clear(address, pattern):
    """Undoes `spread`."""
    arena = sets_arena(address)
    write_numbers(arena, pattern, carray(pointer(arena[StackSets.NUMBER_OF]), arena[StackSets.POINTS], np.int32), False)


@part
def spread_inner(address, pattern):
    """INNER_OF: the same of a pattern within a token, left as it is until another is asked for: in a run of masked tokens all
    positions have the same."""
    arena = sets_arena(address)
    known = arena[StackSets.SPREAD]
    if known != pattern:
        numbers = carray(pointer(arena[StackSets.INNER_OF]), arena[StackSets.POINTS], np.int32)
        if known:
            write_numbers(arena, known, numbers, False)
        write_numbers(arena, pattern, numbers, True)
        arena[StackSets.SPREAD] = pattern


@part
def number_at(address, pattern, point):
    """The number of one point, 0: it has no stacks."""
    words = words_of(sets_arena(address), pattern)
    low, high = int64(0), int64(len(words) - 1) // 2
    while low < high:
        middle = (low + high) // 2
        if words[1 + 2 * middle] < point:
            low = middle + 1
        else:
            high = middle
    return int64(words[2 + 2 * low]) if 1 + 2 * low < len(words) and words[1 + 2 * low] == point else int64(0)


@inlined
def note_met(met, point):
    met[point >> 6] |= uint64(1) << uint64(point & 63)


@part
def list_met(address):
    """REACHED: the points of MET, ascending; MET is cleared. Returns how many."""
    arena = sets_arena(address)
    points = arena[StackSets.POINTS]
    met = carray(pointer(arena[StackSets.MET]), points // 64 + 1, np.uint64)
    reached, count = carray(pointer(arena[StackSets.REACHED]), points, np.int32), int64(0)
    for w in range(len(met)):
        bits = met[w]
        met[w] = uint64(0)
        while bits:
            reached[count] = int64(w) * 64 + lowest(bits)
            bits &= bits - uint64(1)
            count += 1
    return count
