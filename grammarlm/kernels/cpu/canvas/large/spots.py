"""What a token leads to, whatever is below the symbol on top (masks/canvas/stack/large/spots.py).

A **spot** is a control and the symbol on top of the stack. A token leads from it to a **goal**, all spots that it may lead to on
some stack; the first goals are the spots themselves, each alone. A **term** of a spot is an edge of its control: its kind, and the
goal.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.spots import Spots
from grammarlm.layout.stack_sets import StackSets

from ..bits import lowest, on_top
from ..search.guide import rules_of
from ..sets.feasible import belows_of, tops_of
from ..sets.operated import groups_by_symbol, groups_of, pushed_of
from ..sets.records import MIX, sets_arena


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


@part
def with_value(high, total, value):
    """The log of a sum as its greatest term, and the sum over that: with one term more."""
    if value > high:
        return value, total * np.exp(high - value) + 1.0
    return high, total + np.exp(value - high) if value > -np.inf else total


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
