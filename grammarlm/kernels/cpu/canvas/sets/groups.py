"""Groups of a plan (plans.py): the points that a step leads to, by which of a pattern's sets come together in them."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.layout.stack_sets import StackSets

from ..bits import lowest
from .patterns import RUN, clear, note_met, spread
from .records import sets_arena, words_of

HEAD = 3  # words of a body before the groups: what it is, G, U
MANY_EDGES = 4  # of a class for each run of points with stacks: then its edges are found by those


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


@inlined
def first_from(edges, sources, first, end, point):
    """Of edges in an order of their sources, the first whose source is not before a point."""
    while first < end:
        middle = (first + end) // 2
        if sources[edges[middle]] < point:
            first = middle + 1
        else:
            end = middle
    return first


@part
def class_edges_from(address, pattern, token_class):
    """SETS and CHOSEN: the edges of a class that start in a point with stacks, and the number of its set. Found by the points,
    which are few where edges are many: those that masked tokens take, then those of given ones alone. Returns how many."""
    arena = sets_arena(address)
    edges, size = arena[StackSets.EVERY_EDGE], arena[StackSets.EVERY_EDGE] + arena[StackSets.POINTS] + 2
    sources = carray(pointer(arena[StackSets.EDGE_CONTROL]), edges, np.int32)
    class_start = carray(pointer(arena[StackSets.CLASS_START]), arena[StackSets.CLASSES] + 1, np.int32)
    class_edges = carray(pointer(arena[StackSets.CLASS_EDGES]), class_start[arena[StackSets.CLASSES]], np.int32)
    taken = carray(pointer(arena[StackSets.SETS]), size, np.int32)
    number = carray(pointer(arena[StackSets.CHOSEN]), size, np.int32)
    words, found = words_of(arena, pattern), int64(0)
    first, end = int64(class_start[token_class]), int64(class_start[token_class + 1])
    low, middle = first, end  # where those of given tokens alone begin
    while low < middle:
        at = (low + middle) // 2
        if class_edges[at] < arena[StackSets.EDGES]:
            low = at + 1
        else:
            middle = at
    for half in range(2):
        at, stop = (first, middle) if half == 0 else (middle, end)
        for i in range(1, len(words), RUN):
            near, step = at, int64(words[i]) - (int64(sources[class_edges[at]]) if at < stop else int64(0))
            while step > 0 and near + step < stop and sources[class_edges[near + step]] < words[i]:
                near += step  # most controls have one edge of a class, or none
            at = first_from(class_edges, sources, near, min(stop, near + step + 1) if step > 0 else near, words[i])
            while at < stop and sources[class_edges[at]] < words[i + 1]:
                taken[found], number[found] = class_edges[at], words[i + 2]
                found += 1
                at += 1
    return found


@part
def class_edges_of_points(address, pattern, token_class, is_forward):
    """The same by looking at all edges of the class; backward, those that end in a point with stacks."""
    arena = sets_arena(address)
    edges, size = arena[StackSets.EVERY_EDGE], arena[StackSets.EVERY_EDGE] + arena[StackSets.POINTS] + 2
    sources = carray(pointer(arena[StackSets.EDGE_CONTROL if is_forward else StackSets.EDGE_POINT]), edges, np.int32)
    class_start = carray(pointer(arena[StackSets.CLASS_START]), arena[StackSets.CLASSES] + 1, np.int32)
    class_edges = carray(pointer(arena[StackSets.CLASS_EDGES]), class_start[arena[StackSets.CLASSES]], np.int32)
    numbers = carray(pointer(arena[StackSets.NUMBER_OF]), arena[StackSets.POINTS], np.int32)
    taken = carray(pointer(arena[StackSets.SETS]), size, np.int32)
    number = carray(pointer(arena[StackSets.CHOSEN]), size, np.int32)
    found = int64(0)
    spread(address, pattern)
    for k in range(class_start[token_class], class_start[token_class + 1]):
        e = class_edges[k]
        v = numbers[sources[e]]
        if v:
            taken[found], number[found] = e, v
            found += 1
    clear(address, pattern)
    return found


@part
def order_class(address, pattern, token_class, is_forward):
    """SETS and CHOSEN: the edges of a class that start (backward: end) in a point with stacks, and the number of its set;
    EDGE_ORDER: their places among these, by number. Returns how many."""
    arena = sets_arena(address)
    size = arena[StackSets.EVERY_EDGE] + arena[StackSets.POINTS] + 2
    class_start = carray(pointer(arena[StackSets.CLASS_START]), arena[StackSets.CLASSES] + 1, np.int32)
    order = carray(pointer(arena[StackSets.EDGE_ORDER]), arena[StackSets.EVERY_EDGE], np.int32)
    counts = carray(pointer(arena[StackSets.COUNTS]), arena[StackSets.POINTS] + 2, np.int32)
    words, every = words_of(arena, pattern), class_start[token_class + 1] - class_start[token_class]
    if is_forward and every > MANY_EDGES * (len(words) // RUN):
        found = class_edges_from(address, pattern, token_class)
    else:
        found = class_edges_of_points(address, pattern, token_class, is_forward)
    number = carray(pointer(arena[StackSets.CHOSEN]), size, np.int32)
    most = int64(0)
    for k in range(found):
        most = max(most, int64(number[k]))
    for v in range(most + 2):
        counts[v] = 0
    for k in range(found):
        counts[number[k] + 1] += 1
    for v in range(2, most + 2):
        counts[v] += counts[v - 1]
    for k in range(found):
        v = number[k]
        order[counts[v]] = k
        counts[v] += 1
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
    points, edges = arena[StackSets.POINTS], arena[StackSets.EVERY_EDGE]
    order = carray(pointer(arena[StackSets.EDGE_ORDER]), edges, np.int32)
    touched = carray(pointer(arena[StackSets.TOUCHED]), points, np.int32)
    taken = carray(pointer(arena[StackSets.SETS]), edges + points + 2, np.int32)
    number = carray(pointer(arena[StackSets.CHOSEN]), edges + points + 2, np.int32)
    targets = carray(pointer(arena[StackSets.EDGE_POINT if is_forward else StackSets.EDGE_CONTROL]), edges, np.int32)
    made = grouping(arena)
    made[2][0] = 0
    count, groups = order_class(address, pattern, token_class, is_forward), int64(0)
    for k in range(count):
        v, q = number[order[k]], int64(targets[taken[order[k]]])
        if touched[q] != v:
            touched[q] = v
            groups = add_to_group(made, q, int64(v), groups)
    return groups
