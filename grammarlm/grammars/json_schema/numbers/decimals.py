"""Exact decimals: powers of ten, lengths and trailing zeros of integers that may be very long."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import log2

from grammarlm.errors import UnsupportedFeature

TENS = [10**i for i in range(700)]
HALVES = [(1 << i, 10 ** (1 << i)) for i in range(13, -1, -1)]


def decimal(value: Fraction) -> tuple[int, int]:
    """(m, e) with value = m * 10^e, 10 not dividing m. Every number that a schema can write has this form."""
    numerator, denominator = value.numerator, value.denominator
    if denominator == 1:
        return without_zeros(numerator)
    twos = (denominator & -denominator).bit_length() - 1
    rest = denominator >> twos
    fives = round((rest.bit_length() - 1) / log2(5))
    if rest != 5**fives:
        fives += 1
    if rest != 5**fives:
        raise UnsupportedFeature("a fraction that has no end as a decimal: numbers are compared as decimals")
    places = max(twos, fives)
    return numerator * 10**places // denominator, -places


def without_zeros(value: int) -> tuple[int, int]:
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


def length_of(value: int) -> int:
    """The number of digits of a positive integer."""
    if value >= TENS[-1]:
        fewest = (value.bit_length() - 1) * 30_102 // 100_000  # slightly below the logarithm
        while value >= 10**fewest:
            fewest += 1
        return fewest
    return bisect_right(TENS, value)


def power_of(value: Fraction) -> int:
    """The power of ten of the first digit of a positive number."""
    mantissa, power = decimal(value)
    return length_of(mantissa) - 1 + power


def ten(power: int) -> Fraction:
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)


def ten_to(power: int) -> int:
    return TENS[power] if power < len(TENS) else 10**power
