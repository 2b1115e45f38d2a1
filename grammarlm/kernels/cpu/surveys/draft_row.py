"""The row that the walk of a survey computes, and where a walk is suspended: both stay in the scratch between calls.

DRAFT_ROW has a bit for each token; besides, the first FEW tokens are listed, and counted up to MORE. A walk that misses something
is **suspended**, with its node, and the next call resumes there: PATH has the configs up to it.
"""

from numba import int32, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.stack.arena import arena_of, ints, longs
from grammarlm.kernels.cpu.table.walk import set_bit
from grammarlm.layout.stack import Field
from grammarlm.layout.stack_calls import FEW, SUSPENDED_LENGTH

# HOW: the scratch is empty; it holds a suspended walk; it holds one that cannot resume, whose row must be cleared.
CLEAN, RESUMABLE, STALE = 0, 1, 2
# Indices into SUSPENDED. INSIDE: the config that most tokens reach and stay in, 0 if none. OUTSIDE: the kinds of bytes that lead
# out of it (byte_kinds.py).
HOW, TRIE, CONFIG, NODE, INSIDE, OUTSIDE = range(6)
MORE = FEW + 1


@inlined
def note_tokens(row, listed, count, entries, begin, end):
    """Adds the tokens of the entries `begin` to `end` - 1 to the row. Returns the new count of its tokens; MORE stays MORE."""
    i, stop = uint64(begin), uint64(end)
    while i < stop and count < MORE:
        token = uint32(entries[i, 0])
        word, bit = uint64(token >> uint32(5)), int32(1) << int32(token & uint32(31))
        listed[count] = int32(token)
        count += int64(row[word] & bit == 0)
        row[word] |= bit
        i += uint64(1)
    while i < stop:
        set_bit(row, uint32(entries[i, 0]))
        i += uint64(1)
    return count


@inlined
def take_out_tokens(row, entries, begin, end):
    """Removes the tokens of the entries `begin` to `end` - 1 from the row."""
    for i in range(begin, end):
        row[entries[i, 0] >> 5] &= ~(int32(1) << int32(entries[i, 0] & 31))


@part
def suspend_at_end(address):
    """Suspends a finished walk whose further processing misses something, so that the walk is not repeated."""
    suspended = longs(arena_of(address), Field.SUSPENDED, SUSPENDED_LENGTH)
    suspended[HOW], suspended[NODE] = RESUMABLE, int64(1) << 40


@part
def drop_suspended(address):
    """Invalidates the results of a suspended walk."""
    arena = arena_of(address)
    if arena[Field.SUSPENDED]:
        suspended = longs(arena, Field.SUSPENDED, SUSPENDED_LENGTH)
        if suspended[HOW] == RESUMABLE:
            suspended[HOW] = STALE


@part
def empty_row(address, count):
    """Clears the row; `count` of its tokens are set, or an unknown number if that is negative."""
    arena = arena_of(address)
    row = ints(arena, Field.DRAFT_ROW, arena[Field.NOTHING] // 32)
    if 0 <= count <= FEW:
        listed = ints(arena, Field.DRAFT_TOKENS, FEW)
        for i in range(count):
            row[listed[i] >> 5] = 0
    else:
        row[:] = 0
    longs(arena, Field.SUSPENDED, SUSPENDED_LENGTH)[HOW] = CLEAN


@part
def count_row(address):
    """Lists the first tokens of the row. Returns its count."""
    arena = arena_of(address)
    words = int64(arena[Field.NOTHING] // 32)
    row, listed = ints(arena, Field.DRAFT_ROW, words), ints(arena, Field.DRAFT_TOKENS, MORE)
    count = int64(0)
    for word in range(words):
        for bit in range(32):
            if row[word] >> bit & 1:
                listed[count] = 32 * word + bit
                count += 1
                if count == MORE:
                    return count
    return count
