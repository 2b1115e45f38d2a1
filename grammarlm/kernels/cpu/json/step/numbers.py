"""JSON numbers within bounds and steps, read byte by byte: a state is live iff some continuation is a number in the shape.

A shape is a row of integers (`pack` in grammars/json_schema/numbers/rows.py, which describes the language and its caps). A state is
two words x and y; x < 0 is dead.

    x, y = number_step(row, pool, x, y, byte)      # from 0, 0; exact: x >= 0 iff some continuation within the caps is in the shape
    number_ends(row, pool, x, y)                   # the number may end here
    number_key(row, pool, x, y, most, after)       # cache key: states with equal keys behave alike for the next few digits

While the mantissa is read, the value is d1.d2 ... dn * 10^q, where the exponent still determines q. So the state holds: n and the
power of ten of d1 as written; how the digits compare with those of the two bounds; the number of trailing zeros; and the digits
before these zeros as a number, modulo MODULUS. The valid q for given digits form an interval (`powers_of_ten`). When the exponent
begins, only that interval is kept.

**TIDY** rows accept floats as Python's repr writes them, and integers as digits. There the exponent is not free: it follows from
the digits before the point, or must be below -4 or above 15. So each form that the text can still take has its interval of powers
of ten, to which the above applies (`tidy_can_be_completed`). Where digits are more precise than a float without an exponent,
bounds are integers (`in_halves` in grammars/json_schema/numbers/rows.py).

Can the digits be continued to a value in the shape? If they agree with a bound so far: yes, to the bound. Otherwise the rest is
free at every q strictly between, and without exclusions the largest q is the most likely to work (ten times a value is a value).
There k more digits give the range [d 10^k, (d + 1) 10^k), at the finest place that both the step and the cap on digits allow: it
holds a multiple of m iff -d 10^k mod m is below 10^k. No table is indexed by remainder, so any step works.
"""

from numba import int64

from grammarlm.kernels.cpu.jit import part
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
    LEAST_TIDY,
    LOW_ORDER,
    MINUS,
    MOST_TIDY,
    NOUGHT,
    NOUGHT_POINT,
    NOUGHTS,
    PLACE,
    POINT,
    POWER,
    SIGN,
    SIGNED,
    START,
    TRAILING,
    Bound,
    Flag,
    Number,
)

from .number_values import (
    DASH,
    DOT,
    LARGE_E,
    PLUS,
    SMALL_E,
    TENS,
    UNKNOWN,
    has_idle_zero,
    has_value_from,
    is_alive,
    powers_of_ten,
    shifted,
    tens_to,
    tidy_can_be_completed,
    with_digit,
    with_rest,
    word,
)

VIEW_LEFT, VIEW_ZEROS, VIEW_LAST, VIEW_DECIMALS = 5, 17, 27, 42  # bit offsets of the fields of a view (a cache key)
VIEW_PLACE = VIEW_LAST
VIEW_FAR, VIEW_NEAR = 1 << 60, 1 << 61  # forms of a view; without either bit it is the state itself


@part
def number_step(row, pool, x, y, byte):
    phase = x & 15
    digit = int64(byte) - 48
    flags = word(row, Number.FLAGS)
    if phase < INTEGER or phase > FRACTION or digit < 0 or digit > 9:
        return _step_elsewhere(row, pool, x, y, digit)
    # Fast path: a digit after a nonzero one is nearly every step. The rest is separate, to keep this function small.
    if (x >> COUNT) & COUNT_MASK >= word(row, Number.DIGITS):
        return UNKNOWN, y
    if phase == INTEGER:
        x += 1 << PLACE
    else:
        x |= FRACTION  # POINT becomes FRACTION by one more bit
    if flags & (Flag.OPEN | Flag.TIDY) == Flag.OPEN and x & (3 << LOW_ORDER) and x & (3 << HIGH_ORDER):
        return x + (1 << COUNT), y  # nothing depends on the value of the digit
    x = with_digit(row, pool, x, digit)
    if digit and word(row, Number.MODULUS) > 1:
        y = with_rest(y, (x >> TRAILING) & COUNT_MASK, digit, word(row, Number.MODULUS))
    if digit:
        x &= ~(COUNT_MASK << TRAILING)
    return (x if is_alive(row, pool, x, y) else UNKNOWN), y


@part
def _step_elsewhere(row, pool, x, y, digit):
    """A step other than a digit after a nonzero one."""
    phase = x & 15
    if phase >= EXPONENT:
        return _step_exponent(row, x, y, digit)
    flags = word(row, Number.FLAGS)
    side = Number.NEGATIVE if x & SIGN else Number.POSITIVE
    filled = word(row, side + Bound.LOW) <= word(row, side + Bound.HIGH)
    is_tidy = flags & (Flag.TIDY | Flag.PLAIN) == Flag.TIDY
    if digit == 0:
        x = _step_nought(row, x, filled)
        return (x if x < 0 or not is_tidy or _tidy_nought(row, pool, x, filled) else UNKNOWN), y
    if 1 <= digit <= 9:
        if not filled or phase == NOUGHT:
            return UNKNOWN, y
        place = AT_ZERO if phase <= MINUS else AT_ZERO - (x >> PLACE) - 1
        x = (x & SIGN) | (INTEGER if phase <= MINUS else FRACTION) | (place << PLACE)
        x = with_digit(row, pool, x, digit)
        y = digit % word(row, Number.MODULUS)
        return (x if flags & Flag.OPEN or is_alive(row, pool, x, y) else UNKNOWN), y
    if digit == DASH and phase == START:
        if (flags & Flag.ZERO and flags & (Flag.TIDY | Flag.PLAIN) != Flag.TIDY | Flag.PLAIN) or word(
            row, Number.NEGATIVE + Bound.LOW
        ) <= word(row, Number.NEGATIVE + Bound.HIGH):
            return int64(MINUS | SIGN), y
    elif is_tidy:
        return _tidy_mark(row, pool, x, y, digit, filled)
    elif flags & Flag.PLAIN == 0:
        if digit == DOT:
            if phase == INTEGER and (x >> COUNT) & COUNT_MASK < word(row, Number.DIGITS):
                return x + (POINT - INTEGER), y
            if phase == NOUGHT and (filled or word(row, Number.ZEROS) > 0):
                return x + (NOUGHT_POINT - NOUGHT), y
        elif digit == SMALL_E or digit == LARGE_E:
            return _begin_exponent(row, pool, x, y)
    return UNKNOWN, y


@part
def _step_nought(row, x, filled):
    """A zero before any nonzero digit."""
    phase = x & 15
    flags = word(row, Number.FLAGS)
    if phase == NOUGHT or not (flags & Flag.ZERO or (filled and flags & Flag.PLAIN == 0)):
        return UNKNOWN
    if x & SIGN and flags & (Flag.TIDY | Flag.PLAIN) == Flag.TIDY | Flag.PLAIN:
        return UNKNOWN  # an integer has no -0
    if phase <= MINUS:
        return (x & SIGN) | NOUGHT
    zeros = (x >> PLACE) + 1
    return (x & SIGN) | NOUGHTS | (zeros << PLACE) if zeros <= word(row, Number.ZEROS) else UNKNOWN


@part
def number_ends(row, pool, x, y):
    phase = x & 15
    flags = word(row, Number.FLAGS)
    if phase == NOUGHT or phase == NOUGHTS:
        if flags & Flag.TIDY and ((phase == NOUGHT and x & SIGN != 0) or (phase == NOUGHTS and x >> PLACE != 1)):
            return False
        return flags & Flag.ZERO != 0 and (phase == NOUGHTS or flags & Flag.SPELLED == 0)
    if phase == INTEGER or phase == FRACTION:
        if phase == INTEGER and flags & Flag.SPELLED:
            return False
        if phase == FRACTION and flags & Flag.TIDY and has_idle_zero(x):
            return False
        low, high = powers_of_ten(row, pool, x, y)
        return low <= (x >> PLACE) - AT_ZERO <= high
    if phase == POWER:
        value = (y >> (2 * EXPONENT_BITS)) & EXPONENT_MASK
        if flags & Flag.TIDY and y >> (3 * EXPONENT_BITS) < 2:
            return False
        return (y & EXPONENT_MASK) <= value <= ((y >> EXPONENT_BITS) & EXPONENT_MASK)
    return False


@part
def _tidy_nought(row, pool, x, filled):
    """May a tidy text continue after these zeros, or end?"""
    zeros = x >> PLACE if x & 15 == NOUGHTS else int64(0)
    if word(row, Number.FLAGS) & Flag.ZERO and zeros <= 1:
        return True
    return filled and has_value_from(row, pool, x & SIGN, int64(LEAST_TIDY), -1 - zeros)


@part
def _tidy_mark(row, pool, x, y, digit, filled):
    """A point or an `e` in a tidy text."""
    phase = x & 15
    place = (x >> PLACE) - AT_ZERO
    if digit == DOT:
        if phase == NOUGHT and (
            word(row, Number.FLAGS) & Flag.ZERO
            or (filled and has_value_from(row, pool, x & SIGN, int64(LEAST_TIDY), int64(-1)))
        ):
            return x + (NOUGHT_POINT - NOUGHT), y
        if phase == INTEGER and place <= MOST_TIDY and (x >> COUNT) & COUNT_MASK < word(row, Number.DIGITS):
            x += POINT - INTEGER
            if tidy_can_be_completed(row, pool, x, y):
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
def _begin_exponent(row, pool, x, y):
    phase = x & 15
    most = word(row, Number.LARGEST_EXPONENT)
    low, high = -most, most
    if phase == INTEGER or phase == FRACTION:
        place = (x >> PLACE) - AT_ZERO
        low, high = powers_of_ten(row, pool, x, y)
        low, high = max(low - place, -most), min(high - place, most)
    elif (phase != NOUGHT and phase != NOUGHTS) or word(row, Number.FLAGS) & Flag.ZERO == 0:
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
    is_tidy = word(row, Number.FLAGS) & Flag.TIDY
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
    most = word(row, Number.EXPONENT_DIGITS)
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
    flags = word(row, Number.FLAGS)
    if flags & (Flag.TIDY | Flag.PLAIN) == Flag.TIDY:
        return _tidy_key(row, x, y, most, after)
    if phase == POWER:
        return _view_of_power(row, x, y)
    if phase <= MINUS or phase >= EXPONENT:
        return x, y
    side = Number.NEGATIVE if x & SIGN else Number.POSITIVE
    known = int64(phase)
    if flags & Flag.SYMMETRIC == 0:
        known |= x & SIGN
    bottom, top = word(row, side + Bound.LOW), word(row, side + Bound.HIGH)
    count, place, trailing = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO, (x >> TRAILING) & COUNT_MASK
    decimals = count - 1 - place  # digits after the point
    rising, falling = int64(0), int64(0)
    if phase <= NOUGHTS:
        decimals = x >> PLACE
        place, count, trailing = -1 - decimals, int64(0), int64(0)
        falling = most
        known |= min(most, word(row, Number.ZEROS) - decimals) << VIEW_ZEROS
        if bottom > top:
            return known, int64(0)
    elif phase == INTEGER:
        rising = most
    shift = int64(0)  # most that the exponent can be
    if flags & Flag.PLAIN == 0:
        for _ in range(min(after, word(row, Number.EXPONENT_DIGITS))):
            shift = 10 * shift + 9
    left = word(row, Number.DIGITS) - count  # a point requires one more
    easy = word(row, Number.EASY)
    if (
        shift == 0
        and word(row, Number.STEP) == 1
        and word(row, Number.EXCLUDED) == 0
        and count + most + word(row, Number.FINEST) <= top
    ):
        easy = int64(0)  # any digits can be continued: the bounds leave room for a few more at the place of the step
    if bottom < place - shift - falling and place + shift + rising < top and (easy == 0 or left >= easy + most):
        known |= VIEW_FAR | (min(left, most + 1 + easy) << VIEW_LEFT)
        if flags & Flag.STEPS == 0:
            return known, int64(0)
        modulus = word(row, Number.MODULUS)
        if shift == 0 and modulus < 1 << 30:
            # How the last nonzero digit relates to the places of the steps, now and after one more digit; remainders likewise.
            finest, coarsest = word(row, Number.FINEST_STEP), word(row, Number.COARSEST) + word(row, Number.POWERS)
            last = max(-coarsest, min(decimals - trailing, 1 - finest + rising)) if phase > NOUGHTS else int64(0)
            decimals = min(decimals, max(0, -finest))
            known |= ((last + AT_ZERO) << VIEW_LAST) | (decimals << VIEW_DECIMALS)
            if modulus == 1:
                return known, int64(0)
            whole = shifted(y, trailing + 1, modulus)
            if word(row, Number.EXCLUDED) == 0:
                y = 1 + tens_to(y, modulus, word(row, Number.POWERS))
            return known, y | (whole << 30)
    if flags & Flag.STEPS:
        return x - (x & SIGN) + (known & SIGN), y
    low_order, high_order = (x >> LOW_ORDER) & 3, (x >> HIGH_ORDER) & 3
    compared = int64(0)  # digits of the bounds that may still be compared
    if phase > NOUGHTS:
        if low_order == EQUAL:
            compared = min(count, word(row, side + Bound.LOW_LENGTH))
        if high_order == EQUAL:
            compared = max(compared, min(count, word(row, side + Bound.HIGH_LENGTH)))
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
    flags = word(row, Number.FLAGS)
    if phase < INTEGER or phase > FRACTION or flags & (Flag.OPEN | Flag.STEPS) != Flag.OPEN:
        return x, y
    count, place = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO
    known = phase | (x & SIGN) | (min(word(row, Number.DIGITS) - count, most + 1) << VIEW_LEFT)
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
    low, high = y & EXPONENT_MASK, (y >> EXPONENT_BITS) & EXPONENT_MASK
    value = (y >> (2 * EXPONENT_BITS)) & EXPONENT_MASK
    least, largest = value, value
    known = int64(1)
    for _ in range(y >> (3 * EXPONENT_BITS), word(row, Number.EXPONENT_DIGITS) + 1):
        if low <= least and largest <= high:
            known = 2 * known + 1
        elif largest < low or high < least:
            known = 2 * known
        else:
            return x, y
        least *= 10
        largest = largest * 10 + 9
    return x | VIEW_FAR, known
