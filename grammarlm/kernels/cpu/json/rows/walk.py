"""Threads walked along tries: which tokens are allowed.

`walk` reads the subtree of a trie node. The frames and chains it makes are rolled back at its end. A thread that leaves the barrier
frame is not followed: its position is noted in CROSSED, and the caller, who knows the real frames, continues there.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import ints, longs, octets, set_bit, ulongs, ushorts
from grammarlm.kernels.cpu.json.step.step import step
from grammarlm.layout.json import BARRIER, CROSS, DEAD, At, Kind, Trie, Want

from .tries import AT_NODE, BEFORE_NODE, beyond, first_child, lists_bytes, note_crossing, push, set_node


@part
def walk(arena, which, at, c, x, y, f, row):
    """Sets the bits of the tokens below node `at` of a trie (-1: all of it) that the thread can read."""
    trie = longs(arena, At.TRIES)
    base = which * Trie.LENGTH
    bytes_of = octets(trie, base + Trie.BYTE)
    depth = ushorts(trie, base + Trie.DEPTH)
    end = ints(trie, base + Trie.END)
    stack, pending = longs(arena, At.STACK), longs(arena, At.PENDING)
    wide = ints(trie, base + Trie.WIDE)
    children = ints(trie, base + Trie.CHILDREN)
    allowed = ulongs(arena, At.ALLOWED)
    jumps = longs(arena, At.JUMPS)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    waiting = int64(0)
    left = False  # the thread is beyond the barrier: noted, not followed
    while True:
        start = int64(depth[at]) if at >= 0 else int64(0)
        push(arena, start, c, x, y, f)
        node = int64(at + 1)
        stop = int64(end[at]) if at >= 0 else trie[base + Trie.NODES]
        if left:
            note_crossing(arena, which, at, y, int64(AT_NODE))
            stop = node
        if node < stop and wide[at + 1] >= 0 and lists_bytes(arena, c, x, f, allowed, 4 * start):
            node = first_child(arena, base, at, stop, start)
        while node < stop and arena[At.WANTED] & Want.OUT_OF_ROOM == 0:
            deep = int64(depth[node])
            top = deep * 6
            if waiting == 0:
                arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = stack[top - 2], stack[top - 1]
            byte = int64(bytes_of[node])
            c0, x0, y0, f0 = stack[top - 6], stack[top - 5], stack[top - 4], stack[top - 3]
            c2, x2, y2, f2 = step(arena, c0, x0, y0, f0, byte, int64(0))
            way = int64(0)
            while c2 == DEAD and arena[At.MORE] != 0:  # an item that is not new in one way may be new in another
                way += 1
                c2, x2, y2, f2 = step(arena, c0, x0, y0, f0, byte, way)
            if c2 == DEAD or c2 == CROSS:
                if c2 == CROSS and deep > 1:  # not if deep is 1: the caller knows that the number may end here
                    note_crossing(arena, which, node, int64(0), int64(BEFORE_NODE))
                node = beyond(end, allowed, jumps, children, deep, byte, node)
                continue
            while arena[At.MORE] != 0:
                way += 1
                c3, x3, y3, f3 = step(arena, c0, x0, y0, f0, byte, way)
                if c3 == DEAD:
                    continue
                if waiting + 1 >= arena[At.PENDING_CAPACITY]:
                    arena[At.WANTED] |= Want.PENDING
                    break
                p = waiting * 5
                pending[p], pending[p + 1], pending[p + 2], pending[p + 3], pending[p + 4] = node, c3, x3, y3, f3
                waiting += 1
            set_node(arena, which, node, row)
            if c2 & 31 == Kind.AFTER and f2 == BARRIER:
                note_crossing(arena, which, node, y2, int64(AT_NODE))
                node = beyond(end, allowed, jumps, children, deep, byte, node)
                continue
            last = int64(end[node])
            if last == node + 1:
                node = beyond(end, allowed, jumps, children, deep, byte, node)
                continue
            push(arena, deep, c2, x2, y2, f2)
            if wide[node + 1] >= 0 and lists_bytes(arena, c2, x2, f2, allowed, 4 * deep):
                node = first_child(arena, base, node, last, deep)
            else:
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
    """The thread is at a node of the vocabulary's trie: adds the tokens there and below."""
    set_node(arena, int64(0), node, row)
    if ints(longs(arena, At.TRIES), Trie.END)[node] == node + 1:
        return
    if c & 31 == Kind.AFTER and f == BARRIER:
        note_crossing(arena, int64(0), node, y, int64(AT_NODE))
    else:
        walk(arena, int64(0), node, c, x, y, f, row)


@inlined
def emptied_filter(arena):
    filtered = ints(arena, At.FILTER)
    for i in range((arena[At.CLOSER_COUNT] + 31) >> 5):
        filtered[i] = 0
    return filtered


@part
def filter_closers(arena, c, x, y, f):
    """Filters the tokens that close a string: their part before the quote can be read by the thread, in a string's body."""
    filtered = emptied_filter(arena)
    arena[At.FILTER_ON] = 1
    trie = longs(arena, At.TRIES)
    base = arena[At.CLOSER_TRIE] * Trie.LENGTH
    bytes_of = octets(trie, base + Trie.BYTE)
    depth = ushorts(trie, base + Trie.DEPTH)
    end = ints(trie, base + Trie.END)
    first = ints(trie, base + Trie.FIRST)
    closers = ints(trie, base + Trie.LIST)
    stack = longs(arena, At.STACK)
    stack[0], stack[1], stack[2] = c, x, y
    node, nodes = int64(-1), trie[base + Trie.NODES]
    while node < nodes:
        if node >= 0:
            top = 6 * int64(depth[node])
            byte = int64(bytes_of[node])
            c, x, y, _ = step(arena, stack[top - 6], stack[top - 5], stack[top - 4], f, byte, int64(0))
            if c == DEAD:
                node = int64(end[node])
                continue
            stack[top], stack[top + 1], stack[top + 2] = c, x, y
        if first[node + 1] < first[node + 2] and step(arena, c, x, y, f, int64(34), int64(0))[0] != DEAD:
            for i in range(first[node + 1], first[node + 2]):
                set_bit(filtered, closers[i])
        node += 1
