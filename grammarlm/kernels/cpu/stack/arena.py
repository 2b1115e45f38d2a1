"""Accessors of the arena of a pushdown machine (layout/stack.py): `arena_of`, its arrays, tries, hash tables, and missing codes
(configs.py).

A hash table finds the numbers of what is interned, by linear probing. An entry has the upper half of the hash beside the number, so
most that differ are told apart by it, and a longer table is filled from the entries of the old one.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.stack import LR_BASE, STATES, Field


@inlined
def missing(reason, index):
    return -(int64(index) * 8 + reason)


@inlined
def ints(arena, field, count):
    return carray(pointer(arena[field]), count, np.int32)


@inlined
def octets(arena, field, count):
    return carray(pointer(arena[field]), count, np.uint8)


@inlined
def arena_of(address):
    return carray(pointer(address), int64(Field.LENGTH), np.int64)


@inlined
def lr_state(symbol):
    return (int64(symbol) - LR_BASE) & (STATES - 1)


@inlined
def mixed(a, b):
    x = (uint64(a) + uint64(1)) * uint64(0x9E3779B97F4A7C15) ^ uint64(b) * uint64(0xC2B2AE3D27D4EB4F)
    x ^= x >> uint64(29)
    x *= uint64(0x94D049BB133111EB)
    return x ^ x >> uint64(32)


@inlined
def key_of_words(words, begin, end):
    """Hash of a run of integers."""
    key = uint64(end - begin)
    for i in range(begin, end):
        key = key * uint64(0x9E3779B97F4A7C15) + uint64(words[i])
    return mixed(key, 0)


@inlined
def entry_of(key, number):
    """What a hash table holds of something with this hash and number."""
    return int64(key >> uint64(33)) << 32 | int64(number)


@inlined
def first_slot(entry, size):
    """Where the search for an entry begins."""
    return entry >> 32 & (size - 1)


@inlined
def longs(arena, field, count):
    return carray(pointer(arena[field]), count, np.int64)


@inlined
def same_words(one, begin, other, count):
    """Are words[begin : begin + count] the first ones of the others?"""
    i = 0
    while i < count and one[begin + i] == other[i]:
        i += 1
    return i == count


@part
def put(table_address, size, entry):
    """Inserts an entry into a hash table that has room."""
    table = carray(pointer(table_address), size, np.int64)
    at = first_slot(entry, size)
    while table[at] >= 0:
        at = (at + 1) & (size - 1)
    table[at] = entry


@part
def take_out(table_address, size, entry):
    """Removes the entry that was inserted last."""
    table = carray(pointer(table_address), size, np.int64)
    at = first_slot(entry, size)
    while table[at] != entry:
        at = (at + 1) & (size - 1)
    table[at] = -1


@kernel("void(int64, int64, int64, int64)")
def rehash(entries_address, count, table_address, size):
    """Inserts entries, in the order of their numbers: those after any number can be removed again."""
    entries = carray(pointer(entries_address), count, np.int64)
    for i in range(count):
        put(table_address, size, entries[i])


@inlined
def nodes_of(arena, trie):
    """(number of nodes, their bytes, depths, ends and first entries; the entries) of a trie. Trie 0 is the vocabulary's."""
    tries = carray(pointer(arena[Field.TRIES]), (trie + 1, 4), np.int32)
    first, count, entry, entries = (
        int64(tries[trie, 0]),
        int64(tries[trie, 1]),
        int64(tries[trie, 2]),
        int64(tries[trie, 3]),
    )
    byte, depth, end, begins, tokens = (
        arena[Field.X_BYTE] + first,
        arena[Field.X_DEPTH] + 2 * first,
        arena[Field.X_END] + 4 * first,
        arena[Field.X_FIRST] + 4 * first,
        arena[Field.X_TOKEN] + 8 * entry,
    )
    if trie == 0:
        byte, depth, end = arena[Field.BYTE], arena[Field.DEPTH], arena[Field.END]
        begins, tokens = arena[Field.FIRST], arena[Field.ENTRY]
    return (
        count,
        carray(pointer(byte), count, np.uint8),
        carray(pointer(depth), count, np.uint16),
        carray(pointer(end), count, np.int32),
        carray(pointer(begins), count + 1, np.int32),
        carray(pointer(tokens), (entries, 2), np.int32),
    )
