"""A suffix automaton grows by the bytes of its document (Blumer and others), and is packed for reading.

A state stands for all texts that end at the same places of the document, so a document of n bytes has at most 2n of them, with 3n
edges. While it grows the edges of a state are a list: a state that is far from the root has one or two.
"""

from collections import namedtuple

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.substring import FAR, MARK, NONE, ROOT, Growing, Listed

Grown = namedtuple("Grown", ["link", "length", "head", "left", "edges"])


@inlined
def grown(arena):
    n = arena[Growing.SIZE]
    states, edges = 2 * n + 2, 3 * n + 4
    return Grown(
        carray(pointer(arena[Growing.LINK]), states, np.int32),
        carray(pointer(arena[Growing.LONGEST]), states, np.int32),
        carray(pointer(arena[Growing.HEAD]), states, np.int32),
        carray(pointer(arena[Growing.LEFT]), states, np.int32),
        carray(pointer(arena[Growing.LISTS]), (edges, int64(Listed.WIDTH)), np.int32),
    )


@kernel("void(int64, int64)", holds_gil=True)
def substring_grow(address, count):
    """Reads the next `count` bytes of the document."""
    arena = carray(pointer(address), int64(Growing.LENGTH), np.int64)
    symbols = carray(pointer(arena[Growing.SYMBOLS]), arena[Growing.SIZE], np.uint16)
    rest = carray(pointer(arena[Growing.REST]), arena[Growing.SIZE] + 1, np.int32)
    made = grown(arena)
    for at in range(arena[Growing.READ], arena[Growing.READ] + count):
        grow(arena, made, int64(symbols[at]), rest[at + 1])
    arena[Growing.READ] += count


@part
def grow(arena, made, symbol, rest):
    last = arena[Growing.LAST]
    new = add_state(arena, made, made.length[last] + 1, rest)
    here, edge = last, int64(NONE)
    while here != NONE:
        edge = edge_of(made, here, symbol)
        if edge != NONE:
            break
        add_edge(arena, made, here, symbol, new)
        here = int64(made.link[here])
    if here == NONE:
        made.link[new] = ROOT
    else:
        old = int64(made.edges[edge, Listed.TARGET])
        if made.length[here] + 1 == made.length[old]:
            made.link[new] = old
        else:
            made.link[new] = split(arena, made, here, symbol, old)
    arena[Growing.LAST] = new


@part
def split(arena, made, here, symbol, old):
    """A state of its own for those texts of `old` that end at one more place: with `here` and all that it links to before them."""
    short = add_state(arena, made, made.length[here] + 1, int64(FAR))
    edge = int64(made.head[old])
    while edge != NONE:
        add_edge(arena, made, short, int64(made.edges[edge, Listed.SYMBOL]), int64(made.edges[edge, Listed.TARGET]))
        edge = int64(made.edges[edge, Listed.NEXT])
    made.link[short] = made.link[old]
    made.link[old] = short
    while here != NONE:
        edge = edge_of(made, here, symbol)
        if edge == NONE or made.edges[edge, Listed.TARGET] != old:
            break
        made.edges[edge, Listed.TARGET] = short
        here = int64(made.link[here])
    return short


@inlined
def add_state(arena, made, length, left):
    new = arena[Growing.STATES]
    made.length[new], made.head[new], made.left[new] = length, NONE, left
    arena[Growing.STATES] = new + 1
    return new


@inlined
def add_edge(arena, made, state, symbol, target):
    edge = arena[Growing.EDGES]
    made.edges[edge, Listed.SYMBOL], made.edges[edge, Listed.TARGET] = symbol, target
    made.edges[edge, Listed.NEXT] = made.head[state]
    made.head[state] = edge
    arena[Growing.EDGES] = edge + 1


@inlined
def edge_of(made, state, symbol):
    edge = int64(made.head[state])
    while edge != NONE and made.edges[edge, Listed.SYMBOL] != symbol:
        edge = int64(made.edges[edge, Listed.NEXT])
    return edge


@kernel("int64(int64, int64, int64)", holds_gil=True)
def substring_find(address, symbols_address, count):
    """The state after some symbols, from the root; NONE where they stand nowhere in the document."""
    arena = carray(pointer(address), int64(Growing.LENGTH), np.int64)
    symbols = carray(pointer(symbols_address), count, np.uint16)
    made, state = grown(arena), int64(ROOT)
    for i in range(count):
        edge = edge_of(made, state, int64(symbols[i]))
        if edge == NONE:
            return int64(NONE)
        state = int64(made.edges[edge, Listed.TARGET])
    return state


@kernel("void(int64)", holds_gil=True)
def substring_settle(address):
    """LEFT of each state: the least over all places at which its texts end, which are those of the states that link to it."""
    arena = carray(pointer(address), int64(Growing.LENGTH), np.int64)
    made, states = grown(arena), arena[Growing.STATES]
    waiting = carray(pointer(arena[Growing.OPEN]), states, np.uint16)
    for state in range(1, states):
        waiting[made.link[state]] += 1
    for start in range(1, states):
        state = int64(start)
        while state > ROOT and waiting[state] == 0:
            waiting[state] = 65535  # done
            above = int64(made.link[state])
            made.left[above] = min(made.left[above], made.left[state])
            waiting[above] -= 1
            state = above if above < start else int64(ROOT)  # a later one has its own turn


@kernel("void(int64, int64, int64)", holds_gil=True)
def substring_pack(address, byte_address, target_address):
    """The edges of all states one after the other, sorted by byte, without marks; where those of a state begin stands in LINK."""
    arena = carray(pointer(address), int64(Growing.LENGTH), np.int64)
    states, count = arena[Growing.STATES], arena[Growing.EDGES]
    made = grown(arena)
    byte = carray(pointer(byte_address), count, np.uint8)
    target = carray(pointer(target_address), count, np.int32)
    end = int64(0)
    for state in range(states):
        first = end
        made.link[state] = first
        edge = int64(made.head[state])
        while edge != NONE:
            key, place = int64(made.edges[edge, Listed.SYMBOL]) % MARK, end
            while place > first and byte[place - 1] > key:
                byte[place], target[place] = byte[place - 1], target[place - 1]
                place -= 1
            byte[place], target[place] = key, made.edges[edge, Listed.TARGET]
            end += 1
            edge = int64(made.edges[edge, Listed.NEXT])
    made.link[states] = end
