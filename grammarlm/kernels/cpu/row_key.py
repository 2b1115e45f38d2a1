"""Hash of a mask row, to find equal rows without comparing all of them."""

import numpy as np
from numba import carray, int64, uint64

from .jit import kernel, pointer

MULTIPLIER = 0x9E3779B97F4A7C15


@kernel("int64(int64, int64)")
def row_key(row_address, words):
    """Equal for equal rows of int32 words. Four independent sums run in parallel in the processor; not cryptographic."""
    row = carray(pointer(row_address), words, np.uint32)
    a, b, c, d = uint64(1), uint64(2), uint64(3), uint64(4)
    factor = uint64(MULTIPLIER)
    whole = words & ~3
    for i in range(0, whole, 4):
        a = (a ^ uint64(row[i])) * factor
        b = (b ^ uint64(row[i + 1])) * factor
        c = (c ^ uint64(row[i + 2])) * factor
        d = (d ^ uint64(row[i + 3])) * factor
    for i in range(whole, words):
        a = (a ^ uint64(row[i])) * factor
    b ^= b >> uint64(31)
    c ^= c >> uint64(33)
    d ^= d >> uint64(29)
    mixed = (a ^ a >> uint64(30)) + b * uint64(3) + c * uint64(5) + d * uint64(7)
    return int64(mixed >> uint64(1))
