"""The table machine: a deterministic automaton (DFA) whose states are rows of a table over byte classes.

    next state = next[state * classes + class_of[byte]]

State 0 is dead. MISS: the row is not computed yet; the kernel reports it and is called again once it is. `Arena` lists the indices
of one int64 array, the only argument that describes automaton and vocabulary to a kernel.
"""

import numpy as np
from numba import carray, uint64

from grammarlm.kernels.cpu.jit import inlined, pointer
from grammarlm.layout.table import Arena


@inlined
def transitions(arena):
    return carray(pointer(arena[Arena.NEXT]), arena[Arena.STATES] * arena[Arena.CLASSES], np.int32)


@inlined
def byte_classes(arena):
    return carray(pointer(arena[Arena.CLASS_OF]), 256, np.uint8)


@inlined
def step(table, classes, class_of, state, byte):
    """The state after a byte, DEAD or MISS. Indices are unsigned, so that numba omits its test for negative ones."""
    return table[uint64(state) * classes + uint64(class_of[byte])]
