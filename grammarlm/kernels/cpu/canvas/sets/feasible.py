"""Which symbols can be on top at a point, and which can be right below another, on any way from where rows begin.

Stacks that nothing leads to are left out of sets: of seven symbols, each may be below each by the rules alone, but most stand on
one or two, and sets of stacks that never are cost as much as others.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Question, Record, StackSets

from ..bits import has_bit, lowest, on_top
from .records import answer, keep_answer, record, sets_arena, words_of


@inlined
def tops_of(arena):
    return carray(pointer(arena[StackSets.TOPS]), (arena[StackSets.POINTS], arena[StackSets.SYMBOL_WORDS]), np.uint64)


@inlined
def belows_of(arena):
    return carray(
        pointer(arena[StackSets.BELOWS]), (arena[StackSets.SYMBOLS], arena[StackSets.SYMBOL_WORDS]), np.uint64
    )


@inlined
def add_bit(bits, row, symbol):
    bits[row, symbol >> 6] |= uint64(1) << uint64(symbol & 63)


@part
def add_row(into, row, of, other):
    """Adds the bits of another row. Returns whether there were new ones."""
    new = uint64(0)
    for w in range(into.shape[1]):
        new |= of[other, w] & ~into[row, w]
        into[row, w] |= of[other, w]
    return new != 0


@part
def feasible_operated(address, point, operation, after):
    """What can be on top after an operation in a point, and what can stand on what. Returns 1 if there is more on top, 2 if more
    can stand somewhere, 3 if both."""
    arena = sets_arena(address)
    tops, belows = tops_of(arena), belows_of(arena)
    shape = arena[StackSets.OPERATIONS], arena[StackSets.SYMBOLS]
    group_of = carray(pointer(arena[StackSets.GROUP_BY_SYMBOL]), shape, np.int32)
    way_start = carray(pointer(arena[StackSets.WAY_START]), arena[StackSets.GROUPS] + 1, np.int32)
    pushed_start = carray(pointer(arena[StackSets.PUSHED_START]), arena[StackSets.WAYS] + 1, np.int32)
    pushed = carray(pointer(arena[StackSets.PUSHED]), int64(pushed_start[arena[StackSets.WAYS]]), np.int32)
    is_more, stands_anew = False, False
    for word in range(tops.shape[1]):
        bits = tops[point, word]
        while bits:
            symbol = int64(word) * 64 + lowest(bits)
            bits &= bits - uint64(1)
            group = int64(group_of[operation, symbol]) - 1
            if group < 0:
                continue
            for way in range(way_start[group], way_start[group + 1]):
                first, last = int64(pushed_start[way]), int64(pushed_start[way + 1])
                if first == last:
                    is_more = add_row(tops, after, belows, symbol) or is_more
                    continue
                stands_anew = add_row(belows, int64(pushed[first]), belows, symbol) or stands_anew
                for i in range(first + 1, last):
                    if not has_bit(belows, int64(pushed[i]), int64(pushed[i - 1])):
                        add_bit(belows, int64(pushed[i]), int64(pushed[i - 1]))
                        stands_anew = True
                if not has_bit(tops, after, int64(pushed[last - 1])):
                    add_bit(tops, after, int64(pushed[last - 1]))
                    is_more = True
    return int64(is_more) + 2 * int64(stands_anew)


@kernel("void(int64)", seconds=2)
def feasible_symbols(address):
    """Completes TOPS and BELOWS, which say where rows begin. The reference: tests/masks/canvas/test_stack_sets.py."""
    arena = sets_arena(address)
    controls, pushes, points = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.POINTS]
    first_micro, micros = controls + pushes, arena[StackSets.MICROS]
    tops, belows = tops_of(arena), belows_of(arena)
    starts = carray(pointer(arena[StackSets.CONTROL_START]), controls + 1, np.int32)
    edges, every = arena[StackSets.EDGES], arena[StackSets.EVERY_EDGE]
    edge_control, edge_point = (
        carray(pointer(arena[StackSets.EDGE_CONTROL]), every, np.int32),
        carray(pointer(arena[StackSets.EDGE_POINT]), every, np.int32),
    )
    push_symbol, push_after = (
        carray(pointer(arena[StackSets.PUSH_SYMBOL]), pushes, np.int32),
        carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32),
    )
    rule_start = carray(pointer(arena[StackSets.RULE_START]), micros + 1, np.int32)
    rules = int64(rule_start[micros])
    symbols, afters = (
        carray(pointer(arena[StackSets.RULE_SYMBOL]), rules, np.int32),
        carray(pointer(arena[StackSets.RULE_AFTER]), rules, np.int32),
    )
    is_new = np.ones(points, np.uint8)  # since a point was looked at
    again, stands_anew = True, False
    while again:
        again, stands_anew = False, False
        for e in range(edges, every):
            if add_row(tops, int64(edge_point[e]), tops, int64(edge_control[e])):
                is_new[edge_point[e]] = 1
                again = True
        for q in range(points):
            if is_new[q] == 0:
                continue
            is_new[q] = 0
            if q < controls:
                for e in range(starts[q], starts[q + 1]):
                    if add_row(tops, int64(edge_point[e]), tops, q):
                        is_new[edge_point[e]] = 1
                        again = again or edge_point[e] <= q
            elif q < first_micro:
                some = uint64(0)
                for w in range(tops.shape[1]):
                    some |= tops[q, w]
                if some == 0:
                    continue
                symbol, after = int64(push_symbol[q - controls]), int64(push_after[q - controls])
                if add_row(belows, symbol, tops, q):
                    is_new[first_micro:] = 1
                if not has_bit(tops, after, symbol):
                    add_bit(tops, after, symbol)
                    is_new[after] = 1
                    again = True
            else:
                for r in range(rule_start[q - first_micro], rule_start[q - first_micro + 1]):
                    symbol, after = int64(symbols[r]), int64(afters[r])
                    if symbol >= arena[StackSets.SYMBOLS]:
                        changed = feasible_operated(address, q, symbol - arena[StackSets.SYMBOLS], after)
                        if changed & 1:
                            is_new[after] = 1
                            again = True
                        stands_anew = stands_anew or changed & 2 != 0
                        continue
                    if not has_bit(tops, q, on_top(symbol)):
                        continue
                    if symbol > ROOT:
                        if add_row(tops, after, belows, symbol):
                            is_new[after] = 1
                            again = True
                    elif not has_bit(tops, after, on_top(symbol)):
                        add_bit(tops, after, on_top(symbol))
                        is_new[after] = 1
                        again = True
        if stands_anew:
            is_new[first_micro:] = 1
            again = True
    shape = arena[StackSets.OPERATIONS], arena[StackSets.SYMBOL_WORDS]
    operated = carray(pointer(arena[StackSets.OPERATED_TOPS]), shape, np.uint64)
    for q in range(first_micro, points):
        for r in range(rule_start[q - first_micro], rule_start[q - first_micro + 1]):
            if symbols[r] >= arena[StackSets.SYMBOLS]:
                add_row(operated, int64(symbols[r]) - arena[StackSets.SYMBOLS], tops, q)


@part
def feasible_below(address, stacks, symbol):
    """Of a set, the stacks that a symbol can stand on."""
    if stacks == 0:
        return int64(0)
    arena = sets_arena(address)
    belows, words = belows_of(arena), words_of(arena, stacks)
    kept = int64(0)
    for i in range(1, len(words), 2):
        kept += has_bit(belows, symbol, int64(words[i]))
    if 2 * kept == len(words) - 1:
        return int64(stacks)
    if kept == 0:
        return int64(0)
    found = answer(address, Question.FEASIBLE, stacks, symbol)
    if found:
        return found
    pairs, used = carray(pointer(arena[StackSets.PAIRS]), arena[StackSets.PAIR_CAPACITY], np.int32), int64(1)
    if len(words) > len(pairs):
        arena[StackSets.FULL] = 2
        return int64(0)
    pairs[0] = Record.SET
    for i in range(1, len(words), 2):
        if has_bit(belows, symbol, int64(words[i])):
            pairs[used], pairs[used + 1] = words[i], words[i + 1]
            used += 2
    found = record(address, arena[StackSets.PAIRS], used, int64(1))
    keep_answer(address, Question.FEASIBLE, stacks, symbol, found)
    return found
