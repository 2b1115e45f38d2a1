"""JSON numbers within bounds and steps, read byte by byte: a state is live iff some continuation is a number in the shape.

A shape is a row of integers (`pack` in grammars/json_schema/numbers/rows.py, which describes the language and its caps). A state is
two words x and y; x < 0 is dead.

    x, y = number_step(row, x, y, byte)      # from 0, 0; exact: x >= 0 iff some continuation within the caps is in the shape
    number_ends(row, x, y)                   # the number may end here
    number_key(row, x, y, most, after)       # cache key: states with equal keys behave alike for the next few digits

While the mantissa is read, the value is d1.d2 ... dn * 10^q. Without an exponent q follows from where the point is; with one (only
after a single digit before the point) it is free. So each form that the text can still take has its interval of powers of ten, and
the state holds: n and the power of ten of d1 as written; how the digits compare with those of the two bounds; the number of
trailing zeros; and the digits before these zeros as a number, modulo MODULUS. The valid q for given digits form an interval
(`powers_of_ten`). When the exponent begins, only that interval is kept.

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
    EXPONENT,
    EXPONENT_BIAS,
    EXPONENT_BITS,
    EXPONENT_MASK,
    FRACTION,
    HIGH_ORDER,
    INTEGER,
    LOW_ORDER,
    MINUS,
    NOUGHT,
    NOUGHT_POINT,
    NOUGHTS,
    PLACE,
    POINT,
    POWER,
    REST_BITS,
    REST_MASK,
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
    with_digit,
    with_rest,
    word,
)

VIEW_LEFT, VIEW_DECIMALS, VIEW_SINGLE, VIEW_IDLE = 5, 17, 59, 60  # bit offsets of the fields of a view (a cache key)
VIEW = 1 << 61  # without this bit it is the state itself


@part
def number_step(row, x, y, byte):
    phase = x & 15
    digit = int64(byte) - 48
    flags = word(row, Number.FLAGS)
    if phase < INTEGER or phase > FRACTION or digit < 0 or digit > 9:
        return _step_elsewhere(row, x, y, digit)
    # Fast path: a digit after a nonzero one is nearly every step. The rest is separate, to keep this function small.
    if (x >> COUNT) & COUNT_MASK >= word(row, Number.DIGITS):
        return UNKNOWN, y
    if phase == INTEGER:
        x += 1 << PLACE
    else:
        x |= FRACTION  # POINT becomes FRACTION by one more bit
    if flags & (Flag.OPEN | Flag.TIDY) == Flag.OPEN and x & (3 << LOW_ORDER) and x & (3 << HIGH_ORDER):
        return x + (1 << COUNT), y  # nothing depends on the value of the digit
    x = with_digit(row, x, digit)
    if digit and word(row, Number.MODULUS) > 1:
        y = with_rest(y, (x >> TRAILING) & COUNT_MASK, digit, word(row, Number.MODULUS))
    if digit:
        x &= ~(COUNT_MASK << TRAILING)
    return (x if is_alive(row, x, y) else UNKNOWN), y


@part
def _step_elsewhere(row, x, y, digit):
    """A step other than a digit after a nonzero one."""
    phase = x & 15
    if phase >= EXPONENT:
        return _step_exponent(row, x, y, digit)
    flags = word(row, Number.FLAGS)
    side = Number.NEGATIVE if x & SIGN else Number.POSITIVE
    filled = word(row, side + Bound.LOW) <= word(row, side + Bound.HIGH)
    if digit == 0:
        return _step_nought(row, x, filled), y
    if 1 <= digit <= 9:
        place = AT_ZERO if phase <= MINUS else AT_ZERO - (x >> PLACE) - 1
        if not filled or phase == NOUGHT or place < AT_ZERO + word(row, Number.LEAST):
            return UNKNOWN, y
        x = (x & SIGN) | (INTEGER if phase <= MINUS else FRACTION) | (place << PLACE)
        x = with_digit(row, x, digit)
        y = digit % word(row, Number.MODULUS)
        return (x if is_alive(row, x, y) else UNKNOWN), y
    if digit == DASH and phase == START:
        if (flags & Flag.ZERO and flags & (Flag.TIDY | Flag.PLAIN) != Flag.TIDY | Flag.PLAIN) or word(
            row, Number.NEGATIVE + Bound.LOW
        ) <= word(row, Number.NEGATIVE + Bound.HIGH):
            return int64(MINUS | SIGN), y
    elif flags & Flag.PLAIN == 0:
        if digit == DOT:
            return _step_point(row, x, y)
        if digit == SMALL_E or (digit == LARGE_E and flags & Flag.TIDY == 0):
            return _begin_exponent(row, x, y)
    return UNKNOWN, y


@part
def _step_nought(row, x, filled):
    """A zero before any nonzero digit."""
    phase = x & 15
    flags = word(row, Number.FLAGS)
    if phase == NOUGHT or (x & SIGN and flags & (Flag.TIDY | Flag.PLAIN) == Flag.TIDY | Flag.PLAIN):
        return UNKNOWN  # an integer has no -0
    zeros, found = int64(0), (x & SIGN) | NOUGHT
    if phase > MINUS:
        zeros = (x >> PLACE) + 1
        found = (x & SIGN) | NOUGHTS | (zeros << PLACE)
    return found if _zeros_can_go_on(row, x, zeros, filled) else UNKNOWN


@part
def _zeros_can_go_on(row, x, zeros, filled):
    """Is 0 with so many zeros after the point a number, or the beginning of one?"""
    flags = word(row, Number.FLAGS)
    if flags & Flag.ZERO and zeros <= word(row, Number.ZEROS):
        return True
    least, most = word(row, Number.LEAST), -1 - zeros
    if not filled or flags & Flag.PLAIN or least > most:
        return False
    if flags & (Flag.OPEN | Flag.TIDY) == Flag.OPEN:
        return True  # an exponent can follow
    return has_value_from(row, x & SIGN, least, most)


@part
def _step_point(row, x, y):
    phase = x & 15
    if phase == NOUGHT:  # it can go on, so it can after a point
        return x + (NOUGHT_POINT - NOUGHT), y
    if phase == INTEGER and (x >> COUNT) & COUNT_MASK < word(row, Number.DIGITS):
        x += POINT - INTEGER
        if is_alive(row, x, y):
            return x, y
    return UNKNOWN, y


@part
def number_ends(row, x, y):
    phase = x & 15
    flags = word(row, Number.FLAGS)
    if phase == NOUGHT or phase == NOUGHTS:
        if flags & Flag.TIDY and phase == NOUGHT and x & SIGN != 0:
            return False
        is_zero = flags & Flag.ZERO != 0 and x >> PLACE <= word(row, Number.ZEROS)
        return is_zero and (phase == NOUGHTS or flags & Flag.SPELLED == 0)
    if phase == INTEGER or phase == FRACTION:
        if phase == INTEGER and flags & Flag.SPELLED:
            return False
        if phase == FRACTION and flags & Flag.TIDY and has_idle_zero(x):
            return False
        low, high = powers_of_ten(row, x, y)
        return low <= (x >> PLACE) - AT_ZERO <= high
    return phase == POWER and y & 1 != 0


@part
def _begin_exponent(row, x, y):
    """It follows one digit before the point, or any digits where the row is OPEN and not TIDY."""
    phase = x & 15
    flags = word(row, Number.FLAGS)
    most = TENS[word(row, Number.EXPONENT_DIGITS)] - 1
    low, high = -most, most
    if phase == INTEGER or phase == FRACTION:
        place = (x >> PLACE) - AT_ZERO
        is_idle = phase == FRACTION and (x >> TRAILING) & COUNT_MASK != 0
        if (flags & Flag.TIDY and (is_idle or place != 0)) or (place != 0 and flags & Flag.OPEN == 0):
            return UNKNOWN, y
        low, high = powers_of_ten(row, x, y)
        low, high = max(low - place, -most), min(high - place, most)
    elif (phase != NOUGHT and phase != NOUGHTS) or flags & Flag.ZERO == 0 or flags & Flag.TIDY:
        return UNKNOWN, y
    if low > high or (low > word(row, Number.BELOW) and high < word(row, Number.ABOVE)):
        return UNKNOWN, y
    return int64(EXPONENT), (low + EXPONENT_BIAS) | ((high + EXPONENT_BIAS) << EXPONENT_BITS)


@part
def _step_exponent(row, x, y, digit):
    """Before the digits, y is the least and the largest valid exponent: before the sign with EXPONENT_BIAS added, after it as
    magnitudes. After a digit it is what may follow: may the number end (bit 0), and between which numbers the next 1, 2 or 3 digits
    may be."""
    phase = x & 15
    is_tidy = word(row, Number.FLAGS) & Flag.TIDY != 0
    low, high = y & EXPONENT_MASK, (y >> EXPONENT_BITS) & EXPONENT_MASK
    if phase == EXPONENT:
        is_signed = digit == DASH or digit == PLUS
        low, high = low - EXPONENT_BIAS, high - EXPONENT_BIAS
        if digit == DASH:
            low, high = max(-high, -word(row, Number.BELOW) if is_tidy else int64(0)), -low
        else:
            low = max(low, word(row, Number.ABOVE))
        if low > high or (is_tidy and not is_signed):
            return UNKNOWN, y
        if is_signed:
            return int64(SIGNED), low | (high << EXPONENT_BITS)
    if digit < 0 or digit > 9:
        return UNKNOWN, y
    rest = int64(0)
    for more in range(word(row, Number.EXPONENT_DIGITS) - (phase == POWER)):  # digits after this one
        if phase == POWER:
            shift = 1 + 2 * REST_BITS * more
            low, high = (y >> shift) & REST_MASK, ((y >> (shift + REST_BITS)) & REST_MASK) - 1
        elif is_tidy and (more == 0 or (digit == 0 and more > 1)):
            continue  # two digits at least, and a zero only before a single other one
        before = digit * TENS[more]
        first, last = max(low - before, int64(0)), min(high - before, TENS[more] - 1)
        if first <= last:
            rest |= int64(1) if more == 0 else (first | (last + 1) << REST_BITS) << (1 + 2 * REST_BITS * (more - 1))
    return (int64(POWER) if rest else UNKNOWN), rest


@part
def number_key(row, x, y, most, after):
    """Cache key: states of one row with equal keys behave alike for the next characters, if these have at most `most` digits, at
    most `after` of them after an `e`.

    A token adds little, so most of a state does not matter where bounds are out of reach and digits may be any: how many more there
    is room for, how many are after the point as far as the step asks, and whether an exponent or an end is possible.
    """
    phase = x & 15
    flags = word(row, Number.FLAGS)
    if phase < INTEGER or phase > FRACTION:
        return x, y
    side = Number.NEGATIVE if x & SIGN else Number.POSITIVE
    count, place, trailing = (x >> COUNT) & COUNT_MASK, (x >> PLACE) - AT_ZERO, (x >> TRAILING) & COUNT_MASK
    if flags & Flag.STEPS == 0 and trailing > 1:
        x -= (trailing - 1) << TRAILING
    rising = most if phase == INTEGER and flags & Flag.OPEN == 0 else int64(0)
    is_far = word(row, side + Bound.LOW) < place and place + rising < word(row, side + Bound.HIGH)
    if flags & Flag.OPEN:
        is_free = after == 0 or (place != 0 and flags & Flag.TIDY != 0)  # else it matters what an exponent can be
    else:
        is_whole = word(row, Number.MODULUS) == 1 and word(row, Number.EXCLUDED) == 0 and word(row, Number.FINEST) <= 0
        is_free = place != 0 and is_whole and flags & Flag.SPELLED == 0
    if not is_far or not is_free:
        return x, y
    known = VIEW | phase | (min(word(row, Number.DIGITS) - count, most + 1) << VIEW_LEFT)
    known |= x & SIGN | ((place == 0) << VIEW_SINGLE)
    if phase == FRACTION:
        finest = -word(row, Number.FINEST) if flags & Flag.STEPS else int64(0)
        known |= min(count - 1 - place, max(finest, int64(2))) << VIEW_DECIMALS
        known |= (flags & Flag.TIDY != 0 and trailing != 0) << VIEW_IDLE
    return known, int64(0)
