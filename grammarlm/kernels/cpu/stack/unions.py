"""Unions of stacks: threads that differ only in their stacks are merged into one thread.

An ambiguous text has more parses after each byte. If they differ only below the top of the stack, they continue alike:

    root ::= "a" root "b" | "aa" root "c" | "a"        after aaaa: return states  b b b b,  b b c,  b c b,  c b b,  c c

A **union** is a stack that stands for several: (one of them, UNION + the others), as in a graph-structured stack. Leaving a frame
continues in each of them (pushdown.leave). The members of a union are sorted by symbol, and no two have the same symbol: what is
below equal symbols is united, too. So there are as many stacks as return states on each level, however many paths lead down:

    aaaa:   4   where   n = (b n-1 | c n-2)

Stacks are united only once a config has WIDE threads: the configs of a plain grammar keep the same few threads, and so stay equal
to earlier ones.

Stacks that are united share most of what is below, so the same pairs recur: unions are cached until stacks are rolled back. If too
many pairs are new, the call gives up.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack import EXIT, FULL, TOO_WIDE, UNION, UNIONS, UNITED, UNITING, WIDEST, Field
from grammarlm.layout.stack_calls import FULL_UNIONS

from .arena import arena_of, ints, missing, mixed
from .stacks import push


@inlined
def slot_of_union(a, b):
    return int64(mixed(a, b) & uint64(UNIONS - 1))


@part
def unite(address, first, second):
    """The union of two stacks, or a missing code.

    Merges both in the order of their symbols. Where these are equal, what is below them is united first (UNITING is the stack of
    suspended merges). Beyond UNITING levels, two stacks with the same symbol stay side by side: the union is still correct.
    """
    if first == second:
        return int64(first)
    arena = arena_of(address)
    if arena[Field.UNIONS] == 0:
        return missing(FULL, FULL_UNIONS)
    capacity = arena[Field.S_CAPACITY]
    parents, symbols = ints(arena, Field.S_PARENT, capacity), ints(arena, Field.S_SYMBOL, capacity)
    waiting = carray(pointer(arena[Field.UNITING]), (UNITING, 5), np.int32)
    found = ints(arena, Field.UNITED, UNITED)
    known = carray(pointer(arena[Field.UNIONS]), (UNIONS, 4), np.int32)
    now = arena[Field.UNION_ROUND] + 1  # zero never matches: a new array holds zeros
    level, count = int64(0), int64(0)
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3], waiting[0, 4] = first, second, first, second, 0
    while True:
        a, b, begin = int64(waiting[level, 0]), int64(waiting[level, 1]), int64(waiting[level, 4])
        if a < 0 and b < 0:
            united = int64(found[count - 1])
            for i in range(count - 2, begin - 1, -1):
                if united >= UNION:
                    return missing(TOO_WIDE, 0)
                united = push(address, int64(found[i]), UNION + united)
                if united < 0:
                    return united
            if level == 0:
                return united
            slot = slot_of_union(waiting[level, 2], waiting[level, 3])
            known[slot, 0], known[slot, 1], known[slot, 2], known[slot, 3] = (
                waiting[level, 2],
                waiting[level, 3],
                united,
                now,
            )
            count = begin
            level -= 1
            continue
        if count + 2 > UNITED:
            return missing(TOO_WIDE, 0)
        one, other, after_one, after_other = a, b, int64(-1), int64(-1)
        if a >= 0 and symbols[a] >= UNION:
            one, after_one = int64(parents[a]), int64(symbols[a]) - UNION
        if b >= 0 and symbols[b] >= UNION:
            other, after_other = int64(parents[b]), int64(symbols[b]) - UNION
        if b < 0 or (a >= 0 and symbols[one] < symbols[other]):
            found[count] = one
            count += 1
            waiting[level, 0] = after_one
            continue
        if a < 0 or symbols[other] < symbols[one]:
            found[count] = other
            count += 1
            waiting[level, 1] = after_other
            continue
        if one != other:
            low, high = min(parents[one], parents[other]), max(parents[one], parents[other])
            slot = slot_of_union(low, high)
            if known[slot, 0] == low and known[slot, 1] == high and known[slot, 3] == now:
                one = push(address, int64(known[slot, 2]), int64(symbols[one]))
                if one < 0:
                    return one
            elif level + 1 < UNITING:
                arena[Field.UNIONS_LEFT] -= 1
                if arena[Field.UNIONS_LEFT] < 0:
                    return missing(TOO_WIDE, 0)
                level += 1
                waiting[level, 0], waiting[level, 1], waiting[level, 4] = low, high, count
                waiting[level, 2], waiting[level, 3] = low, high
                continue
            else:
                found[count] = other
                count += 1
        found[count] = one
        count += 1
        waiting[level, 0], waiting[level, 1] = after_one, after_other


@part
def forget_unions(address):
    """Invalidates the cache of unions: stacks were rolled back, and their numbers will be reused."""
    arena = arena_of(address)
    arena[Field.UNION_ROUND] += 1
    if arena[Field.UNION_ROUND] >= (1 << 31) - 2:  # the counter wraps around
        arena[Field.UNION_ROUND] = 0
        if arena[Field.UNIONS] == 0:
            return
        carray(pointer(arena[Field.UNIONS]), (UNIONS, 4), np.int32)[:] = 0


@part
def unite_closed(address, count):
    """Unites the threads in CLOSURE that differ only in their stacks. Returns how many are left, or a missing code."""
    arena = arena_of(address)
    closed = carray(pointer(arena[Field.CLOSURE]), (WIDEST, 3), np.int32)
    gap = int64(701)
    while gap > 0:  # shell sort by stack: what is below a union is then a union that already exists
        for i in range(gap, count):
            q, s, b = closed[i, 0], closed[i, 1], closed[i, 2]
            j = i - gap
            while j >= 0 and closed[j, 1] > s:
                closed[j + gap, 0], closed[j + gap, 1], closed[j + gap, 2] = closed[j, 0], closed[j, 1], closed[j, 2]
                j -= gap
            closed[j + gap, 0], closed[j + gap, 1], closed[j + gap, 2] = q, s, b
        gap = gap * 10 // 23
    left = int64(0)
    for i in range(count):
        q, s, b = closed[i, 0], int64(closed[i, 1]), closed[i, 2]
        at = int64(0) if q > EXIT else left
        while at < left and not (closed[at, 0] == q and closed[at, 2] == b):
            at += 1
        if at < left:
            united = unite(address, int64(closed[at, 1]), s)
            if united < 0:
                return united
            closed[at, 1] = united
            continue
        closed[left, 0], closed[left, 1], closed[left, 2] = q, s, b
        left += 1
    return left
