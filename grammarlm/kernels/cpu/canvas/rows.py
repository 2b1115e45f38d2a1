"""Classes of tokens to mask words, and logits of tokens to scores of classes. kernels/reference/canvas.py says what they mean."""

import numpy as np
from numba import carray, float32, float64, int64, uint32

from grammarlm.kernels.cpu.jit import kernel, pointer


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64)")
def class_row(allowed_address, classes, order_address, starts_address, large_address, large_rows, out_address, words):
    """Mask words (int32 [words]) of the classes allowed (uint8 [classes]); `large` int32 [classes]: the row among `large_rows` of a
    class that has one, -1: its ids are set one by one."""
    allowed, large = (
        carray(pointer(allowed_address), classes, np.uint8),
        carray(pointer(large_address), classes, np.int32),
    )
    starts = carray(pointer(starts_address), classes + 1, np.int64)
    order = carray(pointer(order_address), starts[classes], np.int32)
    out = carray(pointer(out_address), words, np.uint32)
    for w in range(words):
        out[w] = uint32(0)
    for k in range(classes):
        if allowed[k] == 0:
            continue
        if large[k] >= 0:
            row = carray(pointer(large_rows + 4 * words * int64(large[k])), words, np.uint32)
            for w in range(words):
                out[w] |= row[w]
        else:
            for j in range(starts[k], starts[k + 1]):
                out[order[j] >> 5] |= uint32(1) << uint32(order[j] & 31)


@kernel("int64(int64, int64, int64, int64, int64, int64)")
def class_maxima(logits_address, class_address, size, out_address, first_address, classes):
    """float32 [classes]: the highest logit of each class, of float32 [size]; int32 [classes]: the first token that has it, -1 where
    it is -inf. Returns 1 where a logit is NaN or +inf."""
    logits, class_of = carray(pointer(logits_address), size, np.float32), carray(pointer(class_address), size, np.int32)
    out, first = carray(pointer(out_address), classes, np.float32), carray(pointer(first_address), classes, np.int32)
    for k in range(classes):
        out[k], first[k] = -np.inf, -1
    wrong = int64(0)
    for t in range(size):
        k, value = class_of[t], logits[t]
        if not value <= out[k]:  # rarely: NaN, or higher than all before
            if value < np.inf:
                out[k], first[k] = value, t
            else:
                wrong = int64(1)
    return wrong


@kernel("void(int64, int64, int64, int64, int64, int64)")
def class_sums(logits_address, class_address, size, maxima_address, out_address, classes):
    """float64 [classes]: log of the sum of exp(logit) over each class; `maxima` as class_maxima gives them."""
    logits, class_of = carray(pointer(logits_address), size, np.float32), carray(pointer(class_address), size, np.int32)
    maxima, out = (
        carray(pointer(maxima_address), classes, np.float32),
        carray(pointer(out_address), classes, np.float64),
    )
    for k in range(classes):
        out[k] = 0.0
    for t in range(size):
        k = class_of[t]
        below = logits[t] - maxima[k]
        if below > float32(-87.0):
            out[k] += np.exp(float64(below))
    for k in range(classes):
        out[k] = float64(maxima[k]) + np.log(out[k]) if out[k] > 0.0 else -np.inf


@kernel("int64(int64, int64, int64, int64)")
def drawn_member(logits_address, members_address, count, bounds_address):
    """The place of the first of some ids up to which exp(logit - highest) sum to more than `target`; bounds: float64 [2], both."""
    bounds = carray(pointer(bounds_address), 2, np.float64)
    highest, target = bounds[0], bounds[1]
    members = carray(pointer(members_address), count, np.int32)
    logits = carray(pointer(logits_address), int64(members[count - 1]) + 1, np.float32)
    total, last = 0.0, int64(0)
    for j in range(count):
        below = float64(logits[members[j]]) - highest
        if below > -87.0:
            total += np.exp(below)
            last = int64(j)
            if total > target:
                return last
    return last
