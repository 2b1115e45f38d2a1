"""How good what follows can be at most: bounds from the right that forget most of what is on the stack.

Of each control at a boundary, and of each point within a token, with a context of its stack (contexts.py), the best sum of scores
to the right edge (or the log of the sum over completions) if at each pop what comes to light is what is best. No completion from
there has more. search.py and draws.py are led by these bounds.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Guide, StackSets

from .arrays import has_bit, lowest, on_top
from .contexts import (
    bottom_of,
    context_of,
    find_held,
    held_of,
    held_word,
    high_of,
    holds,
    pairs_of,
    pushed,
    set_at,
    top_of,
)
from .operated import most_ways
from .patterns import pattern_of, write_numbers
from .records import kinds_of, sets_arena, words_of

LEAST = -50.0  # the log of a share that changes no sum of float64


@inlined
def guide_of(address):
    return carray(pointer(address), int64(Guide.LENGTH), np.int64)


@inlined
def ahead_of(guide):
    return carray(pointer(guide[Guide.AHEAD]), (guide[Guide.STEPS] + 1, guide[Guide.PAIRS]), np.float64)


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
def edges_at(arena):
    """Where each edge leads, and its kind."""
    every = arena[StackSets.EVERY_EDGE]
    points = carray(pointer(arena[StackSets.EDGE_POINT]), every, np.int32)
    return points, carray(pointer(arena[StackSets.EDGE_KIND]), every, np.int32)


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
def bound_operated(address, guide_address, step, micro):
    """What those rules of a micro point that are operations have ahead, at most; without contexts. Filters let different symbols
    through each, so of these only the best comes in, of all else all."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, is_sum = ahead_of(guide)[step + 1], guide[Guide.IS_SUM] != 0
    live, symbols = live_of(guide, arena)[step], arena[StackSets.SYMBOLS]
    inner = words_of(arena, int64(carray(pointer(guide[Guide.INNER]), guide[Guide.STEPS], np.int32)[step]))
    m = micro - arena[StackSets.CONTROLS] - arena[StackSets.PUSHES]
    rule_start = carray(pointer(arena[StackSets.RULE_START]), arena[StackSets.MICROS] + 1, np.int32)
    rules = int64(rule_start[arena[StackSets.MICROS]])
    rule_symbol = carray(pointer(arena[StackSets.RULE_SYMBOL]), rules, np.int32)
    afters = carray(pointer(arena[StackSets.RULE_AFTER]), rules, np.int32)
    is_filter = carray(pointer(arena[StackSets.IS_FILTER]), arena[StackSets.OPERATIONS], np.int32)
    every, of_filter, best_filter, last = -np.inf, -np.inf, -np.inf, int64(-1)
    for r in range(rule_start[m], rule_start[m + 1]):
        operation, after = int64(rule_symbol[r]) - symbols, int64(afters[r])
        if operation < 0 or live[after] == 0:
            continue
        ways = most_ways(address, set_at(inner, live[after]), operation)
        if ways == 0:
            continue
        value = ahead[after] + (np.log(float(ways)) if is_sum else 0.0)
        if is_filter[operation] == 0:
            every = joined(every, value, is_sum)
            continue
        of_filter = joined(of_filter, value, is_sum) if operation == last else value
        best_filter, last = max(best_filter, of_filter), operation
    return joined(every, best_filter, is_sum)


@part
def rules_value(address, guide_address, step, micro, symbol, context, below):
    """What the rules of a micro point for a symbol on top have ahead: those that pop it with the context `below`."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, live, held, pairs = (
        ahead_of(guide)[step + 1],
        live_of(guide, arena)[step],
        held_of(guide),
        pairs_of(guide, arena),
    )
    words = words_of(arena, int64(carray(pointer(guide[Guide.INNER]), guide[Guide.STEPS], np.int32)[step]))
    first, found = arena[StackSets.CONTROLS] + arena[StackSets.PUSHES], -np.inf
    rule_start = carray(pointer(arena[StackSets.RULE_START]), arena[StackSets.MICROS] + 1, np.int32)
    rules = int64(rule_start[arena[StackSets.MICROS]])
    symbols = carray(pointer(arena[StackSets.RULE_SYMBOL]), rules, np.int32)
    afters = carray(pointer(arena[StackSets.RULE_AFTER]), rules, np.int32)
    for r in range(rule_start[micro - first], rule_start[micro - first + 1]):
        after, left = int64(afters[r]), below if symbols[r] > ROOT else context
        pair = int64(pairs[after, left])
        if on_top(int64(symbols[r])) == symbol and pair >= 0 and holds(held, set_at(words, live[after]), left):
            found = joined(found, ahead[pair], guide[Guide.IS_SUM] != 0)
    return found


@part
def bound_micro(address, guide_address, step, micro, context):
    """AHEAD of a micro point: the best of what may come to light below the symbol on top."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    symbols, height, best = arena[StackSets.SYMBOLS], guide[Guide.HEIGHT], -np.inf
    if height == 0:
        rule_start = carray(pointer(arena[StackSets.RULE_START]), arena[StackSets.MICROS] + 1, np.int32)
        of = carray(pointer(arena[StackSets.RULE_SYMBOL]), int64(rule_start[arena[StackSets.MICROS]]), np.int32)
        m = micro - arena[StackSets.CONTROLS] - arena[StackSets.PUSHES]
        for r in range(rule_start[m], rule_start[m + 1]):
            if of[r] < symbols:
                symbol = on_top(int64(of[r]))
                best = max(best, rules_value(address, guide_address, step, micro, symbol, int64(0), int64(0)))
        return joined(best, bound_operated(address, guide_address, step, micro), guide[Guide.IS_SUM] != 0)
    top = top_of(context, symbols, height)
    if context == 0 or high_of(context, height) == 1:
        return rules_value(address, guide_address, step, micro, top, context, int64(0))
    bottom, high = bottom_of(context, symbols, height), high_of(context, height)
    for left in range(high - 1, high + 1):
        if left == height or left < high:  # HEIGHT stands for more, too
            for under in range(1, symbols):
                if left > 1 or under == bottom:
                    below = context_of(int64(under), bottom, int64(left), symbols, height)
                    best = max(best, rules_value(address, guide_address, step, micro, top, context, below))
    return best


@part
def bound_points(address, guide_address, step):
    """AHEAD of the points within a token, after that of the controls behind it."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, live, reached = ahead_of(guide)[step + 1], live_of(guide, arena)[step], reached_of(guide, arena)[step + 1]
    controls, pushes, micros = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.MICROS]
    held, pairs, is_last = held_of(guide), pairs_of(guide, arena), step + 1 == guide[Guide.STEPS]
    inner = words_of(arena, int64(carray(pointer(guide[Guide.INNER]), guide[Guide.STEPS], np.int32)[step]))
    before = words_of(arena, int64(carray(pointer(guide[Guide.BEFORE]), guide[Guide.STEPS] + 1, np.int32)[step + 1]))
    push_symbol = carray(pointer(arena[StackSets.PUSH_SYMBOL]), pushes, np.int32)
    push_after = carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32)
    order = carray(pointer(arena[StackSets.MICRO_ORDER]), micros, np.int32)
    for i in range(controls + pushes + micros):
        q = int64(i) if i < controls + pushes else int64(order[controls + pushes + micros - 1 - i])
        if live[q] == 0:
            continue
        stacks = set_at(inner, live[q])
        here = set_at(before, reached[q]) if q < controls else int64(0)
        for w in range(held.shape[1]):
            bits = held_word(held, stacks, w)
            while bits:
                context = int64(w) * 64 + lowest(bits)
                bits &= bits - uint64(1)
                pair = int64(pairs[q, context])
                if pair < 0:
                    continue
                if q < controls:
                    if not holds(held, here, context):
                        ahead[pair] = -np.inf
                    elif is_last:
                        ahead[pair] = 0.0
                elif q < controls + pushes:
                    u = q - controls
                    on = pushed(context, int64(push_symbol[u]), arena[StackSets.SYMBOLS], guide[Guide.HEIGHT])
                    after = int64(pairs[push_after[u], on])
                    ahead[pair] = ahead[after] if after >= 0 else -np.inf
                else:
                    ahead[pair] = bound_micro(address, guide_address, step, q, context)


@part
def bound_controls(address, guide_address, step, stamps):
    """AHEAD of the controls before a token, and WEIGHT of the kinds that they can take. `stamps` int32 [KINDS]: whose is known."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, behind, is_sum = ahead_of(guide)[step], ahead_of(guide)[step + 1], guide[Guide.IS_SUM] != 0
    weight, kinds = weights_of(guide, arena)[step], kinds_of(arena)
    given = int64(carray(pointer(guide[Guide.ROW]), guide[Guide.STEPS], np.int32)[step])
    live, reached = live_of(guide, arena)[step], reached_of(guide, arena)[step]
    held, pairs = held_of(guide), pairs_of(guide, arena)
    (starts, edges), (points, kind_of) = edges_by_control(guide, arena), edges_at(arena)
    inner = words_of(arena, int64(carray(pointer(guide[Guide.INNER]), guide[Guide.STEPS], np.int32)[step]))
    before = words_of(arena, int64(carray(pointer(guide[Guide.BEFORE]), guide[Guide.STEPS] + 1, np.int32)[step]))
    for c in range(arena[StackSets.CONTROLS]):
        if reached[c] == 0:
            continue
        for w in range(held.shape[1]):
            bits = held_word(held, set_at(before, reached[c]), w)
            while bits:
                context = int64(w) * 64 + lowest(bits)
                bits &= bits - uint64(1)
                here, best, total = int64(pairs[c, context]), -np.inf, 0.0
                if here < 0:
                    continue
                for turn in range(2):
                    for x in range(starts[c], starts[c + 1]):
                        e = int64(edges[x])
                        kind, point = int64(kind_of[e]), int64(points[e])
                        if live[point] == 0 or not is_taken(arena, kinds, e, kind, given):
                            continue
                        pair = int64(pairs[point, context])
                        if pair < 0 or not holds(held, set_at(inner, live[point]), context):
                            continue
                        if stamps[kind] != step + 1:
                            stamps[kind] = int32(step + 1)
                            weight[kind] = 0.0 if given >= 0 else kind_weight(address, guide_address, step, kind)
                        value = weight[kind] + behind[pair]
                        if turn == 0:
                            best = max(best, value)
                        elif value > best + LEAST:
                            total += np.exp(value - best)
                    if best == -np.inf or not is_sum:
                        break
                ahead[here] = best + np.log(total) if total > 0.0 else best


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
    find_held(address, guide_address)
    stamps = np.zeros(arena[StackSets.KINDS], np.int32)
    for step in range(steps - 1, -1, -1):
        bound_points(address, guide_address, step)
        bound_controls(address, guide_address, step, stamps)
