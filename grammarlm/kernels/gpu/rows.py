"""A row of logits as the sampling kernels read it: its allowed logits as float32, one tile of mask words at a time.

Tiles are [word, group, lane] with 8 groups of 4 columns per word, as in `apply_mask`: groups without an allowed column are not
read.
"""

from typing import Any, NamedTuple

import triton
import triton.language as tl

# +inf is replaced by the largest finite bfloat16, so that differences of logits are finite and its bits fit every dtype.
LARGEST = tl.constexpr(3.3895313892515355e38)
LOWEST = tl.constexpr(-3.4028234663852886e38)  # of float32: some models write it to mean -inf, and it can be drawn
MINUS_INFINITY = tl.constexpr(float("-inf"))

# A chunk is surveyed by one program: 2048 columns, 16 per thread. Its size never depends on the batch, so sums over a row are
# bit-identical in every batch. A tile is what the one program that chooses reads at once.
CHUNK_WORDS = tl.constexpr(64)
TILE_CHUNKS = tl.constexpr(4)
TILE_WORDS = tl.constexpr(256)


class LogitsRow(NamedTuple):
    """A row as kernels pass it around. Where there is no mask, a pointer that is never read stands for it, since some versions of
    Triton take no None here."""

    logits: Any  # pointer to the first column
    column_stride: Any
    width: Any  # columns
    mask: Any  # pointer to the first word
    words: Any
    beyond: Any  # value of words beyond the mask: 0, or -1 of a row without a constraint, which then has no words


@triton.jit
def row_of(index, logits, row_stride, column_stride, width, mask, words, mask_stride, rows):
    """Logits row `index`: rows[index] is its mask row, -1 = unconstrained; without `rows` it is `index`."""
    index = index.to(tl.int64)
    beyond = index * 0 - 1
    if mask is None:
        mask, words = logits.to(tl.pointer_type(tl.int32), bitcast=True), index * 0
    else:
        mask_row = index if rows is None else tl.load(rows + index).to(tl.int64)
        beyond = tl.where(mask_row < 0, -1, 0)
        words = tl.where(mask_row < 0, 0, words)
        mask += tl.maximum(mask_row, 0) * mask_stride
    return LogitsRow(logits + index * row_stride, column_stride, width, mask, words, beyond)


@triton.jit
def mask_words(row, first, WORDS: tl.constexpr):
    """WORDS mask words from `first` on and their indices, both int32 [WORDS, 1, 1]."""
    number = first + tl.arange(0, WORDS)[:, None, None]
    return tl.load(row.mask + number, mask=number < row.words, other=row.beyond), number


@triton.jit
def allowed_logits(row, word, number):
    """float32 [WORDS, 8, 4] of the tile, -inf where a column is forbidden or its logit NaN, and the column indices."""
    shift = tl.arange(0, 8)[None, :, None] * 4
    lane = tl.arange(0, 4)[None, None, :]
    column = number * 32 + shift + lane
    bits = (word >> shift) & 15
    place = row.logits + column.to(tl.int64) * row.column_stride
    x = tl.load(place, mask=(column < row.width) & (bits != 0), other=MINUS_INFINITY).to(tl.float32)
    x = tl.where((((bits >> lane) & 1) != 0) & (x > MINUS_INFINITY), x, MINUS_INFINITY)
    return tl.minimum(x, LARGEST), column


@triton.jit
def allowed_logit(row, token):
    """One allowed logit, converted as in `allowed_logits`."""
    return tl.minimum(tl.load(row.logits + token.to(tl.int64) * row.column_stride).to(tl.float32), LARGEST)
