"""Accessors of a lattice's arena (layout/canvas.py), and bits."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, pointer
from grammarlm.layout.canvas import Lattice


@inlined
def arena_of(address):
    return carray(pointer(address), int64(Lattice.LENGTH), np.int64)


@inlined
def ints(arena, field, count):
    return carray(pointer(arena[field]), count, np.int32)


@inlined
def longs(arena, field, count):
    return carray(pointer(arena[field]), count, np.int64)


@inlined
def octets(arena, field, count):
    return carray(pointer(arena[field]), count, np.uint8)


@inlined
def words(arena, field, count):
    return carray(pointer(arena[field]), count, np.uint64)


@inlined
def floats(arena, field, count):
    return carray(pointer(arena[field]), count, np.float64)


@inlined
def sets(arena, field, count):
    return carray(pointer(arena[field]), (count, arena[Lattice.WORDS]), np.uint64)


@inlined
def words_for(nodes):
    """Words of a set of so many nodes."""
    return (nodes + int64(63)) >> int64(6)


@inlined
def lowest(bits):
    """The number of the lowest bit that is set."""
    x = (bits & (~bits + uint64(1))) - uint64(1)
    x = x - ((x >> uint64(1)) & uint64(0x5555555555555555))
    x = (x & uint64(0x3333333333333333)) + ((x >> uint64(2)) & uint64(0x3333333333333333))
    x = (x + (x >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    return int64((x * uint64(0x0101010101010101)) >> uint64(56))


@inlined
def on_top(symbol):
    """The symbol that a rule asks for; those below 0 stay on the stack, as ROOT does."""
    return -1 - symbol if symbol < 0 else symbol


@inlined
def bit(node):
    return uint64(1) << uint64(node & 63)


@inlined
def has_bit(bits, row, number):
    """Is a number in a row of sets of numbers, uint64 [rows, words]?"""
    return bits[row, number >> 6] >> uint64(number & 63) & uint64(1) != 0
