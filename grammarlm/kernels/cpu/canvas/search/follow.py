"""Tokens on a stack, as searches and draws follow them: which edges a place may take, and where they lead.

A **place** is a control and a stack; stacks are numbers, each the one below with a symbol on top.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Guide, StackSets

from ..bits import on_top
from ..large.spot_sums import bound_by_spots
from ..sets.operated import groups_by_symbol, groups_of, pushed_of
from ..sets.records import MIX, kinds_of, sets_arena, words_of
from .contexts import next_of, pairs_of
from .guide import ahead_of, edges_at, edges_by_control, guide_of, is_taken, live_of, weights_of

MOST_FOUND = 1 << 13  # ends and points of one token: in large grammars hundreds are open


@part
def stack_with(guide_address, below, symbol):
    """The place of a stack with one more symbol on top; -1 where there is no room for it."""
    guide = guide_of(guide_address)
    capacity, mask = guide[Guide.STACK_CAPACITY], guide[Guide.STACK_SLOTS] - 1
    belows = carray(pointer(guide[Guide.STACK_BELOW]), capacity, np.int32)
    symbols = carray(pointer(guide[Guide.STACK_SYMBOL]), capacity, np.int32)
    slots = carray(pointer(guide[Guide.STACK_SLOT]), mask + 1, np.int32)
    hashed = (uint64(below) * uint64(MIX)) ^ (uint64(symbol) + (uint64(below) << uint64(7)))
    hashed *= uint64(MIX)
    at = int64(hashed >> uint64(33)) & mask
    while slots[at]:
        n = int64(slots[at])
        if belows[n] == below and symbols[n] == symbol:
            return n
        at = (at + 1) & mask
    n = guide[Guide.STACKS]
    if n == capacity:
        return int64(-1)
    belows[n], symbols[n], slots[at] = below, symbol, n
    contexts = carray(pointer(guide[Guide.STACK_CONTEXT]), capacity, np.int32)
    contexts[n] = next_of(guide)[contexts[below], symbol]
    guide[Guide.STACKS] = n + 1
    return n


@kernel("int64(int64, int64, int64)")
def guide_stack(guide_address, below, symbol):
    """As stack_with."""
    return stack_with(guide_address, below, symbol)


@part
def stands_in(address, guide_address, stacks, stack):
    """Is a stack in a set of stacks?"""
    arena, guide = sets_arena(address), guide_of(guide_address)
    belows = carray(pointer(guide[Guide.STACK_BELOW]), guide[Guide.STACKS], np.int32)
    symbols = carray(pointer(guide[Guide.STACK_SYMBOL]), guide[Guide.STACKS], np.int32)
    here, left = int64(stacks), int64(stack)
    while left and here:
        words, below = words_of(arena, here), int64(0)
        for i in range(1, len(words), 2):
            if words[i] == symbols[left]:
                below = int64(words[i + 1])
                break
        here, left = below, int64(belows[left])
    if here == 0:
        return False
    words = words_of(arena, here)
    return len(words) > 1 and words[1] == ROOT


@part
def is_open(address, guide_address, step, point, stack):
    """Can the row be completed from a point within a token, on a stack?"""
    arena, guide = sets_arena(address), guide_of(guide_address)
    number = int64(live_of(guide, arena)[step, point])
    if number == 0:
        return False
    inner = carray(pointer(guide[Guide.INNER]), guide[Guide.STEPS], np.int32)
    return stands_in(address, guide_address, int64(words_of(arena, int64(inner[step]))[1 + number]), stack)


@part
def follow_ways(address, guide_address, step, operation, after, stack, found, count, waiting):
    """Adds the stacks after an operation to what waits, where the point after is open on them. Returns where that begins, -1 where
    there is no room."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    belows = carray(pointer(guide[Guide.STACK_BELOW]), guide[Guide.STACK_CAPACITY], np.int32)
    symbols = carray(pointer(guide[Guide.STACK_SYMBOL]), guide[Guide.STACK_CAPACITY], np.int32)
    group = int64(groups_by_symbol(arena)[operation, symbols[stack]]) - 1 if stack else int64(-1)
    if group < 0:
        return waiting
    _, _, way_start, pushed_start = groups_of(arena)
    pushed = pushed_of(arena, pushed_start)
    for way in range(way_start[group], way_start[group + 1]):
        here = int64(belows[stack])
        for i in range(pushed_start[way], pushed_start[way + 1]):
            here = stack_with(guide_address, here, int64(pushed[i]))
            if here < 0:
                return int64(-1)
        if is_open(address, guide_address, step, after, here):
            if count == waiting:
                return int64(-1)
            waiting -= 1
            found[waiting, 0], found[waiting, 1] = after, here
    return waiting


@part
def follow(address, guide_address, step, point, stack, found):
    """Follows a token from a point that is open on a stack to the controls behind it: pairs of a control and a stack in `found`,
    int64 [n, 2], of which the rest is scratch. Returns how many, or -1 where there is no room."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    controls, pushes, micros = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.MICROS]
    push_symbol = carray(pointer(arena[StackSets.PUSH_SYMBOL]), pushes, np.int32)
    push_after = carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32)
    rule_start = carray(pointer(arena[StackSets.RULE_START]), micros + 1, np.int32)
    rule_symbol = carray(pointer(arena[StackSets.RULE_SYMBOL]), rule_start[micros], np.int32)
    rule_after = carray(pointer(arena[StackSets.RULE_AFTER]), rule_start[micros], np.int32)
    belows = carray(pointer(guide[Guide.STACK_BELOW]), guide[Guide.STACK_CAPACITY], np.int32)
    symbols = carray(pointer(guide[Guide.STACK_SYMBOL]), guide[Guide.STACK_CAPACITY], np.int32)
    count, waiting = int64(0), int64(len(found))  # what waits stands at the end
    q, on, more = int64(point), int64(stack), True
    while more:
        if q < controls:
            if count == waiting:
                return int64(-1)
            found[count, 0], found[count, 1] = q, on
            count += 1
        elif q < controls + pushes:
            on = stack_with(guide_address, on, int64(push_symbol[q - controls]))
            if on < 0:
                return int64(-1)
            q = int64(push_after[q - controls])
            continue
        else:
            m, top = q - controls - pushes, int64(symbols[on]) if on else int64(ROOT)
            for r in range(rule_start[m], rule_start[m + 1]):
                symbol, after = int64(rule_symbol[r]), int64(rule_after[r])
                if symbol >= arena[StackSets.SYMBOLS]:
                    operation = symbol - arena[StackSets.SYMBOLS]
                    waiting = follow_ways(address, guide_address, step, operation, after, on, found, count, waiting)
                    if waiting < 0:
                        return int64(-1)
                    continue
                if on_top(symbol) != top:
                    continue
                left = int64(belows[on]) if symbol > ROOT else on
                if is_open(address, guide_address, step, after, left):
                    if count == waiting:
                        return int64(-1)
                    waiting -= 1
                    found[waiting, 0], found[waiting, 1] = after, left
        more = waiting < len(found)
        if more:
            q, on = found[waiting, 0], found[waiting, 1]
            waiting += 1
    return count


@part
def bound_of(address, guide_address, step, point, stack):
    """AHEAD at a boundary, or within the token before it, on a stack."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    if guide[Guide.SPOTS]:
        top = (
            carray(pointer(guide[Guide.STACK_SYMBOL]), guide[Guide.STACK_CAPACITY], np.int32)[stack] if stack else ROOT
        )
        return bound_by_spots(address, guide[Guide.SPOTS], step, point, int64(top))
    contexts = carray(pointer(guide[Guide.STACK_CONTEXT]), guide[Guide.STACK_CAPACITY], np.int32)
    pair = int64(pairs_of(guide, arena)[contexts[stack], point])
    return ahead_of(guide)[step, pair] if pair >= 0 else -np.inf


@part
def next_edge(address, guide_address, step, control, stack, place):
    """Of the edges of a control by their places, the first from a place on with which the row can be completed; the place behind
    them all where there is none."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    kinds, live, weight = kinds_of(arena), live_of(guide, arena)[step], weights_of(guide, arena)[step]
    (starts, edges), (points, kind_of) = edges_by_control(guide, arena), edges_at(arena)
    given = int64(carray(pointer(guide[Guide.ROW]), guide[Guide.STEPS], np.int32)[step])
    for at in range(place, starts[control + 1]):
        e = int64(edges[at])
        q, kind = int64(points[e]), int64(kind_of[e])
        if live[q] == 0 or not is_taken(arena, kinds, e, kind, given):
            continue
        bound = bound_of(address, guide_address, step + 1, q, stack)
        if bound + weight[kind] > -np.inf and is_open(address, guide_address, step, q, stack):
            return int64(at)
    return int64(starts[control + 1])
