"""Which spots (spots.py) a row can go through, seen from both sides, and exact passes that follow no others.

A spot is live at a boundary if, whatever is below the symbol on top, it can perhaps be reached from the left edge and completed to
the right one. What a position may take is asked of some classes together (SOME): most stacks that a row allows lead to none of
them, so the stacks that are followed for them are few, where those of the whole row are too many.
"""

import numpy as np
from numba import carray, int64, uint8, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.canvas import MASKED
from grammarlm.layout.spots import Spots
from grammarlm.layout.stack_sets import StackSets

from ..bits import has_bit, lowest
from ..sets.records import kinds_of, sets_arena
from .live_stacks import is_live, live_spots
from .narrow import come, follow_points
from .narrow_arrays import (
    class_edges_of,
    class_range,
    every_edge,
    every_start,
    few_edges,
    narrow_of,
)
from .spot_sums import mark_tops
from .spots import members_of, spot_numbers, spots_of, terms_of

SOME = -2  # in place of a class: any of those whose kinds are given


@part
def mark_kinds(address, spots_address, step, taken):
    """The kinds of edges that the token of a step may take."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    given = int64(carray(pointer(spots[Spots.ROW]), spots[Spots.STEPS], np.int32)[step])
    kinds, some = kinds_of(arena), carray(pointer(spots[Spots.TAKEN]), arena[StackSets.KINDS], np.uint8)
    for kind in range(arena[StackSets.KINDS]):
        if given >= 0:
            taken[kind] = uint8(1) if has_bit(kinds, int64(kind), given) else uint8(0)
        else:
            taken[kind] = some[kind] if given == SOME else uint8(1)


@part
def mark_goals(spots_address, step, goals):
    """The goals of which a spot is live at a boundary."""
    spots = spots_of(spots_address)
    live, (starts, members) = live_spots(spots), members_of(spots)
    for goal in range(spots[Spots.SPOTS]):
        goals[goal] = uint8(live[step, goal >> 6] >> uint64(goal & 63) & uint64(1))
    for goal in range(spots[Spots.SPOTS], spots[Spots.GOALS]):
        goals[goal] = uint8(0)
        for i in range(starts[goal], starts[goal + 1]):
            if goals[members[i]]:
                goals[goal] = uint8(1)
                break


@part
def is_step_again(address, spots_address, step):
    """Is a step from the right, over a masked token, the one before?"""
    arena, spots = sets_arena(address), spots_of(spots_address)
    steps, controls = spots[Spots.STEPS], arena[StackSets.CONTROLS]
    row, live = carray(pointer(spots[Spots.ROW]), steps, np.int32), live_spots(spots)
    if step + 2 > steps or row[step] != MASKED or row[step + 1] != MASKED:
        return False
    left = carray(pointer(spots[Spots.LEFT]), (steps + 1, controls), np.int32)
    right = carray(pointer(spots[Spots.RIGHT]), (steps + 1, controls), np.int32)
    for c in range(controls):
        if left[step, c] != left[step + 1, c] or right[step, c] != right[step + 1, c]:
            return False
    for w in range(live.shape[1]):
        if live[step + 1, w] != live[step + 2, w]:
            return False
    return True


@kernel("void(int64, int64, int64, int64)", seconds=4)
def live_before(address, spots_address, first, last):
    """LIVE at the boundaries from `last - 1` down to `first`, those behind them are known: spots that can perhaps be completed."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    controls, symbols = arena[StackSets.CONTROLS], arena[StackSets.SYMBOLS]
    numbers, (starts, kinds, terms) = spot_numbers(spots, arena), terms_of(spots)
    live, marks = live_spots(spots), np.zeros(symbols, np.int32)
    row = carray(pointer(spots[Spots.ROW]), spots[Spots.STEPS], np.int32)
    goals, taken = np.empty(spots[Spots.GOALS], np.uint8), np.empty(arena[StackSets.KINDS], np.uint8)
    for step in range(last - 1, first - 1, -1):
        is_edge = step == spots[Spots.STEPS]
        is_given = not is_edge and row[step] >= 0
        if not is_edge:
            if is_step_again(address, spots_address, int64(step)):
                live[step, :] = live[step + 1]
                continue
            mark_kinds(address, spots_address, int64(step), taken)
            if not is_given:
                mark_goals(spots_address, int64(step) + 1, goals)
        live[step, :] = uint64(0)
        for c in range(controls):
            if not mark_tops(address, spots_address, int64(step), int64(c), marks, 1):
                continue
            for symbol in range(symbols):
                spot = int64(numbers[c, symbol])
                if marks[symbol] != 3 or spot < 0:
                    continue
                leads = is_edge
                if is_given:
                    for x in range(starts[spot], starts[spot + 1]):
                        if taken[kinds[x]] and is_live(spots_address, int64(step) + 1, int64(terms[x])):
                            leads = True
                            break
                elif not is_edge:
                    for x in range(starts[spot], starts[spot + 1]):
                        if goals[terms[x]] and taken[kinds[x]]:
                            leads = True
                            break
                if leads:
                    live[step, spot >> 6] |= uint64(1) << uint64(spot & 63)
            mark_tops(address, spots_address, int64(step), int64(c), marks, -1)


@kernel("void(int64, int64, int64, int64)", seconds=4)
def live_after(address, spots_address, first, last):
    """Leaves those of LIVE at the boundaries from `first + 1` to `last` that the ones at `first` perhaps lead to."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    (starts, kinds, terms), (member_start, members) = terms_of(spots), members_of(spots)
    live, taken = live_spots(spots), np.empty(arena[StackSets.KINDS], np.uint8)
    stamps, found = np.zeros(spots[Spots.GOALS], np.int32), np.empty(live.shape[1], np.uint64)
    for step in range(first, last):
        mark_kinds(address, spots_address, int64(step), taken)
        found[:] = uint64(0)
        for w in range(live.shape[1]):
            bits = live[step, w]
            while bits:
                spot = 64 * int64(w) + lowest(bits)
                bits &= bits - uint64(1)
                for x in range(starts[spot], starts[spot + 1]):
                    goal = int64(terms[x])
                    if stamps[goal] == step + 1 or not taken[kinds[x]]:
                        continue
                    stamps[goal] = step + 1
                    if goal < spots[Spots.SPOTS]:
                        found[goal >> 6] |= uint64(1) << uint64(goal & 63)
                        continue
                    for i in range(member_start[goal], member_start[goal + 1]):
                        found[members[i] >> 6] |= uint64(1) << uint64(members[i] & 63)
        for w in range(live.shape[1]):
            live[step + 1, w] &= found[w]


@part
def step_live(address, narrow_address, spots_address, states, at, taken, is_few):
    """Row `at` + 1 of states from row `at`, of live spots. `is_few`: masked tokens are of the few classes."""
    arena, narrow, spots = sets_arena(address), narrow_of(narrow_address), spots_of(spots_address)
    controls = arena[StackSets.CONTROLS]
    token_class = int64(carray(pointer(spots[Spots.ROW]), spots[Spots.STEPS], np.int32)[at])
    states[at + 1, :] = 0
    from_, to = every_edge(arena)
    if is_few and token_class == MASKED:
        few_from, few_to = few_edges(narrow, False)
        for e in range(len(few_from)):
            if states[at, few_from[e]]:
                stacks = int64(states[at, few_from[e]])
                come(address, narrow_address, spots_address, states, at + 1, int64(few_to[e]), stacks)
    elif token_class < 0:
        mark_kinds(address, spots_address, at, taken)
        starts = every_start(arena, narrow)
        kind_of = carray(pointer(arena[StackSets.EDGE_KIND]), arena[StackSets.EVERY_EDGE], np.int32)
        for c in range(controls):
            if states[at, c]:
                for e in range(starts[c], starts[c + 1]):
                    if taken[kind_of[e]]:
                        stacks = int64(states[at, c])
                        come(address, narrow_address, spots_address, states, at + 1, int64(to[e]), stacks)
    else:
        of = class_edges_of(arena)
        first, last = class_range(arena, token_class)
        for i in range(first, last):
            e = int64(of[i])
            if states[at, from_[e]]:
                stacks = int64(states[at, from_[e]])
                come(address, narrow_address, spots_address, states, at + 1, int64(to[e]), stacks)
    follow_points(address, narrow_address, spots_address, states, at + 1)


@kernel("int64(int64, int64, int64, int64, int64, int64)", seconds=6)
def live_pass(address, narrow_address, spots_address, states_address, place_address, is_few):
    """int32 [STEPS + 1, CONTROLS]: sets by boundary and control, without stacks that are not live, from a place on (int64 [2]:
    from, to), which moves; `is_few`: only by the few classes. Returns FULL."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    states = carray(pointer(states_address), (spots[Spots.STEPS] + 1, arena[StackSets.CONTROLS]), np.int32)
    place = carray(pointer(place_address), 2, np.int64)
    taken = np.empty(arena[StackSets.KINDS], np.uint8)
    while place[0] != place[1]:
        step_live(address, narrow_address, spots_address, states, place[0], taken, is_few)
        if arena[StackSets.FULL]:
            break
        place[0] += 1
    return arena[StackSets.FULL]
