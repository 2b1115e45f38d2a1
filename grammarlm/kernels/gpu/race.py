"""The exponential race: draws token i with probability p[i], each token independently.

Token i gets a standard exponential variate, its noise, and arrives at time noise[i] / p[i]; the first to arrive is drawn. (The
negative logarithm of that time is log p[i] plus Gumbel noise: the Gumbel-max trick without a logarithm per token.) A race among
fewer tokens needs no new noise, only other p.

Noise depends only on (seed, position, token): Philox4x32-7 on these, then exactly rounded arithmetic, so that every device draws
the same numbers in any order; `grammarlm.kernels.reference.sampling` computes them in numpy.
"""

from typing import Any, NamedTuple

import triton
import triton.language as tl

ROUNDS = tl.constexpr(7)  # the fewest that pass BigCrush, says the paper that introduced Philox (Salmon et al., 2011)
ULP = tl.constexpr(2.0**-32)  # of a 32-bit word taken as a fraction
BELOW_ONE = tl.constexpr(1 - 2.0**-24)
TWO_THIRDS = tl.constexpr(0x3F2AAAAB)  # the bits of float32(2 / 3)
LN_2 = tl.constexpr(0.6931471805599453)
LOG2_E = tl.constexpr(1.4426950408889634)
# Temperatures are clamped to these, so that float32 represents them and their reciprocals well.
COLDEST = tl.constexpr(1e-30)
HOTTEST = tl.constexpr(1e30)


class Race(NamedTuple):
    """The race of one row."""

    seed: Any
    position: Any
    scale: Any  # converts a difference of logits to one of log2 p: log2 e / temperature, and log2 e in a greedy row
    noisy: Any  # False in a greedy row


@triton.jit
def race_of(row, seed, position, temperature):
    """The race of row `row`."""
    warmth = tl.load(temperature + row).to(tl.float32)
    noisy = warmth > 0
    scale = LOG2_E / tl.where(noisy, tl.clamp(warmth, COLDEST, HOTTEST), 1.0)
    return Race(tl.load(seed + row).to(tl.int64), tl.load(position + row).to(tl.int64), scale, noisy)


@triton.jit
def arrival(x, base, number, race):
    """Arrival times of the tokens of a tile with logits x [WORDS, 8, 4], mask words `number`: the least is drawn.

    Times are in units that make p = 1 for a logit equal to `base`; a logit far below it arrives at +inf. In a greedy row the time
    is the distance from `base`, without noise.
    """
    if race.noisy:
        noise = exponential(race.seed, race.position, number * 8 + tl.arange(0, 8)[None, :, None])
        time = tl.reshape(noise, x.shape) * tl.exp2((base - x) * race.scale)
    else:
        time = base - x
    return time


@triton.jit
def exponential(seed, position, counter):
    """Noise of tokens 4 * counter .. 4 * counter + 3: [...] -> float32 [..., 2, 2]. One Philox call serves four tokens."""
    counter = counter.to(tl.uint32)
    zero = counter * 0
    low, high = zero + position.to(tl.uint32), zero + (position >> 32).to(tl.uint32)
    a, b, c, d = tl.philox(seed, counter, low, high, zero, ROUNDS)
    v = tl.join(tl.join(a, c), tl.join(b, d)).to(tl.float32) * ULP + ULP / 2
    return minus_log_of_one_minus(tl.minimum(v, BELOW_ONE))


@triton.jit
def minus_log_of_one_minus(v):
    """-log(1 - v) for 2^-33 <= v < 1, with relative error 3e-7 also for tiny v: that end decides the winner.

    1 - v = 2^i * (1 - r) with r in [-1/3, 1/3], so the result is r * P(r) - i * log 2. For v < 1/3, i is 0 and r is v itself, so
    there is no cancellation. P is the minimax polynomial of -log(1 - r) / r with P(0) = 1, relative error 2e-7.
    """
    bits = (1 - v).to(tl.int32, bitcast=True)
    steps = (bits - TWO_THIRDS) & -(1 << 23)  # i, at the bit position of a float's exponent
    r = tl.where(steps == 0, v, 1 - (bits - steps).to(tl.float32, bitcast=True))
    p = tl.fma(r, 0.15266814827919006, 0.16990551352500916)
    p = tl.fma(r, p, 0.1644081026315689)
    p = tl.fma(r, p, 0.19818170368671417)
    p = tl.fma(r, p, 0.2500632405281067)
    p = tl.fma(r, p, 0.33336734771728516)
    p = tl.fma(r, p, 0.49999961256980896)
    p = tl.fma(r, p, 1.0)
    return tl.fma(steps.to(tl.float32), -LN_2 * 2.0**-23, r * p)
