"""Accessors of the arena of the JSON machine (layout/json.py), and packing of its threads' words."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, pointer
from grammarlm.layout.json import At


@inlined
def arena_of(address):
    return carray(pointer(address), int64(At.LENGTH), np.int64)


@inlined
def longs(arena, place):
    return carray(pointer(arena[place]), 1 << 40, np.int64)


@inlined
def thread(kind, sub, row, state):
    return int64(kind) | int64(sub) << int64(5) | int64(row) << int64(11) | int64(state) << int64(35)


@inlined
def key_range(low, high, read):
    return int64(low) | int64(high) << int64(21) | int64(read) << int64(42)
