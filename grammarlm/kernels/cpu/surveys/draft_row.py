"""The row that the walk of a survey computes, and where a walk is suspended: both stay in the scratch between calls.

DRAFT_ROW has a bit for each token; besides, the first FEW tokens are listed. A walk that misses something is **suspended**, with
its node and the path to it, and the next call resumes there.
"""

import numpy as np
from numba import carray, int32, int64, uint32

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, ints
from grammarlm.kernels.cpu.table.walk import set_bit
from grammarlm.layout.stack import Field
from grammarlm.layout.stack_calls import FEW, SUSPENDED_LENGTH

# HOW: the scratch is empty; it holds a suspended walk; it holds one that cannot resume, whose row must be cleared.
CLEAN, RESUMABLE, STALE = 0, 1, 2
# Indices into SUSPENDED. KEY: trie, q, b, k. INSIDE: the config that most tokens reach and stay in, 0 if none. OUTSIDE: the kinds
# of bytes that lead out of it (byte_kinds.py).
HOW, KEY, NODE, CONFIG, INSIDE, OUTSIDE = 0, 1, 5, 6, 7, 8


@inlined
def bits_of(word):
    """Population count: sums of pairs, of fours, then a product that adds the bytes."""
    word = word - (word >> uint32(1) & uint32(0x55555555))
    word = (word & uint32(0x33333333)) + (word >> uint32(2) & uint32(0x33333333))
    word = word + (word >> uint32(4)) & uint32(0x0F0F0F0F)
    return int64(uint32(word * uint32(0x01010101)) >> uint32(24))


@inlined
def note_token(row, listed, count, token):
    """Adds a token to the row. Returns the new count."""
    set_bit(row, uint32(token))
    if count < FEW:
        listed[count] = token
    return count + 1


@part
def suspend(address, node, path_length, tally, count, leaf):
    """Stores where to resume: the node, the path of `path_length` bytes to it, the numbers of tokens and leaves."""
    arena = arena_of(address)
    suspended = carray(pointer(arena[Field.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    path, saved = ints(arena, Field.PATH, path_length), ints(arena, Field.SUSPENDED_PATH, path_length)
    for i in range(path_length):
        saved[i] = path[i]
    suspended[HOW], suspended[NODE] = RESUMABLE, node
    tally[0], tally[1] = count, leaf


@part
def suspend_at_end(address):
    """Suspends a finished walk whose further processing misses something, so that the walk is not repeated."""
    arena = arena_of(address)
    suspended = carray(pointer(arena[Field.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    suspended[HOW], suspended[NODE] = RESUMABLE, int64(1) << 40


@part
def drop_suspended(address):
    """Invalidates the results of a suspended walk."""
    arena = arena_of(address)
    if arena[Field.SUSPENDED]:
        suspended = carray(pointer(arena[Field.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
        if suspended[HOW] == RESUMABLE:
            suspended[HOW] = STALE


@part
def empty_row(address, count):
    """Clears the tokens of the row: `count` of them, or an unknown number if that is negative."""
    arena = arena_of(address)
    row = ints(arena, Field.DRAFT_ROW, arena[Field.NOTHING] // 32 + 1)
    if 0 <= count <= FEW:
        listed = ints(arena, Field.DRAFT_TOKENS, FEW)
        for i in range(count):
            row[listed[i] >> 5] = 0
    else:
        row[:] = 0
    carray(pointer(arena[Field.SUSPENDED]), SUSPENDED_LENGTH, np.int64)[HOW] = CLEAN


@part
def take_out(row, token, first, end):
    """Removes the tokens of the nodes first to end - 1 from the row."""
    for node in range(first, end):
        row[token[node] >> 5] &= ~(int32(1) << int32(token[node] & 31))


@part
def count_row(address):
    """Counts the tokens of the row and lists the first ones."""
    arena = arena_of(address)
    words = int64(arena[Field.NOTHING] // 32)
    row, listed = ints(arena, Field.DRAFT_ROW, words), ints(arena, Field.DRAFT_TOKENS, FEW + 1)
    count = int64(0)
    for word in range(words):
        if row[word] and count < FEW:
            for bit in range(32):
                if row[word] >> bit & 1:
                    listed[min(count, FEW)] = 32 * word + bit
                    count += 1
        else:
            count += bits_of(uint32(row[word]))
    return count
