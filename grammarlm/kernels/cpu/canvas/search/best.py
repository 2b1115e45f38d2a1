"""The best completion of a row, best first: of all beginnings the one is followed whose score, with the bound of what follows
(guide.py), is highest. Only beginnings that can be completed are looked at, so the first that is complete is the best.

A **place** is a boundary, a control and a stack; of the beginnings that lead to it the best is kept.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.stack_sets import Guide, StackSets

from ..bits import lowest
from ..sets.records import MIX, kinds_of, sets_arena
from .follow import MOST_FOUND, bound_of, follow, next_edge
from .guide import edges_at, edges_by_control, guide_of, scores_of, weights_of

ROUNDING = 2.0**-40  # of a sum of scores: what is nearer is equal, and then the longer beginning comes first


@part
def is_before(keys, lefts, a, b):
    """Does an entry of the heap come before another?"""
    return keys[a] < keys[b] or (keys[a] == keys[b] and lefts[a] < lefts[b])


@part
def swap(keys, lefts, places, a, b):
    keys[a], keys[b] = keys[b], keys[a]
    lefts[a], lefts[b] = lefts[b], lefts[a]
    places[a], places[b] = places[b], places[a]


@part
def put_in(keys, lefts, places, count, key, left, place):
    """Into a heap of `count` entries, the first of them at 1."""
    at = count + 1
    keys[at], lefts[at], places[at] = key, int32(left), int32(place)
    while at > 1 and is_before(keys, lefts, at, at >> 1):
        swap(keys, lefts, places, at, at >> 1)
        at >>= 1


@part
def take_out(keys, lefts, places, count):
    """The first of a heap."""
    first = int64(places[1])
    keys[1], lefts[1], places[1] = keys[count], lefts[count], places[count]
    at = int64(1)
    while 2 * at < count:
        child = 2 * at
        if child + 1 < count and is_before(keys, lefts, child + 1, child):
            child += 1
        if not is_before(keys, lefts, child, at):
            break
        swap(keys, lefts, places, child, at)
        at = child
    return first


@part
def place_of(where, slots, count, step, control, stack):
    """The number of a place, int32 [n, 3] `where`; `count`, the next one, where it is new: then it is written down."""
    mask = int64(len(slots)) - 1
    hashed = (uint64(step) * uint64(MIX)) ^ uint64(control)
    hashed = (hashed ^ (hashed >> uint64(29))) * uint64(MIX) ^ uint64(stack)
    at = int64((hashed * uint64(MIX)) >> uint64(33)) & mask
    while slots[at]:
        n = int64(slots[at]) - 1
        if where[n, 0] == step and where[n, 1] == control and where[n, 2] == stack:
            return n
        at = (at + 1) & mask
    slots[at] = int32(count + 1)
    where[count, 0], where[count, 1], where[count, 2] = int32(step), int32(control), int32(stack)
    return count


@part
def best_class(address, guide_address, step, kind):
    """The first of the best classes of a kind."""
    arena = sets_arena(address)
    kinds, scores = kinds_of(arena), scores_of(guide_of(guide_address), arena)
    best, found = -np.inf, int64(-1)
    for w in range(arena[StackSets.KIND_WORDS]):
        bits = kinds[kind, w]
        while bits:
            k = int64(w) * 64 + lowest(bits)
            bits &= bits - uint64(1)
            if found < 0 or scores[step, k] > best:
                best, found = scores[step, k], k
    return found


@part
def note_places(guide_address, where, is_done, count):
    """Writes down the stacks of places that were looked at, evenly, while there is room."""
    guide = guide_of(guide_address)
    ended = carray(pointer(guide[Guide.ENDED_STACK]), guide[Guide.ENDED_CAPACITY], np.int32)
    apart = count // len(ended) + 1
    for n in range(0, count, apart):
        if is_done[n]:
            ended[guide[Guide.ENDED]] = where[n, 2]
            guide[Guide.ENDED] += 1


@kernel("int64(int64, int64, int64)", seconds=4)
def guided_best(address, guide_address, most):
    """Writes the best completion into a row of classes that has a guide. Returns how many places were looked at; 0 where it was not
    found with `most` of them."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    guide[Guide.ENDED] = 0
    steps, weight = guide[Guide.STEPS], weights_of(guide, arena)
    row = carray(pointer(guide[Guide.ROW]), steps, np.int32)
    (edge_start, edges_of), (edge_point, edge_kind) = edges_by_control(guide, arena), edges_at(arena)
    size = int64(64)
    while size < 2 * most:
        size *= 2
    slots, where = np.zeros(size, np.int32), np.empty((most + 1, 3), np.int32)
    value, source, edge_of = np.empty(most + 1), np.empty(most + 1, np.int32), np.empty(most + 1, np.int32)
    is_done = np.zeros(most + 1, np.uint8)
    room = 4 * most
    keys, lefts, places, waiting = (
        np.empty(room + 2),
        np.empty(room + 2, np.int32),
        np.empty(room + 2, np.int32),
        int64(0),
    )
    found, count = np.empty((MOST_FOUND, 2), np.int64), int64(0)
    start_control = carray(pointer(guide[Guide.START_CONTROL]), guide[Guide.STARTS], np.int32)
    start_stack = carray(pointer(guide[Guide.START_STACK]), guide[Guide.STARTS], np.int32)
    top = -np.inf
    for s in range(guide[Guide.STARTS]):
        top = max(top, bound_of(address, guide_address, int64(0), int64(start_control[s]), int64(start_stack[s])))
    unit = max(abs(top), 1.0) * ROUNDING
    for s in range(guide[Guide.STARTS]):
        bound = bound_of(address, guide_address, int64(0), int64(start_control[s]), int64(start_stack[s]))
        if bound > -np.inf and count < most:
            n = place_of(where, slots, count, int64(0), int64(start_control[s]), int64(start_stack[s]))
            if n == count:
                count += 1
                value[n], source[n], edge_of[n] = 0.0, -1, -1
                put_in(keys, lefts, places, waiting, np.floor((top - bound) / unit), steps, n)
                waiting += 1
    last = int64(-1)
    while waiting:
        n = take_out(keys, lefts, places, waiting)
        waiting -= 1
        if is_done[n]:
            continue
        is_done[n] = 1
        i, c, stack = int64(where[n, 0]), int64(where[n, 1]), int64(where[n, 2])
        if i == steps:
            last = n
            break
        place = next_edge(address, guide_address, i, c, stack, int64(edge_start[c]))
        while place < edge_start[c + 1]:
            e = int64(edges_of[place])
            kind = int64(edge_kind[e])
            ends = follow(address, guide_address, i, int64(edge_point[e]), stack, found)
            if ends < 0:
                return int64(0)
            for x in range(ends):
                control, on = found[x, 0], found[x, 1]
                bound, here = bound_of(address, guide_address, i + 1, control, on), value[n] + weight[i, kind]
                if bound == -np.inf:
                    continue
                to = place_of(where, slots, count, i + 1, control, on)
                if to == count:
                    count += 1
                elif is_done[to] or value[to] >= here:
                    continue
                value[to], source[to], edge_of[to] = here, int32(n), int32(e)
                if count > most or waiting == room:
                    note_places(guide_address, where, is_done, count - 1)
                    return int64(0)
                put_in(keys, lefts, places, waiting, np.floor((top - here - bound) / unit), steps - i - 1, to)
                waiting += 1
            place = next_edge(address, guide_address, i, c, stack, place + 1)
    if last < 0:
        return int64(0)
    for i in range(steps - 1, -1, -1):
        if row[i] < 0:
            row[i] = int32(best_class(address, guide_address, i, int64(edge_kind[edge_of[last]])))
        last = int64(source[last])
    return count
