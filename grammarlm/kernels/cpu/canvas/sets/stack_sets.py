"""Sets of stacks: their unions, whether two have a stack in common, what is below a symbol.

A set is an acyclic automaton that reads a stack from its top; sets are interned from the bottom up, so equal sets are one number.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import NO, YES, Question, Record, StackSets

from .records import answer, keep_answer, record, sets_arena, three_words, words_of

LONGEST_FRAME = 6  # words


@part
def below(address, stacks, symbol):
    """What stands below a symbol on top; below ROOT the empty stack."""
    arena = sets_arena(address)
    if stacks == 0:
        return int64(0)
    words = words_of(arena, stacks)
    for i in range(1, len(words), 2):
        if words[i] == symbol:
            return int64(words[i + 1]) if symbol != ROOT else arena[StackSets.EMPTY_STACK]
        if words[i] > symbol:
            break
    return int64(0)


@part
def with_top(address, symbol, stacks):
    """All stacks of a set, with one more symbol on top of each."""
    if stacks == 0:
        return int64(0)
    return record(address, three_words(address, Record.SET, symbol, stacks), int64(3), int64(1))


@part
def kept_or_below(address, stacks, symbol):
    """What a rule leaves of a set: what stands below its symbol; where that stays (ROOT, -1 - symbol), those that have it."""
    if symbol >= ROOT:
        return below(address, stacks, symbol)
    return with_top(address, -1 - symbol, below(address, stacks, -1 - symbol))


@inlined
def is_known(a, b):
    return a == b or a == 0 or b == 0


@part
def union(address, first, second):
    """Merges the sorted words of two sets; where both have a symbol, what is below it is merged first: a stack of such merges."""
    if is_known(first, second):
        return max(first, second)
    low, high = min(first, second), max(first, second)
    found = answer(address, Question.UNION, low, high)
    if found:
        return found
    arena = sets_arena(address)
    frames = carray(pointer(arena[StackSets.FRAMES]), (arena[StackSets.FRAME_CAPACITY], LONGEST_FRAME), np.int64)
    pairs = carray(pointer(arena[StackSets.PAIRS]), arena[StackSets.PAIR_CAPACITY], np.int32)
    frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3], frames[0, 4], frames[0, 5] = low, high, 1, 1, 0, -1
    pairs[0] = Record.SET
    depth, used, merged = int64(0), int64(1), int64(-1)
    while depth >= 0:
        a, b = frames[depth, 0], frames[depth, 1]
        i, j = frames[depth, 2], frames[depth, 3]
        start, symbol = frames[depth, 4], frames[depth, 5]
        left, right = words_of(arena, a), words_of(arena, b)
        if merged >= 0:
            pairs[used], pairs[used + 1] = symbol, merged
            used += 2
            merged = int64(-1)
        descends = False
        if (
            used + len(left) + len(right) + 2 > arena[StackSets.PAIR_CAPACITY]
            or depth + 2 > arena[StackSets.FRAME_CAPACITY]
        ):
            arena[StackSets.FULL] = 2
        if arena[StackSets.FULL]:
            return int64(0)
        while i < len(left) or j < len(right):
            if j >= len(right) or (i < len(left) and left[i] < right[j]):
                pairs[used], pairs[used + 1] = left[i], left[i + 1]
                i += 2
            elif i >= len(left) or right[j] < left[i]:
                pairs[used], pairs[used + 1] = right[j], right[j + 1]
                j += 2
            else:
                x, y = int64(min(left[i + 1], right[j + 1])), int64(max(left[i + 1], right[j + 1]))
                known = y if x == y else answer(address, Question.UNION, x, y)
                symbol = int64(left[i])
                i += 2
                j += 2
                if known == 0 and symbol != ROOT:
                    frames[depth, 2], frames[depth, 3], frames[depth, 5] = i, j, symbol
                    depth += 1
                    frames[depth, 0], frames[depth, 1], frames[depth, 2], frames[depth, 3] = x, y, 1, 1
                    frames[depth, 4], frames[depth, 5] = used, -1
                    pairs[used] = Record.SET
                    used += 1
                    descends = True
                    break
                pairs[used], pairs[used + 1] = symbol, known
            used += 2
        if descends:
            continue
        merged = record(address, arena[StackSets.PAIRS] + 4 * start, used - start, int64(1))
        keep_answer(address, Question.UNION, a, b, merged)
        used = start
        depth -= 1
    return merged


@part
def meet(address, first, second):
    """Have two sets a stack in common?"""
    if first == 0 or second == 0:
        return False
    if first == second:
        return True
    low, high = min(first, second), max(first, second)
    found = answer(address, Question.MEET, low, high)
    if found:
        return found == YES
    arena = sets_arena(address)
    frames = carray(pointer(arena[StackSets.FRAMES]), (arena[StackSets.FRAME_CAPACITY], LONGEST_FRAME), np.int64)
    frames[0, 0], frames[0, 1], frames[0, 2], frames[0, 3] = low, high, 1, 1
    depth = int64(0)
    while depth >= 0:
        a, b, i, j = frames[depth, 0], frames[depth, 1], frames[depth, 2], frames[depth, 3]
        left, right = words_of(arena, a), words_of(arena, b)
        is_met, descends = False, False
        if depth + 2 > arena[StackSets.FRAME_CAPACITY]:
            arena[StackSets.FULL] = 2
        if arena[StackSets.FULL]:
            return False
        while i < len(left) and j < len(right):
            if left[i] < right[j]:
                i += 2
            elif right[j] < left[i]:
                j += 2
            else:
                x, y = int64(min(left[i + 1], right[j + 1])), int64(max(left[i + 1], right[j + 1]))
                known = int64(YES) if x == y else answer(address, Question.MEET, x, y)
                i += 2
                j += 2
                if known == YES:
                    is_met = True
                    break
                if known == 0:
                    frames[depth, 2], frames[depth, 3] = i, j
                    depth += 1
                    frames[depth, 0], frames[depth, 1], frames[depth, 2], frames[depth, 3] = x, y, 1, 1
                    descends = True
                    break
        if descends:
            continue
        if is_met:
            for d in range(depth, -1, -1):
                keep_answer(address, Question.MEET, frames[d, 0], frames[d, 1], int64(YES))
            return True
        keep_answer(address, Question.MEET, a, b, int64(NO))
        depth -= 1
    return False
