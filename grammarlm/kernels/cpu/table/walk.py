"""Walks of a regular automaton over tokens: one mask, the states after all tokens, or one advance.

`walk` is the loop derived in vocab/byte_trie.py. It stops where it needs something that Python computes (a row of the table, or
whether tokens can finish from a state), saves its position in `scratch`, and resumes at the next call.

    scratch[d] = the state after d bytes; scratch[0] is the start
    scratch[-1] = the trie node to resume at

Returns 0 when done, s > 0 if the transitions of state s are missing, -s if `usable[s]` is not computed yet.
"""

import numpy as np
from numba import carray, int32, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, pointer
from grammarlm.layout.table import DEAD, DONE, MISS, UNKNOWN, YES, Arena

from .step import byte_classes, step, transitions


@inlined
def trie_arrays(arena):
    nodes = arena[Arena.NODES]
    byte = carray(pointer(arena[Arena.BYTE]), nodes, np.uint8)
    depth = carray(pointer(arena[Arena.DEPTH]), nodes, np.uint16)
    end = carray(pointer(arena[Arena.END]), nodes, np.int32)
    token = carray(pointer(arena[Arena.TOKEN]), nodes, np.uint32)
    return uint64(nodes), byte, depth, end, token


@inlined
def set_bit(row, index):
    row[uint64(index) >> uint64(5)] |= int32(1) << int32(index & uint32(31))


@inlined
def walk(arena, scratch, out, is_row):
    """The loop of `fill_row` and `fill_targets`: sets bits of `out`, or writes states into it."""
    nodes, byte, depth, end, token = trie_arrays(arena)
    nothing = uint32(arena[Arena.NOTHING])
    usable = carray(pointer(arena[Arena.USABLE]), arena[Arena.STATES], np.uint8)
    table, classes, class_of = transitions(arena), uint64(arena[Arena.CLASSES]), byte_classes(arena)
    ask = arena[Arena.SPELLS_ALL] == 0
    last = len(scratch) - 1
    node = uint64(scratch[last])
    while node < nodes:
        here = uint64(depth[node])
        before = scratch[here - uint64(1)]
        state = step(table, classes, class_of, before, byte[node])
        if state <= DEAD:
            if state == MISS:
                scratch[last] = int32(node)
                return int64(before)
            node = uint64(end[node])
            continue
        scratch[here] = state
        found = token[node]
        if is_row:
            if ask and found != nothing and usable[uint64(state)] != YES:
                if usable[uint64(state)] == UNKNOWN:
                    scratch[last] = int32(node)
                    return -int64(state)
                found = nothing
            set_bit(out, found)
        else:
            out[uint64(found)] = state
        node += uint64(1)
    return int64(DONE)


@kernel("int64(int64, int64, int64, int64)")
def fill_row(arena_address, scratch_address, scratch_length, row_address):
    """Sets the bits of all tokens that can be read from scratch[0] and lead to a usable state; the row has one spare word."""
    arena = carray(pointer(arena_address), int64(Arena.LENGTH), np.int64)
    row = carray(pointer(row_address), arena[Arena.NOTHING] // 32 + 1, np.int32)
    missing = walk(arena, carray(pointer(scratch_address), scratch_length, np.int32), row, True)
    if missing == DONE:
        twins = carray(pointer(arena[Arena.TWINS]), (arena[Arena.TWIN_COUNT], 2), np.int32)
        for i in range(len(twins)):
            same = twins[i, 1]
            if row[same >> 5] >> (same & 31) & 1:
                set_bit(row, uint32(twins[i, 0]))
    return missing


@kernel("int64(int64, int64, int64, int64)")
def fill_targets(arena_address, scratch_address, scratch_length, targets_address):
    """targets[t] = the state after token t, usable or not; entries of rejected tokens are unchanged.

    `targets`, int32, has one spare entry.
    """
    arena = carray(pointer(arena_address), int64(Arena.LENGTH), np.int64)
    targets = carray(pointer(targets_address), arena[Arena.NOTHING] + 1, np.int32)
    missing = walk(arena, carray(pointer(scratch_address), scratch_length, np.int32), targets, False)
    if missing == DONE:
        twins = carray(pointer(arena[Arena.TWINS]), (arena[Arena.TWIN_COUNT], 2), np.int32)
        for i in range(len(twins)):
            targets[twins[i, 0]] = targets[twins[i, 1]]
    return missing


@kernel("int64(int64, int64, int64)")
def advance(arena_address, state, token):
    """The state after a token; 0 if it is rejected, -s if the transitions of state s are missing."""
    arena = carray(pointer(arena_address), int64(Arena.LENGTH), np.int64)
    count = arena[Arena.VOCABULARY]
    if token < 0 or token >= count:
        return int64(DEAD)
    if carray(pointer(arena[Arena.IS_TEXT]), count, np.uint8)[token] == 0:
        return int64(DEAD)
    offsets = carray(pointer(arena[Arena.OFFSETS]), count + 1, np.int64)
    data = carray(pointer(arena[Arena.DATA]), arena[Arena.DATA_LENGTH], np.uint8)
    table, classes, class_of = transitions(arena), uint64(arena[Arena.CLASSES]), byte_classes(arena)
    for i in range(offsets[token], offsets[token + 1]):
        after = int64(step(table, classes, class_of, state, data[i]))
        if after == MISS:
            return -state
        state = after
        if state == DEAD:
            break
    return state
