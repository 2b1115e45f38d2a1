"""The right edge of a lattice: which nodes can be completed in the room, and to which parents open frames can be closed there.

CLOSING has, for a control or a point reached by a pop, and a symbol on top, the fewest tokens after which that symbol is popped, by
the point reached then. From the bottom up it gives the fewest tokens that end a text from a point on a node; from the top down, the
fewest that are spent when a node is popped.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.canvas import FAR, Lattice

from .arrays import arena_of, bit, ints, longs, lowest, octets, sets, words, words_for


@part
def end_costs(address, costs, below):
    """costs[n, z]: fewest tokens that end the text from point z on node n; below[n, z]: the least of its parents' costs."""
    arena = arena_of(address)
    controls, reached, symbols = arena[Lattice.CONTROLS], arena[Lattice.REACHED], arena[Lattice.SYMBOLS]
    closing = carray(pointer(arena[Lattice.CLOSING]), (controls + reached, symbols, reached + 1), np.uint16)
    symbol = ints(arena, Lattice.NODE_SYMBOL, arena[Lattice.NODES])
    offsets, pool = (
        longs(arena, Lattice.NODE_OFFSET, arena[Lattice.NODES]),
        words(arena, Lattice.POOL, arena[Lattice.POOL_CAPACITY]),
    )
    for z in range(reached):
        costs[0, z] = closing[controls + z, 0, reached]
    for n in range(1, arena[Lattice.NODES]):
        for z in range(reached):
            below[n, z] = FAR
        for w in range(words_for(n)):
            bits = pool[offsets[n] + w]
            while bits:
                p = int64(w) * 64 + lowest(bits)
                bits &= bits - uint64(1)
                for z in range(reached):
                    below[n, z] = min(below[n, z], costs[p, z])
        g = symbol[n]
        for z in range(reached):
            least = int64(FAR)
            for y in range(reached):
                least = min(least, int64(closing[controls + z, g, y]) + int64(below[n, y]))
            costs[n, z] = least


@part
def close_open(address, costs, below):
    """BEFORE at the last boundary, and REACH of the frames that are open there."""
    arena = arena_of(address)
    controls, reached, symbols, steps = (
        arena[Lattice.CONTROLS],
        arena[Lattice.REACHED],
        arena[Lattice.SYMBOLS],
        arena[Lattice.STEPS],
    )
    closing = carray(pointer(arena[Lattice.CLOSING]), (controls + reached, symbols, reached + 1), np.uint16)
    room, nodes = arena[Lattice.ROOM], arena[Lattice.NODES]
    symbol, offsets = ints(arena, Lattice.NODE_SYMBOL, nodes), longs(arena, Lattice.NODE_OFFSET, nodes)
    pool, reach = (
        words(arena, Lattice.POOL, arena[Lattice.POOL_CAPACITY]),
        words(arena, Lattice.REACH, arena[Lattice.POOL_CAPACITY]),
    )
    before, has_before = sets(arena, Lattice.BEFORE, controls), octets(arena, Lattice.HAS_BEFORE, controls)
    start = longs(arena, Lattice.ON_TOP_START, steps + 2)
    top_control = ints(arena, Lattice.ON_TOP_CONTROL, arena[Lattice.ENTRY_CAPACITY])
    top_offset = longs(arena, Lattice.ON_TOP_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    spent = np.full((nodes, reached), FAR, np.uint16)  # when the node is popped, by the point after
    above = np.full((nodes, reached), FAR, np.uint16)  # when what stands on it is
    is_open = np.zeros(nodes, np.uint8)
    wide = words_for(nodes)
    for x in range(start[steps], start[steps + 1]):
        c = int64(top_control[x])
        for w in range(wide):
            before[c, w] = uint64(0)
            bits = pool[top_offset[x] + w]
            while bits:
                n = int64(w) * 64 + lowest(bits)
                bits &= bits - uint64(1)
                least = int64(closing[c, 0, reached]) if n == 0 else int64(FAR)
                if n > 0:
                    is_open[n] = 1
                    for z in range(reached):
                        first = closing[c, symbol[n], z]
                        spent[n, z] = min(spent[n, z], first)
                        least = min(least, int64(first) + int64(below[n, z]))
                if least <= room:
                    before[c, w] |= bit(n)
                    has_before[c] = 1
    for n in range(nodes - 1, 0, -1):
        if not is_open[n]:
            continue
        g = symbol[n]
        for z in range(reached):
            if above[n, z] < FAR:
                for y in range(reached):
                    spent[n, y] = min(int64(spent[n, y]), int64(above[n, z]) + int64(closing[controls + z, g, y]))
        for w in range(words_for(n)):
            bits = pool[offsets[n] + w]
            while bits:
                p = int64(w) * 64 + lowest(bits)
                bits &= bits - uint64(1)
                is_open[p] = 1
                least = int64(FAR)
                for z in range(reached):
                    above[p, z] = min(above[p, z], spent[n, z])
                    least = min(least, int64(spent[n, z]) + int64(costs[p, z]))
                if least <= room:
                    reach[offsets[n] + w] |= bit(p)


@part
def mark_edge(address):
    """Fills BEFORE for the last boundary."""
    arena = arena_of(address)
    controls, nodes, reached = arena[Lattice.CONTROLS], arena[Lattice.NODES], arena[Lattice.REACHED]
    before, has_before = sets(arena, Lattice.BEFORE, controls), octets(arena, Lattice.HAS_BEFORE, controls)
    live = octets(arena, Lattice.LIVE_CONTROLS, (arena[Lattice.STEPS] + 1) * controls)
    for c in range(controls):
        has_before[c] = 0
    if arena[Lattice.ROOM] < 0:  # the last step was that of the stop ids: then only the control is left that is live
        for c in range(controls):
            if live[arena[Lattice.STEPS] * controls + c]:
                has_before[c] = 1
                for w in range(words_for(nodes)):
                    before[c, w] = uint64(0)
                before[c, 0] = uint64(1)
        return
    costs, below = np.full((nodes, reached), FAR, np.uint16), np.full((nodes, reached), FAR, np.uint16)
    end_costs(address, costs, below)
    close_open(address, costs, below)
