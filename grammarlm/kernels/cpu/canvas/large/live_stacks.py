"""Spots that are live (live_spots.py), and what stacks lead to them."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.spots import Spots
from grammarlm.layout.stack_sets import Record, StackSets

from ..bits import has_bit
from ..sets.records import record, sets_arena, words_of
from .spots import goal_numbers, members_of, spots_of


@inlined
def live_spots(spots):
    shape = spots[Spots.STEPS] + 1, (spots[Spots.SPOTS] + 63) >> 6
    return carray(pointer(spots[Spots.LIVE]), shape, np.uint64)


@part
def is_live(spots_address, step, goal):
    """Is a spot of a goal live at a boundary?"""
    spots = spots_of(spots_address)
    live, (starts, members) = live_spots(spots), members_of(spots)
    if goal < spots[Spots.SPOTS]:
        return goal >= 0 and has_bit(live, step, goal)
    for i in range(starts[goal], starts[goal + 1]):
        if has_bit(live, step, int64(members[i])):
            return True
    return False


@part
def kept_live(address, spots_address, step, point, stacks):
    """The stacks of a set from which a point within the token before a boundary leads to a live spot."""
    arena, spots = sets_arena(address), spots_of(spots_address)
    goals, words = goal_numbers(spots, arena), words_of(arena, stacks)
    count = int64(0)
    for i in range(1, len(words), 2):
        if is_live(spots_address, step, int64(goals[point, words[i]])):
            count += 1
    if count == 0:
        return int64(0)
    if 2 * count + 1 == len(words):
        return int64(stacks)
    if len(words) > arena[StackSets.PAIR_CAPACITY]:
        arena[StackSets.FULL] = 2
        return int64(0)
    pairs, used = carray(pointer(arena[StackSets.PAIRS]), arena[StackSets.PAIR_CAPACITY], np.int32), int64(1)
    pairs[0] = Record.SET
    for i in range(1, len(words), 2):
        if is_live(spots_address, step, int64(goals[point, words[i]])):
            pairs[used], pairs[used + 1] = words[i], words[i + 1]
            used += 2
    return record(address, arena[StackSets.PAIRS], used, int64(1))
