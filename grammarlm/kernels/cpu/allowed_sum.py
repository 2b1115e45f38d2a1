"""The sum of the values that a mask allows: what is left of the probability.

One mask word decides over 32 neighbouring values, and 32 sums are kept side by side, so that the loop over them becomes vector
instructions; they are float64, so that the least probable of 100,000 tokens still counts. What it means is
`reference.allowed_sum`.
"""

import numpy as np
from numba import carray, float64, int64

from .jit import kernel, pointer


@kernel("float64(int64, int64, int64)")
def allowed_sum(values, mask, width):
    """Of float32 [width] those whose bit is set in the mask, int32 words; all of them where its address is 0."""
    numbers = carray(pointer(values), width, np.float32)
    words = carray(pointer(mask if mask else values), (width + 31) // 32, np.int32)
    sums = np.zeros(32, np.float64)
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
