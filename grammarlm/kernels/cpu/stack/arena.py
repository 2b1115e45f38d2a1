"""Accessors of the arena of a pushdown machine (layout/stack.py): `arena_of`, its arrays, hashing, and missing codes
(pushdown.py).
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, pointer
from grammarlm.layout.stack import LR_BASE, STATES, Field


@inlined
def missing(reason, index):
    return -(int64(index) * 8 + reason)


@inlined
def ints(arena, field, count):
    return carray(pointer(arena[field]), count, np.int32)


@inlined
def octets(arena, field, count):
    return carray(pointer(arena[field]), count, np.uint8)


@inlined
def arena_of(address):
    return carray(pointer(address), int64(Field.LENGTH), np.int64)


@inlined
def lr_state(symbol):
    return (int64(symbol) - LR_BASE) & (STATES - 1)


@inlined
def mixed(a, b):
    x = (uint64(a) + uint64(1)) * uint64(0x9E3779B97F4A7C15) ^ uint64(b) * uint64(0xC2B2AE3D27D4EB4F)
    x ^= x >> uint64(29)
    x *= uint64(0x94D049BB133111EB)
    return x ^ x >> uint64(32)
