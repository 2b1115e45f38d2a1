"""Logits -> masked logits on the CPU: a copy's speed where tokens are forbidden, and no touch where all of 32 are allowed.

One mask word decides over 32 neighbouring columns. A word of ones is skipped, so a nearly full mask costs little more than
its own scan; a word of zeros stores 32 infinities without reading a logit, so a nearly empty one costs half of a copy's
traffic; any other word loads 32 logits, selects by its bits and stores them. `blend` says that to LLVM as one vector
select, which becomes masked stores on AVX-512 and AVX2 and compare-and-blend elsewhere: no table, no branch per logit.
(A loop of shifts over the bits compiles well for AVX-512 only; a table of eight lanes per mask byte is five times slower.)

Logits are integers here, int32 for float32 and int16 for float16 and bfloat16: whatever is allowed, a NaN's payload
included, stays bit for bit. What both kernels mean is `reference.apply_mask`.
"""

import numpy as np
from llvmlite import ir
from numba import carray
from numba.core import types
from numba.extending import intrinsic

from grammarlm.kernels.cpu.jit import inlined, kernel, pointer

# Addresses and strides count in bytes and lanes: logits, row_stride, column_stride, width, mask, rows, first, last, infinity.
# rows is the address of int64 mask rows, 0 for "row i is row i"; the kernel does logits rows first <= i < last.
SIGNATURE = "void(int64, int64, int64, int64, int32[:, ::1], int64, int64, int64, int64)"


@kernel(SIGNATURE)
def apply_mask_32(logits, row_stride, column_stride, width, mask, rows, first, last, infinity):
    """Rows of float32 logits."""
    for i in range(first, last):
        row = mask_row_of(rows, i)
        if row >= 0:
            start = logits + 4 * row_stride * i
            lanes = carray(pointer(start), 1 + (width - 1) * column_stride, np.int32)
            apply_row(start, 4, lanes, column_stride, width, mask[row], np.int32(infinity))


@kernel(SIGNATURE)
def apply_mask_16(logits, row_stride, column_stride, width, mask, rows, first, last, infinity):
    """Rows of float16 or bfloat16 logits."""
    for i in range(first, last):
        row = mask_row_of(rows, i)
        if row >= 0:
            start = logits + 2 * row_stride * i
            lanes = carray(pointer(start), 1 + (width - 1) * column_stride, np.int16)
            apply_row(start, 2, lanes, column_stride, width, mask[row], np.int16(infinity))


@inlined
def mask_row_of(rows, i):
    return carray(pointer(rows), i + 1, np.int64)[i] if rows else i


@inlined
def apply_row(start, lane_bytes, lanes, column_stride, width, words, infinity):
    """One row: `lanes` is its logits, of which every `column_stride`-th is a column, and `start` is their address."""
    whole = min(len(words), width // 32) if column_stride == 1 else 0
    for block in range(0, whole, 8):
        if block + 8 <= len(words) and all_ones(words, block):
            continue
        for w in range(block, min(block + 8, whole)):
            word = words[w]
            if word == 0:
                blend(start + 32 * lane_bytes * w, np.int32(0), infinity)  # a constant mask: LLVM drops the load
            elif word != -1:
                blend(start + 32 * lane_bytes * w, word, infinity)
    for w in range(whole, min(len(words), (width + 31) // 32)):
        word = words[w]
        if word != -1:
            for column in range(32 * w, min(32 * w + 32, width)):
                if not word >> (column - 32 * w) & 1:
                    lanes[column * column_stride] = infinity
    for column in range(32 * len(words), width):
        lanes[column * column_stride] = infinity


@inlined
def all_ones(words, block):
    """Whether eight words allow everything: one vector to test, where the usual mask of a text has few zeros."""
    bits = words[block]
    for k in range(1, 8):
        bits &= words[block + k]
    return bits == -1


@intrinsic
def blend(typingctx, address, word, infinity):  # type: ignore[no-untyped-def]
    """The 32 lanes at `address` keep their value where `word` has a 1 and become `infinity` where it has a 0."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        address, word, infinity = arguments
        lane = ir.IntType(signature.args[2].bitwidth)
        vector = ir.VectorType(lane, 32)
        place = builder.inttoptr(address, vector.as_pointer())
        old = builder.load(place, align=lane.width // 8)
        keep = builder.bitcast(word, ir.VectorType(ir.IntType(1), 32))
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), infinity, ir.Constant(ir.IntType(32), 0))
        all_infinite = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), 32), [0] * 32))
        builder.store(builder.select(keep, old, all_infinite), place, align=lane.width // 8)
        return context.get_dummy_value()

    return types.void(address, types.int32, infinity), generate
