"""Plans: which sets of stacks a token unites, said without the sets, so that it is worked out once for all rows.

A pattern says of each point which of a state's sets it has. From a pattern, the edges of a class (or of all) and a direction
follow the groups of sets that meet in a point; only their unions depend on the sets. A body is

    groups G, used U, (group before, set added) of each group from 1 on, the groups that plain points have [U], and runs of the
    points that have a group, with the place of it among those, or for points that the step goes on with the group itself

and the body of a shape: the pattern reached, and for each of its numbers from 1 on the first of the sets given that it has.
"""

import numpy as np
from numba import carray, int32, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack_sets import Question, Record, StackSets

from .groups import HEAD, group_all, group_class
from .patterns import RUN, add_to_runs, list_met, runs_at
from .records import answer, keep_answer, record, sets_arena, words_of


@inlined
def points_at(body):
    """Where the points of a plan's body begin."""
    return HEAD + 2 * int64(body[1]) + int64(body[2])


@part
def plan(address, pattern, token_class, is_forward):
    """The body of a plan."""
    kind = int64(Question.PLAN_FORWARD) if is_forward else int64(Question.PLAN_BACKWARD)
    known = answer(address, kind, pattern, token_class)
    if known:
        return known
    arena = sets_arena(address)
    points, controls = arena[StackSets.POINTS], arena[StackSets.CONTROLS]
    groups = (
        group_all(address, pattern, is_forward)
        if token_class < 0
        else group_class(address, pattern, token_class, is_forward)
    )
    group_of, touched = (
        carray(pointer(arena[StackSets.GROUP_OF]), points, np.int32),
        carray(pointer(arena[StackSets.TOUCHED]), points, np.int32),
    )
    stamp = carray(pointer(arena[StackSets.STAMP]), arena[StackSets.EDGES] + points + 2, np.int32)
    body = carray(pointer(arena[StackSets.BODY]), arena[StackSets.BODY_CAPACITY], np.int32)
    reached, landing = (
        carray(pointer(arena[StackSets.REACHED]), points, np.int32),
        carray(pointer(arena[StackSets.LANDING_OF]), controls, np.int32),
    )
    reaches, used, at = list_met(address), int64(0), HEAD + 2 * groups
    for g in range(groups + 1):
        stamp[g] = 0
    for i in range(reaches):
        q = int64(reached[i])
        g = int64(group_of[q])
        if q < controls and (not is_forward or landing[q] < 0) and stamp[g] == 0:
            used += 1
            stamp[g] = used
            body[at + used - 1] = g
    at += used
    begin = at
    for i in range(reaches):
        q = int64(reached[i])
        g = int64(group_of[q])
        is_plain = q < controls and (not is_forward or landing[q] < 0)
        at = add_to_runs(body, begin, at, q, q + 1, stamp[g] if is_plain else g)
        group_of[q], touched[q] = 0, 0
    body[0], body[1], body[2] = Record.BODY, groups, used
    made = record(address, arena[StackSets.BODY], at, int64(1))
    keep_answer(address, kind, pattern, token_class, made)
    return made


@part
def shape(address, of, count):
    """The record of (plan or pattern, which of the sets CHOSEN[1..count] are equal); its value: its body, 0: not known."""
    arena = sets_arena(address)
    chosen = carray(pointer(arena[StackSets.CHOSEN]), count + 1, np.int32)
    number = carray(pointer(arena[StackSets.NUMBER]), arena[StackSets.RECORD_CAPACITY], np.int32)
    body = carray(pointer(arena[StackSets.BODY]), arena[StackSets.BODY_CAPACITY], np.int32)
    body[0], body[1] = Record.SHAPE, of
    most = int64(0)
    for i in range(1, count + 1):
        s = int64(chosen[i])
        if s and number[s] == 0:
            most += 1
            number[s] = most
        body[1 + i] = number[s] if s else 0
    for i in range(1, count + 1):
        number[chosen[i]] = 0
    return record(address, arena[StackSets.BODY], count + 2, int64(1))


@part
def finish_shape(address, shape_of, count):
    """The body of a shape: PLACE says which of the sets each of `count` runs of points has (patterns.py)."""
    arena = sets_arena(address)
    first, end, place = runs_at(arena)
    body = carray(pointer(arena[StackSets.BODY]), arena[StackSets.BODY_CAPACITY], np.int32)
    equal = words_of(arena, shape_of)  # from 2 on
    sets = len(equal) - 2
    renumbered = carray(pointer(arena[StackSets.REFINED]), sets + 1, np.int32)
    for i in range(sets + 1):
        renumbered[i] = 0
    most, used = int64(0), int64(1)
    at = RUN * count + 1  # behind the pattern
    body[0] = Record.PATTERN
    for j in range(count):
        i = int64(place[j])
        kind = int64(equal[1 + i]) if i else int64(0)
        if kind == 0:
            continue
        if renumbered[kind] == 0:
            most += 1
            renumbered[kind] = most
            body[at + 2 + most - 1] = i
        used = add_to_runs(body, int64(1), used, first[j], end[j], renumbered[kind])
    pattern = record(address, arena[StackSets.BODY], used, int64(1))
    body[at], body[at + 1] = Record.BODY, pattern
    made = record(address, arena[StackSets.BODY] + 4 * at, most + 2, int64(1))
    if arena[StackSets.FULL] == 0:
        carray(pointer(arena[StackSets.VALUE]), arena[StackSets.RECORD_CAPACITY], np.int32)[shape_of] = int32(made)
    return made


@part
def state_of(address, shaped):
    """The state of a shape's body and the sets CHOSEN."""
    arena = sets_arena(address)
    given = words_of(arena, shaped)
    body = carray(pointer(arena[StackSets.BODY]), arena[StackSets.BODY_CAPACITY], np.int32)
    chosen = carray(pointer(arena[StackSets.CHOSEN]), arena[StackSets.EDGES] + arena[StackSets.POINTS] + 2, np.int32)
    body[0], body[1] = Record.STATE, given[1]
    for j in range(2, len(given)):
        body[j] = chosen[given[j]]
    return record(address, arena[StackSets.BODY], int64(len(given)), int64(1))
