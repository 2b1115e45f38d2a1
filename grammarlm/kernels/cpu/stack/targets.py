"""The target config of each token, by the loop of vocab/byte_trie.py over configs.

It stops where something is missing, saves its position in `scratch` (the config after each number of bytes; in the last entry the
trie node to resume at), and resumes at the next call. Also all transitions of one config, for the search for a shortest completion.
"""

import numpy as np
from numba import carray, int32, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.stack import Field
from grammarlm.layout.stack_calls import DONE

from .arena import arena_of, ints, octets
from .configs import step
from .steps import row_of


@part
def fill_targets(address, scratch_address, scratch_length, targets_address):
    """targets[t] = the config after token t; entries of rejected tokens are unchanged. Returns 0, or a missing code.

    `targets`, int32, has one spare entry.
    """
    arena = arena_of(address)
    nodes = uint64(arena[Field.NODES])
    byte = carray(pointer(arena[Field.BYTE]), nodes, np.uint8)
    depth = carray(pointer(arena[Field.DEPTH]), nodes, np.uint16)
    end = carray(pointer(arena[Field.END]), nodes, np.int32)
    token = carray(pointer(arena[Field.TOKEN]), nodes, np.uint32)
    targets = carray(pointer(targets_address), arena[Field.NOTHING] + 1, np.int32)
    scratch = carray(pointer(scratch_address), scratch_length, np.int32)
    classes, class_of = uint64(arena[Field.CLASSES]), octets(arena, Field.CLASS_OF, 256)
    rows = ints(arena, Field.C_ROW, arena[Field.C_CAPACITY])
    table = ints(arena, Field.C_NEXT, arena[Field.R_CAPACITY] * int64(classes))

    node = uint64(scratch[scratch_length - 1])
    while node < nodes:
        here = uint64(depth[node])
        before = scratch[here - uint64(1)]
        if rows[uint64(before)] < 0:
            made = row_of(address, int64(before))
            if made < 0:
                scratch[scratch_length - 1] = int32(node)
                return made
        cell = uint64(rows[uint64(before)]) * classes + uint64(class_of[byte[node]])
        after = table[cell]
        if after <= 0:
            if after < 0:
                found = step(address, int64(before), int64(class_of[byte[node]]))
                if found < 0:
                    scratch[scratch_length - 1] = int32(node)
                    return found
                table[cell] = found
                continue
            node = uint64(end[node])
            continue
        scratch[here] = after
        targets[uint64(token[node])] = after
        node += uint64(1)

    twins = carray(pointer(arena[Field.TWINS]), (arena[Field.TWIN_COUNT], 2), np.int32)
    for i in range(len(twins)):
        targets[uint32(twins[i, 0])] = targets[uint32(twins[i, 1])]
    return int64(DONE)


@part
def fill_next(address, config):
    """Computes all transitions of a config. Returns the number of its row, or a missing code."""
    arena = arena_of(address)
    row = row_of(address, config)
    if row < 0:
        return row
    classes = arena[Field.CLASSES]
    table = ints(arena, Field.C_NEXT, (row + 1) * classes)
    for column in range(classes):
        if table[row * classes + column] < 0:
            found = step(address, config, column)
            if found < 0:
                return found
            table[row * classes + column] = found
    return row
