"""Masks and steps of the pieces of a document: walks over its suffix automaton.

States are numbered from FIRST on; DEAD is a piece that stands nowhere in the document, FINISHED a text that has ended. A mask is
one walk over the vocabulary's trie (vocab/byte_trie.py) below the bytes that can come next: most pieces go on in one way, so that
few nodes are looked at.
"""

import numpy as np
from numba import carray, int32, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.substring import FIRST, NONE, Piece
from grammarlm.layout.table import DEAD

FEW = 8  # edges that are searched one by one


@inlined
def edges_of(arena, state):
    """The places of a state's edges: the first, one past the last."""
    edges = carray(pointer(arena[Piece.EDGES]), state + 2, np.int32)
    return int64(edges[state]), int64(edges[state + 1])


@part
def step(arena, state, byte):
    """The state after a byte, both without FIRST; NONE where it does not come next."""
    low, end = edges_of(arena, state)
    keys = carray(pointer(arena[Piece.BYTE]), end, np.uint8)
    high = end
    while high - low > FEW:
        middle = (low + high) >> 1
        if keys[middle] <= byte:
            low = middle
        else:
            high = middle
    while low < high and keys[low] < byte:
        low += 1
    if low < high and keys[low] == byte:
        return int64(carray(pointer(arena[Piece.TARGET]), end, np.int32)[low])
    return int64(NONE)


@inlined
def set_bit(row, index):
    row[uint64(index) >> uint64(5)] |= int32(1) << int32(index & uint32(31))


@kernel("int64(int64, int64, int64, int64)")
def substring_row(address, state, scratch_address, row_address):
    """Sets the bits of all tokens that can be read from a state, and returns how many nodes were looked at. The row has a word to
    spare, the scratch one for each byte of a token and one more."""
    arena = carray(pointer(address), int64(Piece.LENGTH), np.int64)
    row = carray(pointer(row_address), arena[Piece.NOTHING] // 32 + 1, np.int32)
    states = carray(pointer(scratch_address), arena[Piece.DEEPEST] + 1, np.int32)
    trees = carray(pointer(arena[Piece.TREES]), (256, 2), np.int64)
    nodes = arena[Piece.NODES]
    token = carray(pointer(arena[Piece.TOKEN]), nodes, np.uint32)
    low, high = edges_of(arena, state - FIRST)
    keys = carray(pointer(arena[Piece.BYTE]), high, np.uint8)
    target = carray(pointer(arena[Piece.TARGET]), high, np.int32)
    seen = int64(0)
    for edge in range(low, high):
        node, end = trees[keys[edge], 0], trees[keys[edge], 1]
        if node < end:
            states[1] = target[edge]
            set_bit(row, token[node])
            seen += walk(arena, states, row, node + 1, end)
    twins = carray(pointer(arena[Piece.TWINS]), (arena[Piece.TWIN_COUNT], 2), np.int32)
    for i in range(len(twins)):
        same = twins[i, 1]
        if row[same >> 5] >> (same & 31) & 1:
            set_bit(row, uint32(twins[i, 0]))
    return seen


@part
def walk(arena, states, row, node, stop):
    """Below a node of depth 1: `states` has the state at each depth above the node that is looked at."""
    nodes = arena[Piece.NODES]
    byte = carray(pointer(arena[Piece.NODE_BYTE]), nodes, np.uint8)
    depth = carray(pointer(arena[Piece.DEPTH]), nodes, np.uint16)
    end = carray(pointer(arena[Piece.END]), nodes, np.int32)
    token = carray(pointer(arena[Piece.TOKEN]), nodes, np.uint32)
    seen = int64(1)
    while node < stop:
        seen += 1
        here = int64(depth[node])
        after = step(arena, int64(states[here - 1]), int64(byte[node]))
        if after == NONE:
            node = int64(end[node])
            continue
        states[here] = after
        set_bit(row, token[node])
        node += 1
    return seen


@part
def read(arena, state, data, first, end):
    state -= FIRST
    for i in range(first, end):
        state = step(arena, state, int64(data[i]))
        if state == NONE:
            return int64(DEAD)
    return state + FIRST


@part
def after_token(arena, state, token):
    count = arena[Piece.VOCABULARY]
    if state < FIRST or token < 0 or token >= count:
        return int64(DEAD)
    if carray(pointer(arena[Piece.IS_TEXT]), count, np.uint8)[token] == 0:
        return int64(DEAD)
    offsets = carray(pointer(arena[Piece.OFFSETS]), count + 1, np.int64)
    data = carray(pointer(arena[Piece.DATA]), arena[Piece.DATA_LENGTH], np.uint8)
    return read(arena, state, data, offsets[token], offsets[token + 1])


@kernel("int64(int64, int64, int64)")
def substring_advance(address, state, token):
    """The state after a token; DEAD where it is refused."""
    return after_token(carray(pointer(address), int64(Piece.LENGTH), np.int64), state, token)


@kernel("void(int64, int64, int64, int64, int64)")
def substring_targets(address, state, tokens_address, count, targets_address):
    """The states after tokens."""
    arena = carray(pointer(address), int64(Piece.LENGTH), np.int64)
    tokens = carray(pointer(tokens_address), count, np.int64)
    targets = carray(pointer(targets_address), count, np.int64)
    for i in range(count):
        targets[i] = after_token(arena, state, tokens[i])


@kernel("int64(int64, int64, int64, int64)")
def substring_read(address, state, data_address, count):
    """The state after bytes; DEAD where they are refused."""
    arena = carray(pointer(address), int64(Piece.LENGTH), np.int64)
    if state < FIRST:
        return int64(DEAD)
    return read(arena, state, carray(pointer(data_address), count, np.uint8), int64(0), count)
