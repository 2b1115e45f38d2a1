"""Both passes over a row of a machine with a stack, and the classes that may stand at a position.

`grammarlm/kernels/reference/stack_lattice.py` says what they mean.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import kernel, pointer
from grammarlm.layout.canvas import DONE, Lattice

from .arrays import arena_of, ints, longs, words, words_for
from .backward import pass_backward
from .edge import mark_edge
from .forward import pass_forward
from .live import find_live


@kernel("int64(int64)", seconds=8)
def lattice_forward(address):
    """The row forward, and the right edge. Returns DONE, or which arrays are full: then they are made larger, and the pass begins
    again."""
    find_live(address)
    full = pass_forward(address)
    if full == DONE:
        mark_edge(address)
    return int64(full)


@kernel("int64(int64)", seconds=8)
def lattice_backward(address):
    """The row backward. Returns DONE, or which arrays are full: then the row begins again."""
    return int64(pass_backward(address))


@kernel("void(int64, int64, int64)")
def lattice_classes(address, step, out_address):
    """uint8 [CLASSES]: the classes of edges of a step that some completion uses are set."""
    arena = arena_of(address)
    edges, points, steps = arena[Lattice.EDGES], arena[Lattice.POINTS], arena[Lattice.STEPS]
    edge_point = ints(arena, Lattice.EDGE_POINT, edges)
    edge_start = ints(arena, Lattice.EDGE_START, edges + 1)
    edge_classes = ints(arena, Lattice.EDGE_CLASSES, edge_start[edges])
    top_start = longs(arena, Lattice.ON_TOP_START, steps + 2)
    top_control = ints(arena, Lattice.ON_TOP_CONTROL, arena[Lattice.ENTRY_CAPACITY])
    top_offset = longs(arena, Lattice.ON_TOP_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    start, end = longs(arena, Lattice.BACK_START, steps)[step], longs(arena, Lattice.BACK_END, steps)[step]
    back_point = ints(arena, Lattice.BACK_POINT, arena[Lattice.ENTRY_CAPACITY])
    back_offset = longs(arena, Lattice.BACK_OFFSET, arena[Lattice.ENTRY_CAPACITY])
    pool = words(arena, Lattice.POOL, arena[Lattice.POOL_CAPACITY])
    back = words(arena, Lattice.BACK_POOL, arena[Lattice.BACK_CAPACITY])
    wide = words_for(longs(arena, Lattice.NODE_COUNT, steps + 1)[step])
    out = carray(pointer(out_address), arena[Lattice.CLASSES], np.uint8)
    control_start = ints(arena, Lattice.CONTROL_START, arena[Lattice.CONTROLS] + 1)
    at = np.full(points, -1, np.int64)
    for x in range(start, end):
        at[back_point[x]] = back_offset[x]
    for x in range(top_start[step], top_start[step + 1]):
        for e in range(control_start[top_control[x]], control_start[top_control[x] + 1]):
            there = at[edge_point[e]]
            if there < 0:
                continue
            for w in range(wide):
                if pool[top_offset[x] + w] & back[there + w]:
                    for k in range(edge_start[e], edge_start[e + 1]):
                        out[edge_classes[k]] = 1
                    break
