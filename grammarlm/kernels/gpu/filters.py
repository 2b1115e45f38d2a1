"""Top-k, top-p and min-p without sorting: does a candidate pass, and which is the next candidate if not.

All three filters keep the tokens down to some logit, so a candidate is judged by the logits above its own, and if it fails, every
logit no greater than its own fails too. Passes run over tiles of the row and skip those without a logit above the candidate's,
known from `tops`, the largest logit of every chunk: for a likely candidate that is nearly all of them.
"""

from typing import Any, NamedTuple

import triton
import triton.language as tl

from grammarlm.kernels.gpu.race import Race, arrival
from grammarlm.kernels.gpu.rows import (
    MINUS_INFINITY,
    TILE_CHUNKS,
    TILE_WORDS,
    LogitsRow,
    allowed_logit,
    allowed_logits,
    mask_words,
)

NO_TOKEN = tl.constexpr(2**31 - 1)


class Look(NamedTuple):
    """A row after `survey` (sample.py), with its race."""

    row: LogitsRow
    race: Race
    tiles: Any  # number of tiles
    tops: Any  # the largest allowed logit of each chunk
    top: Any  # the largest of all


@triton.jit
def survivor(token, look, total, k, p, m):
    """The first to arrive among the tokens that top-k, top-p and min-p (k, p, m; None = off) keep.

    `token` is the first of all and `total` the row's sum of exponentials relative to its largest logit. Each round's candidate has
    a larger logit than the last, and the largest of all passes, so the loop ends. Many rounds are unlikely: a candidate fails only
    with the total probability of the tokens filtered out.
    """
    floor = MINUS_INFINITY if m is None else tl.where(m > 0, tl.log2(tl.clamp(m, 1e-38, 1.0)), MINUS_INFINITY)
    limit = float("inf") if p is None else mass_limit(look, total, k, p)
    waiting = True
    while waiting:
        bar = allowed_logit(look.row, token)
        inside = (bar - look.top) * look.race.scale >= floor
        if (k is not None) or (p is not None):
            count, mass = above(bar, look)
            inside &= mass < limit
            if k is not None:
                inside &= (k <= 0) | (count < k)
        waiting = (inside | (bar >= look.top)) == 0
        if waiting:
            token = first_above(bar, look)
    return token


@triton.jit
def mass_limit(look, total, k, p):
    """For top-p, the mass above a token must be below this: p of what top-k keeps; +inf if p keeps all."""
    if k is not None:
        total = kept_mass(look, total, k, p)
    return tl.where(p < 1, p * total, float("inf"))


@triton.jit
def kept_mass(look, total, k, p):
    """The sum of exponentials of what top-k keeps; just `total`, that of all, where the result is not needed."""
    if (p < 1) & (k > 0):
        value, ties = kth_largest(look, k)
        _, mass = above(value, look)
        total = mass + ties.to(tl.float32) * tl.exp2((value - look.top) * look.race.scale)
    return total


@triton.jit
def has_above(bar, tile, look):
    """Is any logit of the tile above `bar`?"""
    chunk = tl.arange(0, look.tops.shape[0])
    return tl.max(tl.where(chunk // TILE_CHUNKS == tile, look.tops, MINUS_INFINITY)) > bar


@triton.jit
def above(bar, look):
    """The number of allowed logits above `bar`, and their sum of exponentials relative to the largest."""
    count, mass = 0, 0.0
    for tile in range(look.tiles):
        if has_above(bar, tile, look):
            word, number = mask_words(look.row, tile * TILE_WORDS, TILE_WORDS)
            x, _ = allowed_logits(look.row, word, number)
            count += tl.sum((x > bar).to(tl.int32))
            mass += tl.sum(tl.where(x > bar, tl.exp2((x - look.top) * look.race.scale), 0.0))
    return count, mass


@triton.jit
def first_above(bar, look):
    """The first to arrive among the logits above `bar`, ties by the lowest id. There is one: `bar` is below the largest."""
    first, token = float("inf"), NO_TOKEN
    for tile in range(look.tiles):
        if has_above(bar, tile, look):
            word, number = mask_words(look.row, tile * TILE_WORDS, TILE_WORDS)
            x, column = allowed_logits(look.row, word, number)
            time = tl.where(x > bar, arrival(x, look.top, number, look.race), float("inf"))
            soonest = tl.min(time)
            if soonest < first:
                first = soonest
                token = tl.min(tl.where(time == soonest, column, NO_TOKEN))
    return token


@triton.jit
def kth_largest(look, k):
    """(value, ties): the k-th largest allowed logit and how many are equal to it; -inf if fewer than k are allowed.

    Radix selection: each pass determines eight more bits of the value's `sortable`, from the top, by a histogram of the next digit
    of those that agree so far. Half-width types fill only the upper bits.
    """
    dtype: tl.constexpr = look.row.logits.dtype.element_ty
    PASSES: tl.constexpr = 4 if dtype == tl.float32 else (3 if dtype == tl.float16 else 2)
    digits = tl.arange(0, 256)
    found = tl.zeros((), tl.uint32)
    ties = 0
    for step in tl.static_range(PASSES):
        shift = 24 - 8 * step
        histogram = tl.zeros((256,), tl.int32)
        for tile in range(look.tiles):
            if has_above(MINUS_INFINITY, tile, look):
                word, number = mask_words(look.row, tile * TILE_WORDS, TILE_WORDS)
                x, _ = allowed_logits(look.row, word, number)
                key = tl.reshape(sortable(x), (TILE_WORDS * 32,)) >> shift
                histogram += tl.histogram((key & 255).to(tl.int32), 256, mask=(key >> 8) == found)
        at_least = tl.cumsum(histogram, reverse=True)
        digit = tl.maximum(tl.sum((at_least >= k).to(tl.int32)) - 1, 0)
        k -= tl.sum(tl.where(digits > digit, histogram, 0))
        ties = tl.sum(tl.where(digits == digit, histogram, 0))
        found = found * 256 + digit.to(tl.uint32)
    return tl.where(k > ties, MINUS_INFINITY, unsortable(found, 32 - 8 * PASSES)), ties


@triton.jit
def sortable(x):
    """uint32 in the order of the floats, with -0.0 equal to 0.0: sets the sign bit of positive floats, flips all bits of others."""
    bits = tl.where(x == 0, 0.0, x).to(tl.int32, bitcast=True)
    return (bits ^ ((bits >> 31) | -(1 << 31))).to(tl.uint32, bitcast=True)


@triton.jit
def unsortable(upper, LOWER_BITS: tl.constexpr):
    """The float of a `sortable` whose upper bits are `upper`; the LOWER_BITS, unused by narrower types, are zeros."""
    positive = (upper << LOWER_BITS) ^ (1 << 31)
    negative = (upper ^ 0xFFFFFFFF) << LOWER_BITS  # triton 3.7 does not interpret ~ of an unsigned number
    return tl.where((positive >> 31) == 0, positive, negative).to(tl.float32, bitcast=True)
