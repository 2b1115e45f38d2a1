"""Threads walked along tries: which tokens may come.

`walk` reads what hangs below a node of a trie. All that it makes, frames and chains, is forgotten at its end. A thread that leaves the
barrier frame is not followed: where it stands is noted in CROSSED, and the one who knows the real frames goes on from there.

`differ` starts from a row that is right for "a key that has no place of its own" and visits only what begins like a key that has one.
`strike` takes away what would repeat a key.
"""

import numpy as np
from numba import carray, int32, int64, uint32

from .jit import inlined, part, pointer
from .json_keys import same_chain
from .json_places import BARRIER, CROSS, DEAD, FIELD, At, Frame, Kind, Trie, longs
from .json_step import step

GROW_CROSSED, GROW_PENDING = 16, 32  # in WANTED
ALONG, BEHIND = 0, 1  # a crossing: the thread stands at the node; or behind a value, with the node's byte still to read


@inlined
def set_token(row, token):
    row[token >> 5] |= int32(1) << int32(token & 31)


@part
def set_node(arena, which, node, row):
    """The tokens that end at a node."""
    trie = longs(arena, At.TRIES)
    base = which * Trie.LENGTH
    if which == 0:
        token = int64(carray(pointer(trie[base + Trie.TOKEN]), 1 << 40, np.uint32)[node])
        if token != arena[At.NOTHING]:
            set_token(row, token)
    else:
        first = carray(pointer(trie[base + Trie.FIRST]), 1 << 40, np.int32)
        tokens = carray(pointer(trie[base + Trie.LIST]), 1 << 40, np.int32)
        for i in range(first[node + 1], first[node + 2]):
            set_token(row, int64(tokens[i]))


@part
def clear_below(arena, node, row):
    """Takes away the tokens at a node of the vocabulary's trie and below it."""
    trie = longs(arena, At.TRIES)
    token = carray(pointer(trie[Trie.TOKEN]), 1 << 40, np.uint32)
    end = carray(pointer(trie[Trie.END]), 1 << 40, np.int32)
    for i in range(node, end[node]):
        found = int64(token[i])
        if found != arena[At.NOTHING]:
            row[found >> 5] &= ~(int32(1) << int32(found & 31))


@part
def note_crossing(arena, which, node, blanks, how):
    count = arena[At.CROSS_COUNT]
    if count + 1 >= arena[At.CROSS_CAPACITY]:
        arena[At.WANTED] |= GROW_CROSSED
        return
    crossed = longs(arena, At.CROSSED)
    crossed[3 * count] = node | which << 40
    crossed[3 * count + 1] = blanks
    crossed[3 * count + 2] = how
    arena[At.CROSS_COUNT] = count + 1


@part
def walk(arena, which, at, c, x, y, f, row):
    """Sets the bits of the tokens below node `at` of a trie (-1: all of it) that the thread can read."""
    trie = longs(arena, At.TRIES)
    base = which * Trie.LENGTH
    bytes_of = carray(pointer(trie[base + Trie.BYTE]), 1 << 40, np.uint8)
    depth = carray(pointer(trie[base + Trie.DEPTH]), 1 << 40, np.uint16)
    end = carray(pointer(trie[base + Trie.END]), 1 << 40, np.int32)
    stack, pending = longs(arena, At.STACK), longs(arena, At.PENDING)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    waiting = int64(0)
    left = False  # the thread stands behind the barrier: noted, not followed
    while True:
        start = int64(depth[at]) if at >= 0 else int64(0)
        top = start * 6
        stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c, x, y, f
        stack[top + 4], stack[top + 5] = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
        node = int64(at + 1)
        stop = int64(end[at]) if at >= 0 else trie[base + Trie.NODES]
        if left:
            note_crossing(arena, which, at, y, int64(ALONG))
            stop = node
        while node < stop:
            top = int64(depth[node]) * 6
            if waiting == 0:
                arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = stack[top - 2], stack[top - 1]
            byte = int64(bytes_of[node])
            c0, x0, y0, f0 = stack[top - 6], stack[top - 5], stack[top - 4], stack[top - 3]
            c2, x2, y2, f2 = step(arena, c0, x0, y0, f0, byte, int64(0))
            if c2 == DEAD:
                node = int64(end[node])
                continue
            if c2 == CROSS:
                note_crossing(arena, which, node, int64(0), int64(BEHIND))
                node = int64(end[node])
                continue
            way = int64(0)
            while arena[At.MORE] != 0:
                way += 1
                c3, x3, y3, f3 = step(arena, c0, x0, y0, f0, byte, way)
                if waiting + 1 >= arena[At.PENDING_CAPACITY]:
                    arena[At.WANTED] |= GROW_PENDING
                    break
                p = waiting * 5
                pending[p], pending[p + 1], pending[p + 2], pending[p + 3], pending[p + 4] = node, c3, x3, y3, f3
                waiting += 1
            set_node(arena, which, node, row)
            if c2 & 31 == Kind.AFTER and f2 == BARRIER:
                note_crossing(arena, which, node, y2, int64(ALONG))
                node = int64(end[node])
                continue
            stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c2, x2, y2, f2
            stack[top + 4], stack[top + 5] = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
            node += 1
        if waiting == 0:
            break
        waiting -= 1
        p = waiting * 5
        at, c, x, y, f = pending[p], pending[p + 1], pending[p + 2], pending[p + 3], pending[p + 4]
        left = c & 31 == Kind.AFTER and f == BARRIER
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@part
def visit(arena, node, c, x, y, f, row):
    """The thread stands at a node of the vocabulary's trie: its tokens, and those below."""
    set_node(arena, int64(0), node, row)
    if c & 31 == Kind.AFTER and f == BARRIER:
        note_crossing(arena, int64(0), node, y, int64(ALONG))
    else:
        walk(arena, int64(0), node, c, x, y, f, row)


@part
def differ(arena, at, c, x, y, f, row):
    """Below node `at` the row has what any other key may go on with: puts right what a key with a place of its own changes."""
    trie = longs(arena, At.TRIES)
    bytes_of = carray(pointer(trie[Trie.BYTE]), 1 << 40, np.uint8)
    depth = carray(pointer(trie[Trie.DEPTH]), 1 << 40, np.uint16)
    end = carray(pointer(trie[Trie.END]), 1 << 40, np.int32)
    stack = longs(arena, At.STACK)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    top = int64(depth[at]) * 6 if at >= 0 else int64(0)
    stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c, x, y, f
    stack[top + 4], stack[top + 5] = frames_before, chains_before
    node = int64(at + 1)
    stop = int64(end[at]) if at >= 0 else trie[Trie.NODES]
    while node < stop:
        top = int64(depth[node]) * 6
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = stack[top - 2], stack[top - 1]
        byte = int64(bytes_of[node])
        c2, x2, y2, f2 = step(arena, stack[top - 6], stack[top - 5], stack[top - 4], stack[top - 3], byte, int64(0))
        if byte == 34 and stack[top - 6] >> 5 & 63 == 0:
            clear_below(arena, node, row)
            if c2 != DEAD:
                visit(arena, node, c2, x2, y2, f2, row)
        elif c2 != DEAD and x2 & FIELD < x2 >> 21 & FIELD:
            stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c2, x2, y2, f2
            stack[top + 4], stack[top + 5] = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
            node += 1
            continue
        node = int64(end[node])
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before


@part
def begins_like_other(arena, frame, chain):
    """Does one of the other keys read before begin like this one?"""
    chains = longs(arena, At.CHAINS)
    length = chains[2 * chain + 1] >> 8 & 0xFFFFFF if chain != 0 else int64(0)
    entry = longs(arena, At.FRAMES)[frame * Frame.LENGTH + Frame.OTHERS]
    while entry != 0:
        key = chains[2 * entry + 1]
        while key != 0 and chains[2 * key + 1] >> 8 & 0xFFFFFF > length:
            key = chains[2 * key]
        if same_chain(arena, key, chain):
            return True
        entry = chains[2 * entry]
    return False


@part
def strike(arena, at, c, x, y, f, row):
    """Takes away what repeats a key that has been read. The row was made as if none had."""
    trie = longs(arena, At.TRIES)
    bytes_of = carray(pointer(trie[Trie.BYTE]), 1 << 40, np.uint8)
    depth = carray(pointer(trie[Trie.DEPTH]), 1 << 40, np.uint16)
    end = carray(pointer(trie[Trie.END]), 1 << 40, np.int32)
    stack = longs(arena, At.STACK)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    top = int64(depth[at]) * 6 if at >= 0 else int64(0)
    stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c, x, y, f
    stack[top + 4], stack[top + 5] = frames_before, chains_before
    node = int64(at + 1)
    stop = int64(end[at]) if at >= 0 else trie[Trie.NODES]
    while node < stop:
        top = int64(depth[node]) * 6
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = stack[top - 2], stack[top - 1]
        c0 = stack[top - 6]
        byte = int64(bytes_of[node])
        c2, x2, y2, f2 = step(arena, c0, stack[top - 5], stack[top - 4], stack[top - 3], byte, int64(0))
        follow = False
        if c2 == DEAD:
            if c0 & 31 == Kind.KEY and byte == 34 and c0 >> 5 & 63 == 0:
                clear_below(arena, node, row)
        elif c2 != CROSS and f2 == f:
            kind = c2 & 31
            follow = kind == Kind.AFTER or kind == Kind.KEYS
            follow = follow or (kind == Kind.KEY and (c2 >> 5 & 63 != 0 or begins_like_other(arena, f, y2 >> 24)))
        if follow:
            stack[top], stack[top + 1], stack[top + 2], stack[top + 3] = c2, x2, y2, f2
            stack[top + 4], stack[top + 5] = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
            node += 1
        else:
            node = int64(end[node])
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
