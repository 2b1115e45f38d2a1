"""Which decimals a number shape admits: the smallest and largest magnitude of each sign, and their step.

**Intervals become closed.** With a bounded number of digits there is a smallest and a largest admitted magnitude for each sign.
`plan` computes them, so bounds are closed and attained by values in the language. While the digits agree with a bound's, that bound
can still be written, and nothing else needs to be checked.

**Multiples reduce to one step.** "A multiple of each of these" is a multiple of their least common multiple, s = A 10^f with 10 not
dividing A. If a value is one, so is ten times it; if it is none, neither is a tenth of it. So the admitted powers q for given
digits are an interval, whatever the shape.

Values are integers here, in units of 10^-places: the finest decimal that the caps allow.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, gcd, lcm

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape

from .decimals import decimal, length_of, power_of, ten, ten_to


@dataclass(frozen=True, slots=True)
class Caps:
    digits: int = 25
    zeros: int = 330
    exponent_digits: int = 3
    smallest: tuple[int, int] = (25, -325)  # times this power of ten
    largest: tuple[int, int] = (17976931348623158, 292)


CAPS = Caps()
MOST_DIGITS = 1000  # digits of a bound or multiple; the kernel counts them in few bits
FAR_BITS = 1000  # magnitudes between 2^-1000 and 2^1000 are within the caps
MOST_EXCLUDED = 10

# Any so many consecutive integers include one that none of k given integers above 1 divides (Jacobsthal's function of k primes).
LONGEST_RUN = (1, 2, 4, 6, 10, 14, 22, 26, 34, 40, 46)


@dataclass(frozen=True, slots=True)
class Plan:
    """The values that a shape admits, in units of 10^-places."""

    digits: int
    places: int
    zero: bool
    step: int  # all values are multiples of it
    excluded: tuple[int, ...]  # multiples of the step whose multiples are not admitted
    sides: tuple[tuple[int, int] | None, tuple[int, int] | None]  # magnitudes: of positive numbers, of negative ones
    plain: bool  # only -?(0|[1-9][0-9]*)
    spelled: bool  # only with a fraction or an exponent

    @property
    def is_empty(self) -> bool:
        return not self.zero and self.sides == (None, None)


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
            largest = ten(power_of(value) + 2)
        elif value <= least:
            smallest = power_of(value) - 1
            least = ten(smallest)
    return least, largest, smallest


@lru_cache
def _limits(caps: Caps) -> tuple[Fraction, Fraction, int]:
    (least, below), (largest, above) = caps.smallest, caps.largest
    return least * ten(below), largest * ten(above), length_of(least) - 1 + below


@lru_cache
def _limits_in_units(caps: Caps, places: int) -> tuple[int, int]:
    least, largest, _ = _limits(caps)
    return int(least * ten_to(places)), int(largest * ten_to(places))


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
    few = ten_to(caps.digits - 1)
    for value in (*bounds, *shape.multiples, *shape.not_multiples):
        if value.denominator != 1 or not -few < value < few:
            most = max(most, length_of(abs(decimal(value)[0]) or 1) + 1)
    if shape.integer or (bounds and shape.low == shape.high):
        for magnitude in (shape.low or 0, -(shape.high or 0), *shape.multiples):
            length = length_of(int(magnitude)) + 1 if few <= magnitude else 0  # with its trailing zeros
            # Without an exponent it can only be written in digits.
            if length <= MOST_DIGITS or (shape.plain and shape.integer):
                most = max(most, length)
    return most


@lru_cache(maxsize=1024)
def plan(shape: NumberShape, caps: Caps = CAPS) -> Plan:
    digits = _digits(shape, caps)
    if digits > max(MOST_DIGITS, caps.digits):
        raise UnsupportedFeature(f"a number of {digits - 1:,} digits (at most {MOST_DIGITS - 1} are compared)")
    usual = _limits(caps)
    ranges = [_range(named, caps) for named in _magnitudes(shape)]
    places = digits - min(ranges[0][2], ranges[1][2])
    unit = ten_to(places)
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
        return Plan(digits, places, False, 1, (), (None, None), plain, spelled)

    low, high = _closed(shape, unit)
    ends = _Ends(step, excluded, digits)
    sides = []
    bounds = (low, high), (None if high is None else -high, None if low is None else -low)
    for (lowest, highest), limits in zip(bounds, ranges, strict=True):
        least, most = _limits_in_units(caps, places)
        if limits is not usual:
            least, most = int(limits[0] * unit), int(limits[1] * unit)
        if plain:
            most = min(most, (ten_to(digits) - 1) * unit)
        least = least if lowest is None else max(least, lowest)
        most = most if highest is None else min(most, highest)
        sides.append(ends.between(least, most))
    if all(side is None or side[0] == side[1] for side in sides):
        step, excluded = 1, ()  # each sign has one value: its digits determine it
    return Plan(digits, places, zero, step, excluded, (sides[0], sides[1]), plain, spelled)


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
        low = floor(shape.low * unit) + 1 if shape.low_open else ceil(shape.low * unit)
    if shape.high is not None:
        high = ceil(shape.high * unit) - 1 if shape.high_open else floor(shape.high * unit)
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
        power = ten_to(max(0, length - self.digits))
        grid = power if self.step == 1 else lcm(self.step, power)
        return 0 if any(grid % other == 0 for other in self.excluded) else grid

    def first(self, low: int, high: int) -> int | None:
        while low <= high:
            length = length_of(low)
            grid = self.grid(length)
            if not grid:
                return None  # longer numbers have an even coarser last digit: they are excluded as well
            value = -(-low // grid) * grid
            while value <= high and length_of(value) == length:
                if all(value % other for other in self.excluded):
                    return value
                value += grid
            low = value  # longer; the values there are multiples of this grid as well
        return None

    def last(self, low: int, high: int) -> int:
        while high > low:
            length = length_of(high)
            grid = self.grid(length)
            if not grid:
                fewer = bisect_left(range(length), True, key=lambda digits: not self.grid(digits))
                high = ten_to(fewer - 1) - 1
                continue
            value = high // grid * grid
            while value >= low and length_of(value) == length:
                if all(value % other for other in self.excluded):
                    return value
                value -= grid
            high = ten_to(length - 1) - 1
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
            length = length_of(high)
            start = max(low, ten_to(length - 1))
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


def beyond_caps(shape: NumberShape, caps: Caps = CAPS) -> str:
    """The message for a shape that admits numbers, none of them within the caps."""
    it = plan(shape, caps)
    largest = "digits alone" if it.plain else "exponents"
    return (
        f"the numbers that are asked for here need more than {it.digits} digits, or lie beyond the magnitudes that are written "
        f"with {largest} (2.5e-324 to 1.7976931348623158e308, or as far as the schema's bounds go): they are not written; "
        "use a bound that can be written with fewer digits"
    )
