"""Sums of the values that masks allow (the remaining probability), for all rows of a batch in one call.

One mask word decides over 32 adjacent values. 32 sums are kept side by side, so that their loop is vectorised. They are float64, so
that the least probable of 100,000 tokens still counts. `reference.allowed_sum` defines the result.
"""

import numpy as np
from numba import carray, float64, int64

from grammarlm.kernels.cpu.jit import inlined, kernel, pointer


@inlined
def allowed_sum(values, mask, width, sums):
    """Sum of those of float32 [width] whose bit is set in the mask, int32 words; of all if the mask's address is 0."""
    numbers = carray(pointer(values), width, np.float32)
    words = carray(pointer(mask if mask else values), (width + 31) // 32, np.int32)
    sums[:] = 0.0
    for w in range(width // 32):
        word = words[w] if mask else np.int32(-1)
        if word == -1:
            for j in range(32):
                sums[j] += float64(numbers[32 * w + j])
        elif word:
            for j in range(32):
                sums[j] += float64(numbers[32 * w + j]) if word >> j & 1 else 0.0
    total = sums.sum()
    for i in range(width // 32 * 32, width):
        if not mask or words[i // 32] >> int64(i & 31) & 1:
            total += float64(numbers[i])
    return total


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def allowed_sums(values, stride, width, masks, words, rows, places, count, out):
    """Sums of `count` rows of values (indexes int64 `rows`, `stride` values each) under the masks at `places`; -1: no mask."""
    row, place = carray(pointer(rows), count, np.int64), carray(pointer(places), count, np.int64)
    found = carray(pointer(out), count, np.float64)
    sums = np.zeros(32, np.float64)
    for i in range(count):
        mask = masks + 4 * words * place[i] if place[i] >= 0 else int64(0)
        found[i] = allowed_sum(values + 4 * stride * row[i], mask, width, sums)
