"""JSON numbers within bounds and steps, read byte by byte: a state is live iff some continuation is a number in the shape.

A shape is a row of integers (`pack` in grammars/json_schema/numbers/rows.py, which describes the language and its caps). A state is
two words x and y; x < 0 is dead.

    x, y = number_start(row)
    x, y = number_step(row, pool, x, y, byte)      # exact: x >= 0 iff some continuation within the caps is in the shape
    number_ends(row, pool, x, y)                   # the number may end here
    number_key(row, pool, x, y, most, after)       # cache key: states with equal keys behave alike for the next few digits

While the mantissa is read, the value is d1.d2 ... dn * 10^q, where the exponent still determines q. So the state holds: n and the
power of ten of d1 as written; how the digits compare with those of the two bounds; the number of trailing zeros; and the digits
before these zeros as a number, modulo MODULUS. The valid q for given digits form an interval (`powers_of_ten`). When the exponent
begins, only that interval is kept.

**TIDY** rows accept floats as Python's repr writes them, and integers as digits. There the exponent is not free: it follows from
the digits before the point, or must be below -4 or above 15. So each form that the text can still take has its interval of powers
of ten, to which the above applies (`_tidy_can_be_completed`). Where digits are more precise than a float without an exponent,
bounds are integers (`in_halves` in grammars/json_schema/numbers/rows.py).

Can the digits be continued to a value in the shape? If they agree with a bound so far: yes, to the bound. Otherwise the rest is
free at every q strictly between, and without exclusions the largest q is the most likely to work (ten times a value is a value).
There k more digits give the range [d 10^k, (d + 1) 10^k), at the finest place that both the step and the cap on digits allow: it
holds a multiple of m iff -d 10^k mod m is below 10^k. No table is indexed by remainder, so any step works.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.numbers import (
    COARSEST,
    DIGITS,
    EASY,
    EXCLUDED,
    EXCLUDED_AT,
    EXPONENT_DIGITS,
    FARTHEST,
    FINEST,
    FINEST_STEP,
    FLAGS,
    HIGH,
    HIGH_LENGTH,
    LARGEST_EXPONENT,
    LEAST_TIDY,
    LOW,
    LOW_AT,
    LOW_LENGTH,
    MODULUS,
    MOST_TIDY,
    NEGATIVE,
    OPEN,
    PLAIN,
    POSITIVE,
    POWERS,
    RUN,
    SPELLED,
    STEP,
    STEPS,
    SYMMETRIC,
    TIDY,
    ZERO,
    ZEROS,
)

# Phases: the low four bits of x. Up to NOUGHTS only zeros were read.
START, MINUS, NOUGHT, NOUGHT_POINT, NOUGHTS, INTEGER, POINT, FRACTION, EXPONENT, SIGNED, POWER = range(11)
SIGN = 16  # the bit of a negative number
LOW_ORDER, HIGH_ORDER, COUNT, TRAILING, PLACE = 5, 7, 9, 21, 33  # bit offsets of the other fields of x
COUNT_MASK = 0xFFF
AT_ZERO = 8192  # bias of the power of ten of the first digit; for zeros: how many are after the point
DASH, DOT, PLUS, SMALL_E, LARGE_E = (ord(c) - 48 for c in "-.+eE")  # bytes minus 48, as digits are; none is in 0 to 9
EQUAL, LESS, GREATER = 0, 1, 2  # order of the digits so far against as many of a bound
EXPONENT_BITS = 18
EXPONENT_BIAS = 1 << 17
EXPONENT_MASK = (1 << EXPONENT_BITS) - 1
VIEW_LEFT, VIEW_ZEROS, VIEW_LAST, VIEW_BEHIND = 5, 17, 27, 42  # bit offsets of the fields of a view (a cache key)
VIEW_PLACE = VIEW_LAST
VIEW_FAR, VIEW_NEAR = 1 << 60, 1 << 61  # forms of a view; without either bit it is the state itself
NOWHERE = -(1 << 40)
TENS = 10 ** np.arange(19)
UNKNOWN = int64(-1)
NONE = int64(0)


@part
def word(address, i):
    return carray(pointer(address), 1, np.int64)[uint64(i)]


@part
def number_start(row):
    return int64(0), int64(0)


@part
def number_step(row, pool, x, y, byte):
    phase = x & 15
    digit = int64(byte) - 48
    flags = word(row, FLAGS)
    if phase < INTEGER or phase > FRACTION or digit < 0 or digit > 9:
        return _step_elsewhere(row, pool, x, y, digit)
    # Fast path: a digit after a nonzero one is nearly every step. The rest is separate, to keep this function small.
    if (x >> COUNT) & COUNT_MASK >= word(row, DIGITS):
        return UNKNOWN, y
    if phase == INTEGER:
        x += 1 << PLACE
    else:
        x |= FRACTION  # POINT becomes FRACTION by one more bit
    if flags & (OPEN | TIDY) == OPEN and x & (3 << LOW_ORDER) and x & (3 << HIGH_ORDER):
        return x + (1 << COUNT), y  # nothing depends on the value of the digit
    x = _with_digit(row, pool, x, digit)
    if digit and word(row, MODULUS) > 1:
        y = _with_rest(y, (x >> TRAILING) & COUNT_MASK, digit, word(row, MODULUS))
    if digit:
        x &= ~(COUNT_MASK << TRAILING)
    return (x if _is_alive(row, pool, x, y) else UNKNOWN), y


@part
def _is_alive(row, pool, x, y):
    if word(row, FLAGS) & (TIDY | PLAIN) == TIDY:
        return _tidy_can_be_completed(row, pool, x, y)
    return can_be_completed(row, pool, x, y)


@part
def _with_digit(row, pool, x, digit):
    """Counts one more digit and compares it with those of the bounds."""
    side = NEGATIVE if x & SIGN else POSITIVE
    if x & (3 << LOW_ORDER) == 0:
        x |= _compared(row, pool, side + LOW, (x >> COUNT) & COUNT_MASK, digit) << LOW_ORDER
    if x & (3 << HIGH_ORDER) == 0:
        x |= _compared(row, pool, side + HIGH, (x >> COUNT) & COUNT_MASK, digit) << HIGH_ORDER
    return x + (1 << COUNT) + ((digit == 0) << TRAILING)


@part
def _compared(row, pool, bound, count, digit):
    """Order of the next digit against the bound's, if all earlier ones were equal."""
    expected = int64(0)
    if count < word(row, bound + LOW_LENGTH):
        expected = (word(pool, word(row, bound + LOW_AT) + (count >> 4)) >> ((count & 15) << 2)) & 15
    if digit == expected:
        return int64(EQUAL)
    return int64(LESS) if digit < expected else int64(GREATER)


@part
def _with_rest(rest, zeros, digit, modulus):
    """The remainder of the digits so far, after `zeros` zeros and a nonzero digit."""
    return int64((uint64(_shifted(rest, zeros, modulus)) * uint64(10) + uint64(digit)) % uint64(modulus))


@part
def _step_elsewhere(row, pool, x, y, digit):
    """A step other than a digit after a nonzero one."""
    phase = x & 15
    if phase >= EXPONENT:
        return _step_exponent(row, x, y, digit)
    flags = word(row, FLAGS)
    side = NEGATIVE if x & SIGN else POSITIVE
    filled = word(row, side + LOW) <= word(row, side + HIGH)
    is_tidy = flags & (TIDY | PLAIN) == TIDY
    if digit == 0:
        x = _step_nought(row, x, filled)
        return (x if x < 0 or not is_tidy or _tidy_nought(row, pool, x, filled) else UNKNOWN), y
    if 1 <= digit <= 9:
        if not filled or phase == NOUGHT:
            return UNKNOWN, y
        place = AT_ZERO if phase <= MINUS else AT_ZERO - (x >> PLACE) - 1
        x = (x & SIGN) | (INTEGER if phase <= MINUS else FRACTION) | (place << PLACE)
        x = _with_digit(row, pool, x, digit)
        y = digit % word(row, MODULUS)
        return (x if flags & OPEN or _is_alive(row, pool, x, y) else UNKNOWN), y
    if digit == DASH and phase == START:
        if (flags & ZERO and flags & (TIDY | PLAIN) != TIDY | PLAIN) or word(row, NEGATIVE + LOW) <= word(
            row, NEGATIVE + HIGH
        ):
            return int64(MINUS | SIGN), y
    elif is_tidy:
        return _tidy_mark(row, pool, x, y, digit, filled)
    elif flags & PLAIN == 0:
        if digit == DOT:
            if phase == INTEGER and (x >> COUNT) & COUNT_MASK < word(row, DIGITS):
                return x + (POINT - INTEGER), y
            if phase == NOUGHT and (filled or word(row, ZEROS) > 0):
                return x + (NOUGHT_POINT - NOUGHT), y
        elif digit == SMALL_E or digit == LARGE_E:
            return _begin_exponent(row, pool, x, y)
    return UNKNOWN, y


@part
def _step_nought(row, x, filled):
    """A zero before any nonzero digit."""
    phase = x & 15
    flags = word(row, FLAGS)
    if phase == NOUGHT or not (flags & ZERO or (filled and flags & PLAIN == 0)):
        return UNKNOWN
    if x & SIGN and flags & (TIDY | PLAIN) == TIDY | PLAIN:
        return UNKNOWN  # an integer has no -0
    if phase <= MINUS:
        return (x & SIGN) | NOUGHT
    zeros = (x >> PLACE) + 1
    return (x & SIGN) | NOUGHTS | (zeros << PLACE) if zeros <= word(row, ZEROS) else UNKNOWN


@part
def number_ends(row, pool, x, y):
    phase = x & 15
    flags = word(row, FLAGS)
    if phase == NOUGHT or phase == NOUGHTS:
        if flags & TIDY and ((phase == NOUGHT and x & SIGN != 0) or (phase == NOUGHTS and x >> PLACE != 1)):
            return False
        return flags & ZERO != 0 and (phase == NOUGHTS or flags & SPELLED == 0)
    if phase == INTEGER or phase == FRACTION:
        if phase == INTEGER and flags & SPELLED:
            return False
        if phase == FRACTION and flags & TIDY and _has_idle_zero(x):
            return False
        low, high = powers_of_ten(row, pool, x, y)
        return low <= (x >> PLACE) - AT_ZERO <= high
    if phase == POWER:
        value = (y >> (2 * EXPONENT_BITS)) & EXPONENT_MASK
        if flags & TIDY and y >> (3 * EXPONENT_BITS) < 2:
            return False
        return (y & EXPONENT_MASK) <= value <= ((y >> EXPONENT_BITS) & EXPONENT_MASK)
    return False


@part
def powers_of_ten(row, pool, x, y):
    """(low, high): the powers of ten that the first digit may stand for, given the digits of x. Empty if low > high."""
    side = NEGATIVE if x & SIGN else POSITIVE
    count = (x >> COUNT) & COUNT_MASK
    order = (x >> LOW_ORDER) & 3
    low, high = word(row, side + LOW), word(row, side + HIGH)
    if order == LESS or (order == EQUAL and count < word(row, side + LOW_LENGTH)):
        low += 1
    if (x >> HIGH_ORDER) & 3 == GREATER:
        high -= 1
    if word(row, FLAGS) & STEPS == 0:
        return low, high
    last = count - 1 - ((x >> TRAILING) & COUNT_MASK)  # distance from the first digit to the last nonzero one
    powers = word(row, POWERS)
    more = _tens(y, word(row, STEP), powers)
    if more < 0:
        return int64(1), int64(0)
    low = max(low, more + word(row, FINEST) + last)
    at = word(row, EXCLUDED_AT)
    for i in range(word(row, EXCLUDED)):
        more = _tens(y, word(pool, at + 2 * i + 1), powers)
        if more >= 0:
            high = min(high, more + word(pool, at + 2 * i) + last - 1)
    return low, high


@part
def _tens(value, factor, most):
    """The least n such that value * 10^n is a multiple of the factor, -1 if there is none."""
    rest = uint64(value) % uint64(factor)
    for i in range(most + 1):
        if rest == 0:
            return int64(i)
        rest = rest * uint64(10) % uint64(factor)
    return int64(-1)


@part
def _shifted(value, tens, factor):
    """The remainder of value * 10^tens."""
    rest = uint64(value) % uint64(factor)
    for _ in range(tens):
        rest = rest * uint64(10) % uint64(factor)
    return int64(rest)


@part
def can_be_completed(row, pool, x, y):
    """Can more digits (or none) and an exponent complete the digits of x to a value in the shape?"""
    flags = word(row, FLAGS)
    side = NEGATIVE if x & SIGN else POSITIVE
    count = (x >> COUNT) & COUNT_MASK
    low_order, high_order = (x >> LOW_ORDER) & 3, (x >> HIGH_ORDER) & 3
    bottom, top = word(row, side + LOW), word(row, side + HIGH)
    fewest = count - 1 if flags & PLAIN else int64(NOWHERE)  # without point and exponent the place values are fixed
    if (low_order == EQUAL and fewest <= bottom) or (high_order == EQUAL and fewest <= top):
        return True
    bottom = max(bottom + (low_order == LESS), fewest)
    top -= high_order == GREATER
    if bottom > top:
        return False
    if flags & STEPS == 0:
        return True
    trailing = (x >> TRAILING) & COUNT_MASK
    first = word(row, FINEST) + count - 1 - trailing  # first power that puts the last nonzero digit at the finest place
    if word(row, EXCLUDED) == 0:
        if word(row, STEP) == 1:
            return top >= first
        return _holds_value(row, pool, top, count, trailing, y, int64(NOWHERE), False)
    first = max(first, bottom)
    for power in range(first, min(top, max(first, word(row, FARTHEST))) + 1):
        if _holds_value(row, pool, power, count, trailing, y, int64(NOWHERE), False):
            return True
    return False


@part
def _tidy_can_be_completed(row, pool, x, y):
    """The same for a tidy row: for each form that the text can still take, the powers of ten that belong to it."""
    phase = x & 15
    flags = word(row, FLAGS)
    count, place, trailing = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO, (x >> TRAILING) & COUNT_MASK
    is_idle = phase == FRACTION and _has_idle_zero(x)
    if flags & OPEN and phase != POINT and (not is_idle or count < word(row, DIGITS)):
        return True  # the bounds are beyond everything written without an exponent
    if phase == INTEGER:
        if place <= MOST_TIDY and _holds(row, pool, x, y, place, int64(MOST_TIDY), int64(NOWHERE), False):
            return True
        longest = word(row, DIGITS) - 1
        if flags & SPELLED == 0 and _holds(row, pool, x, y, max(place, MOST_TIDY + 1), longest, int64(0), False):
            return True
    elif _holds(row, pool, x, y, place, place, int64(NOWHERE), is_idle):
        return True
    if place != 0:
        return False
    another = phase == POINT or (phase == FRACTION and trailing > 0)  # the mantissa must still get a nonzero digit
    far = word(row, LARGEST_EXPONENT)
    return _holds(row, pool, x, y, int64(MOST_TIDY + 1), far, int64(NOWHERE), another) or _holds(
        row, pool, x, y, -far, int64(LEAST_TIDY - 1), int64(NOWHERE), another
    )


@part
def _has_idle_zero(x):
    """Does the fraction end in a zero, and is it more than that zero?"""
    count, place = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO
    return (x >> TRAILING) & COUNT_MASK != 0 and count - 1 - place > 1


@part
def _holds(row, pool, x, y, least, most, floor, another):
    """Can more digits, none finer than 10^floor, make a value in the shape whose first digit stands for 10^least to 10^most?
    `another`: at least one more nonzero digit is required.
    """
    side = NEGATIVE if x & SIGN else POSITIVE
    count = (x >> COUNT) & COUNT_MASK
    low_order, high_order = (x >> LOW_ORDER) & 3, (x >> HIGH_ORDER) & 3
    bottom, top = word(row, side + LOW), word(row, side + HIGH)
    low_length, high_length = word(row, side + LOW_LENGTH), word(row, side + HIGH_LENGTH)
    if low_order == EQUAL and least <= bottom <= most and (not another or count < low_length):
        if bottom - low_length + 1 >= floor:
            return True
    if high_order == EQUAL and least <= top <= most and (not another or count < high_length):
        if top - high_length + 1 >= floor:
            return True
    least = max(least, bottom + (low_order == LESS or (low_order == EQUAL and count < low_length)))
    most = min(most, top - (high_order != LESS))
    if least > most:
        return False
    if word(row, FLAGS) & STEPS == 0:
        return not another or count < word(row, DIGITS)
    trailing = (x >> TRAILING) & COUNT_MASK
    if word(row, EXCLUDED) == 0:
        return _holds_value(row, pool, most, count, trailing, y, floor, another)
    for power in range(least, min(most, max(least, word(row, FARTHEST))) + 1):
        if _holds_value(row, pool, power, count, trailing, y, floor, another):
            return True
    return False


@part
def _tidy_nought(row, pool, x, filled):
    """May a tidy text continue after these zeros, or end?"""
    zeros = x >> PLACE if x & 15 == NOUGHTS else int64(0)
    if word(row, FLAGS) & ZERO and zeros <= 1:
        return True
    return filled and _begins(row, pool, x & SIGN, int64(LEAST_TIDY), -1 - zeros)


@part
def _begins(row, pool, sign, least, most):
    """Is there a value in the shape whose first digit stands for 10^least to 10^most?"""
    if least > most:
        return False
    for digit in range(1, 10):
        x = _with_digit(row, pool, sign | FRACTION | (int64(AT_ZERO) << PLACE), int64(digit))
        if _holds(row, pool, x, digit % word(row, MODULUS), least, most, int64(NOWHERE), False):
            return True
    return False


@part
def _tidy_mark(row, pool, x, y, digit, filled):
    """A point or an `e` in a tidy text."""
    phase = x & 15
    place = (x >> PLACE) - AT_ZERO
    if digit == DOT:
        if phase == NOUGHT and (
            word(row, FLAGS) & ZERO or (filled and _begins(row, pool, x & SIGN, int64(LEAST_TIDY), int64(-1)))
        ):
            return x + (NOUGHT_POINT - NOUGHT), y
        if phase == INTEGER and place <= MOST_TIDY and (x >> COUNT) & COUNT_MASK < word(row, DIGITS):
            x += POINT - INTEGER
            if _tidy_can_be_completed(row, pool, x, y):
                return x, y
    elif (
        digit == SMALL_E
        and place == 0
        and (phase == INTEGER or (phase == FRACTION and not (x >> TRAILING) & COUNT_MASK))
    ):
        x2, y2 = _begin_exponent(row, pool, x, y)
        low, high = (y2 & EXPONENT_MASK) - EXPONENT_BIAS, ((y2 >> EXPONENT_BITS) & EXPONENT_MASK) - EXPONENT_BIAS
        if x2 >= 0 and (low < LEAST_TIDY or high > MOST_TIDY):
            return x2, y2
    return UNKNOWN, y


@part
def _holds_value(row, pool, power, count, trailing, y, floor, another):
    """Can more digits make the given ones, the first of which stands for 10^power, a value in the shape? Ignores bounds.
    floor, another: as in `_holds`.
    """
    finest, step, powers = word(row, FINEST), word(row, STEP), word(row, POWERS)
    place = power - count + 1
    more = min(word(row, DIGITS) - count, place - max(finest, floor))
    if more <= 0 and another:
        return False
    if more <= 0:
        tens = _tens(y, step, powers)
        return (
            tens >= 0
            and trailing + place - finest >= tens
            and not _is_excluded(row, pool, y, trailing, NONE, NONE, place)
        )
    place -= more
    for _ in range(min(place - finest, powers)):
        if step % 2 == 0:
            step //= 2
        if step % 5 == 0:
            step //= 5
    excluded, run = word(row, EXCLUDED), word(row, RUN)
    if excluded and _is_excluded(row, pool, NONE, NONE, NONE, step, place):
        return False
    if more >= 19:
        return True
    wide = TENS[more]
    if wide // (run + another) >= step:
        return True
    rest = _shifted(y, trailing + more, step)
    if rest or another:
        rest = step - rest
    for _ in range(run):
        if rest >= wide:
            return False
        if excluded == 0 or not _is_excluded(row, pool, y, trailing, more, rest, place):
            return True
        rest += step
    return False


@part
def _is_excluded(row, pool, y, trailing, more, digits, place):
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
    at, powers = word(row, EXCLUDED_AT), word(row, POWERS)
    for i in range(word(row, EXCLUDED)):
        factor = word(pool, at + 2 * i + 1)
        tens = _tens(_shifted(y, trailing + more, factor) + digits % factor, factor, powers)
        if 0 <= tens <= place - word(pool, at + 2 * i):
            return True
    return False


@part
def _begin_exponent(row, pool, x, y):
    phase = x & 15
    most = word(row, LARGEST_EXPONENT)
    low, high = -most, most
    if phase == INTEGER or phase == FRACTION:
        place = (x >> PLACE) - AT_ZERO
        low, high = powers_of_ten(row, pool, x, y)
        low, high = max(low - place, -most), min(high - place, most)
    elif (phase != NOUGHT and phase != NOUGHTS) or word(row, FLAGS) & ZERO == 0:
        return UNKNOWN, y
    if low > high:
        return UNKNOWN, y
    return int64(EXPONENT), (low + EXPONENT_BIAS) | ((high + EXPONENT_BIAS) << EXPONENT_BITS)


@part
def _step_exponent(row, x, y, digit):
    """Here y is: the least and the largest valid exponent, its value so far, the number of its digits.

    Before the sign both limits have EXPONENT_BIAS added, after it they are magnitudes.
    """
    phase = x & 15
    is_tidy = word(row, FLAGS) & TIDY
    low, high = y & EXPONENT_MASK, (y >> EXPONENT_BITS) & EXPONENT_MASK
    if phase == EXPONENT:
        low -= EXPONENT_BIAS
        high -= EXPONENT_BIAS
        if digit == DASH:
            low, high = -high, -low
        low = max(low, 0)
        if is_tidy:
            low = max(low, int64(1 - LEAST_TIDY if digit == DASH else MOST_TIDY + 1))
        if low > high or (is_tidy and digit != PLUS and digit != DASH):
            return UNKNOWN, y
        y = low | (high << EXPONENT_BITS)
        if digit == PLUS or digit == DASH:
            return int64(SIGNED), y
    if digit < 0 or digit > 9:
        return UNKNOWN, y
    value = ((y >> (2 * EXPONENT_BITS)) & EXPONENT_MASK) * 10 + digit
    count = (y >> (3 * EXPONENT_BITS)) + 1
    least, largest = value, value
    most = word(row, EXPONENT_DIGITS)
    if is_tidy and value < TENS[count - 1]:
        most = int64(2)  # a leading zero only if there would be fewer than two digits without it
    if is_tidy and count > most:
        return UNKNOWN, y
    for length in range(count, most + 1):
        if least <= high and largest >= low and not (is_tidy and length < 2):
            return int64(POWER), low | (high << EXPONENT_BITS) | (value << 2 * EXPONENT_BITS) | (
                count << 3 * EXPONENT_BITS
            )
        least *= 10
        largest = largest * 10 + 9
    return UNKNOWN, y


@part
def number_key(row, pool, x, y, most, after):
    """Cache key: states of one row with equal keys behave alike for the next characters, if these have at most `most` digits, at
    most `after` of them after an `e`.

    A token adds little, so most of a state does not matter: bounds are out of reach, and the limits of digits and zeros are far
    away. Nearly all tokenizers have no token with a digit after an `e`: with after = 0 there are far fewer keys.
    """
    phase = x & 15
    flags = word(row, FLAGS)
    if flags & (TIDY | PLAIN) == TIDY:
        return _tidy_key(row, x, y, most, after)
    if phase == POWER:
        return _view_of_power(row, x, y)
    if phase <= MINUS or phase >= EXPONENT:
        return x, y
    side = NEGATIVE if x & SIGN else POSITIVE
    known = int64(phase)
    if flags & SYMMETRIC == 0:
        known |= x & SIGN
    bottom, top = word(row, side + LOW), word(row, side + HIGH)
    count, place, trailing = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO, (x >> TRAILING) & COUNT_MASK
    behind = count - 1 - place  # digits after the point
    rising, falling = int64(0), int64(0)
    if phase <= NOUGHTS:
        behind = x >> PLACE
        place, count, trailing = -1 - behind, int64(0), int64(0)
        falling = most
        known |= min(most, word(row, ZEROS) - behind) << VIEW_ZEROS
        if bottom > top:
            return known, int64(0)
    elif phase == INTEGER:
        rising = most
    shift = int64(0)  # most that the exponent can be
    if flags & PLAIN == 0:
        for _ in range(min(after, word(row, EXPONENT_DIGITS))):
            shift = 10 * shift + 9
    left = word(row, DIGITS) - count  # a point requires one more
    easy = word(row, EASY)
    if shift == 0 and word(row, STEP) == 1 and word(row, EXCLUDED) == 0 and count + most + word(row, FINEST) <= top:
        easy = int64(0)  # any digits can be continued: the bounds leave room for a few more at the place of the step
    if bottom < place - shift - falling and place + shift + rising < top and (easy == 0 or left >= easy + most):
        known |= VIEW_FAR | (min(left, most + 1 + easy) << VIEW_LEFT)
        if flags & STEPS == 0:
            return known, int64(0)
        modulus = word(row, MODULUS)
        if shift == 0 and modulus < 1 << 30:
            # How the last nonzero digit relates to the places of the steps, now and after one more digit; remainders likewise.
            finest, coarsest = word(row, FINEST_STEP), word(row, COARSEST) + word(row, POWERS)
            last = max(-coarsest, min(behind - trailing, 1 - finest + rising)) if phase > NOUGHTS else int64(0)
            behind = min(behind, max(0, -finest))
            known |= ((last + AT_ZERO) << VIEW_LAST) | (behind << VIEW_BEHIND)
            if modulus == 1:
                return known, int64(0)
            whole = _shifted(y, trailing + 1, modulus)
            if word(row, EXCLUDED) == 0:
                y = 1 + _tens(y, modulus, word(row, POWERS))
            return known, y | (whole << 30)
    if flags & STEPS:
        return x - (x & SIGN) + (known & SIGN), y
    low_order, high_order = (x >> LOW_ORDER) & 3, (x >> HIGH_ORDER) & 3
    compared = int64(0)  # digits of the bounds that may still be compared
    if phase > NOUGHTS:
        if low_order == EQUAL:
            compared = min(count, word(row, side + LOW_LENGTH))
        if high_order == EQUAL:
            compared = max(compared, min(count, word(row, side + HIGH_LENGTH)))
    if shift == 0:
        place = max(bottom - 1 - rising, min(place, top + 1 + falling))
        if top - bottom >= 2 and (place + rising < bottom or place - falling > top):
            low_order, high_order, compared = int64(EQUAL), int64(EQUAL), int64(0)
    known |= VIEW_NEAR | (min(left, most + 1) << VIEW_LEFT) | ((place + AT_ZERO) << VIEW_PLACE)
    return known, low_order | (high_order << 2) | (compared << 4)


@part
def _tidy_key(row, x, y, most, after):
    """The same for a tidy row: if no bound is near what is written without an exponent, most of what was read does not matter."""
    phase = x & 15
    flags = word(row, FLAGS)
    if phase < INTEGER or phase > FRACTION or flags & (OPEN | STEPS) != OPEN:
        return x, y
    count, place = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO
    known = phase | (x & SIGN) | (min(word(row, DIGITS) - count, most + 1) << VIEW_LEFT)
    known |= (place == 0) << VIEW_LAST
    if phase == INTEGER:
        known |= min(max(MOST_TIDY + 1 - place, 0), most + 1) << (VIEW_LAST + 1)
    elif phase == FRACTION:
        is_last = min(count - 1 - place, 2)
        known |= ((x >> TRAILING) & COUNT_MASK != 0) << (VIEW_LAST + 1) | is_last << (VIEW_LAST + 2)
    if place != 0 or after == 0:
        return known, int64(0)
    orders = x & ((3 << LOW_ORDER) | (3 << HIGH_ORDER))
    return known, orders | (count << COUNT)


@part
def _view_of_power(row, x, y):
    """If the bounds do not separate exponents of the same length: for each length, whether those are valid."""
    low, high, value = (
        y & EXPONENT_MASK,
        (y >> EXPONENT_BITS) & EXPONENT_MASK,
        (y >> (2 * EXPONENT_BITS)) & EXPONENT_MASK,
    )
    least, largest = value, value
    known = int64(1)
    for _ in range(y >> (3 * EXPONENT_BITS), word(row, EXPONENT_DIGITS) + 1):
        if low <= least and largest <= high:
            known = 2 * known + 1
        elif largest < low or high < least:
            known = 2 * known
        else:
            return x, y
        least *= 10
        largest = largest * 10 + 9
    return x | VIEW_FAR, known
