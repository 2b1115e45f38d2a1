"""How good what follows can be at most: bounds from the right that forget what is on the stack.

Of each control at a boundary, and of each point within a token, the best sum of scores to the right edge (or the log of the sum
over completions) if at each pop the symbol on top is the one that is best. No completion from there, whatever its stack, has more.
search.py and draws.py are led by these bounds.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.stack_sets import Guide, StackSets

from .arrays import has_bit, lowest, on_top
from .patterns import pattern_of, write_numbers
from .records import kinds_of, sets_arena

LEAST = -50.0  # the log of a share that changes no sum of float64


@inlined
def guide_of(address):
    return carray(pointer(address), int64(Guide.LENGTH), np.int64)


@inlined
def ahead_of(guide, arena):
    return carray(pointer(guide[Guide.AHEAD]), (guide[Guide.STEPS] + 1, arena[StackSets.POINTS]), np.float64)


@inlined
def weights_of(guide, arena):
    return carray(pointer(guide[Guide.WEIGHT]), (guide[Guide.STEPS], arena[StackSets.KINDS]), np.float64)


@inlined
def scores_of(guide, arena):
    return carray(pointer(guide[Guide.SCORES]), (guide[Guide.STEPS], arena[StackSets.CLASSES]), np.float64)


@inlined
def live_of(guide, arena):
    """int32 [STEPS, POINTS]."""
    return carray(pointer(guide[Guide.LIVE]), (guide[Guide.STEPS], arena[StackSets.POINTS]), np.int32)


@inlined
def reached_of(guide, arena):
    """int32 [STEPS + 1, CONTROLS]."""
    return carray(pointer(guide[Guide.REACHED]), (guide[Guide.STEPS] + 1, arena[StackSets.CONTROLS]), np.int32)


@inlined
def edges_by_control(guide, arena):
    """The first edge of each control in what comes second: the edges by control."""
    starts = carray(pointer(guide[Guide.EDGE_START]), arena[StackSets.CONTROLS] + 1, np.int32)
    return starts, carray(pointer(guide[Guide.EDGE]), arena[StackSets.EVERY_EDGE], np.int32)


@inlined
def is_taken(arena, kinds, edge, kind, given):
    """May a given token (or -1: some masked one) take an edge?"""
    return has_bit(kinds, kind, given) if given >= 0 else edge < arena[StackSets.EDGES]


@inlined
def joined(a, b, is_sum):
    """Of two ways: the better, or the log of their sum."""
    high, low = max(a, b), min(a, b)
    if is_sum and low > high + LEAST:
        high += np.log1p(np.exp(low - high))
    return high


@part
def kind_weight(address, guide_address, step, kind):
    """Of all classes of a kind at a masked position."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    kinds, scores = kinds_of(arena), scores_of(guide, arena)
    high = -np.inf
    for w in range(arena[StackSets.KIND_WORDS]):
        bits = kinds[kind, w]
        while bits:
            high = max(high, scores[step, int64(w) * 64 + lowest(bits)])
            bits &= bits - uint64(1)
    if guide[Guide.IS_SUM] == 0 or high == -np.inf:
        return high
    total = 0.0
    for w in range(arena[StackSets.KIND_WORDS]):
        bits = kinds[kind, w]
        while bits:
            total += np.exp(scores[step, int64(w) * 64 + lowest(bits)] - high)
            bits &= bits - uint64(1)
    return high + np.log(total)


@part
def bound_points(address, guide_address, step):
    """AHEAD of the points within a token, after that of the controls behind it."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, is_sum = ahead_of(guide, arena)[step + 1], guide[Guide.IS_SUM] != 0
    live, reached = live_of(guide, arena)[step], reached_of(guide, arena)[step + 1]
    controls, pushes, micros = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.MICROS]
    is_last = step + 1 == guide[Guide.STEPS]
    for c in range(controls):
        if live[c] and (is_last or reached[c] == 0):
            ahead[c] = 0.0 if reached[c] else -np.inf
    push_after = carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32)
    for u in range(pushes):
        if live[controls + u]:
            ahead[controls + u] = ahead[push_after[u]]
    order = carray(pointer(arena[StackSets.MICRO_ORDER]), micros, np.int32)
    first = controls + pushes
    rule_start = carray(pointer(arena[StackSets.RULE_START]), micros + 1, np.int32)
    rule_symbol = carray(pointer(arena[StackSets.RULE_SYMBOL]), rule_start[micros], np.int32)
    rule_after = carray(pointer(arena[StackSets.RULE_AFTER]), rule_start[micros], np.int32)
    for i in range(micros - 1, -1, -1):
        m = int64(order[i])
        if live[m] == 0:
            continue
        best = -np.inf
        for r in range(rule_start[m - first], rule_start[m - first + 1]):
            symbol, value = on_top(int64(rule_symbol[r])), -np.inf
            for t in range(rule_start[m - first], rule_start[m - first + 1]):  # one symbol may have several rules
                if on_top(int64(rule_symbol[t])) == symbol and live[rule_after[t]]:
                    value = joined(value, ahead[rule_after[t]], is_sum)
            best = max(best, value)
        ahead[m] = best


@part
def bound_controls(address, guide_address, step, stamps):
    """AHEAD of the controls before a token, and WEIGHT of the kinds that they can take. `stamps` int32 [KINDS]: whose is known."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, is_sum = ahead_of(guide, arena), guide[Guide.IS_SUM] != 0
    weight, kinds = weights_of(guide, arena)[step], kinds_of(arena)
    given = int64(carray(pointer(guide[Guide.ROW]), guide[Guide.STEPS], np.int32)[step])
    live, reached = live_of(guide, arena)[step], reached_of(guide, arena)[step]
    starts, edges = edges_by_control(guide, arena)
    points = carray(pointer(arena[StackSets.EDGE_POINT]), arena[StackSets.EVERY_EDGE], np.int32)
    kind_of = carray(pointer(arena[StackSets.EDGE_KIND]), arena[StackSets.EVERY_EDGE], np.int32)
    for c in range(arena[StackSets.CONTROLS]):
        if reached[c] == 0:
            continue
        best = -np.inf
        for x in range(starts[c], starts[c + 1]):
            e = int64(edges[x])
            kind, point = int64(kind_of[e]), int64(points[e])
            if live[point] == 0 or not is_taken(arena, kinds, e, kind, given):
                continue
            if stamps[kind] != step + 1:
                stamps[kind] = int32(step + 1)
                weight[kind] = 0.0 if given >= 0 else kind_weight(address, guide_address, step, kind)
            best = max(best, weight[kind] + ahead[step + 1, point])
        if is_sum and best > -np.inf:
            total = 0.0
            for x in range(starts[c], starts[c + 1]):
                e = int64(edges[x])
                kind, point = int64(kind_of[e]), int64(points[e])
                if live[point] and is_taken(arena, kinds, e, kind, given):
                    value = weight[kind] + ahead[step + 1, point] - best
                    if value > LEAST:
                        total += np.exp(value)
            best += np.log(total)
        ahead[step, c] = best


@inlined
def write_state(arena, state, numbers):
    """The numbers that a state gives to points, as far as there are any asked for."""
    numbers[:] = 0
    write_numbers(arena, pattern_of(arena, state), numbers, True)


@kernel("void(int64, int64)", seconds=3)
def guide_row(address, guide_address):
    """Fills AHEAD and WEIGHT of a row, where its states allow something."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    steps, live, reached = guide[Guide.STEPS], live_of(guide, arena), reached_of(guide, arena)
    inner = carray(pointer(guide[Guide.INNER]), steps, np.int32)
    before = carray(pointer(guide[Guide.BEFORE]), steps + 1, np.int32)
    for step in range(steps + 1):
        write_state(arena, int64(before[step]), reached[step])
        if step < steps:
            write_state(arena, int64(inner[step]), live[step])
    stamps = np.zeros(arena[StackSets.KINDS], np.int32)
    for step in range(steps - 1, -1, -1):
        bound_points(address, guide_address, step)
        bound_controls(address, guide_address, step, stamps)
