"""Bits, and symbols of rules."""

from numba import int64, uint64

from grammarlm.kernels.cpu.jit import inlined


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
def has_bit(bits, row, number):
    """Is a number in a row of sets of numbers, uint64 [rows, words]?"""
    return bits[row, number >> 6] >> uint64(number & 63) & uint64(1) != 0
