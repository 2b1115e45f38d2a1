"""Lists of leaves, and the large tries of remainders that came of them: what need not be made again to find that it is known.

Behind every keyword that ends with a blank, and in every state before blanks, the same leaves of the same trie come up. To lay
their subtrees upon each other takes a millisecond where half of the vocabulary is below them; to compare the leaves does not. A
list is the trie, the border, the leaves. There are few lists, none is taken back, and a seat reads those that were there at its
last turn (turns.py).
"""

import numpy as np
from numba import carray, int64, uint64

from ...layout.stack import LEAF_LISTS, Place
from .jit import part, pointer
from .places import arena_of, ints, mixed

WORTH_NOTING = 500  # nodes of a trie that takes longer to make than to find


@part
def key_of_leaves(trie, border, leaves, low, high):
    key = mixed(trie, border)
    for i in range(low, high):
        key = mixed(key, leaves[i])
    return int64(key ^ uint64(high - low))


@part
def trie_of_leaves(address, trie, border, low, high):
    """The trie of what remains at the leaves BY_GROUP[low:high] of a trie, where it was made before; -1 where it was not."""
    arena = arena_of(address)
    leaves, numbers = ints(arena, Place.BY_GROUP, high), ints(arena, Place.LEAF_NUMBERS, arena[Place.LEAF_ROOM])
    lists = carray(pointer(arena[Place.LEAF_LISTS]), (LEAF_LISTS, 4), np.int64)
    key = int64(0)  # of a long list it takes a while: only where another is as long
    for i in range(arena[Place.LEAF_LIST_COUNT]):
        if lists[i, 2] != 2 + high - low:
            continue
        if key == 0:
            key = key_of_leaves(trie, border, leaves, low, high)
        if lists[i, 0] != key:
            continue
        at = lists[i, 1]
        same = numbers[at] == trie and numbers[at + 1] == border
        for j in range(high - low):
            same &= numbers[at + 2 + j] == leaves[low + j]
        if same:
            return lists[i, 3]
    return int64(-1)


@part
def note_leaves(address, trie, border, low, high, made):
    """Writes down which trie came of these leaves, where it is large, there is room, and nobody has done so."""
    arena = arena_of(address)
    large = int64(carray(pointer(arena[Place.TRIES]), (made + 1, 5), np.int32)[made, 1]) >= WORTH_NOTING
    count, length = arena[Place.LEAF_LIST_COUNT], 2 + high - low
    if not large or count >= LEAF_LISTS:
        return
    lists = carray(pointer(arena[Place.LEAF_LISTS]), (LEAF_LISTS, 4), np.int64)
    at = lists[count - 1, 1] + lists[count - 1, 2] if count else int64(0)
    if at + length > arena[Place.LEAF_ROOM] or trie_of_leaves(address, trie, border, low, high) >= 0:
        return
    leaves, numbers = ints(arena, Place.BY_GROUP, high), ints(arena, Place.LEAF_NUMBERS, arena[Place.LEAF_ROOM])
    numbers[at], numbers[at + 1] = trie, border
    for i in range(high - low):
        numbers[at + 2 + i] = leaves[low + i]
    lists[count, 0], lists[count, 1] = key_of_leaves(trie, border, leaves, low, high), at
    lists[count, 2], lists[count, 3] = length, made
    arena[Place.LEAF_LIST_COUNT] = count + 1
