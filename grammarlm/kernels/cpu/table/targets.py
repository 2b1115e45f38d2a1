"""The target state of each token: like `fill_row` (walk.py), but with states instead of mask bits."""

import numpy as np
from numba import carray, int32, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import kernel, pointer
from grammarlm.layout.table import DEAD, DONE, MISS, Arena

from .step import byte_classes, step, transitions
from .walk import trie_arrays


@kernel("int64(int64, int64, int64, int64)")
def fill_targets(arena_address, scratch_address, scratch_length, targets_address):
    """targets[t] = the state after token t, usable or not; entries of rejected tokens are unchanged.

    `scratch` and the return value are as in walk.py; `targets`, int32, has one spare entry.
    """
    arena = carray(pointer(arena_address), int64(Arena.LENGTH), np.int64)
    nodes, byte, depth, end, token = trie_arrays(arena)
    nothing = uint32(arena[Arena.NOTHING])
    targets = carray(pointer(targets_address), int64(nothing) + int64(1), np.int32)
    scratch = carray(pointer(scratch_address), scratch_length, np.int32)
    table, classes, class_of = transitions(arena), uint64(arena[Arena.CLASSES]), byte_classes(arena)

    node = uint64(scratch[scratch_length - 1])
    while node < nodes:
        here = uint64(depth[node])
        before = scratch[here - uint64(1)]
        state = step(table, classes, class_of, before, byte[node])
        if state <= DEAD:
            if state == MISS:
                scratch[scratch_length - 1] = int32(node)
                return int64(before)
            node = uint64(end[node])
            continue
        scratch[here] = state
        targets[uint64(token[node])] = state
        node += uint64(1)

    twins = carray(pointer(arena[Arena.TWINS]), (arena[Arena.TWIN_COUNT], 2), np.int32)
    for i in range(len(twins)):
        targets[twins[i, 0]] = targets[twins[i, 1]]
    return int64(DONE)
