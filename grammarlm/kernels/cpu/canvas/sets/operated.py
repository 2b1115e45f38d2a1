"""What an operation does to a set of stacks, both ways (masks/canvas/stack/operations.py says what operations are)."""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack_sets import Question, Record, StackSets

from .feasible import feasible_below
from .gathered import add_set, set_of_symbols
from .records import answer, keep_answer, record, sets_arena, words_of
from .stack_sets import below, union, with_top

NOTHING = -1  # the answer for the empty set


@inlined
def groups_of(arena):
    """The first group of each operation, the first symbol and the first way of each group, the first symbol of each way."""
    groups = arena[StackSets.GROUPS]
    return (
        carray(pointer(arena[StackSets.OPERATION_START]), arena[StackSets.OPERATIONS] + 1, np.int32),
        carray(pointer(arena[StackSets.GROUP_START]), groups + 1, np.int32),
        carray(pointer(arena[StackSets.WAY_START]), groups + 1, np.int32),
        carray(pointer(arena[StackSets.PUSHED_START]), arena[StackSets.WAYS] + 1, np.int32),
    )


@inlined
def pushed_of(arena, pushed_start):
    """The symbols of all ways."""
    return carray(pointer(arena[StackSets.PUSHED]), int64(pushed_start[arena[StackSets.WAYS]]), np.int32)


@inlined
def group_symbols(arena, group_start):
    """The symbols of all groups."""
    return carray(pointer(arena[StackSets.GROUP_SYMBOL]), int64(group_start[arena[StackSets.GROUPS]]), np.int32)


@inlined
def groups_by_symbol(arena):
    """int32 [OPERATIONS, SYMBOLS]: 1 + the group of a symbol, 0: none."""
    shape = arena[StackSets.OPERATIONS], arena[StackSets.SYMBOLS]
    return carray(pointer(arena[StackSets.GROUP_BY_SYMBOL]), shape, np.int32)


@part
def below_way(address, stacks, way):
    """What stands below a way on top."""
    arena = sets_arena(address)
    starts = carray(pointer(arena[StackSets.PUSHED_START]), arena[StackSets.WAYS] + 1, np.int32)
    pushed = pushed_of(arena, starts)
    here = int64(stacks)
    for i in range(starts[way + 1] - 1, starts[way] - 1, -1):
        here = below(address, here, int64(pushed[i]))
    return here


@part
def operated(address, stacks, operation):
    """The set after an operation."""
    found = answer(address, Question.OPERATED, stacks, operation)
    if found:
        return max(found, int64(0))
    arena = sets_arena(address)
    starts, group_start, way_start, pushed_start = groups_of(arena)
    symbols, pushed = group_symbols(arena, group_start), pushed_of(arena, pushed_start)
    every = arena[StackSets.SYMBOLS]
    below_group, by_symbol = carray(pointer(arena[StackSets.BY_SYMBOL]), every, np.int32), np.zeros(every, np.int32)
    words, top = words_of(arena, stacks), np.zeros(every, np.int32)
    for i in range(1, len(words), 2):
        top[words[i]] = words[i + 1]
    for g in range(starts[operation], starts[operation + 1]):
        rest, several = int64(0), False
        for i in range(group_start[g], group_start[g + 1]):
            more = int64(top[symbols[i]])
            if more == 0 or more == rest:
                continue
            if rest and not several:
                add_set(address, below_group, rest)
                several = True
            if several:
                add_set(address, below_group, more)
            rest = more
        if several:
            rest = set_of_symbols(address, below_group)
        if rest == 0:
            continue
        for way in range(way_start[g], way_start[g + 1]):
            first, last = int64(pushed_start[way]), int64(pushed_start[way + 1]) - 1
            here = rest
            for i in range(first, last):
                here = with_top(address, int64(pushed[i]), here)
            if last < first:
                add_set(address, by_symbol, here)
            else:
                by_symbol[pushed[last]] = union(address, int64(by_symbol[pushed[last]]), here)
    found = set_of_symbols(address, by_symbol)
    keep_answer(address, Question.OPERATED, stacks, operation, found if found else int64(NOTHING))
    return found


@part
def before_operation(address, stacks, operation):
    """The stacks that an operation can make one of the set of; of those on which nothing leads to it, perhaps."""
    found = answer(address, Question.BEFORE, stacks, operation)
    if found:
        return max(found, int64(0))
    arena = sets_arena(address)
    starts, group_start, way_start, _ = groups_of(arena)
    symbols, every = group_symbols(arena, group_start), arena[StackSets.SYMBOLS]
    by_symbol = carray(pointer(arena[StackSets.BY_SYMBOL]), every, np.int32)
    shape = arena[StackSets.OPERATIONS], arena[StackSets.SYMBOL_WORDS]
    tops = carray(pointer(arena[StackSets.OPERATED_TOPS]), shape, np.uint64)
    for g in range(starts[operation], starts[operation + 1]):
        rest = int64(0)
        for way in range(way_start[g], way_start[g + 1]):
            rest = union(address, rest, below_way(address, stacks, int64(way)))
        if rest == 0:
            continue
        for i in range(group_start[g], group_start[g + 1]):
            symbol = int64(symbols[i])
            if tops[operation, symbol >> 6] >> uint64(symbol & 63) & uint64(1) != 0:
                by_symbol[symbol] = feasible_below(address, rest, symbol)
    pairs, used = carray(pointer(arena[StackSets.PAIRS]), arena[StackSets.PAIR_CAPACITY], np.int32), int64(1)
    if 2 * every + 1 > len(pairs):
        arena[StackSets.FULL] = 2
    pairs[0] = Record.SET
    for symbol in range(every):
        if by_symbol[symbol] != 0:
            if arena[StackSets.FULL] == 0:
                pairs[used], pairs[used + 1] = int32(symbol), by_symbol[symbol]
                used += 2
            by_symbol[symbol] = 0
    if used > 1:
        found = record(address, arena[StackSets.PAIRS], used, int64(1))
    keep_answer(address, Question.BEFORE, stacks, operation, found if found else int64(NOTHING))
    return found
