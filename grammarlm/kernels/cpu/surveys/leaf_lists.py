"""Cache of large remainder tries, keyed by their lists of leaves.

The same leaves of the same trie recur after every keyword that ends with a blank, and in every state before blanks. Merging their
subtrees takes a millisecond if half of the vocabulary is below them; comparing the leaves is much cheaper. A key is the trie, the
border and the leaves. There are few lists and none is removed.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, ints, mixed, nodes_of
from grammarlm.layout.stack import LEAF_LISTS, Field

WORTH_NOTING = 500  # size of a trie, in nodes, from which it takes longer to build than to look up


@part
def key_of_leaves(trie, border, leaves, low, high):
    key = mixed(trie, border)
    for i in range(low, high):
        key = mixed(key, leaves[i])
    return int64(key ^ uint64(high - low))


@part
def trie_of_leaves(address, trie, border, low, high):
    """The cached trie of the remainders at the leaves BY_GROUP[low:high] of a trie; -1 if there is none."""
    arena = arena_of(address)
    leaves, numbers = ints(arena, Field.BY_GROUP, high), ints(arena, Field.LEAF_NUMBERS, arena[Field.LEAF_ROOM])
    lists = carray(pointer(arena[Field.LEAF_LISTS]), (LEAF_LISTS, 4), np.int64)
    key = int64(0)  # computed lazily: hashing a long list is slow, and only a list of equal length can match
    for i in range(arena[Field.LEAF_LIST_COUNT]):
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
    """Caches the trie built from these leaves if it is large, there is room, and it is not cached yet."""
    arena = arena_of(address)
    large = nodes_of(arena, made)[0] >= WORTH_NOTING
    count, length = arena[Field.LEAF_LIST_COUNT], 2 + high - low
    if not large or count >= LEAF_LISTS:
        return
    lists = carray(pointer(arena[Field.LEAF_LISTS]), (LEAF_LISTS, 4), np.int64)
    at = lists[count - 1, 1] + lists[count - 1, 2] if count else int64(0)
    if at + length > arena[Field.LEAF_ROOM] or trie_of_leaves(address, trie, border, low, high) >= 0:
        return
    leaves, numbers = ints(arena, Field.BY_GROUP, high), ints(arena, Field.LEAF_NUMBERS, arena[Field.LEAF_ROOM])
    numbers[at], numbers[at + 1] = trie, border
    for i in range(high - low):
        numbers[at + 2 + i] = leaves[low + i]
    lists[count, 0], lists[count, 1] = key_of_leaves(trie, border, leaves, low, high), at
    lists[count, 2], lists[count, 3] = length, made
    arena[Field.LEAF_LIST_COUNT] = count + 1
