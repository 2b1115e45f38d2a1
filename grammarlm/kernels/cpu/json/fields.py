"""Accessors of an arena and of the arrays whose addresses it holds, bits of rows, and packing of the words of a thread."""

import numpy as np
from numba import carray, int32, int64

from grammarlm.kernels.cpu.jit import inlined, pointer
from grammarlm.layout.json import At


@inlined
def arena_of(address):
    return carray(pointer(address), int64(At.LENGTH), np.int64)


@inlined
def longs(arena, field):
    return carray(pointer(arena[field]), 1 << 40, np.int64)


@inlined
def ulongs(arena, field):
    return carray(pointer(arena[field]), 1 << 40, np.uint64)


@inlined
def ints(arena, field):
    return carray(pointer(arena[field]), 1 << 40, np.int32)


@inlined
def uints(arena, field):
    return carray(pointer(arena[field]), 1 << 40, np.uint32)


@inlined
def ushorts(arena, field):
    return carray(pointer(arena[field]), 1 << 40, np.uint16)


@inlined
def octets(arena, field):
    return carray(pointer(arena[field]), 1 << 40, np.uint8)


@inlined
def set_bit(row, index):
    row[index >> 5] |= int32(1) << int32(index & 31)


@inlined
def clear_bit(row, index):
    row[index >> 5] &= ~(int32(1) << int32(index & 31))


@inlined
def has_bit(row, index):
    return row[index >> 5] >> (index & 31) & 1 != 0


@inlined
def thread(kind, sub, row, state):
    return int64(kind) | int64(sub) << int64(5) | int64(row) << int64(11) | int64(state) << int64(35)


@inlined
def key_range(low, high, read):
    return int64(low) | int64(high) << int64(21) | int64(read) << int64(42)


@inlined
def is_short(arena):
    """Is something missing? What has been computed since is invalid."""
    return longs(arena, At.MISSING)[0] != 0 or arena[At.WANTED] != 0
