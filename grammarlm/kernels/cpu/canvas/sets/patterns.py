"""Patterns: which points have stacks, and which of a state's sets each of them has.

Most states of a row have few of thousands of points, so a pattern lists those that have stacks, as runs of points that have the
same set: three words each, the first point, the one behind the last, the number of the set. What is looked up by point is spread
over scratch (NUMBER_OF) and cleared again, both in the time of the list.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack_sets import StackSets

from ..bits import lowest
from .records import sets_arena, words_of

RUN = 3  # words


@inlined
def pattern_of(arena, state):
    return int64(words_of(arena, state)[1])


@inlined
def write_numbers(arena, pattern, numbers, keeps):
    """Into `numbers`, of points as far as it goes, those of a pattern; 0 instead, unless it keeps them."""
    words = words_of(arena, pattern)
    for i in range(1, len(words), RUN):
        number = words[i + 2] if keeps else 0
        for point in range(words[i], min(int64(words[i + 1]), len(numbers))):
            numbers[point] = number


@inlined
def runs_at(arena):
    """REACHED, SOURCES and PLACE: of runs of points the first, the one behind the last, and a number."""
    points = arena[StackSets.POINTS]
    return (
        carray(pointer(arena[StackSets.REACHED]), points, np.int32),
        carray(pointer(arena[StackSets.SOURCES]), points, np.int32),
        carray(pointer(arena[StackSets.PLACE]), points, np.int32),
    )


@part
def list_runs(address, of, begin):
    """REACHED, SOURCES and PLACE: the runs that a record has from a word on. Returns how many."""
    arena = sets_arena(address)
    words, count = words_of(arena, of), int64(0)
    first, end, number = runs_at(arena)
    for i in range(begin, len(words), RUN):
        first[count], end[count], number[count] = words[i], words[i + 1], words[i + 2]
        count += 1
    return count


@inlined
def add_to_runs(words, begin, end, first, last, number):
    """Adds the points from `first` to before `last`, behind all others, to runs that are `words` from `begin` to `end`.
    Returns where they end then."""
    if end > begin and words[end - 2] == first and words[end - 1] == number:
        words[end - 2] = last
        return end
    words[end], words[end + 1], words[end + 2] = first, last, number
    return end + RUN


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
    low, high = int64(0), int64(len(words) - 1) // RUN
    while low < high:
        middle = (low + high) // 2
        if words[2 + RUN * middle] <= point:
            low = middle + 1
        else:
            high = middle
    at = 1 + RUN * low
    return int64(words[at + 2]) if at < len(words) and words[at] <= point else int64(0)


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
