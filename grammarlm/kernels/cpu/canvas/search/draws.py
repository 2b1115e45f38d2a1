"""Completions drawn exactly, by rejection: a text is drawn token by token as if the bounds of what follows (guide.py) were sums.

In a place with the bound a, whose edges have the weights w and lead to places with the bounds b, each edge is taken with the
probability w b / a, and with what is left of 1 the try ends. So a derivation is drawn with the product of its weights, over the
bound of the beginning: in proportion to its weight. Where a row can have m derivations it is accepted with the probability 1 / m.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.stack_sets import Guide, StackSets

from ..bits import has_bit, lowest
from ..sets.records import kinds_of, sets_arena
from .follow import MOST_FOUND, bound_of, follow, is_open, next_edge
from .guide import edges_at, edges_by_control, guide_of, scores_of, weights_of

MOST_CONFIGS = 256  # places that the beginning of one row can lead to


@part
def drawn_class(address, guide_address, step, kind, share):
    """The first class of a kind up to which the weights are more than a share of all."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    kinds, scores, whole = kinds_of(arena), scores_of(guide, arena), weights_of(guide, arena)[step, kind]
    total, found = 0.0, int64(-1)
    for w in range(arena[StackSets.KIND_WORDS]):
        bits = kinds[kind, w]
        while bits:
            k = int64(w) * 64 + lowest(bits)
            bits &= bits - uint64(1)
            part_of = np.exp(scores[step, k] - whole)
            if part_of > 0.0:
                total, found = total + part_of, k
                if total > share:
                    return found
    return found


@part
def first_place(address, guide_address, uniform):
    """Which of the places where rows begin is drawn."""
    guide = guide_of(guide_address)
    control = carray(pointer(guide[Guide.START_CONTROL]), guide[Guide.STARTS], np.int32)
    stack = carray(pointer(guide[Guide.START_STACK]), guide[Guide.STARTS], np.int32)
    high, total, found = -np.inf, 0.0, int64(0)
    for s in range(guide[Guide.STARTS]):
        high = max(high, bound_of(address, guide_address, int64(0), int64(control[s]), int64(stack[s])))
    for s in range(guide[Guide.STARTS]):
        total += np.exp(bound_of(address, guide_address, int64(0), int64(control[s]), int64(stack[s])) - high)
    left = uniform * total
    for s in range(guide[Guide.STARTS]):
        share = np.exp(bound_of(address, guide_address, int64(0), int64(control[s]), int64(stack[s])) - high)
        if share > 0.0:
            found = int64(s)
            left -= share
            if left < 0.0:
                break
    return found


@part
def note_end(guide_address, stack):
    """Writes down with which stack a try ended, while there is room."""
    guide = guide_of(guide_address)
    at = guide[Guide.ENDED]
    if at < guide[Guide.ENDED_CAPACITY]:
        carray(pointer(guide[Guide.ENDED_STACK]), at + 1, np.int32)[at] = int32(stack)
        guide[Guide.ENDED] = at + 1


@part
def one_try(address, guide_address, start, uniforms, found, edges):
    """Draws an edge for each step. Returns how many were drawn: all, or the try ended there; -1 where there is no room."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    steps, weight = guide[Guide.STEPS], weights_of(guide, arena)
    (edge_start, edges_of), (edge_point, edge_kind) = edges_by_control(guide, arena), edges_at(arena)
    c = int64(carray(pointer(guide[Guide.START_CONTROL]), start + 1, np.int32)[start])
    stack = int64(carray(pointer(guide[Guide.START_STACK]), start + 1, np.int32)[start])
    for i in range(steps):
        left, whole, is_drawn = uniforms[i], bound_of(address, guide_address, int64(i), c, stack), False
        control, on = c, stack
        place, end = (
            next_edge(address, guide_address, int64(i), c, stack, int64(edge_start[c])),
            int64(edge_start[c + 1]),
        )
        while place < end and not is_drawn:
            e = int64(edges_of[place])
            ends = follow(address, guide_address, int64(i), int64(edge_point[e]), stack, found)
            if ends < 0:
                return int64(-1)
            for x in range(ends):
                bound = bound_of(address, guide_address, int64(i) + 1, found[x, 0], found[x, 1])
                left -= np.exp(weight[i, edge_kind[e]] + bound - whole)
                if left < 0.0:
                    control, on, edges[i], is_drawn = found[x, 0], found[x, 1], int32(e), True
                    break
            place = next_edge(address, guide_address, int64(i), c, stack, place + 1)
        if not is_drawn:
            note_end(guide_address, stack)
            return int64(i)
        c, stack = control, on
    return steps


@part
def derivations(address, guide_address, classes, found):
    """How many a completion of the row has; -1.0 where there is no room."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    steps, kinds = guide[Guide.STEPS], kinds_of(arena)
    row = carray(pointer(guide[Guide.ROW]), steps, np.int32)
    (edge_start, edges_of), (edge_point, edge_kind) = edges_by_control(guide, arena), edges_at(arena)
    start_control = carray(pointer(guide[Guide.START_CONTROL]), guide[Guide.STARTS], np.int32)
    start_stack = carray(pointer(guide[Guide.START_STACK]), guide[Guide.STARTS], np.int32)
    places, counts = np.empty((2, MOST_CONFIGS, 2), np.int64), np.empty((2, MOST_CONFIGS))
    count, now = min(guide[Guide.STARTS], int64(MOST_CONFIGS)), int64(0)
    if guide[Guide.STARTS] > MOST_CONFIGS:
        return -1.0
    for s in range(count):
        places[0, s, 0], places[0, s, 1], counts[0, s] = start_control[s], start_stack[s], 1.0
    for i in range(steps):
        made, later = int64(0), 1 - now
        for n in range(count):
            c, stack = places[now, n, 0], places[now, n, 1]
            for place in range(edge_start[c], edge_start[c + 1]):
                e = int64(edges_of[place])
                q = int64(edge_point[e])
                if not has_bit(kinds, int64(edge_kind[e]), int64(classes[i])):
                    continue
                if (row[i] < 0 and e >= arena[StackSets.EDGES]) or not is_open(
                    address, guide_address, int64(i), q, stack
                ):
                    continue
                ends = follow(address, guide_address, int64(i), q, stack, found)
                if ends < 0:
                    return -1.0
                for x in range(ends):
                    to = int64(0)
                    while to < made and (places[later, to, 0] != found[x, 0] or places[later, to, 1] != found[x, 1]):
                        to += 1
                    if to == MOST_CONFIGS:
                        return -1.0
                    if to == made:
                        places[later, to, 0], places[later, to, 1], counts[later, to] = found[x, 0], found[x, 1], 0.0
                        made += 1
                    counts[later, to] += counts[now, n]
        now, count = later, made
    total = 0.0
    for n in range(count):
        total += counts[now, n]
    return total


@kernel("int64(int64, int64, int64, int64)", seconds=5)
def guided_draw(address, guide_address, uniforms_address, count):
    """Writes a completion into a row of classes that has a guide of sums: that of the first try that does not end early. Tries take
    uniform numbers, float64 [count], and none begins that could run out of them. Returns 1; 0 where all tries ended early, -1 where
    there is no room."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    steps, is_single = guide[Guide.STEPS], guide[Guide.IS_SINGLE] != 0
    uniforms = carray(pointer(uniforms_address), count, np.float64)
    row = carray(pointer(guide[Guide.ROW]), steps, np.int32)
    _, edge_kind = edges_at(arena)
    found, edges, used = np.empty((MOST_FOUND, 2), np.int64), np.empty(steps, np.int32), int64(0)
    classes = np.empty(steps, np.int32)
    while used + 2 * steps + 2 <= count:
        start = first_place(address, guide_address, uniforms[used])
        made = one_try(address, guide_address, start, uniforms[used + 1 : used + 1 + steps], found, edges)
        if made < 0:
            return int64(-1)
        used += min(made + 2, steps + 1)
        if made < steps:
            continue
        for i in range(steps):
            classes[i] = row[i]
            if row[i] < 0:
                classes[i] = int32(
                    drawn_class(address, guide_address, int64(i), int64(edge_kind[edges[i]]), uniforms[used + i])
                )
        used += steps
        if not is_single:
            ways = derivations(address, guide_address, classes, found)
            if ways < 0.0:
                return int64(-1)
            used += 1
            if uniforms[used - 1] * ways >= 1.0:
                continue
        for i in range(steps):
            row[i] = classes[i]
        return int64(1)
    return int64(0)
