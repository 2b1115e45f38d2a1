"""Completions drawn exactly, by rejection: a text is drawn token by token as if the bounds of what follows (guide.py) were sums.

In a place with the bound a, whose edges have the weights w and lead to places with the bounds b, each edge is taken with the
probability w b / a, and with what is left of 1 the try ends. So a completion is drawn with the product of its weights, over the
bound of the beginning: in proportion to its weight. Right only where each row has one derivation.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.stack_sets import Guide, StackSets

from .arrays import lowest
from .follow import MOST_FOUND, edges_at, follow, next_edge
from .guide import ahead_of, edges_by_control, guide_of, scores_of, weights_of
from .records import kinds_of, sets_arena


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
def one_try(address, guide_address, uniforms, found, edges):
    """Draws an edge for each step. Returns how many were drawn: all, or the try ended there; -1 where there is no room."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    steps, ahead, weight = guide[Guide.STEPS], ahead_of(guide, arena), weights_of(guide, arena)
    (edge_start, edges_of), (edge_point, edge_kind) = edges_by_control(guide, arena), edges_at(arena)
    c = int64(carray(pointer(guide[Guide.START_CONTROL]), 1, np.int32)[0])
    stack = int64(carray(pointer(guide[Guide.START_STACK]), 1, np.int32)[0])
    for i in range(steps):
        left, whole, is_drawn = uniforms[i], ahead[i, c], False
        place = next_edge(address, guide_address, int64(i), c, stack, int64(edge_start[c]))
        while place < edge_start[c + 1]:
            e = int64(edges_of[place])
            ends = follow(address, guide_address, i, int64(edge_point[e]), stack, found)
            if ends != 1:
                return int64(-1)
            left -= np.exp(weight[i, edge_kind[e]] + ahead[i + 1, found[0, 0]] - whole)
            if left < 0.0:
                c, stack, edges[i], is_drawn = found[0, 0], found[0, 1], int32(e), True
                break
            place = next_edge(address, guide_address, int64(i), c, stack, place + 1)
        if not is_drawn:
            return int64(i)
    return steps


@kernel("int64(int64, int64, int64, int64, int64)", seconds=4)
def guided_draw(address, guide_address, uniforms_address, count, shares_address):
    """Writes a completion into a row of classes that has a guide of sums: that of the first try that does not end early. Tries take
    their uniform numbers, float64 [count], one after the other, and none begins that could run out of them; then `shares`, float64
    [STEPS], choose the classes. Returns 1; 0 where all tries ended early, -1 where there is no room."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    steps = guide[Guide.STEPS]
    uniforms = carray(pointer(uniforms_address), count, np.float64)
    shares = carray(pointer(shares_address), steps, np.float64)
    row = carray(pointer(guide[Guide.ROW]), steps, np.int32)
    edge_kind = carray(pointer(arena[StackSets.EDGE_KIND]), arena[StackSets.EVERY_EDGE], np.int32)
    found, edges, used = np.empty((MOST_FOUND, 2), np.int64), np.empty(steps, np.int32), int64(0)
    while used + steps <= count:
        made = one_try(address, guide_address, uniforms[used : used + steps], found, edges)
        if made < 0:
            return int64(-1)
        if made == steps:
            for i in range(steps):
                if row[i] < 0:
                    row[i] = int32(drawn_class(address, guide_address, i, int64(edge_kind[edges[i]]), shares[i]))
            return int64(1)
        used += made + 1
    return int64(0)
