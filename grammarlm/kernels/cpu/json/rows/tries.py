"""Tries as walks read them: tokens at and below nodes, the stack of a walk, and the children that it visits.

A node of many children has a table of them, in which the next bytes of a small set are looked up (JUMPS, ALLOWED).
"""

import numpy as np
from numba import int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import clear_bit, ints, longs, octets, set_bit, uints, ulongs, ushorts
from grammarlm.kernels.cpu.json.step.lexemes import LITERALS
from grammarlm.kernels.cpu.json.step.unique import NUMBER_BYTES
from grammarlm.layout.json import FIELD, NO_LANGUAGE, ROW, At, Crossing, Key, Kind, Object, Trie, Want

DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # times a power of two: the top six bits identify it
BIT_OF = np.zeros(64, np.uint8)
for _bit in range(64):
    BIT_OF[(0x03F79D71B4CB0A89 << _bit & (1 << 64) - 1) >> 58] = _bit
FEW_WORDS = 16
BACKSLASH = np.uint64(1 << 28)  # within its word of a set of bytes
# In JUMPS, in place of a table of children: any child may matter; those of a set, checked one by one.
NO_JUMP, FEW_CHILDREN = -1, -2
AT_NODE, BEFORE_NODE = (
    0,
    1,
)  # a crossing: the thread is at the node; or after a value, with the node's byte still to read


@inlined
def bytes_before(arena, node):
    """The bytes from the root of the vocabulary's trie to the node, without its own: offset in DATA, and length."""
    trie = longs(arena, At.TRIES)
    token = uints(trie, Trie.TOKEN)
    above = int64(ushorts(trie, Trie.DEPTH)[node]) - 1
    while int64(token[node]) == arena[At.NOTHING]:  # find a token in the subtree: it has this prefix
        node += 1
    return longs(arena, At.OFFSETS)[int64(token[node])], above


@part
def set_node(arena, which, node, row):
    """Sets the tokens that end at a node."""
    trie = longs(arena, At.TRIES)
    base = which * Trie.LENGTH
    if which == 0:
        token = int64(uints(trie, base + Trie.TOKEN)[node])
        if token != arena[At.NOTHING]:
            set_bit(row, token)
    else:
        first = ints(trie, base + Trie.FIRST)
        tokens = ints(trie, base + Trie.LIST)
        for i in range(first[node + 1], first[node + 2]):
            set_bit(row, int64(tokens[i]))


@part
def clear_below(arena, node, row):
    """Clears the tokens in the subtree of a node of the vocabulary's trie."""
    trie = longs(arena, At.TRIES)
    token = uints(trie, Trie.TOKEN)
    end = ints(trie, Trie.END)
    for i in range(node, end[node]):
        found = int64(token[i])
        if found != arena[At.NOTHING]:
            clear_bit(row, found)


@inlined
def push(arena, deep, c, x, y, f):
    """The thread at a node of this depth, and the counts to which frames and chains are rolled back."""
    stack = longs(arena, At.STACK)
    top = 6 * deep
    stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c, x, y, f
    stack[top + 4], stack[top + 5] = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    longs(arena, At.JUMPS)[2 * deep] = NO_JUMP


@inlined
def add_byte(allowed, at, byte):
    allowed[at + (byte >> 6)] |= uint64(1) << uint64(byte & 63)


@part
def lists_bytes(arena, c, x, f, allowed, at):
    """Stores the few bytes that the thread can read as a bit set; False if they may be many."""
    kind = c & 31
    allowed[at] = allowed[at + 1] = allowed[at + 2] = allowed[at + 3] = uint64(0)
    if kind == Kind.AFTER or kind == Kind.COLON or kind == Kind.KEYS or kind == Kind.NUMBER:
        allowed[at] = uint64(1 << 32 | 1 << 9 | 1 << 10 | 1 << 13)
        if kind == Kind.COLON:
            add_byte(allowed, at, 58)
            return True
        add_byte(allowed, at, 125)
        if kind == Kind.KEYS:
            add_byte(allowed, at, 34)
            return True
        add_byte(allowed, at, 44)
        add_byte(allowed, at, 93)
        if kind == Kind.NUMBER:
            for byte in NUMBER_BYTES:
                add_byte(allowed, at, int64(byte))
        return True
    if kind == Kind.LITERAL:
        add_byte(allowed, at, int64(LITERALS[c >> 5 & 63]))
        return True
    if c >> 5 & 63 != 0:
        return False
    if kind == Kind.KEY and c >> 35 == NO_LANGUAGE:
        return words_bytes(arena, longs(arena, At.PROGRAM)[(c >> 11 & ROW) + Object.KEYS], x, FEW_WORDS, allowed, at)
    return kind == Kind.WORD and words_bytes(arena, c >> 11 & ROW, x, FEW_WORDS, allowed, at)


@part
def words_bytes(arena, table, x, most, allowed, at):
    """Stores the next bytes of a range of keys or words, and the backslash, which may hide one; False if there are more than
    `most`.
    """
    low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
    if high - low > most:
        return False
    program, blob = longs(arena, At.PROGRAM), octets(arena, At.BLOB)
    allowed[at], allowed[at + 1], allowed[at + 2], allowed[at + 3] = uint64(0), BACKSLASH, uint64(0), uint64(0)
    for i in range(low, high):
        key = table + i * Key.LENGTH
        add_byte(
            allowed, at, int64(blob[program[key + Key.BYTES] + read]) if program[key + Key.SIZE] > read else int64(34)
        )
    return True


@inlined
def next_allowed(allowed, at, children, table, byte):
    """The child for the next byte of a set, starting at `byte`; -1 if there is none."""
    found = int64(-1)
    word = byte >> 6
    while word < 4 and found < 0:
        bits = allowed[at + word]
        if word == byte >> 6:
            bits = bits >> uint64(byte & 63) << uint64(byte & 63)
        while bits != uint64(0) and found < 0:
            bit = int64(BIT_OF[(bits & (~bits + uint64(1))) * DE_BRUIJN >> uint64(58)])
            bits &= bits - uint64(1)
            found = int64(children[table * 256 + word * 64 + bit])
        word += 1
    return found


@inlined
def beyond(end, allowed, jumps, children, deep, byte, node):
    """The next node after a subtree: its next allowed sibling, or the node after all siblings."""
    found = int64(end[node])
    above = 2 * (deep - 1)
    if jumps[above] >= 0 and found < jumps[above + 1]:
        found = jumps[above + 1]
        if byte < 255:
            sibling = next_allowed(allowed, 2 * above, children, jumps[above], byte + 1)
            if sibling >= 0:
                found = sibling
    return found


@inlined
def first_child(arena, base, node, last, deep):
    """The first child of a node whose byte is in the set (ALLOWED, at the node's depth). Registers the set in JUMPS."""
    trie, jumps = longs(arena, At.TRIES), longs(arena, At.JUMPS)
    wide = ints(trie, base + Trie.WIDE)
    found = int64(node + 1)
    jumps[2 * deep], jumps[2 * deep + 1] = FEW_CHILDREN, last
    if wide[node + 1] >= 0:
        jumps[2 * deep] = int64(wide[node + 1])
        children = ints(trie, base + Trie.CHILDREN)
        found = next_allowed(ulongs(arena, At.ALLOWED), 4 * deep, children, jumps[2 * deep], int64(0))
        if found < 0:
            found = int64(last)
    return found


@part
def note_crossing(arena, which, node, blanks, how):
    count = arena[At.CROSS_COUNT]
    if count + 1 >= arena[At.CROSS_CAPACITY]:
        arena[At.WANTED] |= Want.CROSSED
        return
    crossed, at = longs(arena, At.CROSSED), count * Crossing.LENGTH
    crossed[at + Crossing.NODE], crossed[at + Crossing.TRIE] = node, which
    crossed[at + Crossing.BLANKS], crossed[at + Crossing.HOW] = blanks, how
    arena[At.CROSS_COUNT] = count + 1
