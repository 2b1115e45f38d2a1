"""Plans: which sets of stacks a token unites, said without the sets, so that it is worked out once for all rows.

A pattern says of each point which of a state's sets it has. From a pattern, the edges of a class (or of all) and a direction
follow the groups of sets that meet in a point; only their unions depend on the sets. A body is

    groups G, used U, (group before, set added) of each group from 1 on, the groups that plain points have [U], and of each point:
    its place among those, or for points that the step goes on with, its group

and the body of a shape: the pattern reached, and for each of its numbers from 1 on the first of the sets given that it has.
"""

import numpy as np
from numba import carray, int32, int64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.stack_sets import Record, StackSets

from .records import answer, keep_answer, record, sets_arena, words_of

HEAD = 3  # words of a body before the groups: what it is, G, U


@part
def order_edges(address, pattern, token_class, is_forward):
    """EDGE_ORDER: the edges of a class that start (backward: end) in a point with stacks, by the set it has. Returns how many."""
    arena = sets_arena(address)
    edges = arena[StackSets.EDGES]
    controls, points = (
        carray(pointer(arena[StackSets.EDGE_CONTROL]), edges, np.int32),
        carray(pointer(arena[StackSets.EDGE_POINT]), edges, np.int32),
    )
    class_start = carray(pointer(arena[StackSets.CLASS_START]), arena[StackSets.CLASSES] + 1, np.int32)
    class_edges = carray(pointer(arena[StackSets.CLASS_EDGES]), class_start[arena[StackSets.CLASSES]], np.int32)
    numbers, order = words_of(arena, pattern), carray(pointer(arena[StackSets.EDGE_ORDER]), edges, np.int32)
    counts = carray(pointer(arena[StackSets.COUNTS]), arena[StackSets.POINTS] + 2, np.int32)
    first, end = int64(0), edges
    if token_class >= 0:
        first, end = int64(class_start[token_class]), int64(class_start[token_class + 1])
    counts[:] = 0
    for k in range(first, end):
        e = int64(k) if token_class < 0 else int64(class_edges[k])
        counts[numbers[1 + (controls[e] if is_forward else points[e])] + 1] += 1
    skipped = int64(counts[1])
    counts[1] = 0
    for v in range(2, len(counts)):
        counts[v] += counts[v - 1]
    for k in range(first, end):
        e = int64(k) if token_class < 0 else int64(class_edges[k])
        v = numbers[1 + (controls[e] if is_forward else points[e])]
        if v:
            order[counts[v]] = e
            counts[v] += 1
    return end - first - skipped


@part
def plan(address, pattern, token_class, is_forward):
    """The body of a plan."""
    kind = int64(Record.PLAN_FORWARD) if is_forward else int64(Record.PLAN_BACKWARD)
    found = answer(address, kind, pattern, token_class)
    if found:
        return found
    arena = sets_arena(address)
    edges, size = arena[StackSets.EDGES], arena[StackSets.EDGES] + arena[StackSets.POINTS] + 2
    count = order_edges(address, pattern, token_class, is_forward)
    order, numbers = carray(pointer(arena[StackSets.EDGE_ORDER]), edges, np.int32), words_of(arena, pattern)
    sources = carray(pointer(arena[StackSets.EDGE_CONTROL if is_forward else StackSets.EDGE_POINT]), edges, np.int32)
    targets = carray(pointer(arena[StackSets.EDGE_POINT if is_forward else StackSets.EDGE_CONTROL]), edges, np.int32)
    wide = arena[StackSets.POINTS] if is_forward else arena[StackSets.CONTROLS]
    group_of, touched = (
        carray(pointer(arena[StackSets.GROUP_OF]), arena[StackSets.POINTS], np.int32),
        carray(pointer(arena[StackSets.TOUCHED]), arena[StackSets.POINTS], np.int32),
    )
    refined, stamp = (
        carray(pointer(arena[StackSets.REFINED]), size, np.int32),
        carray(pointer(arena[StackSets.STAMP]), size, np.int32),
    )
    body = carray(pointer(arena[StackSets.BODY]), arena[StackSets.BODY_CAPACITY], np.int32)
    for q in range(wide):
        group_of[q], touched[q] = 0, 0
    groups = int64(0)
    stamp[0] = 0
    for k in range(count):
        e = int64(order[k])
        v, q = int64(numbers[1 + sources[e]]), int64(targets[e])
        if touched[q] == v:
            continue
        touched[q] = v
        before = int64(group_of[q])
        if stamp[before] != v:  # groups made for this very set are not looked at: each point is touched once
            groups += 1
            stamp[before], refined[before], stamp[groups] = v, groups, 0
            body[HEAD + 2 * groups - 2], body[HEAD + 2 * groups - 1] = before, v
        group_of[q] = refined[before]
    used, at = int64(0), HEAD + 2 * groups
    for g in range(groups + 1):
        stamp[g] = 0
    landing = carray(pointer(arena[StackSets.LANDING_OF]), arena[StackSets.CONTROLS], np.int32)
    controls = arena[StackSets.CONTROLS]
    for q in range(controls):
        g = int64(group_of[q])
        if g and (not is_forward or landing[q] < 0):
            if stamp[g] == 0:
                used += 1
                stamp[g] = used
                body[at + used - 1] = g
    at += used
    for q in range(wide):
        g = int64(group_of[q])
        is_plain = q < controls and (not is_forward or landing[q] < 0)
        body[at + q] = stamp[g] if is_plain else g
    body[0], body[1], body[2] = Record.BODY, groups, used
    made = record(address, arena[StackSets.BODY], at + wide, int64(1))
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
def finish_shape(address, shape_of, wide):
    """The body of a shape: PLACE says which of the sets each of `wide` points has."""
    arena = sets_arena(address)
    place = carray(pointer(arena[StackSets.PLACE]), arena[StackSets.POINTS], np.int32)
    body = carray(pointer(arena[StackSets.BODY]), arena[StackSets.BODY_CAPACITY], np.int32)
    equal = words_of(arena, shape_of)  # from 2 on
    count, points = len(equal) - 2, arena[StackSets.POINTS]
    renumbered = carray(pointer(arena[StackSets.REFINED]), count + 1, np.int32)
    for i in range(count + 1):
        renumbered[i] = 0
    most = int64(0)
    at = int64(points) + 1  # behind the pattern
    body[0] = Record.PATTERN
    for q in range(points):
        i = int64(place[q]) if q < wide else int64(0)
        kind = int64(equal[1 + i]) if i else int64(0)
        if kind and renumbered[kind] == 0:
            most += 1
            renumbered[kind] = most
            body[at + 2 + most - 1] = i
        body[1 + q] = renumbered[kind] if kind else 0
    pattern = record(address, arena[StackSets.BODY], points + 1, int64(1))
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
