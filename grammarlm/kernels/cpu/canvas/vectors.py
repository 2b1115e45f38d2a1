"""What one more byte does to vectors of effects (masks/canvas/json/tokens.py), interned: equal vectors, one number."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.layout.stack_sets import Vectors

UNKNOWN = -2
ALL_DONE, MISSING, FULL = 0, 1, 2


@part
def hash_of(address, vector):
    """Linear in the words, so that numpy computes the same (masks/canvas/json/vectors.py)."""
    arena = carray(pointer(address), int64(Vectors.LENGTH), np.int64)
    size = arena[Vectors.SIZE]
    words = carray(pointer(arena[Vectors.VECTORS] + 4 * size * vector), size, np.int32)
    weights = carray(pointer(arena[Vectors.WEIGHTS]), size, np.uint64)
    hashed = uint64(0)
    for s in range(size):
        hashed += uint64(int64(words[s])) * weights[s]
    return hashed ^ (hashed >> uint64(31))


@part
def intern_last(address):
    """The number of the vector behind the last one, which is made one unless there is an equal one."""
    arena = carray(pointer(address), int64(Vectors.LENGTH), np.int64)
    size, capacity, made = arena[Vectors.SIZE], arena[Vectors.CAPACITY], arena[Vectors.COUNT]
    vectors = carray(pointer(arena[Vectors.VECTORS]), (capacity, size), np.int32)
    hashes = carray(pointer(arena[Vectors.HASHES]), capacity, np.uint64)
    slots, mask = carray(pointer(arena[Vectors.SLOT]), arena[Vectors.SLOTS], np.int32), arena[Vectors.SLOTS] - 1
    hashed = hash_of(address, made)
    at = int64(hashed) & mask
    while slots[at]:
        n = int64(slots[at]) - 1
        if hashes[n] == hashed:
            same = True
            for s in range(size):
                if vectors[n, s] != vectors[made, s]:
                    same = False
                    break
            if same:
                return n
        at = (at + 1) & mask
    hashes[made] = hashed
    slots[at] = made + 1
    arena[Vectors.COUNT] = made + 1
    return made


@kernel("int64(int64)", seconds=2)
def move_vectors(address):
    """Fills AFTER for the pairs from DONE on, as far as it gets."""
    arena = carray(pointer(address), int64(Vectors.LENGTH), np.int64)
    size, columns, capacity = arena[Vectors.SIZE], arena[Vectors.COLUMNS], arena[Vectors.CAPACITY]
    vectors = carray(pointer(arena[Vectors.VECTORS]), (capacity, size), np.int32)
    after = carray(pointer(arena[Vectors.AFTER]), (capacity, columns), np.int32)
    effects = arena[Vectors.EFFECTS]
    moved = carray(pointer(arena[Vectors.MOVED]), (columns, effects), np.int32)
    pairs = carray(pointer(arena[Vectors.PAIRS]), (arena[Vectors.PAIR_COUNT], 2), np.int32)
    while arena[Vectors.DONE] < len(pairs):
        vector, column = int64(pairs[arena[Vectors.DONE], 0]), int64(pairs[arena[Vectors.DONE], 1])
        made = arena[Vectors.COUNT]
        if made == capacity:
            return int64(FULL)
        for s in range(size):
            effect = int64(vectors[vector, s])
            found = moved[column, effect if effect >= 0 else effects - 1]
            if found == UNKNOWN:
                arena[Vectors.MISSING] = effect
                return int64(MISSING)
            vectors[made, s] = found
        after[vector, column] = intern_last(address)
        arena[Vectors.DONE] += 1
    return int64(ALL_DONE)


@kernel("int64(int64)", seconds=1)
def intern_vector(address):
    """The number of the vector behind the last one; there is room for it."""
    return intern_last(address)


@kernel("void(int64, int64)", seconds=1)
def rehash_vectors(address, count):
    """Fills SLOT, which is empty, with the first vectors, the last of them first: of equal ones that is found."""
    arena = carray(pointer(address), int64(Vectors.LENGTH), np.int64)
    hashes = carray(pointer(arena[Vectors.HASHES]), arena[Vectors.CAPACITY], np.uint64)
    slots, mask = carray(pointer(arena[Vectors.SLOT]), arena[Vectors.SLOTS], np.int32), arena[Vectors.SLOTS] - 1
    for n in range(count - 1, -1, -1):
        at = int64(hashes[n]) & mask
        while slots[at]:
            at = (at + 1) & mask
        slots[at] = n + 1
