"""Numbers of a canvas: which states have the same future, and which numbers are no longer told apart.

A number's future hangs on the place of its first digit, since an exponent may move the point: some ten thousand states for any
number, nearly all of them for exponents that nobody writes. So only exponents to LARGEST_EXPONENT are followed, and where a number
has bounds or steps only after few digits; any other is loose (layout/json_canvas.py).
"""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.kernels.cpu.json.step.number_values import (
    powers_of_ten,
    word,
)
from grammarlm.kernels.cpu.json.step.numbers import number_key
from grammarlm.layout.json_canvas import (
    DIGITS_AHEAD,
    EXPONENT_AHEAD,
    FAR,
    LOOSE_DIGITS,
    LOOSE_E,
    LOOSE_POWER,
    LOOSE_SIGN,
    LOOSE_ZEROS,
    OPEN_EXPONENT,
)
from grammarlm.layout.numbers import (
    AT_ZERO,
    COUNT,
    COUNT_MASK,
    EQUAL,
    EXPONENT,
    EXPONENT_BIAS,
    EXPONENT_BITS,
    EXPONENT_MASK,
    FRACTION,
    HIGH_ORDER,
    INTEGER,
    LOW_ORDER,
    NOUGHTS,
    PLACE,
    POWER,
    SIGN,
    TRAILING,
    Bound,
    Flag,
    Number,
)

LOOSE_DIGIT_COUNT = 5  # of an exponent
MANTISSA = 1 << 40  # marks keys of mantissas that are compared by less than their state


@part
def is_open(row, x):
    """Any digits, and any exponent that is followed."""
    side = Number.NEGATIVE if x & SIGN else Number.POSITIVE
    far = word(row, side + Bound.LOW) <= -FAR and word(row, side + Bound.HIGH) >= FAR
    return far and word(row, Number.FLAGS) & (Flag.OPEN | Flag.STEPS | Flag.TIDY | Flag.PLAIN) == Flag.OPEN


@part
def loose_step(x, byte):
    """The form of a number that is not followed: its state after one more byte, 0: no such number."""
    is_digit = 48 <= byte <= 57
    if x == LOOSE_DIGITS or x == LOOSE_ZEROS:
        if byte == 69 or byte == 101:
            return int64(LOOSE_E)
        return int64(x) if is_digit or byte == 46 else int64(0)
    if x == LOOSE_E and (byte == 43 or byte == 45):
        return int64(LOOSE_SIGN)
    return int64(LOOSE_POWER) if is_digit else int64(0)


@part
def is_whole(row):
    """Are the steps those of integers?"""
    one = word(row, Number.MODULUS) == 1 and word(row, Number.FINEST_STEP) == 0 and word(row, Number.COARSEST) == 0
    return one and word(row, Number.POWERS) == 0 and word(row, Number.EXCLUDED) == 0


@part
def is_long(row, x, short, largest):
    """Is an exponent after these digits not followed?"""
    phase = x & 15
    if phase < INTEGER or phase > FRACTION or (x >> COUNT) & COUNT_MASK <= short or word(row, Number.FLAGS) & Flag.TIDY:
        return False
    return largest > OPEN_EXPONENT or not is_open(row, x)


@part
def is_large_power(row, x, y, byte, largest):
    """Does the digit make an exponent that is not followed?"""
    if word(row, Number.FLAGS) & Flag.TIDY:
        return False
    value = (y >> (2 * EXPONENT_BITS)) & EXPONENT_MASK
    is_cut = x & 15 == POWER and (y >> EXPONENT_BITS) & EXPONENT_MASK == largest
    return (
        is_cut
        and 48 <= byte <= 57
        and 10 * value + byte - 48 > largest
        and y >> (3 * EXPONENT_BITS) < LOOSE_DIGIT_COUNT
    )


@part
def shared_number(row, pool, x, y, short, open_zeros, largest):
    """(x, y, x, y): a state with the same future, and what is compared; x is LOOSE where it is not followed."""
    phase, flags = x & 15, word(row, Number.FLAGS)
    if flags & Flag.TIDY:
        known_x, known_y = number_key(row, pool, x, y, int64(DIGITS_AHEAD), int64(EXPONENT_AHEAD))
        return x, y, known_x, known_y
    if phase >= EXPONENT:
        return shared_exponent(row, pool, x, y, largest)
    if phase == NOUGHTS:
        if x >> PLACE > (open_zeros if is_open(row, x) and largest <= OPEN_EXPONENT else short):
            x = int64(LOOSE_ZEROS)
        return x, y, x, y
    if phase < INTEGER:
        return x, y, x, y
    if is_open(row, x) and largest <= OPEN_EXPONENT:
        known = phase | (x & COUNT_MASK << COUNT)
        if flags & Flag.SYMMETRIC == 0:
            known |= x & SIGN
        return x, y, known, int64(MANTISSA)
    if (x >> COUNT) & COUNT_MASK <= short:
        known_x, known_y = number_key(row, pool, x, y, int64(DIGITS_AHEAD), int64(EXPONENT_AHEAD))
        return x, y, known_x, known_y
    return long_mantissa(row, pool, x, y)


@part
def long_mantissa(row, pool, x, y):
    """Digits after which no exponent is followed: only the value as it stands matters."""
    phase, flags = x & 15, word(row, Number.FLAGS)
    count, place, trailing = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO, (x >> TRAILING) & COUNT_MASK
    orders = x & (3 << LOW_ORDER | 3 << HIGH_ORDER)
    known = phase | orders | count << COUNT | x & SIGN
    if flags & Flag.STEPS and not is_whole(row):
        return x, y, x, y
    if phase != INTEGER:
        low, high = powers_of_ten(row, pool, x, y)
        undecided = (x >> LOW_ORDER) & 3 == EQUAL or (x >> HIGH_ORDER) & 3 == EQUAL
        if flags & Flag.STEPS and count - 1 - place > trailing:
            return int64(LOOSE_DIGITS), int64(0), int64(LOOSE_DIGITS), int64(0)
        if undecided:
            known |= (place + AT_ZERO) << PLACE
        elif place < low or place > high:
            return int64(LOOSE_DIGITS), int64(0), int64(LOOSE_DIGITS), int64(0)
    return x, y, known, int64(MANTISSA)


@part
def power_key(row, y, most):
    """Digits of an exponent of at most two but for leading zeros: whether it may end, and the digits that may follow."""
    low, high = y & EXPONENT_MASK, (y >> EXPONENT_BITS) & EXPONENT_MASK
    value, count = (y >> (2 * EXPONENT_BITS)) & EXPONENT_MASK, y >> (3 * EXPONENT_BITS)
    if value == 0 or 100 * value <= high:
        return y
    least, largest = max(low - 10 * value, int64(0)), min(high - 10 * value, int64(9))
    if largest < least or count >= word(row, Number.EXPONENT_DIGITS):
        least, largest = int64(1), int64(0)
    loose = max(int64(0), min(LOOSE_DIGIT_COUNT - count, int64(1 + (value < 10)))) if high == most else int64(0)
    return -1 - (int64(low <= value <= high) | loose << 1 | least << 3 | largest << 7)


@part
def shared_exponent(row, pool, x, y, most):
    """Exponents cut to +-LARGEST_EXPONENT. Where all of those are valid, their digits are one of three: 0, one, two."""
    phase = x & 15
    low, high = y & EXPONENT_MASK, (y >> EXPONENT_BITS) & EXPONENT_MASK
    if phase == POWER:
        if most > OPEN_EXPONENT:
            known_x, known_y = number_key(row, pool, x, y, int64(DIGITS_AHEAD), int64(EXPONENT_AHEAD))
            return x, y, known_x, known_y
        return x, y, x, power_key(row, y, most)
    loose = int64(LOOSE_SIGN)
    if phase == EXPONENT:
        low, most, loose = max(low, EXPONENT_BIAS - most), EXPONENT_BIAS + most, int64(LOOSE_E)
    high = min(high, most)
    if low > high:
        return loose, int64(0), loose, int64(0)
    y = low | high << EXPONENT_BITS
    return x, y, x, y
