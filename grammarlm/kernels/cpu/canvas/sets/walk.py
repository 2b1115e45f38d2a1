"""Some completion of a row, token by token: a stack is followed, and of the classes that can be completed the best is taken."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import StackSets, Walk

from ..bits import has_bit, lowest, on_top
from .operated import groups_by_symbol, groups_of, pushed_of
from .patterns import number_at, pattern_of
from .records import kinds_of, sets_arena, words_of


@part
def has_stack(address, stacks, place_address, depth):
    """Is the stack, as high as `depth`, in a set?"""
    arena = sets_arena(address)
    symbols = carray(pointer(place_address + 8 * int64(Walk.SYMBOLS)), depth, np.int64)
    here = int64(stacks)
    for d in range(depth - 1, -1, -1):
        if here == 0:
            return False
        words, below = words_of(arena, here), int64(0)
        for i in range(1, len(words), 2):
            if words[i] == symbols[d]:
                below = int64(words[i + 1])
                break
        here = below
    if here == 0:
        return False
    words = words_of(arena, here)
    return len(words) > 1 and words[1] == ROOT


@part
def has_point(address, inner, point, place_address, depth):
    """Can a point within a token be completed on the stack?"""
    arena = sets_arena(address)
    number = number_at(address, pattern_of(arena, inner), point)
    return number > 0 and has_stack(address, int64(words_of(arena, inner)[1 + number]), place_address, depth)


@part
def push_way(address, inner, operation, top, after, place_address):
    """Puts a way in place of the symbol on top, where the point after can be completed then. Returns 1 if so, -1 if there is no
    room."""
    arena = sets_arena(address)
    place = carray(pointer(place_address), int64(Walk.SYMBOLS), np.int64)
    symbols = carray(pointer(place_address + 8 * int64(Walk.SYMBOLS)), place[Walk.CAPACITY], np.int64)
    depth, group = place[Walk.DEPTH] - 1, int64(groups_by_symbol(arena)[operation, top]) - 1
    if group < 0:
        return int64(0)
    _, _, way_start, pushed_start = groups_of(arena)
    pushed = pushed_of(arena, pushed_start)
    for way in range(way_start[group], way_start[group + 1]):
        high = depth + pushed_start[way + 1] - pushed_start[way]
        if high > place[Walk.CAPACITY]:
            place[Walk.DEPTH] = place[Walk.CAPACITY]
            return int64(-1)
        for i in range(pushed_start[way], pushed_start[way + 1]):
            symbols[depth + i - pushed_start[way]] = pushed[i]
        if has_point(address, inner, after, place_address, high):
            place[Walk.DEPTH] = high
            return int64(1)
        symbols[depth] = top
    return int64(0)


@part
def end_token(address, inner, point, place_address):
    """Follows a token from a point, which can be completed, to its control. Returns 0 where the stack is too high."""
    arena = sets_arena(address)
    place = carray(pointer(place_address), int64(Walk.SYMBOLS), np.int64)
    symbols = carray(pointer(place_address + 8 * int64(Walk.SYMBOLS)), place[Walk.CAPACITY], np.int64)
    controls, pushes = arena[StackSets.CONTROLS], arena[StackSets.PUSHES]
    rule_start = carray(pointer(arena[StackSets.RULE_START]), arena[StackSets.MICROS] + 1, np.int32)
    rules = int64(rule_start[arena[StackSets.MICROS]])
    rule_symbol, rule_after = (
        carray(pointer(arena[StackSets.RULE_SYMBOL]), rules, np.int32),
        carray(pointer(arena[StackSets.RULE_AFTER]), rules, np.int32),
    )
    push_symbol, push_after = (
        carray(pointer(arena[StackSets.PUSH_SYMBOL]), pushes, np.int32),
        carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32),
    )
    q = int64(point)
    while q >= controls:
        depth = place[Walk.DEPTH]
        if q < controls + pushes:
            if depth == place[Walk.CAPACITY]:
                return int64(0)
            symbols[depth] = push_symbol[q - controls]
            place[Walk.DEPTH] = depth + 1
            q = int64(push_after[q - controls])
            continue
        m, top = q - controls - pushes, symbols[depth - 1] if depth > 0 else int64(ROOT)
        for r in range(rule_start[m], rule_start[m + 1]):
            symbol = int64(rule_symbol[r])
            if symbol >= arena[StackSets.SYMBOLS]:
                made = push_way(
                    address, inner, symbol - arena[StackSets.SYMBOLS], top, int64(rule_after[r]), place_address
                )
                if made < 0:
                    return int64(0)
                if made > 0:
                    q = int64(rule_after[r])
                    break
                continue
            if on_top(symbol) != top:
                continue
            left = depth - 1 if symbol > ROOT else depth
            if has_point(address, inner, int64(rule_after[r]), place_address, left):
                place[Walk.DEPTH] = left
                q = int64(rule_after[r])
                break
    place[Walk.CONTROL] = q
    return int64(1)


@kernel("int64(int64, int64, int64, int64, int64, int64)", seconds=2)
def sets_walk(address, row_address, steps, inner_address, scores_address, place_address):
    """Writes into a row of classes (int32 [steps]) what a walk takes where the token is masked: by the states within each token
    (int32 [steps]), and scores, float64 [steps, CLASSES]. Returns 1; 0 where the place that it begins at leads nowhere, or its
    stack has no room (layout/stack_sets.py, Walk)."""
    arena = sets_arena(address)
    row, inner = carray(pointer(row_address), steps, np.int32), carray(pointer(inner_address), steps, np.int32)
    scores = carray(pointer(scores_address), (steps, arena[StackSets.CLASSES]), np.float64)
    place = carray(pointer(place_address), int64(Walk.SYMBOLS), np.int64)
    starts = carray(pointer(arena[StackSets.CONTROL_START]), arena[StackSets.CONTROLS] + 1, np.int32)
    points = carray(pointer(arena[StackSets.EDGE_POINT]), arena[StackSets.EDGES], np.int32)
    kinds = carray(pointer(arena[StackSets.EDGE_KIND]), arena[StackSets.EDGES], np.int32)
    classes = kinds_of(arena)
    for i in range(steps):
        c, given = place[Walk.CONTROL], int64(row[i])
        best, best_class, best_edge = -np.inf, int64(-1), int64(-1)
        for e in range(starts[c], starts[c + 1]):
            kind = int64(kinds[e])
            if given >= 0 and not has_bit(classes, kind, given):
                continue
            if not has_point(address, int64(inner[i]), int64(points[e]), place_address, place[Walk.DEPTH]):
                continue
            if given >= 0:
                best_class, best_edge = given, int64(e)
                break
            for w in range(arena[StackSets.KIND_WORDS]):
                bits = classes[kind, w]
                while bits:
                    k = int64(w) * 64 + lowest(bits)
                    bits &= bits - uint64(1)
                    if scores[i, k] > best:
                        best, best_class, best_edge = scores[i, k], k, int64(e)
        if best_edge < 0 or end_token(address, int64(inner[i]), int64(points[best_edge]), place_address) == 0:
            return int64(0)
        row[i] = best_class
    return int64(1)
