"""The table machine: a deterministic automaton whose states are rows of a table of byte classes.

    next state = next[state * classes + class_of[byte]]

State 0 is dead. An entry MISS means that the row has not been made yet: the kernel says so and is called again when it has.
`Arena` names the places of one int64 array, the only argument that tells a kernel about automaton and vocabulary.
"""

import numpy as np
from numba import carray, uint64

from ...layout.table import Arena
from .jit import inlined, pointer


@inlined
def transitions(arena):
    return carray(pointer(arena[Arena.NEXT]), arena[Arena.STATES] * arena[Arena.CLASSES], np.int32)


@inlined
def byte_classes(arena):
    return carray(pointer(arena[Arena.CLASS_OF]), 256, np.uint8)


@inlined
def step(table, classes, class_of, state, byte):
    """The state after a byte, DEAD or MISS. Indices are unsigned: numba then leaves out its test for negative ones."""
    return table[uint64(state) * classes + uint64(class_of[byte])]
