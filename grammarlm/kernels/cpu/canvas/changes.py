"""In which points two patterns differ, and what that leads to (plan_changes.py)."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.stack_sets import StackSets

from .patterns import RUN, note_met
from .records import sets_arena, words_of

MOST_SETS = 62  # of a pattern: they are bits
NONE = 1 << 62


@part
def images(address, state, like):
    """int64: by number of a state's sets 1 << the number that another state has for the set, 0: none."""
    arena = sets_arena(address)
    number = carray(pointer(arena[StackSets.NUMBER]), arena[StackSets.RECORD_CAPACITY], np.int32)
    here, there = words_of(arena, state), words_of(arena, like)
    found = np.zeros(len(there), np.int64)
    for v in range(2, len(here)):
        number[here[v]] = v - 1
    for v in range(2, len(there)):
        if number[there[v]]:
            found[v - 1] = int64(1) << int64(number[there[v]])
    for v in range(2, len(here)):
        number[here[v]] = 0
    return found


@part
def size_of(address, pattern, is_forward):
    """How many edges start (backward: end) in the points of a pattern."""
    arena = sets_arena(address)
    size = arena[StackSets.CONTROLS] if is_forward else arena[StackSets.POINTS]
    starts = carray(pointer(arena[StackSets.REST_START if is_forward else StackSets.POINT_START]), size + 1, np.int32)
    words, found = words_of(arena, pattern), int64(0)
    for i in range(1, len(words), RUN):
        found += starts[words[i + 1]] - starts[words[i]]
    return found


@part
def list_changed(address, pattern, like, image, is_forward, most):
    """SOURCES: the points that have other sets in another pattern. Returns how many, -1: they have more than `most` edges."""
    arena = sets_arena(address)
    size = arena[StackSets.CONTROLS] if is_forward else arena[StackSets.POINTS]
    starts = carray(pointer(arena[StackSets.REST_START if is_forward else StackSets.POINT_START]), size + 1, np.int32)
    sources = carray(pointer(arena[StackSets.SOURCES]), arena[StackSets.POINTS], np.int32)
    here, there = words_of(arena, pattern), words_of(arena, like)
    i, j, at, count, edges = int64(1), int64(1), int64(0), int64(0), int64(0)
    while i < len(here) or j < len(there):
        # from `at` on, what both have up to the next place where one of them changes
        first, second = int64(0), int64(0)
        end = int64(NONE)
        if i < len(here):
            if here[i] <= at:
                first = int64(1) << int64(here[i + 2])
                end = min(end, int64(here[i + 1]))
            else:
                end = min(end, int64(here[i]))
        if j < len(there):
            if there[j] <= at:
                second = image[there[j + 2]]
                second = second if second else int64(-1)
                end = min(end, int64(there[j + 1]))
            else:
                end = min(end, int64(there[j]))
        if first != second:
            edges += starts[end] - starts[at]
            if edges > most:
                return int64(-1)
            for point in range(at, end):
                sources[count] = point
                count += 1
        at = end
        if i < len(here) and here[i + 1] <= at:
            i += RUN
        if j < len(there) and there[j + 1] <= at:
            j += RUN
    return count


@part
def meet_targets(address, count, is_forward, common):
    """MET: the points that edges of SOURCES lead to, but for common ones: those are bits of `common`. Returns the number of edges
    that lead to them."""
    arena = sets_arena(address)
    controls, points, edges = arena[StackSets.CONTROLS], arena[StackSets.POINTS], arena[StackSets.EDGES]
    sources = carray(pointer(arena[StackSets.SOURCES]), points, np.int32)
    size = controls if is_forward else points
    starts = carray(pointer(arena[StackSets.REST_START if is_forward else StackSets.POINT_START]), size + 1, np.int32)
    targets = carray(pointer(arena[StackSets.REST_POINT if is_forward else StackSets.POINT_FROM]), edges, np.int32)
    back = points if is_forward else controls
    back_starts = carray(
        pointer(arena[StackSets.POINT_START if is_forward else StackSets.CONTROL_START]), back + 1, np.int32
    )
    leads = carray(pointer(arena[StackSets.COMMON]), (controls, arena[StackSets.COMMON_WORDS]), np.uint64)
    met = carray(pointer(arena[StackSets.MET]), points // 64 + 1, np.uint64)
    found = int64(0)
    for k in range(count):
        source = int64(sources[k])
        for w in range(len(common)):
            common[w] |= leads[source, w]
        for j in range(starts[source], starts[source + 1]):
            q = int64(targets[j])
            if met[q >> 6] >> uint64(q & 63) & uint64(1) == 0:
                note_met(met, q)
                found += back_starts[q + 1] - back_starts[q]
    return found


@part
def sets_at(address, q, is_forward, every):
    """The numbers of the sets of all that leads to a point, as bits. `every`: those that there are."""
    arena = sets_arena(address)
    edges, points = arena[StackSets.EDGES], arena[StackSets.POINTS]
    size = points if is_forward else arena[StackSets.CONTROLS]
    starts = carray(
        pointer(arena[StackSets.POINT_START if is_forward else StackSets.CONTROL_START]), size + 1, np.int32
    )
    sources = carray(pointer(arena[StackSets.POINT_FROM if is_forward else StackSets.EDGE_POINT]), edges, np.int32)
    numbers = carray(pointer(arena[StackSets.NUMBER_OF]), points, np.int32)
    found = int64(0)
    for j in range(starts[q], starts[q + 1]):
        v = int64(numbers[sources[j]])
        if v:
            found |= int64(1) << v
            if found == every:
                break
    return found


@part
def common_sets(address, pattern, common):
    """uint64 [numbers + 1, words]: the common points, of words that `common` asks for, to which something with each set leads."""
    arena = sets_arena(address)
    leads = carray(pointer(arena[StackSets.COMMON]), (arena[StackSets.CONTROLS], len(common)), np.uint64)
    words = words_of(arena, pattern)
    found = np.zeros((MOST_SETS + 1, len(common)), np.uint64)
    for w in range(len(common)):
        if common[w]:
            for i in range(1, len(words), RUN):
                bits = uint64(0)
                for c in range(words[i], words[i + 1]):
                    bits |= leads[c, w]
                found[words[i + 2], w] |= bits
    return found
