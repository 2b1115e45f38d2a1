"""How good what follows can be at most: bounds from the right that forget most of what is on the stack.

Of each control at a boundary, and of each point within a token, with a context of its stack (contexts.py), the best sum of scores
to the right edge (or the log of the sum over completions) if at each pop what comes to light is what is best. No completion from
there has more. search.py and draws.py are led by these bounds.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Guide, StackSets

from ..bits import has_bit, lowest, on_top
from ..sets.patterns import pattern_of, write_numbers
from ..sets.records import kinds_of, sets_arena, words_of
from .contexts import belows_in, find_held, held_at, held_of, held_word, held_words, holds, next_of, pairs_of, set_at

LEAST = -50.0  # the log of a share that changes no sum of float64
SMALLEST_SUM = 1e-200  # of shares, each of which is exact above 1e-308


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
def rules_of(arena):
    """Where the rules of each micro point start, their symbols and the points after."""
    starts = carray(pointer(arena[StackSets.RULE_START]), arena[StackSets.MICROS] + 1, np.int32)
    count = int64(starts[arena[StackSets.MICROS]])
    symbols = carray(pointer(arena[StackSets.RULE_SYMBOL]), count, np.int32)
    return starts, symbols, carray(pointer(arena[StackSets.RULE_AFTER]), count, np.int32)


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
def bound_any(address, guide_address, step, micro):
    """AHEAD of a micro point where nothing is known of the stack: the best of what may be on top, and come to light below it."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, live, is_sum = ahead_of(guide)[step + 1], live_of(guide, arena)[step], guide[Guide.IS_SUM] != 0
    rule_start, symbols, afters = rules_of(arena)
    m = micro - arena[StackSets.CONTROLS] - arena[StackSets.PUSHES]
    best = -np.inf
    for r in range(rule_start[m], rule_start[m + 1]):
        symbol, found = int64(symbols[r]), -np.inf
        for x in range(rule_start[m], rule_start[m + 1]):
            if live[afters[x]] and on_top(int64(symbols[x])) == on_top(symbol):
                found = joined(found, ahead[afters[x]], is_sum)
        best = max(best, found)
    return best


@part
def bound_micro(address, guide_address, step, micro, context):
    """AHEAD of a micro point with a context: the best of what may come to light below the symbol on top."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, live, pairs = ahead_of(guide)[step + 1], live_of(guide, arena)[step], pairs_of(guide, arena)
    rule_start, symbols, afters = rules_of(arena)
    below_start, belows = belows_in(guide)
    top = int64(carray(pointer(guide[Guide.TOP]), guide[Guide.CONTEXTS], np.int32)[context])
    m, best = micro - arena[StackSets.CONTROLS] - arena[StackSets.PUSHES], -np.inf
    for i in range(below_start[context], max(below_start[context + 1], below_start[context] + 1)):
        below, found = int64(belows[i]) if context > 0 else int64(0), -np.inf  # nothing is below the empty stack
        for r in range(rule_start[m], rule_start[m + 1]):
            if on_top(int64(symbols[r])) == top and live[afters[r]]:
                pair = int64(pairs[below if symbols[r] > ROOT else context, afters[r]])
                if pair >= 0:
                    found = joined(found, ahead[pair], guide[Guide.IS_SUM] != 0)
        best = max(best, found)
    return best


@part
def find_asked(address, guide_address, step, asked):
    """Which contexts bounds are asked for within a token, uint64 [POINTS, words]: of points that edges lead to those of the stacks
    from the left, of points behind these all."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    live, reached = live_of(guide, arena)[step], reached_of(guide, arena)[step]
    controls, pushes, micros = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.MICROS]
    held, kinds = held_of(guide), kinds_of(arena)
    given = int64(carray(pointer(guide[Guide.ROW]), guide[Guide.STEPS], np.int32)[step])
    before = words_of(arena, int64(carray(pointer(guide[Guide.BEFORE]), guide[Guide.STEPS] + 1, np.int32)[step]))
    points, kind_of = edges_at(arena)
    sources = carray(pointer(arena[StackSets.EDGE_CONTROL]), arena[StackSets.EVERY_EDGE], np.int32)
    inner_edges = carray(pointer(guide[Guide.INNER_EDGE]), guide[Guide.INNER_EDGES], np.int32)
    push_after = carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32)
    order = carray(pointer(arena[StackSets.MICRO_ORDER]), micros, np.int32)
    rule_start, _, afters = rules_of(arena)
    if guide[Guide.ROUNDS] > 1:
        asked[:] = ~uint64(0)
        return
    asked[:] = uint64(0)
    for x in range(guide[Guide.INNER_EDGES]):
        e = int64(inner_edges[x])
        q, c = int64(points[e]), int64(sources[e])
        if live[q] and reached[c] and is_taken(arena, kinds, e, int64(kind_of[e]), given):
            stacks = held_at(guide, set_at(before, reached[c]))
            for w in range(asked.shape[1]):
                asked[q, w] |= held_word(held, stacks, w)
    for i in range(pushes + micros):
        q = int64(order[i]) if i < micros else controls + pushes + micros - 1 - int64(i)
        some = uint64(0)
        for w in range(asked.shape[1]):
            some |= asked[q, w]
        if some == 0:
            continue
        if q < controls + pushes:
            asked[push_after[q - controls]] = ~uint64(0)
        else:
            for r in range(rule_start[q - controls - pushes], rule_start[q - controls - pushes + 1]):
                asked[afters[r]] = ~uint64(0)


@part
def bound_points(address, guide_address, step, asked):
    """AHEAD of the points within a token, after that of the controls behind it. Of points in a circle so often as a token can go
    round: then none has more."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, live, reached = ahead_of(guide)[step + 1], live_of(guide, arena)[step], reached_of(guide, arena)[step + 1]
    controls, pushes, micros = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.MICROS]
    held, pairs, is_last = held_of(guide), pairs_of(guide, arena), step + 1 == guide[Guide.STEPS]
    inner = words_of(arena, int64(carray(pointer(guide[Guide.INNER]), guide[Guide.STEPS], np.int32)[step]))
    before = words_of(arena, int64(carray(pointer(guide[Guide.BEFORE]), guide[Guide.STEPS] + 1, np.int32)[step + 1]))
    push_symbol = carray(pointer(arena[StackSets.PUSH_SYMBOL]), pushes, np.int32)
    push_after = carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32)
    order = carray(pointer(arena[StackSets.MICRO_ORDER]), micros, np.int32)
    pair_start = carray(pointer(guide[Guide.PAIR_START]), controls + pushes + micros + 1, np.int32)
    find_asked(address, guide_address, step, asked)
    if guide[Guide.ROUNDS] > 1:
        ahead[pair_start[controls + pushes] :] = -np.inf
    for i in range(controls + pushes + guide[Guide.ROUNDS] * micros):
        q = int64(i)
        if i >= controls + pushes:
            q = int64(order[micros - 1 - (i - controls - pushes) % micros])
        if live[q] == 0:
            continue
        stacks = held_at(guide, set_at(inner, live[q]))
        if q < controls and reached[q] > 0 and not is_last:
            here = held_at(guide, set_at(before, reached[q]))
            for w in range(held_words(guide)):
                bits = held_word(held, here, w) & ~held_word(held, stacks, w)
                while bits:
                    pair = int64(pairs[int64(w) * 64 + lowest(bits), q])
                    bits &= bits - uint64(1)
                    if pair >= 0:
                        ahead[pair] = -np.inf
            continue
        if i < controls + pushes + micros:
            ahead[pair_start[q] : pair_start[q + 1]] = -np.inf
        if q < controls and reached[q] == 0:
            continue
        for w in range(held_words(guide)):
            bits = held_word(held, stacks, w)
            if q >= controls:
                bits &= asked[q, w]
            while bits:
                context = int64(w) * 64 + lowest(bits)
                bits &= bits - uint64(1)
                pair = int64(pairs[context, q])
                if pair < 0:
                    continue
                if q < controls:
                    if holds(held, held_at(guide, set_at(before, reached[q])), context):
                        ahead[pair] = 0.0
                elif q < controls + pushes:
                    u = q - controls
                    on = int64(next_of(guide)[context, push_symbol[u]])
                    after = int64(pairs[on, push_after[u]]) if on >= 0 else int64(-1)
                    if after >= 0 and live[push_after[u]]:
                        ahead[pair] = ahead[after]
                elif guide[Guide.HELD_SETS] == 0:
                    ahead[pair] = bound_any(address, guide_address, step, q)
                else:
                    ahead[pair] = bound_micro(address, guide_address, step, q, context)


@part
def put_tails(address, guide_address, step, high, tails):
    """float64 [PAIRS]: AHEAD of what is behind a token, -inf where nothing leads on; of sums its shares of e^high."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    behind, live = ahead_of(guide)[step + 1], live_of(guide, arena)[step]
    pair_start = carray(pointer(guide[Guide.PAIR_START]), arena[StackSets.POINTS] + 1, np.int32)
    is_sum = guide[Guide.IS_SUM] != 0
    for q in range(arena[StackSets.POINTS]):
        for pair in range(pair_start[q], pair_start[q + 1]):
            value = behind[pair] if live[q] else -np.inf
            tails[pair] = np.exp(value - high) if is_sum else value


@part
def highest_of(address, guide_address, step):
    """The highest AHEAD of what is behind a token; 0.0 where nothing is."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    behind, live = ahead_of(guide)[step + 1], live_of(guide, arena)[step]
    pair_start = carray(pointer(guide[Guide.PAIR_START]), arena[StackSets.POINTS] + 1, np.int32)
    high = -np.inf
    for q in range(arena[StackSets.POINTS]):
        if live[q]:
            for pair in range(pair_start[q], pair_start[q + 1]):
                high = max(high, behind[pair])
    return high if high > -np.inf else 0.0


@part
def bound_exactly(address, guide_address, step, control, context, given):
    """The bound of a sum whose shares are too small for float64: by its logs."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    behind, live = ahead_of(guide)[step + 1], live_of(guide, arena)[step]
    weight, kinds, pairs = weights_of(guide, arena)[step], kinds_of(arena), pairs_of(guide, arena)
    (starts, edges), (points, kind_of) = edges_by_control(guide, arena), edges_at(arena)
    best, total = -np.inf, 0.0
    for is_second in range(2):
        for x in range(starts[control], starts[control + 1]):
            e = int64(edges[x])
            pair = int64(pairs[context, points[e]])
            if pair >= 0 and live[points[e]] and is_taken(arena, kinds, e, int64(kind_of[e]), given):
                value = weight[kind_of[e]] + behind[pair]
                if is_second == 0:
                    best = max(best, value)
                elif value > best + LEAST:
                    total += np.exp(value - best)
        if best == -np.inf:
            return best
    return best + np.log(total)


@part
def bound_controls(address, guide_address, step, tails, shares):
    """AHEAD of the controls before a token, and WEIGHT of the kinds that they can take, unless it is known. Nearly all of the time
    of bounds is in the loop over edges: it takes what is behind from `tails`, and of sums weights as shares, so that it has no
    logs."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, is_sum = ahead_of(guide)[step], guide[Guide.IS_SUM] != 0
    weight, kinds, pairs = weights_of(guide, arena)[step], kinds_of(arena), pairs_of(guide, arena)
    given = int64(carray(pointer(guide[Guide.ROW]), guide[Guide.STEPS], np.int32)[step])
    reached, held, edge_count = reached_of(guide, arena)[step], held_of(guide), arena[StackSets.EDGES]
    (starts, edges), (points, kind_of) = edges_by_control(guide, arena), edges_at(arena)
    before = words_of(arena, int64(carray(pointer(guide[Guide.BEFORE]), guide[Guide.STEPS] + 1, np.int32)[step]))
    pair_start = carray(pointer(guide[Guide.PAIR_START]), arena[StackSets.POINTS] + 1, np.int32)
    high, heaviest = highest_of(address, guide_address, step) if is_sum else 0.0, 0.0
    put_tails(address, guide_address, step, high, tails)
    if is_sum and given < 0:
        heaviest, scores = -np.inf, scores_of(guide, arena)[step]
        for k in range(len(scores)):
            heaviest = max(heaviest, scores[k])
        heaviest = heaviest if heaviest > -np.inf else 0.0
    shares[:] = np.nan
    for c in range(arena[StackSets.CONTROLS]):
        if reached[c] == 0:
            continue
        stacks = held_at(guide, set_at(before, reached[c]))
        ahead[pair_start[c] : pair_start[c + 1]] = -np.inf
        for w in range(held_words(guide)):
            bits = held_word(held, stacks, w)
            while bits:
                context = int64(w) * 64 + lowest(bits)
                bits &= bits - uint64(1)
                here, best, total = int64(pairs[context, c]), -np.inf, 0.0
                if here < 0:
                    continue
                for x in range(starts[c], starts[c + 1]):
                    e = int64(edges[x])
                    kind, pair = int64(kind_of[e]), int64(pairs[context, points[e]])
                    if pair < 0 or (e >= edge_count if given < 0 else not has_bit(kinds, kind, given)):
                        continue
                    share = shares[kind]
                    if np.isnan(share):
                        if np.isnan(weight[kind]):
                            weight[kind] = 0.0 if given >= 0 else kind_weight(address, guide_address, step, kind)
                        share = shares[kind] = np.exp(weight[kind] - heaviest) if is_sum else weight[kind]
                    if is_sum:
                        total += share * tails[pair]
                    else:
                        best = max(best, share + tails[pair])
                if not is_sum:
                    ahead[here] = best
                elif total > SMALLEST_SUM:
                    ahead[here] = np.log(total) + high + heaviest
                else:
                    ahead[here] = bound_exactly(address, guide_address, step, int64(c), context, given)


@inlined
def write_state(arena, state, numbers):
    """The numbers that a state gives to points, as far as there are any asked for."""
    numbers[:] = 0
    write_numbers(arena, pattern_of(arena, state), numbers, True)


@kernel("void(int64, int64)", seconds=3)
def guide_row(address, guide_address):
    """Fills AHEAD and WEIGHT of a row, where its states allow something; unless spots have them."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    steps, live, reached = guide[Guide.STEPS], live_of(guide, arena), reached_of(guide, arena)
    inner = carray(pointer(guide[Guide.INNER]), steps, np.int32)
    before = carray(pointer(guide[Guide.BEFORE]), steps + 1, np.int32)
    for step in range(steps + 1):
        write_state(arena, int64(before[step]), reached[step])
        if step < steps:
            write_state(arena, int64(inner[step]), live[step])
    if guide[Guide.SPOTS]:
        return
    find_held(address, guide_address)
    asked = np.empty((arena[StackSets.POINTS], held_words(guide)), np.uint64)
    tails, shares = np.empty(guide[Guide.PAIRS]), np.empty(arena[StackSets.KINDS])
    for step in range(guide[Guide.FIRST_STEPS] - 1, -1, -1):
        bound_points(address, guide_address, step, asked)
        bound_controls(address, guide_address, step, tails, shares)
