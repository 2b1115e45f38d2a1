"""Which values the digits read so far can still become."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.numbers import (
    AT_ZERO,
    COUNT,
    COUNT_MASK,
    EQUAL,
    FRACTION,
    GREATER,
    HIGH_ORDER,
    INTEGER,
    LESS,
    LOW_ORDER,
    PLACE,
    POINT,
    SIGN,
    TRAILING,
    Bound,
    Flag,
    Number,
)

DASH, DOT, PLUS, SMALL_E, LARGE_E = (ord(c) - 48 for c in "-.+eE")  # bytes minus 48, as digits are; none is in 0 to 9
NOWHERE = -(1 << 40)
TENS = 10 ** np.arange(19)
UNKNOWN = int64(-1)
NONE = int64(0)


@part
def word(address, i):
    return carray(pointer(address), 1, np.int64)[uint64(i)]


@part
def is_alive(row, x, y):
    """Can more digits (or none) and an exponent complete the digits of x to a value in the shape? For each form that the text
    can still take, there are powers of ten that belong to it."""
    phase = x & 15
    flags = word(row, Number.FLAGS)
    count, place = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO
    is_tidy = flags & Flag.TIDY != 0
    is_idle = is_tidy and phase == FRACTION and has_idle_zero(x)
    if flags & Flag.OPEN:
        return not is_idle or count < word(row, Number.DIGITS)
    most = place
    if phase == INTEGER:  # SPELLED: there must be room for a fraction
        most = word(row, Number.DIGITS) - (2 if flags & Flag.SPELLED else 1)
    if _holds(row, x, y, place, most, is_idle):
        return True
    if place != 0 or flags & Flag.PLAIN:
        return False
    # Before an exponent, the mantissa must still get a nonzero digit?
    another = is_tidy and (phase == POINT or (phase == FRACTION and (x >> TRAILING) & COUNT_MASK != 0))
    return _holds(row, x, y, word(row, Number.ABOVE), -int64(NOWHERE), another) or _holds(
        row, x, y, int64(NOWHERE), word(row, Number.BELOW), another
    )


@part
def with_digit(row, x, digit):
    """Counts one more digit and compares it with those of the bounds."""
    side = Number.NEGATIVE if x & SIGN else Number.POSITIVE
    if x & (3 << LOW_ORDER) == 0:
        x |= _compared(row, side + Bound.LOW, (x >> COUNT) & COUNT_MASK, digit) << LOW_ORDER
    if x & (3 << HIGH_ORDER) == 0:
        x |= _compared(row, side + Bound.HIGH, (x >> COUNT) & COUNT_MASK, digit) << HIGH_ORDER
    return x + (1 << COUNT) + ((digit == 0) << TRAILING)


@part
def _compared(row, bound, count, digit):
    """Order of the next digit against the bound's, if all earlier ones were equal."""
    expected = int64(0)
    if count < word(row, bound + Bound.LOW_LENGTH):
        expected = (word(row, word(row, bound + Bound.LOW_AT) + (count >> 4)) >> ((count & 15) << 2)) & 15
    if digit == expected:
        return int64(EQUAL)
    return int64(LESS) if digit < expected else int64(GREATER)


@part
def with_rest(rest, zeros, digit, modulus):
    """The remainder of the digits so far, after `zeros` zeros and a nonzero digit."""
    return int64((uint64(shifted(rest, zeros, modulus)) * uint64(10) + uint64(digit)) % uint64(modulus))


@part
def powers_of_ten(row, x, y):
    """(low, high): the powers of ten that the first digit may stand for, given the digits of x. Empty if low > high."""
    side = Number.NEGATIVE if x & SIGN else Number.POSITIVE
    count = (x >> COUNT) & COUNT_MASK
    order = (x >> LOW_ORDER) & 3
    low, high = word(row, side + Bound.LOW), word(row, side + Bound.HIGH)
    if order == LESS or (order == EQUAL and count < word(row, side + Bound.LOW_LENGTH)):
        low += 1
    if (x >> HIGH_ORDER) & 3 == GREATER:
        high -= 1
    if word(row, Number.FLAGS) & Flag.STEPS == 0:
        return low, high
    last = count - 1 - ((x >> TRAILING) & COUNT_MASK)  # distance from the first digit to the last nonzero one
    powers = word(row, Number.POWERS)
    more = tens_to(y, word(row, Number.STEP), powers)
    if more < 0:
        return int64(1), int64(0)
    low = max(low, more + word(row, Number.FINEST) + last)
    at = word(row, Number.EXCLUDED_AT)
    for i in range(word(row, Number.EXCLUDED)):
        more = tens_to(y, word(row, at + 2 * i + 1), powers)
        if more >= 0:
            high = min(high, more + word(row, at + 2 * i) + last - 1)
    return low, high


@part
def tens_to(value, factor, most):
    """The least n such that value * 10^n is a multiple of the factor, -1 if there is none."""
    rest = uint64(value) % uint64(factor)
    for i in range(most + 1):
        if rest == 0:
            return int64(i)
        rest = rest * uint64(10) % uint64(factor)
    return int64(-1)


@part
def shifted(value, tens, factor):
    """The remainder of value * 10^tens."""
    rest = uint64(value) % uint64(factor)
    for _ in range(tens):
        rest = rest * uint64(10) % uint64(factor)
    return int64(rest)


@part
def has_idle_zero(x):
    """Does the fraction end in a zero, and is it more than that zero?"""
    count, place = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO
    return (x >> TRAILING) & COUNT_MASK != 0 and count - 1 - place > 1


@part
def _holds(row, x, y, least, most, another):
    """Can more digits make a value in the shape whose first digit stands for 10^least to 10^most? `another`: at least one more
    nonzero digit is required."""
    side = Number.NEGATIVE if x & SIGN else Number.POSITIVE
    count = (x >> COUNT) & COUNT_MASK
    low_order, high_order = (x >> LOW_ORDER) & 3, (x >> HIGH_ORDER) & 3
    bottom, top = word(row, side + Bound.LOW), word(row, side + Bound.HIGH)
    low_length, high_length = word(row, side + Bound.LOW_LENGTH), word(row, side + Bound.HIGH_LENGTH)
    if low_order == EQUAL and least <= bottom <= most and (not another or count < low_length):
        return True
    if high_order == EQUAL and least <= top <= most and (not another or count < high_length):
        return True
    least = max(least, bottom + (low_order == LESS or (low_order == EQUAL and count < low_length)))
    most = min(most, top - (high_order != LESS))
    if least > most:
        return False
    if word(row, Number.FLAGS) & Flag.STEPS == 0:
        return not another or count < word(row, Number.DIGITS)
    trailing = (x >> TRAILING) & COUNT_MASK
    first = (
        word(row, Number.FINEST) + count - 1 - trailing
    )  # first power that puts the last nonzero digit at the finest place
    if word(row, Number.EXCLUDED) == 0:
        if word(row, Number.STEP) == 1 and not another:
            return most >= first
        return _holds_value(row, most, count, trailing, y, another)
    least = max(least, first)
    for power in range(least, min(most, max(least, word(row, Number.FARTHEST))) + 1):
        if _holds_value(row, power, count, trailing, y, another):
            return True
    return False


@part
def has_value_from(row, sign, least, most):
    """Is there a value in the shape whose first digit stands for 10^least to 10^most?"""
    if least > most:
        return False
    for digit in range(1, 10):
        x = with_digit(row, sign | FRACTION | (int64(AT_ZERO) << PLACE), int64(digit))
        if _holds(row, x, digit % word(row, Number.MODULUS), least, most, False):
            return True
    return False


@part
def _holds_value(row, power, count, trailing, y, another):
    """Can more digits make the given ones, the first of which stands for 10^power, a value in the shape? Ignores bounds.
    `another`: as in `_holds`."""
    finest, step, powers = word(row, Number.FINEST), word(row, Number.STEP), word(row, Number.POWERS)
    place = power - count + 1
    more = min(word(row, Number.DIGITS) - count, place - finest)
    if more <= 0 and another:
        return False
    if more <= 0:
        tens = tens_to(y, step, powers)
        return tens >= 0 and trailing + place - finest >= tens and not _is_excluded(row, y, trailing, NONE, NONE, place)
    place -= more
    for _ in range(min(place - finest, powers)):
        if step % 2 == 0:
            step //= 2
        if step % 5 == 0:
            step //= 5
    excluded, run = word(row, Number.EXCLUDED), word(row, Number.RUN)
    if excluded and _is_excluded(row, NONE, NONE, NONE, step, place):
        return False
    if more >= 19:
        return True
    wide = TENS[more]
    if wide // (run + another) >= step:
        return True
    rest = shifted(y, trailing + more, step)
    if rest or another:
        rest = step - rest
    for _ in range(run):
        if rest >= wide:
            return False
        if excluded == 0 or not _is_excluded(row, y, trailing, more, rest, place):
            return True
        rest += step
    return False


@part
def _is_excluded(row, y, trailing, more, digits, place):
    """Is (y 10^(trailing + more) + digits) 10^place a multiple of an exclusion? 10 does not divide y."""
    if digits == 0:
        place += trailing + more
        trailing = int64(0)
        more = int64(0)
    else:
        while digits % 10 == 0:
            digits //= 10
            more -= 1
            place += 1
    at, powers = word(row, Number.EXCLUDED_AT), word(row, Number.POWERS)
    for i in range(word(row, Number.EXCLUDED)):
        factor = word(row, at + 2 * i + 1)
        tens = tens_to(shifted(y, trailing + more, factor) + digits % factor, factor, powers)
        if 0 <= tens <= place - word(row, at + 2 * i):
            return True
    return False
