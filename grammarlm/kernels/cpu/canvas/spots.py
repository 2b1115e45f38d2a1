"""What rows have ahead of them at most, whatever is below the symbol on top (masks/canvas/stack/spots.py).

A **spot** is a control and the symbol on top of the stack. A token leads from it to a **goal**, all spots that it may lead to on some
stack; the first goals are the spots themselves, each alone. The sum over the rows that some stack of a spot can be completed with is
no more than that over the classes of a token, times the sums of the spots in its goal.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.spots import Spots
from grammarlm.layout.stack_sets import StackSets

from .arrays import has_bit, lowest, on_top
from .feasible import belows_of, tops_of
from .guide import rules_of
from .operated import groups_by_symbol, groups_of, pushed_of
from .records import MIX, kinds_of, sets_arena, words_of

LEAST = 1e-140  # in place of smaller factors, so that no product of two is 0
SURE = 1e-110  # a sum from here on is hardly changed by those that were raised to LEAST


@inlined
def spots_of(address):
    return carray(pointer(address), int64(Spots.LENGTH), np.int64)


@inlined
def spot_numbers(spots, arena):
    shape = arena[StackSets.CONTROLS], arena[StackSets.SYMBOLS]
    return carray(pointer(spots[Spots.SPOT_OF]), shape, np.int32)


@inlined
def goal_numbers(spots, arena):
    return carray(pointer(spots[Spots.GOAL_OF]), (arena[StackSets.POINTS], arena[StackSets.SYMBOLS]), np.int32)


@inlined
def members_of(spots):
    """Where the spots of each goal start, from the goal SPOTS on, and these."""
    starts = carray(pointer(spots[Spots.MEMBER_START]), spots[Spots.GOAL_CAPACITY] + 1, np.int32)
    return starts, carray(pointer(spots[Spots.MEMBER]), spots[Spots.MEMBER_CAPACITY], np.int32)


@inlined
def terms_of(spots):
    """Where the terms of each spot start, their kinds and goals."""
    starts = carray(pointer(spots[Spots.TERM_START]), spots[Spots.SPOTS] + 1, np.int32)
    count = int64(starts[spots[Spots.SPOTS]])
    kinds = carray(pointer(spots[Spots.TERM_KIND]), count, np.int32)
    return starts, kinds, carray(pointer(spots[Spots.TERM_GOAL]), count, np.int32)


@inlined
def spots_ahead(spots):
    shape = spots[Spots.STEPS] + 1, spots[Spots.SPOTS]
    return carray(pointer(spots[Spots.AHEAD]), shape, np.float64)


@inlined
def kind_weights(spots, arena):
    shape = spots[Spots.STEPS], arena[StackSets.KINDS]
    return carray(pointer(spots[Spots.WEIGHT]), shape, np.float64)


@inlined
def class_scores(spots, arena):
    shape = spots[Spots.STEPS], arena[StackSets.CLASSES]
    return carray(pointer(spots[Spots.SCORES]), shape, np.float64)


# ---------------------------------------------------------------- goals


@part
def add_members(spots_address, goal, gathered, count, seen, stamp):
    """Adds the spots of a goal to those gathered, unless they are there. Returns how many there are then."""
    spots = spots_of(spots_address)
    if goal < 0:
        return count
    starts, members = members_of(spots)
    is_one = goal < spots[Spots.SPOTS]
    first, last = (int64(0), int64(1)) if is_one else (int64(starts[goal]), int64(starts[goal + 1]))
    for i in range(first, last):
        spot = goal if is_one else int64(members[i])
        if seen[spot] != stamp:
            seen[spot], gathered[count] = stamp, spot
            count += 1
    return count


@part
def goal_of_spots(spots_address, gathered, count):
    """The number of a goal; -1 for none, -2 where there is no room."""
    spots = spots_of(spots_address)
    if count < 2:
        return int64(gathered[0]) if count else int64(-1)
    for i in range(1, count):
        spot, j = gathered[i], i - 1
        while j >= 0 and gathered[j] > spot:
            gathered[j + 1] = gathered[j]
            j -= 1
        gathered[j + 1] = spot
    hashed = uint64(count)
    for i in range(count):
        hashed = (hashed ^ uint64(gathered[i])) * uint64(MIX)
        hashed ^= hashed >> uint64(29)
    starts, members = members_of(spots)
    mask = spots[Spots.GOAL_SLOTS] - 1
    slots = carray(pointer(spots[Spots.GOAL_SLOT]), mask + 1, np.int32)
    at = int64(hashed >> uint64(20)) & mask
    while slots[at]:
        goal = int64(slots[at]) - 1
        if starts[goal + 1] - starts[goal] == count:
            first, same = int64(starts[goal]), True
            for i in range(count):
                if members[first + i] != gathered[i]:
                    same = False
                    break
            if same:
                return goal
        at = (at + 1) & mask
    goal = spots[Spots.GOALS]
    first = int64(starts[goal])
    if goal == spots[Spots.GOAL_CAPACITY] or first + count > spots[Spots.MEMBER_CAPACITY]:
        return int64(-2)
    for i in range(count):
        members[first + i] = gathered[i]
    starts[goal + 1], slots[at], spots[Spots.GOALS] = int32(first + count), int32(goal + 1), goal + 1
    return goal


@part
def gather_revealed(address, spots_address, after, symbol, gathered, count, seen, stamp):
    """Adds what a point leads to on any symbol that may be below another."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    belows, goals = belows_of(arena), goal_numbers(spots, arena)
    for w in range(belows.shape[1]):
        bits = belows[symbol, w]
        while bits:
            below = int64(w) * 64 + lowest(bits)
            bits &= bits - uint64(1)
            count = add_members(spots_address, int64(goals[after, below]), gathered, count, seen, stamp)
    return count


@part
def gather_rules(address, spots_address, point, symbol, gathered, seen, stamp):
    """What a micro point leads to with a symbol on top. Returns how many spots."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    goals, (rule_start, symbols, afters) = goal_numbers(spots, arena), rules_of(arena)
    _, _, way_start, pushed_start = groups_of(arena)
    pushed, group_of = pushed_of(arena, pushed_start), groups_by_symbol(arena)
    m, count = point - arena[StackSets.CONTROLS] - arena[StackSets.PUSHES], int64(0)
    for r in range(rule_start[m], rule_start[m + 1]):
        asked, after = int64(symbols[r]), int64(afters[r])
        if asked < arena[StackSets.SYMBOLS]:
            if on_top(asked) != symbol:
                continue
            if asked > ROOT:
                count = gather_revealed(address, spots_address, after, symbol, gathered, count, seen, stamp)
            else:
                count = add_members(spots_address, int64(goals[after, symbol]), gathered, count, seen, stamp)
            continue
        group = int64(group_of[asked - arena[StackSets.SYMBOLS], symbol]) - 1
        if group < 0:
            continue
        for way in range(way_start[group], way_start[group + 1]):
            last = int64(pushed_start[way + 1]) - 1
            if last < pushed_start[way]:
                count = gather_revealed(address, spots_address, after, symbol, gathered, count, seen, stamp)
            else:
                goal = int64(goals[after, pushed[last]])
                count = add_members(spots_address, goal, gathered, count, seen, stamp)
    return count


@kernel("int64(int64, int64)", seconds=4)
def find_goals(address, spots_address):
    """Fills GOAL_OF, which has the spots of controls, and the goals. Returns 0, or 1 where there is no room."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    controls, pushes, micros = arena[StackSets.CONTROLS], arena[StackSets.PUSHES], arena[StackSets.MICROS]
    push_symbol = carray(pointer(arena[StackSets.PUSH_SYMBOL]), pushes, np.int32)
    push_after = carray(pointer(arena[StackSets.PUSH_AFTER]), pushes, np.int32)
    order = carray(pointer(arena[StackSets.MICRO_ORDER]), micros, np.int32)
    tops, goals = tops_of(arena), goal_numbers(spots, arena)
    gathered, seen = np.empty(spots[Spots.SPOTS] + 1, np.int32), np.zeros(spots[Spots.SPOTS], np.int32)
    stamp = int64(0)
    for x in range(pushes + micros):
        q = controls + int64(x) if x < pushes else int64(order[micros - 1 - (x - pushes)])
        for w in range(tops.shape[1]):
            bits = tops[q, w]
            while bits:
                symbol = int64(w) * 64 + lowest(bits)
                bits &= bits - uint64(1)
                if x < pushes:
                    goals[q, symbol] = goals[push_after[x], push_symbol[x]]
                    continue
                stamp += 1
                count = gather_rules(address, spots_address, q, symbol, gathered, seen, stamp)
                goal = goal_of_spots(spots_address, gathered, count)
                if goal == -2:
                    return int64(1)
                goals[q, symbol] = int32(goal)
    return int64(0)


@kernel("int64(int64, int64, int64)")
def find_terms(address, spots_address, fills):
    """The terms of all spots, or (unless it `fills`) only where those of each start. Returns how many there are."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    controls, edges = arena[StackSets.CONTROLS], arena[StackSets.EDGES]
    edge_start = carray(pointer(arena[StackSets.CONTROL_START]), controls + 1, np.int32)
    points = carray(pointer(arena[StackSets.EDGE_POINT]), edges, np.int32)
    kind_of = carray(pointer(arena[StackSets.EDGE_KIND]), edges, np.int32)
    starts, kinds, term_goals = terms_of(spots)
    numbers, goals = spot_numbers(spots, arena), goal_numbers(spots, arena)
    used = int64(0)
    for c in range(controls):
        for symbol in range(arena[StackSets.SYMBOLS]):
            spot = int64(numbers[c, symbol])
            if spot < 0:
                continue
            for e in range(edge_start[c], edge_start[c + 1]):
                goal = goals[points[e], symbol]
                if goal >= 0:
                    if fills:
                        kinds[used], term_goals[used] = kind_of[e], goal
                    used += 1
            if not fills:
                starts[spot + 1] = int32(used)
    return used


# ---------------------------------------------------------------- sums


@part
def sum_of_kind(address, spots_address, step, kind):
    """The log of the sum over the classes of a kind."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    kinds, scores, high, total = kinds_of(arena), class_scores(spots, arena), -np.inf, 0.0
    for again in range(2):
        for w in range(arena[StackSets.KIND_WORDS]):
            bits = kinds[kind, w]
            while bits:
                score = scores[step, int64(w) * 64 + lowest(bits)]
                bits &= bits - uint64(1)
                if again == 0:
                    high = max(high, score)
                else:
                    total += np.exp(score - high)
        if high == -np.inf:
            return high
    return high + np.log(total)


@part
def goal_ahead(spots_address, step, goal):
    """The log of the sum over a goal's spots."""
    spots = spots_of(spots_address)
    ahead = spots_ahead(spots)[step]
    if goal < spots[Spots.SPOTS]:
        return ahead[goal]
    starts, members = members_of(spots)
    high, total = -np.inf, 0.0
    for i in range(starts[goal], starts[goal + 1]):
        high = max(high, ahead[members[i]])
    if high == -np.inf:
        return high
    for i in range(starts[goal], starts[goal + 1]):
        total += np.exp(ahead[members[i]] - high)
    return high + np.log(total)


@part
def weigh_kinds(address, spots_address, step, factors, of_classes):
    """WEIGHT of a step, and the same as factors, over e to the power of what is returned."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    weight, kinds, scores = kind_weights(spots, arena)[step], kinds_of(arena), class_scores(spots, arena)[step]
    given = int64(carray(pointer(spots[Spots.ROW]), spots[Spots.STEPS], np.int32)[step])
    if given >= 0:
        for kind in range(arena[StackSets.KINDS]):
            is_taken = has_bit(kinds, int64(kind), given)
            factors[kind], weight[kind] = (1.0, 0.0) if is_taken else (0.0, -np.inf)
        return 0.0
    high = -np.inf
    for k in range(arena[StackSets.CLASSES]):
        high = max(high, scores[k])
    for k in range(arena[StackSets.CLASSES]):
        of_classes[k] = max(np.exp(scores[k] - high), LEAST) if scores[k] > -np.inf else 0.0
    for kind in range(arena[StackSets.KINDS]):
        total = 0.0
        for w in range(arena[StackSets.KIND_WORDS]):
            bits = kinds[kind, w]
            while bits:
                total += of_classes[int64(w) * 64 + lowest(bits)]
                bits &= bits - uint64(1)
        factors[kind] = total
        if total >= SURE or total == 0.0:
            weight[kind] = high + np.log(total)
        else:
            weight[kind] = sum_of_kind(address, spots_address, step, int64(kind))
    return high


@part
def weigh_goals(spots_address, step, values):
    """The sums of all goals at a boundary, over e to the power of what is returned."""
    spots = spots_of(spots_address)
    ahead, (starts, members), high = spots_ahead(spots)[step], members_of(spots), -np.inf
    for spot in range(spots[Spots.SPOTS]):
        high = max(high, ahead[spot])
    for spot in range(spots[Spots.SPOTS]):
        values[spot] = max(np.exp(ahead[spot] - high), LEAST) if ahead[spot] > -np.inf else 0.0
    for goal in range(spots[Spots.SPOTS], spots[Spots.GOALS]):
        total = 0.0
        for i in range(starts[goal], starts[goal + 1]):
            total += values[members[i]]
        values[goal] = total
    return high


@part
def sum_of_terms(address, spots_address, step, spot):
    """The log of the sum over a spot's terms, where factors are too far apart."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    weight, (starts, kinds, goals), high, total = kind_weights(spots, arena)[step], terms_of(spots), -np.inf, 0.0
    for x in range(starts[spot], starts[spot + 1]):
        if weight[kinds[x]] > -np.inf:
            value = weight[kinds[x]] + goal_ahead(spots_address, step + 1, int64(goals[x]))
            if value > high:
                total = total * np.exp(high - value) + 1.0
                high = value
            elif value > -np.inf:
                total += np.exp(value - high)
    return high + np.log(total) if total > 0.0 else high


@part
def mark_tops(address, spots_address, step, control, marks, by):
    """Adds to the marks of the symbols that may be on top of a control, from the left (1) and from the right (2)."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    shape = spots[Spots.STEPS] + 1, arena[StackSets.CONTROLS]
    left = int64(carray(pointer(spots[Spots.LEFT]), shape, np.int32)[step, control])
    right = int64(carray(pointer(spots[Spots.RIGHT]), shape, np.int32)[step, control])
    if left == 0 or right == 0:
        return False
    for side in range(2):
        words = words_of(arena, left if side == 0 else right)
        for i in range(1, len(words), 2):
            marks[words[i]] += by * (side + 1)
    return True


@kernel("void(int64, int64, int64, int64)", seconds=4)
def weigh_spots(address, spots_address, first, last):
    """AHEAD at the boundaries from `last - 1` down to `first`, those behind them are known; at the right edge, where any symbol will
    do that may be on top."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    controls, symbols = arena[StackSets.CONTROLS], arena[StackSets.SYMBOLS]
    numbers, (starts, kinds, goals) = spot_numbers(spots, arena), terms_of(spots)
    factors, of_classes = np.empty(arena[StackSets.KINDS]), np.empty(arena[StackSets.CLASSES])
    values, marks = np.empty(spots[Spots.GOALS]), np.zeros(symbols, np.int32)
    for step in range(last - 1, first - 1, -1):
        ahead, scale, is_edge = spots_ahead(spots)[step], 0.0, step == spots[Spots.STEPS]
        if not is_edge:
            scale = weigh_goals(spots_address, step + 1, values)
            scale += weigh_kinds(address, spots_address, int64(step), factors, of_classes)
        ahead[:] = -np.inf
        for c in range(controls):
            if not mark_tops(address, spots_address, int64(step), int64(c), marks, 1):
                continue
            for symbol in range(symbols):
                spot = int64(numbers[c, symbol])
                if marks[symbol] != 3 or spot < 0:
                    continue
                if is_edge:
                    ahead[spot] = 0.0
                    continue
                total = 0.0
                for x in range(starts[spot], starts[spot + 1]):
                    total += factors[kinds[x]] * values[goals[x]]
                if total >= SURE:
                    ahead[spot] = np.log(total) + scale
                elif total > 0.0:
                    ahead[spot] = sum_of_terms(address, spots_address, int64(step), spot)
            mark_tops(address, spots_address, int64(step), int64(c), marks, -1)
