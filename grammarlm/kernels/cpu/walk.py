"""An automaton walked over tokens: one mask, one advance, or the states that tokens lead to.

`fill_row` is the loop that vocab/byte_trie.py derives. It stops where it needs something that Python makes (a row of the table,
or the knowledge whether tokens can finish from a state), keeps its place in `scratch`, and goes on at the next call.

    scratch[0] = the trie node to go on with; scratch[1 + d] = the state behind d bytes

Returns 0 when done, s > 0 when the transitions of state s are missing, -s when `usable[s]` is not known.
"""

import numpy as np
from numba import carray, int32, int64

from .jit import kernel, pointer
from .table import DEAD, MISS, Arena, byte_classes, step, transitions

YES, NO, UNKNOWN = 1, 2, 0
DONE = 0


@kernel("int64(int64, int64, int64, int64)")
def fill_row(arena_address, scratch_address, row_address, words):
    """Sets the bits of all tokens that can be read from the state scratch[1] and lead to a usable state."""
    arena = carray(pointer(arena_address), int64(Arena.LENGTH), np.int64)
    nodes = arena[Arena.NODES]
    byte = carray(pointer(arena[Arena.BYTE]), nodes, np.uint8)
    depth = carray(pointer(arena[Arena.DEPTH]), nodes, np.int32)
    end = carray(pointer(arena[Arena.END]), nodes, np.int32)
    first = carray(pointer(arena[Arena.FIRST]), nodes + 1, np.int32)
    tokens = carray(pointer(arena[Arena.TOKENS]), arena[Arena.TEXTS], np.int32)
    usable = carray(pointer(arena[Arena.USABLE]), arena[Arena.STATES], np.uint8)
    scratch = carray(pointer(scratch_address), nodes + 2, np.int64)
    row = carray(pointer(row_address), words, np.int32)
    table = transitions(arena)
    classes = arena[Arena.CLASSES]
    class_of = byte_classes(arena)

    node = scratch[0]
    while node < nodes:
        before = scratch[depth[node]]
        state = step(table, classes, class_of, before, byte[node])
        if state == DEAD:
            node = int64(end[node])
            continue
        if state == MISS:
            scratch[0] = node
            return before
        scratch[1 + depth[node]] = state
        here, behind = first[node], first[node + 1]
        if here < behind:
            if usable[state] == UNKNOWN:
                scratch[0] = node
                return -state
            if usable[state] == YES:
                for i in range(here, behind):
                    row[tokens[i] >> 5] |= int32(1) << int32(tokens[i] & 31)
        node += 1
    return DONE


@kernel("int64(int64, int64, int64)")
def advance(arena_address, state, token):
    """The state after a token; 0 where it is refused, -s where the transitions of state s are missing."""
    arena = carray(pointer(arena_address), int64(Arena.LENGTH), np.int64)
    count = arena[Arena.VOCABULARY]
    if token < 0 or token >= count:
        return int64(DEAD)
    if carray(pointer(arena[Arena.IS_TEXT]), count, np.uint8)[token] == 0:
        return int64(DEAD)
    offsets = carray(pointer(arena[Arena.OFFSETS]), count + 1, np.int64)
    data = carray(pointer(arena[Arena.DATA]), arena[Arena.DATA_LENGTH], np.uint8)
    table = transitions(arena)
    classes = arena[Arena.CLASSES]
    class_of = byte_classes(arena)
    for i in range(offsets[token], offsets[token + 1]):
        after = step(table, classes, class_of, state, data[i])
        if after == MISS:
            return -state
        state = after
        if state == DEAD:
            break
    return state


@kernel("int64(int64, int64, int64)")
def collect_states(arena_address, scratch_address, seen_address):
    """Marks seen[s] = 1 for each state s that some token leads to from scratch[1]; returns as fill_row does."""
    arena = carray(pointer(arena_address), int64(Arena.LENGTH), np.int64)
    nodes = arena[Arena.NODES]
    byte = carray(pointer(arena[Arena.BYTE]), nodes, np.uint8)
    depth = carray(pointer(arena[Arena.DEPTH]), nodes, np.int32)
    end = carray(pointer(arena[Arena.END]), nodes, np.int32)
    first = carray(pointer(arena[Arena.FIRST]), nodes + 1, np.int32)
    scratch = carray(pointer(scratch_address), nodes + 2, np.int64)
    seen = carray(pointer(seen_address), arena[Arena.STATES], np.uint8)
    table = transitions(arena)
    classes = arena[Arena.CLASSES]
    class_of = byte_classes(arena)

    node = scratch[0]
    while node < nodes:
        before = scratch[depth[node]]
        state = step(table, classes, class_of, before, byte[node])
        if state == DEAD:
            node = int64(end[node])
            continue
        if state == MISS:
            scratch[0] = node
            return before
        scratch[1 + depth[node]] = state
        if first[node] < first[node + 1]:
            seen[state] = 1
        node += 1
    return int64(DONE)
