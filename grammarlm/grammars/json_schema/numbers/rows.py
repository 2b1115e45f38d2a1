"""Number shapes compiled for the kernel: which decimals a shape admits, as a row of integers.

The language of a shape is every JSON number whose exact value the shape admits, written without an exponent, or with one digit
before the point and an exponent (`-?[1-9](\\.[0-9]+)?[eE][+-]?[0-9]{1,3}`), as the printers of programming languages do. Where a
shape has no bound but 0, and no multiples (**open**), digits before an exponent may be any. Caps keep a model from writing digits
endlessly:

    digits           25   from the first that is not 0 to the last before the exponent; more where a bound, a multiple or a single
                     value of the shape has more (one more than that has: some value fits between two bounds); single values and the
                     least of integers can be written in digits alone, 10^30 in 31
    zeros            330  zeros between the point and the first other digit
    exponent_digits  3    digits of the exponent, leading zeros included; four where a power of ten beyond 999 is named
    smallest, largest     the magnitude of nonzero numbers: 2.5e-324 to 1.7976931348623158e308. What readers of doubles accept,
                          denormal numbers included: beyond, they read 0 or infinity

Where a shape names a magnitude beyond these two (a bound, a single value, a multiple), numbers of its sign may be as large or small
as that, and one power of ten more (`_range` in plans.py). So what a schema names can always be written, with an exponent if not
without. The possible continuations of a text depend on its digits d1 d2 ... dn, and on the power q of ten of d1. That is easy to
decide, since the numbers of a shape are closed intervals with one step (plans.py).

**Tidy** numbers are spelled as json.dumps does: whole numbers in digits (the only form where the shape demands an integer), others,
and those too, as Python's repr of a float, without redundant zeros: with an exponent, d.ddde+XX, below 1e-4 or from 1e16 on; from
there on without one, too, as far as the digits reach. They are the same values, with as many digits as any number here: up to 25,
although a float needs only 17.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from math import lcm

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape
from grammarlm.layout.numbers import LEAST_TIDY, MOST_TIDY, Bound, Flag, Number

from .decimals import without_zeros
from .plans import CAPS, LONGEST_RUN, MOST_EXCLUDED, Caps, plan

LARGEST_MODULUS = 9 * 10**17  # ten times it plus a digit fits 63 bits
CONTINUATION = re.compile(rb"([0-9]*\.?[0-9]*)(?:[eE][+-]?([0-9]*))?")  # rest of a number, from within the mantissa


def digits_ahead(tokens: Iterable[bytes]) -> tuple[int, int]:
    """Most digits that a token can add to a number begun before it: before an exponent's e, and after one in the token.

    These are `most` and `after` for `number_key` in kernels/cpu/json/step/numbers.py; nearly always 1 to 16, and 0.
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


def pack(shape: NumberShape, *, caps: Caps = CAPS, tidy: bool = False, pointer: str | None = None) -> tuple[int, ...]:
    """The shape as a row for the kernel: the columns of Number, and behind them what some lead to: digit strings and exclusions."""
    try:
        return packed(shape, caps, tidy)
    except UnsupportedFeature as error:
        raise UnsupportedFeature(str(error), pointer=pointer, keywords=("multipleOf",)) from None


@lru_cache(maxsize=1024)
def packed(shape: NumberShape, caps: Caps = CAPS, tidy: bool = False) -> tuple[int, ...]:
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
    row = [0] * Number.LENGTH
    row[Number.FLAGS] = (
        Flag.ZERO * it.zero
        | Flag.PLAIN * it.plain
        | Flag.SPELLED * it.spelled
        | Flag.STEPS * (it.step != 1 or bool(it.excluded))
        | Flag.TIDY * tidy
        | Flag.OPEN * _is_open(shape)
    )
    row[Number.DIGITS], row[Number.ZEROS], row[Number.LEAST] = it.digits, caps.zeros, -1 - caps.zeros
    row[Number.BELOW], row[Number.ABOVE] = -1, 0
    if tidy:
        row[Number.ZEROS], row[Number.LEAST] = 1, LEAST_TIDY
        row[Number.BELOW], row[Number.ABOVE] = LEAST_TIDY - 1, MOST_TIDY + 1
    (row[Number.FINEST], row[Number.STEP]), row[Number.POWERS], row[Number.MODULUS] = splits[0], powers, modulus
    row[Number.EXCLUDED], row[Number.EXCLUDED_AT], row[Number.RUN] = len(it.excluded), int(Number.LENGTH), run
    row[Number.FARTHEST] = it.digits + max(place for place, _ in splits) + powers
    for place, factor in splits[1:]:
        row += (place, factor)
    for start, side in zip((Number.POSITIVE, Number.NEGATIVE), it.sides, strict=True):
        if side is None:
            row[start + Bound.LOW] = 1  # above HIGH, which is 0: no power of ten is right
            continue
        for column, bound in ((Bound.LOW, side[0]), (Bound.HIGH, side[1])):
            exponent, length, words = _spelling(bound, it.places)
            row[start + column : start + column + 3] = (exponent, length, len(row))
            row += words
    farthest = max(
        abs(row[start + column]) for start in (Number.POSITIVE, Number.NEGATIVE) for column in (Bound.LOW, Bound.HIGH)
    )
    # Wherever the point of an open number is, the exponent can reach every power of ten.
    away = it.digits + caps.zeros + 1 if row[Number.FLAGS] & Flag.OPEN else 0
    row[Number.EXPONENT_DIGITS] = max(caps.exponent_digits, len(str(farthest + away)))
    return tuple(row)


def _is_open(shape: NumberShape) -> bool:
    """Can any digits be continued? There is no bound but 0, and nothing is asked of the digits."""
    asks = shape.integer or shape.fractional or shape.multiples or shape.not_multiples
    return not asks and not shape.low and not shape.high


def _split(value: int, places: int) -> tuple[int, int]:
    """(f, A): the value is A * 10^f, and 10 does not divide A."""
    factor, zeros = without_zeros(value)
    return zeros - places, factor


def _powers(factor: int) -> int:
    """How many factors of ten a number needs to contain this factor's twos and fives."""
    twos = (factor & -factor).bit_length() - 1
    fives = 0
    while factor % 5 == 0:
        factor //= 5
        fives += 1
    return max(twos, fives)


@lru_cache(maxsize=1024)
def _spelling(value: int, places: int) -> tuple[int, int, tuple[int, ...]]:
    """The power of ten of the first digit, the number of digits, and the digits, sixteen per word, the first one in the lowest
    bits."""
    mantissa, zeros = without_zeros(value)
    text = str(mantissa)
    words = []
    for i in range(0, len(text), 16):
        word = int(text[i : i + 16][::-1], 16)
        words.append(word - (1 << 64) if word >> 63 else word)
    return len(text) + zeros - 1 - places, len(text), tuple(words)
