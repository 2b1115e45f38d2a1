"""Plans: which sets of stacks a token unites, said without the sets, so that it is worked out once for all rows.

A pattern says of each point which of a state's sets it has. From a pattern, the edges of a class (or of all) and a direction
follow the groups of sets that meet in a point; only their unions depend on the sets. A body is

    groups G, used U, (group before, set added) of each group from 1 on, the groups that plain points have [U], and runs of the
    points that have a group, with the place of it among those, or for points that the step goes on with the group itself

and the body of a shape: the pattern reached, and for each of its numbers from 1 on the first of the sets given that it has.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack_sets import Question, Record, StackSets

from .arrays import lowest
from .patterns import RUN, add_to_runs, clear, list_met, note_met, spread
from .records import answer, keep_answer, record, sets_arena, words_of

HEAD = 3  # words of a body before the groups: what it is, G, U


@inlined
def points_at(body):
    """Where the points of a plan's body begin."""
    return HEAD + 2 * int64(body[1]) + int64(body[2])


@part
def order_sources(address, pattern):
    """SOURCES: the points of a pattern by their numbers. Returns how many."""
    arena = sets_arena(address)
    points, words = arena[StackSets.POINTS], words_of(arena, pattern)
    counts = carray(pointer(arena[StackSets.COUNTS]), points + 2, np.int32)
    sources = carray(pointer(arena[StackSets.SOURCES]), points, np.int32)
    most, every = int64(0), int64(0)
    for i in range(1, len(words), RUN):
        most = max(most, int64(words[i + 2]))
    for v in range(most + 2):
        counts[v] = 0
    for i in range(1, len(words), RUN):
        size = words[i + 1] - words[i]
        counts[words[i + 2] + 1] += size
        every += size
    for v in range(1, most + 2):
        counts[v] += counts[v - 1]
    for i in range(1, len(words), RUN):
        v = words[i + 2]
        for point in range(words[i], words[i + 1]):
            sources[counts[v]] = point
            counts[v] += 1
    return every


@part
def order_class(address, pattern, token_class, is_forward):
    """EDGE_ORDER: the edges of a class that start (backward: end) in a point with stacks, by the set it has. Returns how many."""
    arena = sets_arena(address)
    edges, points = arena[StackSets.EDGES], arena[StackSets.POINTS]
    sources = carray(pointer(arena[StackSets.EDGE_CONTROL if is_forward else StackSets.EDGE_POINT]), edges, np.int32)
    class_start = carray(pointer(arena[StackSets.CLASS_START]), arena[StackSets.CLASSES] + 1, np.int32)
    class_edges = carray(pointer(arena[StackSets.CLASS_EDGES]), class_start[arena[StackSets.CLASSES]], np.int32)
    order = carray(pointer(arena[StackSets.EDGE_ORDER]), edges, np.int32)
    counts = carray(pointer(arena[StackSets.COUNTS]), points + 2, np.int32)
    numbers = carray(pointer(arena[StackSets.NUMBER_OF]), points, np.int32)
    first, end = int64(class_start[token_class]), int64(class_start[token_class + 1])
    spread(address, pattern)
    most = int64(0)
    for k in range(first, end):
        most = max(most, int64(numbers[sources[class_edges[k]]]))
    for v in range(most + 2):
        counts[v] = 0
    for k in range(first, end):
        counts[numbers[sources[class_edges[k]]] + 1] += 1
    found = (end - first) - int64(counts[1])
    counts[1] = 0
    for v in range(2, most + 2):
        counts[v] += counts[v - 1]
    for k in range(first, end):
        v = numbers[sources[class_edges[k]]]
        if v:
            order[counts[v]] = class_edges[k]
            counts[v] += 1
    clear(address, pattern)
    return found


@inlined
def grouping(arena):
    """GROUP_OF, REFINED, STAMP, MET and BODY."""
    size, points = arena[StackSets.EDGES] + arena[StackSets.POINTS] + 2, arena[StackSets.POINTS]
    return (
        carray(pointer(arena[StackSets.GROUP_OF]), points, np.int32),
        carray(pointer(arena[StackSets.REFINED]), size, np.int32),
        carray(pointer(arena[StackSets.STAMP]), size, np.int32),
        carray(pointer(arena[StackSets.MET]), points // 64 + 1, np.uint64),
        carray(pointer(arena[StackSets.BODY]), arena[StackSets.BODY_CAPACITY], np.int32),
    )


@inlined
def add_to_group(made, point, v, groups):
    """A point that has a set for the first time goes on to its group with that set. Returns how many groups there are."""
    group_of, refined, stamp, met, body = made
    before = int64(group_of[point])
    if before == 0:
        note_met(met, point)
    if stamp[before] != v:  # groups made for this very set are not looked at: each point is touched once
        groups += 1
        stamp[before], refined[before], stamp[groups] = v, groups, 0
        body[HEAD + 2 * groups - 2], body[HEAD + 2 * groups - 1] = before, v
    group_of[point] = refined[before]
    return groups


@part
def group_all(address, pattern, is_forward):
    """GROUP_OF, after all edges that start (backward: end) in points with stacks, set by set. Returns how many groups there are."""
    arena = sets_arena(address)
    points, edges = arena[StackSets.POINTS], arena[StackSets.EDGES]
    sources = carray(pointer(arena[StackSets.SOURCES]), points, np.int32)
    numbers = carray(pointer(arena[StackSets.NUMBER_OF]), points, np.int32)
    touched = carray(pointer(arena[StackSets.TOUCHED]), points, np.int32)
    size = arena[StackSets.CONTROLS] if is_forward else points
    starts = carray(pointer(arena[StackSets.REST_START if is_forward else StackSets.POINT_START]), size + 1, np.int32)
    targets = carray(pointer(arena[StackSets.REST_POINT if is_forward else StackSets.POINT_FROM]), edges, np.int32)
    words = arena[StackSets.COMMON_WORDS] if is_forward else int64(0)
    common = carray(pointer(arena[StackSets.COMMON]), (arena[StackSets.CONTROLS], words), np.uint64)
    common_point = carray(pointer(arena[StackSets.COMMON_POINT]), 64 * words, np.int32)
    led_to = np.zeros(words, np.uint64)
    made = grouping(arena)
    made[2][0] = 0
    count, groups, i = order_sources(address, pattern), int64(0), int64(0)
    spread(address, pattern)
    while i < count:
        v = numbers[sources[i]]
        led_to[:] = uint64(0)
        while i < count and numbers[sources[i]] == v:
            source = int64(sources[i])
            i += 1
            for w in range(words):
                led_to[w] |= common[source, w]
            for j in range(starts[source], starts[source + 1]):
                q = int64(targets[j])
                if touched[q] != v:
                    touched[q] = v
                    groups = add_to_group(made, q, int64(v), groups)
        for w in range(words):
            bits = led_to[w]
            while bits:
                groups = add_to_group(made, int64(common_point[int64(w) * 64 + lowest(bits)]), int64(v), groups)
                bits &= bits - uint64(1)
    clear(address, pattern)
    return groups


@part
def group_class(address, pattern, token_class, is_forward):
    """The same after the edges of a class."""
    arena = sets_arena(address)
    points, edges = arena[StackSets.POINTS], arena[StackSets.EDGES]
    order = carray(pointer(arena[StackSets.EDGE_ORDER]), edges, np.int32)
    numbers = carray(pointer(arena[StackSets.NUMBER_OF]), points, np.int32)
    touched = carray(pointer(arena[StackSets.TOUCHED]), points, np.int32)
    sources = carray(pointer(arena[StackSets.EDGE_CONTROL if is_forward else StackSets.EDGE_POINT]), edges, np.int32)
    targets = carray(pointer(arena[StackSets.EDGE_POINT if is_forward else StackSets.EDGE_CONTROL]), edges, np.int32)
    made = grouping(arena)
    made[2][0] = 0
    count, groups = order_class(address, pattern, token_class, is_forward), int64(0)
    spread(address, pattern)
    for k in range(count):
        e = int64(order[k])
        v, q = numbers[sources[e]], int64(targets[e])
        if touched[q] != v:
            touched[q] = v
            groups = add_to_group(made, q, int64(v), groups)
    clear(address, pattern)
    return groups


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
        at = add_to_runs(body, begin, at, q, stamp[g] if is_plain else g)
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
    """The body of a shape: PLACE says which of the sets each of `count` points of REACHED has."""
    arena = sets_arena(address)
    points = arena[StackSets.POINTS]
    reached, place = (
        carray(pointer(arena[StackSets.REACHED]), points, np.int32),
        carray(pointer(arena[StackSets.PLACE]), points, np.int32),
    )
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
        used = add_to_runs(body, int64(1), used, int64(reached[j]), int64(renumbered[kind]))
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
