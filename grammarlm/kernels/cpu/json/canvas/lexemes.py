"""Numbers and escapes of a canvas: which threads have the same future, and which numbers are no longer told apart.

A number's future hangs on the place of its first digit, since an exponent may move the point: some ten thousand states for any
number, nearly all of them for exponents that nobody writes. So only exponents of EXPONENT_DIGITS digits are followed, and where a
number has bounds or steps only after SHORT digits; any other is LOOSE (layout/json_canvas.py).
"""

from numba import int64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.step.number_values import (
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
    SIGNED,
    TRAILING,
    powers_of_ten,
    word,
)
from grammarlm.kernels.cpu.json.step.numbers import number_key
from grammarlm.layout.json_canvas import (
    DIGITS_AHEAD,
    EXPONENT_AHEAD,
    EXPONENT_DIGITS,
    FAR,
    LARGEST_EXPONENT,
    LOOSE_DIGITS,
    LOOSE_E,
    LOOSE_POWER,
    LOOSE_SIGN,
    LOOSE_ZEROS,
    OPEN_ZEROS,
    SHORT,
    SHORT_ZEROS,
)
from grammarlm.layout.json_strings import HEX
from grammarlm.layout.numbers import Bound, Flag, Number

MANTISSA = 1 << 40  # marks keys of mantissas that are compared by less than their state
ANY_POWER = int64(LARGEST_EXPONENT << EXPONENT_BITS)  # limits 0 and LARGEST_EXPONENT, value 0


@inlined
def plain_text_escape(sub, escape):
    """Of an incomplete escape in a string of any text, only what decides whether the second half of a pair must follow."""
    found = int64(0)
    if sub == HEX + 1:
        found = int64(13) if escape == 13 else int64(0)
    elif sub == HEX + 2:
        found = int64(0xD8) if 0xD8 <= escape <= 0xDB else int64(0)
    elif sub == HEX + 3:
        found = int64(0xD80) if 0xD80 <= escape <= 0xDBF else int64(0)
    return found


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
def is_long(row, x):
    """Is an exponent after these digits not followed?"""
    phase = x & 15
    return INTEGER <= phase <= FRACTION and (x >> COUNT) & COUNT_MASK > SHORT and not is_open(row, x)


@part
def shared_number(row, pool, x, y):
    """(x, y, x, y): a state with the same future, and what is compared; x is LOOSE where it is not followed."""
    phase, flags = x & 15, word(row, Number.FLAGS)
    if flags & Flag.TIDY:
        known_x, known_y = number_key(row, pool, x, y, int64(DIGITS_AHEAD), int64(EXPONENT_AHEAD))
        return x, y, known_x, known_y
    if phase >= EXPONENT:
        return shared_exponent(x, y)
    if phase == NOUGHTS:
        if x >> PLACE > (OPEN_ZEROS if is_open(row, x) else SHORT_ZEROS):
            x = int64(LOOSE_ZEROS)
        return x, y, x, y
    if phase < INTEGER:
        return x, y, x, y
    if is_open(row, x):
        known = phase | (x & COUNT_MASK << COUNT)
        if flags & Flag.SYMMETRIC == 0:
            known |= x & SIGN
        return x, y, known, int64(MANTISSA)
    if (x >> COUNT) & COUNT_MASK <= SHORT:
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
def shared_exponent(x, y):
    """Exponents within +-LARGEST_EXPONENT, of EXPONENT_DIGITS digits."""
    phase = x & 15
    low, high = y & EXPONENT_MASK, (y >> EXPONENT_BITS) & EXPONENT_MASK
    most = int64(LARGEST_EXPONENT)
    if phase == EXPONENT:
        low = max(low, EXPONENT_BIAS - most)
        high = min(high, EXPONENT_BIAS + most)
    else:
        high = min(high, most)
    if low > high:
        loose = int64(LOOSE_E) if phase == EXPONENT else int64(LOOSE_SIGN) if phase == SIGNED else int64(LOOSE_POWER)
        return loose, int64(0), loose, int64(0)
    limits = low | high << EXPONENT_BITS
    if phase != POWER:
        return x, limits, x, limits
    value, count = (y >> (2 * EXPONENT_BITS)) & EXPONENT_MASK, y >> (3 * EXPONENT_BITS)
    if count > EXPONENT_DIGITS or (count == EXPONENT_DIGITS and not low <= value <= high):
        return int64(LOOSE_POWER), int64(0), int64(LOOSE_POWER), int64(0)
    if count == EXPONENT_DIGITS or (low <= value and 10 * value + 9 <= high and low <= 10 * value):
        y = ANY_POWER | count << (3 * EXPONENT_BITS)
    else:
        y = limits | value << (2 * EXPONENT_BITS) | count << (3 * EXPONENT_BITS)
    return x, y, x, y
