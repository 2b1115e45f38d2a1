"""Number shapes compiled for the kernel: which decimals a shape admits, as a row of integers.

The language of a shape is every JSON number (`-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?`) whose exact value the shape admits,
within caps that keep a model from writing digits endlessly:

    digits           25   from the first that is not 0 to the last before the exponent; more where a bound, a multiple or a single
                     value of the shape has more (one more than that has: some value fits between two bounds); single values and the
                     least of integers can be written in digits alone, 10^30 in 31
    zeros            330  zeros between the point and the first other digit; more where the schema names a smaller magnitude
    exponent_digits  5    digits of the exponent, leading zeros included
    smallest, largest     the magnitude of nonzero numbers: 2.5e-324 to 1.7976931348623158e308. What readers of doubles accept,
                          denormal numbers included: beyond, they read 0 or infinity

Where a shape names a magnitude beyond these two (a bound, a single value, a multiple), numbers of its sign may be as large or small
as that, and one power of ten more (`_range`). So what a schema names can always be written.

The form never matters for the value: the exponent can move the point anywhere within these caps (`_check_room` ensures it). So the
possible continuations of a text depend on its digits d1 d2 ... dn, and on the final power q of ten of d1. Why this is easy to
decide:

**Intervals become closed.** With a bounded number of digits there is a smallest and a largest admitted magnitude for each sign.
`plan` computes them, so bounds are closed and attained by values in the language. While the digits agree with a bound's, that bound
can still be written, and nothing else needs to be checked.

**Tidy** numbers are spelled as json.dumps does: whole numbers in digits (the only form where the shape demands an integer), others,
and those too, as Python's repr of a float: without an exponent from 1e-4 to below 1e16, as d.ddde+XX beyond, without redundant
zeros. They are the same values, with as many digits as any number here: up to 25, although a float needs only 17.

**Multiples reduce to one step.** "A multiple of each of these" is a multiple of their least common multiple, s = A 10^f with 10 not
dividing A. If a value is one, so is ten times it; if it is none, neither is a tenth of it. So the admitted powers q for given
digits are an interval, whatever the shape.

Values are integers here, in units of 10^-places: the finest decimal that the caps allow.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm, log2

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.shapes import NumberShape

from ...layout.numbers import (
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
    HIGH_AT,
    LARGEST_EXPONENT,
    LEAST_TIDY,
    LOW,
    LOW_AT,
    LOW_LENGTH,
    MODULUS,
    MOST_TIDY,
    NEGATIVE,
    NEVER_EASY,
    NUMBER_COLUMNS,
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


@dataclass(frozen=True, slots=True)
class Caps:
    digits: int = 25
    zeros: int = 330
    exponent_digits: int = 5
    smallest: tuple[int, int] = (25, -325)  # times this power of ten
    largest: tuple[int, int] = (17976931348623158, 292)


CAPS = Caps()
Packed = tuple[tuple[int, ...], tuple[int, ...]]  # a row's columns; its part of the pool
MOST_DIGITS = 1000  # digits of a bound or multiple; the kernel counts them in few bits
MOST_ZEROS = 1000
FAR_BITS = 1000  # magnitudes between 2^-1000 and 2^1000 are within the caps
LARGEST_MODULUS = 9 * 10**17  # ten times it plus a digit fits 63 bits
MOST_EXCLUDED = 10

# Any so many consecutive integers include one that none of k given integers above 1 divides (Jacobsthal's function of k primes).
LONGEST_RUN = (1, 2, 4, 6, 10, 14, 22, 26, 34, 40, 46)

CONTINUATION = re.compile(rb"([0-9]*\.?[0-9]*)(?:[eE][+-]?([0-9]*))?")  # rest of a number, from within the mantissa
TENS = [10**i for i in range(700)]
HALVES = [(1 << i, 10 ** (1 << i)) for i in range(13, -1, -1)]


@dataclass(frozen=True, slots=True)
class Plan:
    """The values that a shape admits, in units of 10^-places."""

    digits: int
    places: int
    zeros: int
    zero: bool
    step: int  # all values are multiples of it
    excluded: tuple[int, ...]  # multiples of the step whose multiples are not admitted
    sides: tuple[tuple[int, int] | None, tuple[int, int] | None]  # magnitudes: of positive numbers, of negative ones
    from_least: tuple[bool, bool]  # below the first magnitude there is only what the step and the caps exclude anyway
    plain: bool  # only -?(0|[1-9][0-9]*)
    spelled: bool  # only with a fraction or an exponent

    @property
    def is_empty(self) -> bool:
        return not self.zero and self.sides == (None, None)


def decimal(value: Fraction) -> tuple[int, int]:
    """(m, e) with value = m * 10^e, 10 not dividing m. Every number that a schema can write has this form."""
    numerator, denominator = value.numerator, value.denominator
    if denominator == 1:
        return _without_zeros(numerator)
    twos = (denominator & -denominator).bit_length() - 1
    rest = denominator >> twos
    fives = round((rest.bit_length() - 1) / log2(5))
    if rest != 5**fives:
        fives += 1
    if rest != 5**fives:
        raise UnsupportedFeature("a fraction that has no end as a decimal: numbers are compared as decimals")
    places = max(twos, fives)
    return numerator * 10**places // denominator, -places


def _without_zeros(value: int) -> tuple[int, int]:
    """The value without its trailing zeros, and their number."""
    twos = (value & -value).bit_length() - 1
    zeros = 0
    if twos > 0:
        for count, power in HALVES:
            if count <= twos and value % power == 0:
                value //= power
                twos -= count
                zeros += count
    return value, zeros


def _length(value: int) -> int:
    """The number of digits of a positive integer."""
    if value >= TENS[-1]:
        fewest = (value.bit_length() - 1) * 30_102 // 100_000  # slightly below the logarithm
        while value >= 10**fewest:
            fewest += 1
        return fewest
    return bisect_right(TENS, value)


def _power(value: Fraction) -> int:
    """The power of ten of the first digit of a positive number."""
    mantissa, power = decimal(value)
    return _length(mantissa) - 1 + power


def _ten(power: int) -> Fraction:
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)


def _range(named: list[Fraction], caps: Caps) -> tuple[Fraction, Fraction, int]:
    """The least and the largest magnitude of a sign, given the magnitudes `named` of that sign; and the power of ten of the
    least."""
    usual = least, largest, smallest = _limits(caps)
    if caps is CAPS:  # nearly all are far from both
        named = [v for v in named if abs(v.numerator.bit_length() - v.denominator.bit_length()) >= FAR_BITS]
    if not named:
        return usual
    for value in named:
        if value >= largest:
            largest = _ten(_power(value) + 2)
        elif value <= least:
            smallest = _power(value) - 1
            least = _ten(smallest)
    return least, largest, smallest


@lru_cache
def _limits(caps: Caps) -> tuple[Fraction, Fraction, int]:
    (least, below), (largest, above) = caps.smallest, caps.largest
    return least * _ten(below), largest * _ten(above), _length(least) - 1 + below


@lru_cache
def _limits_in_units(caps: Caps, places: int) -> tuple[int, int]:
    least, largest, _ = _limits(caps)
    return int(least * _ten_to(places)), int(largest * _ten_to(places))


def _magnitudes(shape: NumberShape) -> tuple[list[Fraction], list[Fraction]]:
    """The magnitudes that the shape names: of positive numbers, of negative ones."""
    step = shape.multiples[0] if shape.multiples else None
    for other in shape.multiples[1:]:
        assert step is not None
        step = Fraction(lcm(step.numerator, other.numerator), gcd(step.denominator, other.denominator))
    steps = [] if step is None else [step]
    steps += [other for other in shape.not_multiples if other < 1]  # a number that is no multiple of it has to be finer
    bounds = [bound for bound in (shape.low, shape.high) if bound is not None]
    return steps + [b for b in bounds if b > 0], steps + [-b for b in bounds if b < 0]


def _digits(shape: NumberShape, caps: Caps) -> int:
    """The cap on digits: every number that the shape names fits, with one digit to spare."""
    most = caps.digits
    bounds = [bound for bound in (shape.low, shape.high) if bound is not None]
    few = TENS[caps.digits - 1]
    for value in (*bounds, *shape.multiples, *shape.not_multiples):
        if value.denominator != 1 or not -few < value < few:
            most = max(most, _length(abs(decimal(value)[0]) or 1) + 1)
    if shape.integer or (bounds and shape.low == shape.high):
        for magnitude in (shape.low or 0, -(shape.high or 0), *shape.multiples):
            length = _length(int(magnitude)) + 1 if few <= magnitude else 0  # with its trailing zeros
            # Without an exponent it can only be written in digits.
            if length <= MOST_DIGITS or (shape.plain and shape.integer):
                most = max(most, length)
    return most


@lru_cache(maxsize=4096)
def plan(shape: NumberShape, caps: Caps = CAPS) -> Plan:
    digits = _digits(shape, caps)
    if digits > MOST_DIGITS:
        raise UnsupportedFeature(f"a number of {digits - 1:,} digits (at most {MOST_DIGITS - 1} are compared)")
    usual = _limits(caps)
    ranges = [_range(named, caps) for named in _magnitudes(shape)]
    smallest = min(ranges[0][2], ranges[1][2])
    is_named = smallest < usual[2]
    places, zeros = digits - smallest, max(caps.zeros, min(-smallest, MOST_ZEROS)) if is_named else caps.zeros
    unit = _ten_to(places)
    plain = shape.plain and shape.integer
    spelled = shape.plain and shape.fractional
    step = unit if shape.integer else 1
    for multiple in shape.multiples:
        step = lcm(step, (multiple * unit).numerator)
    others = [(multiple * unit).numerator for multiple in shape.not_multiples]
    if shape.fractional and not shape.plain:
        others.append(unit)
    excluded = _coarsest([lcm(step, other) for other in others])
    zero = not excluded and _admits_zero(shape)
    nothing = (plain and spelled) or step in excluded
    if nothing:
        return Plan(digits, places, zeros, False, 1, (), (None, None), (False, False), plain, spelled)

    low, high = _closed(shape, unit)
    ends = _Ends(step, excluded, digits)
    sides, from_least = [], []
    bounds = (low, high), (None if high is None else -high, None if low is None else -low)
    for (lowest, highest), limits in zip(bounds, ranges, strict=True):
        least, most = _limits_in_units(caps, places)
        if limits is not usual:
            least, most = int(limits[0] * unit), int(limits[1] * unit)
        if plain:
            most = min(most, (_ten_to(digits) - 1) * unit)
        side = ends.between(
            least if lowest is None else max(least, lowest), most if highest is None else min(most, highest)
        )
        sides.append(side)
        from_least.append(lowest is None or lowest <= least or (step > 1 and side is not None and side[0] == step))
    if all(side is None or side[0] == side[1] for side in sides):
        step, excluded = 1, ()  # each sign has one value: its digits determine it
        from_least = [False, False]
    return Plan(
        digits,
        places,
        zeros,
        zero,
        step,
        excluded,
        (sides[0], sides[1]),
        (from_least[0], from_least[1]),
        plain,
        spelled,
    )


def _ten_to(power: int) -> int:
    return TENS[power] if power < len(TENS) else 10**power


def _coarsest(values: list[int]) -> tuple[int, ...]:
    """Those that are multiples of no other: excluding them excludes the rest."""
    distinct = sorted(set(values))
    return tuple(v for i, v in enumerate(distinct) if all(v % smaller for smaller in distinct[:i]))


def _admits_zero(shape: NumberShape) -> bool:
    low, high = shape.low, shape.high
    above = low is None or low < 0 or (low == 0 and not shape.low_open)
    return above and (high is None or high > 0 or (high == 0 and not shape.high_open))


def _closed(shape: NumberShape, unit: int) -> tuple[int | None, int | None]:
    """The bounds as closed bounds in whole units."""
    low = high = None
    if shape.low is not None:
        scaled = shape.low * unit
        low = scaled.numerator // scaled.denominator
        if shape.low_open or low != scaled:
            low += 1
    if shape.high is not None:
        scaled = shape.high * unit
        high = scaled.numerator // scaled.denominator
        if shape.high_open and high == scaled:
            high -= 1
    return low, high


class _Ends:
    """Finds the smallest and the largest admitted magnitude between two integers, one power of ten after the other.

    Of the numbers with the same number of digits, those within the cap on digits are the multiples of a power of ten.
    """

    def __init__(self, step: int, excluded: tuple[int, ...], digits: int):
        self.step, self.excluded, self.digits = step, excluded, digits
        self.run = LONGEST_RUN[min(len(excluded), MOST_EXCLUDED)]

    def between(self, low: int, high: int) -> tuple[int, int] | None:
        if low > high:
            return None
        first = self.first(low, high)
        return None if first is None else (first, self.last(first, high))

    def grid(self, length: int) -> int:
        """The distance between admitted magnitudes of this length, ignoring exclusions; 0 where all are excluded."""
        power = _ten_to(max(0, length - self.digits))
        grid = power if self.step == 1 else lcm(self.step, power)
        return 0 if any(grid % other == 0 for other in self.excluded) else grid

    def first(self, low: int, high: int) -> int | None:
        while low <= high:
            length = _length(low)
            grid = self.grid(length)
            if not grid:
                return None  # longer numbers have an even coarser last digit: they are excluded as well
            value = -(-low // grid) * grid
            while value <= high and _length(value) == length:
                if all(value % other for other in self.excluded):
                    return value
                value += grid
            low = value  # longer; the values there are multiples of this grid as well
        return None

    def last(self, low: int, high: int) -> int:
        while high > low:
            length = _length(high)
            grid = self.grid(length)
            if not grid:
                fewer = bisect_left(range(length), True, key=lambda digits: not self.grid(digits))
                high = _ten_to(fewer - 1) - 1
                continue
            value = high // grid * grid
            while value >= low and _length(value) == length:
                if all(value % other for other in self.excluded):
                    return value
                value -= grid
            high = _ten_to(length - 1) - 1
        return low


def count(shape: NumberShape, most: int, caps: Caps = CAPS) -> int:
    """The number of values that the shape admits, at most `most`."""
    it = plan(shape, caps)
    total = int(it.zero)
    ends = _Ends(it.step, it.excluded, it.digits)
    for side in it.sides:
        if side is None:
            continue
        low, high = side
        while total < most and high >= low:
            length = _length(high)
            start = max(low, _ten_to(length - 1))
            grid = ends.grid(length)
            if grid:
                total += _count_multiples(grid, it.excluded, start, high)
            high = start - 1
    return min(total, most)


def values(shape: NumberShape, most: int, caps: Caps = CAPS) -> list[Fraction] | None:
    """All values that the shape admits, sorted; None where there are more than `most`."""
    if count(shape, most + 1, caps) > most:
        return None
    it = plan(shape, caps)
    ends = _Ends(it.step, it.excluded, it.digits)
    found = [0] if it.zero else []
    for sign, side in zip((1, -1), it.sides, strict=True):
        value = None if side is None else side[0]
        while side is not None and value is not None:
            found.append(sign * value)
            value = ends.first(value + 1, side[1])
    return [Fraction(value, 10**it.places) for value in sorted(found)]


def _count_multiples(grid: int, excluded: tuple[int, ...], low: int, high: int) -> int:
    """Multiples of the grid from low to high that are multiples of none excluded (inclusion-exclusion)."""
    signed = {grid: 1}
    for other in excluded:
        added: dict[int, int] = {}
        for value, sign in signed.items():
            common = lcm(value, other)
            added[common] = added.get(common, 0) - sign
        for value, sign in added.items():
            signed[value] = signed.get(value, 0) + sign
    return sum(sign * (high // value - (low - 1) // value) for value, sign in signed.items())


def digits_ahead(tokens: Iterable[bytes]) -> tuple[int, int]:
    """Most digits that a token can add to a number begun before it: before an exponent's e, and after one in the token.

    These are `most` and `after` for `number_key` in kernels/cpu/json_numbers.py; nearly always 1 to 16, and 0.
    """
    most = after = 0
    for token in tokens:
        if token and token[0] in b"0123456789.eE":
            match = CONTINUATION.match(token)
            assert match is not None  # it can match the empty string
            mantissa, exponent = match.groups()
            most = max(most, len(mantissa) - (b"." in mantissa))
            after = max(after, len(exponent or b""))
    return most, after


def pack(
    shape: NumberShape, pool: list[int], *, caps: Caps = CAPS, tidy: bool = False, pointer: str | None = None
) -> list[int]:
    """The shape as a row of NUMBER_COLUMNS integers for the kernel; digit strings and exclusions are appended to the pool."""
    try:
        return placed(packed(shape, caps, tidy), pool)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(str(error), pointer=pointer, keywords=("multipleOf",)) from None


def placed(found: Packed, pool: list[int]) -> list[int]:
    """The row, with its tail appended to the pool."""
    columns, tail = found
    base = len(pool)
    pool += tail
    row = list(columns)
    for column in (EXCLUDED_AT, POSITIVE + LOW_AT, POSITIVE + HIGH_AT, NEGATIVE + LOW_AT, NEGATIVE + HIGH_AT):
        row[column] += base
    return row


def beyond_caps(shape: NumberShape, caps: Caps = CAPS) -> str:
    """The message for a shape that admits numbers, none of them within the caps."""
    it = plan(shape, caps)
    largest = "digits alone" if it.plain else "exponents"
    return (
        f"the numbers that are asked for here need more than {it.digits} digits, or lie beyond the magnitudes that are written "
        f"with {largest} (2.5e-324 to 1.7976931348623158e308, or as far as the schema's bounds go): they are not written; "
        "use a bound that can be written with fewer digits"
    )


def in_halves(shape: NumberShape) -> list[NumberShape]:
    """Splits a shape into shapes that fit one tidy row each. Where a bound is among whole numbers so large that floats have an
    exponent, numbers written in digits only are separated from the others."""
    if shape.integer or shape.fractional or shape.plain or not (shape.low or shape.high):
        return [shape]
    row = packed(shape, CAPS, True)[0]
    sides = [
        start
        for start, side in zip((POSITIVE, NEGATIVE), plan(shape).sides, strict=True)
        if side and side[0] != side[1]
    ]
    for start in sides:
        for bound in (start + LOW, start + HIGH):
            is_whole = row[bound] - row[bound + LOW_LENGTH] + 1 >= 0
            if MOST_TIDY < row[bound] < row[DIGITS] and (row[FLAGS] & STEPS or not is_whole):
                return [replace(shape, integer=True, plain=True), replace(shape, fractional=True, plain=True)]
    return [shape]


def tidied(row: list[int]) -> None:
    """Turns a row into one of tidy numbers."""
    row[FLAGS] |= TIDY
    if row[FLAGS] & PLAIN:
        return
    filled = [start for start in (POSITIVE, NEGATIVE) if row[start + LOW] <= row[start + HIGH]]
    farthest = max(row[DIGITS] - 1, MOST_TIDY)
    is_open = all(row[start + LOW] < LEAST_TIDY and row[start + HIGH] > farthest for start in filled)
    row[FLAGS] &= ~OPEN
    if is_open and not row[FLAGS] & (STEPS | SPELLED):
        row[FLAGS] |= OPEN


@lru_cache(maxsize=4096)
def packed(shape: NumberShape, caps: Caps = CAPS, tidy: bool = False) -> Packed:
    if tidy and shape.integer and not shape.plain:
        shape = replace(shape, plain=True)
    it = plan(shape, caps)
    if len(it.excluded) > MOST_EXCLUDED:
        raise UnsupportedFeature(
            f"a number that must be no multiple of {len(it.excluded)} others (at most {MOST_EXCLUDED})"
        )
    run = LONGEST_RUN[len(it.excluded)]
    splits = [_split(value, it.places) for value in (it.step, *it.excluded)]
    modulus = lcm(*(factor for _, factor in splits))
    if modulus * (run if it.excluded else 1) > LARGEST_MODULUS:
        raise UnsupportedFeature(
            f"a remainder by {modulus}, which multipleOf asks for here (at most {LARGEST_MODULUS // run} is computed exactly)"
        )
    powers = max(_powers(factor) for _, factor in splits)
    coarsest = max(place for place, _ in splits)
    row = [0] * NUMBER_COLUMNS
    tail: list[int] = []
    row[FLAGS] = (
        ZERO * it.zero
        | PLAIN * it.plain
        | SPELLED * it.spelled
        | SYMMETRIC * (it.sides[0] == it.sides[1])
        | STEPS * (it.step != 1 or bool(it.excluded))
    )
    row[DIGITS], row[ZEROS], row[EXPONENT_DIGITS] = it.digits, it.zeros, caps.exponent_digits
    row[LARGEST_EXPONENT] = 10**caps.exponent_digits - 1
    (row[FINEST], row[STEP]), row[POWERS], row[MODULUS] = splits[0], powers, modulus
    row[EXCLUDED], row[EXCLUDED_AT], row[RUN] = len(it.excluded), 0, run
    row[FARTHEST], row[COARSEST] = it.digits + coarsest + powers, coarsest
    row[FINEST_STEP] = min((place for place, _ in splits[it.step == 1 :]), default=0)
    for place, factor in splits[1:]:
        tail += (place, factor)
    for start, side, from_least in zip((POSITIVE, NEGATIVE), it.sides, it.from_least, strict=True):
        if side is None:
            row[start + LOW] = 1  # above HIGH, which is 0: no power of ten is right
            continue
        bounds = [(HIGH, side[1])]
        if from_least and (it.step > 1 or side[0] == _ten_to(_length(side[0]) - 1)):
            # no digit string: every number read is above it
            row[start + LOW] = it.digits - it.places if it.step > 1 else _length(side[0]) - 1 - it.places
        else:
            bounds.insert(0, (LOW, side[0]))
        for column, bound in bounds:
            exponent, length, words = _spelling(bound, it.places)
            row[start + column : start + column + 3] = (exponent, length, len(tail))
            tail += words
    filled = [start for start, side in zip((POSITIVE, NEGATIVE), it.sides, strict=True) if side is not None]
    row[EASY] = _easy(it, row, splits, filled)
    if not it.plain and row[FLAGS] & STEPS == 0 and all(row[s + LOW] + 2 <= row[s + HIGH] for s in filled):
        row[FLAGS] |= OPEN
    _check_room(it, row)
    if tidy:
        tidied(row)
    return tuple(row), tuple(tail)


def _split(value: int, places: int) -> tuple[int, int]:
    """(f, A): the value is A * 10^f, and 10 does not divide A."""
    factor, zeros = _without_zeros(value)
    return zeros - places, factor


def _powers(factor: int) -> int:
    """How many factors of ten a number needs to contain this factor's twos and fives."""
    twos = (factor & -factor).bit_length() - 1
    fives = 0
    while factor % 5 == 0:
        factor //= 5
        fives += 1
    return max(twos, fives)


@lru_cache(maxsize=4096)
def _spelling(value: int, places: int) -> tuple[int, int, tuple[int, ...]]:
    """The power of ten of the first digit, the number of digits, and the digits, sixteen per word, the first one in the lowest
    bits."""
    mantissa, zeros = _without_zeros(value)
    text = str(mantissa)
    words = []
    for i in range(0, len(text), 16):
        word = int(text[i : i + 16][::-1], 16)
        words.append(word - (1 << 64) if word >> 63 else word)
    return len(text) + zeros - 1 - places, len(text), tuple(words)


def _easy(it: Plan, row: list[int], splits: list[tuple[int, int]], filled: list[int]) -> int:
    """The number of remaining digits from which any digits can be completed to a value in the shape; NEVER_EASY where there is no
    simple answer.

    Applies to digits at powers of ten strictly between those of the bounds. Completion is possible where at some such power the
    last allowed digit is fine enough for the step, and not everything is excluded.
    """
    if it.plain:
        return 0 if splits == [(0, 1)] else NEVER_EASY
    for start in filled:
        bottom, top = row[start + LOW] + 1, row[start + HIGH] - 1
        if bottom > top or (row[FLAGS] & STEPS and row[FINEST] + row[POWERS] + it.digits > top):
            return NEVER_EASY
        if it.excluded:
            power = max(bottom, row[FINEST] + it.digits - 1)  # where the last allowed digit has the place of the step
            finest = min(place for place, _ in splits[1:])
            if power > row[FINEST] + it.digits - 1 and power - it.digits + 1 >= finest:
                return NEVER_EASY
            if bottom + 2 > finest:
                return NEVER_EASY
    return _length(row[STEP] * row[RUN]) if row[STEP] * row[RUN] > 1 else 0


def _check_room(it: Plan, row: list[int]) -> None:
    """Checks what the kernel relies on: wherever the point is, the exponent can reach every power of ten in the shape."""
    farthest = max(abs(row[start + column]) for start in (POSITIVE, NEGATIVE) for column in (LOW, HIGH))
    if not it.plain and 10 ** row[EXPONENT_DIGITS] <= farthest + it.digits + row[ZEROS] + 1:
        raise ValueError("the cap on the digits of an exponent is too low for the other caps")
