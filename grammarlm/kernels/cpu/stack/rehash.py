"""Rebuilds the hash tables of an arena after they have grown. All use linear probing; -1 is an empty slot."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.kernels.cpu.surveys.masks import key_of_signature
from grammarlm.layout.stack import Field

from .arena import arena_of, ints, mixed
from .configs import key_of, slot_of
from .stack_classes import key_of_class


@part
def put(table, size, key, value):
    """Inserts a value into a hash table that has room."""
    at = int64(key & uint64(size - 1))
    while table[at] >= 0:
        at = (at + 1) & (size - 1)
    table[at] = value


@kernel("void(int64)")
def rehash_stacks(address):
    """Fills the empty hash table of stacks."""
    arena = arena_of(address)
    count, size = arena[Field.S_COUNT], arena[Field.S_HASH_SIZE]
    parents, symbols = ints(arena, Field.S_PARENT, count), ints(arena, Field.S_SYMBOL, count)
    table = ints(arena, Field.S_HASH, size)
    for stack in range(1, count):
        at = int64(mixed(parents[stack], symbols[stack]) & uint64(size - 1))
        while table[at] >= 0:
            at = (at + 1) & (size - 1)
        table[at] = stack


@kernel("void(int64)")
def rehash_configs(address):
    """Fills the empty hash table of configs."""
    arena = arena_of(address)
    count, size = arena[Field.C_COUNT], arena[Field.C_HASH_SIZE]
    offsets, lengths = ints(arena, Field.C_OFFSET, count), ints(arena, Field.C_LENGTH, count)
    threads = carray(pointer(arena[Field.THREADS]), (arena[Field.T_CAPACITY], 3), np.int32)
    table = ints(arena, Field.C_HASH, size)
    for config in range(2, count):
        at = int64(key_of(threads, int64(offsets[config]), int64(lengths[config])) & uint64(size - 1))
        while table[at] >= 0:
            at = (at + 1) & (size - 1)
        table[at] = config


@kernel("void(int64, int64, int64)")
def remember_pair(address, key, border):
    """Inserts the conjunction of two borders into its hash table, which has room."""
    arena = arena_of(address)
    size = arena[Field.B_AND_SIZE]
    table = carray(pointer(arena[Field.B_AND]), (size, 2), np.int64)
    at = int64(mixed(key, 7) & uint64(size - 1))
    while table[at, 0] >= 0 and table[at, 0] != key:
        at = (at + 1) & (size - 1)
    table[at, 0], table[at, 1] = key, border


@kernel("void(int64)")
def rehash_surveys(address):
    """Fills the empty hash table of surveys."""
    arena = arena_of(address)
    count, size = arena[Field.SURVEY_COUNT], arena[Field.SURVEY_HASH_SIZE]
    keys = carray(pointer(arena[Field.SURVEY_KEY]), (count, 2), np.int64)
    table = ints(arena, Field.SURVEY_HASH, size)
    for survey in range(count):
        put(table, size, mixed(keys[survey, 0], keys[survey, 1]), survey)


@kernel("void(int64)")
def rehash_tries(address):
    """Fills the empty hash table of tries. Trie 0 is the vocabulary's."""
    arena = arena_of(address)
    count, size = arena[Field.TRIE_COUNT], arena[Field.TRIE_HASH_SIZE]
    keys = carray(pointer(arena[Field.TRIE_KEY]), count, np.uint64)
    table = ints(arena, Field.TRIE_HASH, size)
    for trie in range(1, count):
        put(table, size, keys[trie], trie)


@kernel("void(int64)")
def rehash_classes(address):
    """Fills the empty hash table of stack classes. Class 0 stands for no stack."""
    arena = arena_of(address)
    count, size, words = arena[Field.K_COUNT], arena[Field.K_HASH_SIZE], arena[Field.TERMINAL_WORDS]
    lexers = ints(arena, Field.K_LEXER, count)
    live = carray(pointer(arena[Field.K_LIVE]), (count, words), np.uint64)
    table = ints(arena, Field.K_HASH, size)
    for k in range(1, count):
        put(table, size, key_of_class(lexers, live, words, k), k)


@kernel("void(int64)")
def rehash_signatures(address):
    """Fills the empty hash table of signatures."""
    arena = arena_of(address)
    count, size = arena[Field.SIGNATURE_COUNT], arena[Field.SIGNATURE_HASH_SIZE]
    list_ = carray(pointer(arena[Field.SIGNATURES]), (count, 2), np.int32)
    known = ints(arena, Field.KNOWN_SIGNATURE, arena[Field.KNOWN_COUNT])
    table = ints(arena, Field.SIGNATURE_HASH, size)
    for number in range(count):
        put(table, size, key_of_signature(known, int64(list_[number, 0]), int64(list_[number, 1])), number)


@kernel("void(int64, int64, int64, int64, int64)")
def remember_verdict(address, q, s, b, value):
    """Inserts a verdict into its hash table, which has room."""
    arena = arena_of(address)
    size = arena[Field.JUDGED_SIZE]
    table = carray(pointer(arena[Field.JUDGED]), (size, 4), np.int32)
    at = slot_of(table, size, q, s, b)
    table[at, 0], table[at, 1], table[at, 2], table[at, 3] = q, s, b, value


@kernel("void(int64, int64, int64)")
def rehash_verdicts(address, old_address, old_size):
    """Fills the empty hash table of verdicts from the old one."""
    arena = arena_of(address)
    size = arena[Field.JUDGED_SIZE]
    table = carray(pointer(arena[Field.JUDGED]), (size, 4), np.int32)
    old = carray(pointer(old_address), (old_size, 4), np.int32)
    for i in range(old_size):
        if old[i, 0] >= 0:
            at = slot_of(table, size, int64(old[i, 0]), int64(old[i, 1]), int64(old[i, 2]))
            for j in range(4):
                table[at, j] = old[i, j]
