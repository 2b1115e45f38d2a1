"""How good what follows can be at most: bounds from the right that forget what is on the stack.

Of each control at a boundary, and of each point within a token, the best sum of scores to the right edge (or the log of the sum
over completions) if at each pop the symbol on top is the one that is best. No completion from there, whatever its stack, has more.
search.py and draws.py are led by these bounds.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Guide, StackSets

from .arrays import lowest, on_top
from .operated import groups_by_symbol, groups_of, most_ways, pushed_of
from .records import MIX, sets_arena, words_of

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
def kinds_of(arena):
    return carray(
        pointer(arena[StackSets.KIND_CLASSES]), (arena[StackSets.KINDS], arena[StackSets.KIND_WORDS]), np.uint64
    )


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
    return has_class(kinds, kind, given) if given >= 0 else edge < arena[StackSets.EDGES]


@part
def expand(address, state, numbers):
    """Writes the numbers that a state's pattern gives to points."""
    arena = sets_arena(address)
    pattern = words_of(arena, int64(words_of(arena, int64(state))[1]))
    numbers[:] = 0
    for i in range(1, len(pattern), 2):
        if pattern[i] < len(numbers):
            numbers[pattern[i]] = pattern[i + 1]


@inlined
def has_class(kinds, kind, token_class):
    return (kinds[kind, token_class >> 6] >> uint64(token_class & 63)) & uint64(1) != 0


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
def bound_operated(address, guide_address, step, point):
    """That of a micro point all of whose rules are operations."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    ahead, is_sum = ahead_of(guide, arena)[step + 1], guide[Guide.IS_SUM] != 0
    live, every = live_of(guide, arena)[step], arena[StackSets.SYMBOLS]
    inner = words_of(arena, int64(carray(pointer(guide[Guide.INNER]), guide[Guide.STEPS], np.int32)[step]))
    micros, m = arena[StackSets.MICROS], point - arena[StackSets.CONTROLS] - arena[StackSets.PUSHES]
    rule_start = carray(pointer(arena[StackSets.RULE_START]), micros + 1, np.int32)
    rule_symbol = carray(pointer(arena[StackSets.RULE_SYMBOL]), rule_start[micros], np.int32)
    rule_after = carray(pointer(arena[StackSets.RULE_AFTER]), rule_start[micros], np.int32)
    is_filter = carray(pointer(arena[StackSets.IS_FILTER]), arena[StackSets.OPERATIONS], np.int32)
    best, value, last = -np.inf, -np.inf, int64(-1)
    for r in range(rule_start[m], rule_start[m + 1]):
        operation, after = int64(rule_symbol[r]) - every, int64(rule_after[r])
        if operation != last and is_filter[operation]:  # operations that let other symbols through
            best, value = max(best, value), -np.inf
        last = operation
        if live[after] == 0:
            continue
        ways = most_ways(address, int64(inner[1 + live[after]]), operation)
        if ways > 0:
            more = np.log(float(ways)) if is_sum else 0.0
            value = joined(value, ahead[after] + more, is_sum)
    return max(best, value)


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
        if rule_symbol[rule_start[m - first]] >= arena[StackSets.SYMBOLS]:
            ahead[m] = bound_operated(address, guide_address, step, m)
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


@kernel("void(int64, int64)", seconds=3)
def guide_row(address, guide_address):
    """Fills AHEAD and WEIGHT of a row, where its states allow something."""
    arena, guide = sets_arena(address), guide_of(guide_address)
    steps, live, reached = guide[Guide.STEPS], live_of(guide, arena), reached_of(guide, arena)
    inner = carray(pointer(guide[Guide.INNER]), steps, np.int32)
    before = carray(pointer(guide[Guide.BEFORE]), steps + 1, np.int32)
    for step in range(steps + 1):
        expand(address, before[step], reached[step])
        if step < steps:
            expand(address, inner[step], live[step])
    stamps = np.zeros(arena[StackSets.KINDS], np.int32)
    for step in range(steps - 1, -1, -1):
        bound_points(address, guide_address, step)
        bound_controls(address, guide_address, step, stamps)


# ---------------------------------------------------------------------- stacks, and tokens on them


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
