"""Logits -> masked logits on the CPU, at the speed of a copy or faster.

One mask word decides over 32 adjacent columns. A word of ones is skipped, so a nearly full mask costs little more than reading the
mask. A word of zeros stores 32 infinities and reads no logit, so a nearly empty one costs less than a copy. Any other word selects
among 32 logits by its bits. `blend` expresses that to LLVM as one vector select, which becomes masked stores on AVX-512 and AVX2
and compare-and-blend elsewhere: no table, no branch per logit. (A loop of shifts is fast with AVX-512 only, and a table of eight
lanes per mask byte is several times slower.)

Logits are integers here, int32 for float32 and int16 for float16 and bfloat16, so that allowed values stay bit for bit equal,
including a NaN's payload. `reference.apply_mask` defines both kernels.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray
from numba.core import types
from numba.extending import intrinsic

from grammarlm.kernels.cpu.jit import inlined, kernel, pointer

# Addresses of the logits, of the mask and of the mask row of each logits row (int64; 0: the same index). The logits' row and column
# strides in elements and their width, the words of a mask row, the range of logits rows (first <= i < last), the bits of -inf.
SIGNATURE = "void(int64, int64, int64, int64, int64, int64, int64, int64, int64, int64)"


@kernel(SIGNATURE)
def apply_mask_32(logits, mask, rows, row_stride, column_stride, width, words, first, last, infinity):
    """Rows of float32 logits."""
    for i in range(first, last):
        row = carray(pointer(rows), last, np.int64)[i] if rows else i
        if row >= 0:
            lanes = carray(pointer(logits + 4 * row_stride * i), 1 + (width - 1) * column_stride, np.int32)
            apply_row(lanes, column_stride, width, mask_row(mask, row, words), np.int32(infinity))


@kernel(SIGNATURE)
def apply_mask_16(logits, mask, rows, row_stride, column_stride, width, words, first, last, infinity):
    """Rows of float16 or bfloat16 logits."""
    for i in range(first, last):
        row = carray(pointer(rows), last, np.int64)[i] if rows else i
        if row >= 0:
            lanes = carray(pointer(logits + 2 * row_stride * i), 1 + (width - 1) * column_stride, np.int16)
            apply_row(lanes, column_stride, width, mask_row(mask, row, words), np.int16(infinity))


@inlined
def mask_row(mask, row, words):
    return carray(pointer(mask + 4 * words * row), words, np.int32)


@inlined
def apply_row(lanes, column_stride, width, words, infinity):
    """One row of logits: every `column_stride`-th lane."""
    whole = min(len(words), width // 32) if column_stride == 1 else 0
    for block in range(whole // 8):
        if not all_ones(words, 8 * block):
            blend_words(lanes, words, 8 * block, 8 * block + 8, infinity)
    blend_words(lanes, words, whole // 8 * 8, whole, infinity)
    for w in range(whole, min(len(words), (width + 31) // 32)):
        word = words[w]
        if word != -1:
            for column in range(32 * w, min(32 * w + 32, width)):
                if not word >> (column - 32 * w) & 1:
                    lanes[column * column_stride] = infinity
    for column in range(32 * len(words), width):
        lanes[column * column_stride] = infinity


@inlined
def all_ones(words, first):
    """Do eight words allow everything? One vector test: most masks inside a text have few zeros."""
    bits = words[first]
    for k in range(1, 8):
        bits &= words[first + k]
    return bits == -1


@inlined
def blend_words(lanes, words, first, last, infinity):
    """Applies words first <= w < last to adjacent lanes."""
    for w in range(first, last):
        word = words[w]
        if word == 0:
            blend(lanes, 32 * w, np.int32(0), infinity)  # with a constant word LLVM knows that no logit is read
        elif word != -1:
            blend(lanes, 32 * w, word, infinity)


def _blend(typingctx, lanes, start, word, infinity):  # type: ignore[no-untyped-def]
    """lanes[start : start + 32] keep their value where `word` has a 1 and become `infinity` where it has a 0."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        lanes, start, word, infinity = arguments
        lane = ir.IntType(signature.args[3].bitwidth)
        vector = ir.VectorType(lane, 32)
        first = builder.gep(context.make_array(signature.args[0])(context, builder, lanes).data, [start])
        place = builder.bitcast(first, vector.as_pointer())
        old = builder.load(place, align=lane.width // 8)
        keep = builder.bitcast(word, ir.VectorType(ir.IntType(1), 32))
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), infinity, ir.Constant(ir.IntType(32), 0))
        infinities = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), 32), [0] * 32))
        builder.store(builder.select(keep, old, infinities), place, align=lane.width // 8)
        return context.get_dummy_value()

    return types.void(lanes, start, types.int32, infinity), generate


blend: Any = intrinsic(_blend)  # Any: as for jit.pointer
