"""What more bytes do to vectors of effects (masks/canvas/tables/tokens.py), interned: equal vectors, one number.

After a few bytes most states read nothing any more, so a vector is kept as the places that have an effect, ascending, and these.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.stack_sets import Vectors

NONE, UNKNOWN = -1, -2  # of an effect, and of a vector
ALL_DONE, MISSING, FULL, PAUSED = 0, 1, 2, 3


@inlined
def arena_at(address):
    return carray(pointer(address), int64(Vectors.LENGTH), np.int64)


@inlined
def places_at(arena):
    """The places of all vectors and the effects there, one vector behind the other, and where those of each begin."""
    places = carray(pointer(arena[Vectors.PLACES]), arena[Vectors.PLACE_CAPACITY], np.int32)
    values = carray(pointer(arena[Vectors.VALUES]), arena[Vectors.PLACE_CAPACITY], np.int32)
    return places, values, carray(pointer(arena[Vectors.PLACE_START]), arena[Vectors.CAPACITY] + 1, np.int64)


@part
def is_moved(before, place, row, places, values, known, count):
    """Is a vector that is known what another becomes, whose places and effects are `before` and `place` as `row` has them?"""
    at = int64(0)
    for i in range(len(before)):
        found = row[before[i]]
        if found != NONE:
            if at == count or places[known + at] != place[i] or values[known + at] != found:
                return False
            at += 1
    return at == count


@part
def moved_vector(address, vector, column):
    """The number of the vector after one more byte, which AFTER has from then on; -1 - why it is not known. Most are equal to one
    that is known, so they are written down only where they are not."""
    arena = arena_at(address)
    columns, capacity, made = arena[Vectors.COLUMNS], arena[Vectors.CAPACITY], arena[Vectors.COUNT]
    places, values, starts = places_at(arena)
    if made == capacity or starts[made] + arena[Vectors.SIZE] > arena[Vectors.PLACE_CAPACITY]:
        return int64(-1 - FULL)
    after = carray(pointer(arena[Vectors.AFTER]), (capacity, columns), np.int32)
    row = carray(pointer(arena[Vectors.MOVED]), (columns, arena[Vectors.EFFECTS]), np.int32)[column]
    weights = carray(pointer(arena[Vectors.WEIGHTS]), arena[Vectors.SIZE], np.uint64)
    hashes = carray(pointer(arena[Vectors.HASHES]), capacity, np.uint64)
    slots, mask = carray(pointer(arena[Vectors.SLOT]), arena[Vectors.SLOTS], np.int32), arena[Vectors.SLOTS] - 1
    first, last = starts[vector], starts[vector + 1]
    effects, place = values[first:last], places[first:last]
    hashed, count, lowest = uint64(0), int64(0), int64(0)
    for i in range(len(effects)):
        found = int64(row[effects[i]])
        hashed += uint64(found + 1) * weights[place[i]]  # of no effect nothing
        count += int64(found != NONE)
        lowest = min(lowest, found)
    if lowest == UNKNOWN:
        for i in range(len(effects)):
            if row[effects[i]] == UNKNOWN:
                arena[Vectors.MISSING], arena[Vectors.MISSING_COLUMN] = effects[i], column
                return int64(-1 - MISSING)
    arena[Vectors.BUDGET] -= last - first + 1
    hashed = hashed ^ (hashed >> uint64(31))
    at = int64(hashed) & mask
    while slots[at]:
        n = int64(slots[at]) - 1
        if hashes[n] == hashed and starts[n + 1] - starts[n] == count:
            if is_moved(effects, place, row, places, values, starts[n], count):
                after[vector, column] = n
                return n
        at = (at + 1) & mask
    end = starts[made]
    for i in range(len(effects)):
        found = row[effects[i]]
        if found != NONE:
            places[end], values[end] = place[i], found
            end += 1
    starts[made + 1], hashes[made] = end, hashed
    slots[at] = made + 1
    arena[Vectors.COUNT] = made + 1
    after[vector, column] = made
    return made


@kernel("int64(int64)", seconds=2)
def move_vectors(address):
    """Fills AFTER for the pairs from DONE on, as far as it gets."""
    arena = arena_at(address)
    pairs = carray(pointer(arena[Vectors.PAIRS]), (arena[Vectors.PAIR_COUNT], 2), np.int32)
    while arena[Vectors.DONE] < len(pairs):
        found = moved_vector(address, int64(pairs[arena[Vectors.DONE], 0]), int64(pairs[arena[Vectors.DONE], 1]))
        if found < 0:
            return -1 - found
        arena[Vectors.DONE] += 1
    return int64(ALL_DONE)


@kernel("int64(int64)", seconds=2)
def walk_tokens(address):
    """Fills KINDS by a walk of the trie (vocab/byte_trie.py) from node DONE on, as far as it gets before BUDGET is used up. Of the
    vectors that the path to a node leads to, REACHED has those by depth."""
    arena = arena_at(address)
    columns, nodes = arena[Vectors.COLUMNS], arena[Vectors.NODES]
    byte = carray(pointer(arena[Vectors.BYTE]), nodes, np.uint8)
    depth = carray(pointer(arena[Vectors.DEPTH]), nodes, np.uint16)
    end = carray(pointer(arena[Vectors.END]), nodes, np.int32)
    token = carray(pointer(arena[Vectors.TOKEN]), nodes, np.uint32)
    class_of = carray(pointer(arena[Vectors.CLASS_OF]), 256, np.uint8)
    reached = carray(pointer(arena[Vectors.REACHED]), arena[Vectors.DEEPEST] + 1, np.int32)
    kinds = carray(pointer(arena[Vectors.KINDS]), arena[Vectors.KIND_COUNT], np.int32)
    after = carray(pointer(arena[Vectors.AFTER]), (arena[Vectors.CAPACITY], columns), np.int32)
    nowhere, node = arena[Vectors.NOWHERE], arena[Vectors.DONE]
    while node < nodes:
        d = int64(depth[node])
        column = int64(class_of[byte[node]])
        found = int64(after[reached[d - 1], column])
        if found == UNKNOWN:
            arena[Vectors.DONE] = node
            if arena[Vectors.BUDGET] < 0:
                return int64(PAUSED)
            found = moved_vector(address, int64(reached[d - 1]), column)
            if found < 0:
                return -1 - found
        if found == nowhere:
            node = int64(end[node])
        else:
            reached[d] = found
            kinds[token[node]] = found
            node += 1
    return int64(ALL_DONE)


@kernel("int64(int64)", seconds=1)
def intern_vector(address):
    """The number of the vector behind the last one; it is made one unless there is an equal one."""
    arena = arena_at(address)
    size, capacity, made = arena[Vectors.SIZE], arena[Vectors.CAPACITY], arena[Vectors.COUNT]
    hashes = carray(pointer(arena[Vectors.HASHES]), capacity, np.uint64)
    weights = carray(pointer(arena[Vectors.WEIGHTS]), size, np.uint64)
    slots, mask = carray(pointer(arena[Vectors.SLOT]), arena[Vectors.SLOTS], np.int32), arena[Vectors.SLOTS] - 1
    places, values, starts = places_at(arena)
    first, count = starts[made], starts[made + 1] - starts[made]
    hashed = uint64(0)
    for i in range(first, first + count):
        hashed += uint64(int64(values[i]) + 1) * weights[places[i]]
    hashed = hashed ^ (hashed >> uint64(31))
    at = int64(hashed) & mask
    while slots[at]:
        n = int64(slots[at]) - 1
        if hashes[n] == hashed and starts[n + 1] - starts[n] == count:
            same = True
            for i in range(count):
                if places[starts[n] + i] != places[first + i] or values[starts[n] + i] != values[first + i]:
                    same = False
                    break
            if same:
                return n
        at = (at + 1) & mask
    hashes[made] = hashed
    slots[at] = made + 1
    arena[Vectors.COUNT] = made + 1
    return made


@kernel("void(int64, int64)", seconds=1)
def rehash_vectors(address, count):
    """Fills SLOT, which is empty, with the first vectors, the last of them first: of equal ones that is found."""
    arena = arena_at(address)
    hashes = carray(pointer(arena[Vectors.HASHES]), arena[Vectors.CAPACITY], np.uint64)
    slots, mask = carray(pointer(arena[Vectors.SLOT]), arena[Vectors.SLOTS], np.int32), arena[Vectors.SLOTS] - 1
    for n in range(count - 1, -1, -1):
        at = int64(hashes[n]) & mask
        while slots[at]:
            at = (at + 1) & mask
        slots[at] = n + 1
