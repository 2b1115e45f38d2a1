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
as that, and one power of ten more (`_range` in plans.py). So what a schema names can always be written.

The form never matters for the value: the exponent can move the point anywhere within these caps (`_check_room` ensures it). So the
possible continuations of a text depend on its digits d1 d2 ... dn, and on the final power q of ten of d1. That is easy to decide,
since the numbers of a shape are closed intervals with one step (plans.py).

**Tidy** numbers are spelled as json.dumps does: whole numbers in digits (the only form where the shape demands an integer), others,
and those too, as Python's repr of a float: without an exponent from 1e-4 to below 1e16, as d.ddde+XX beyond, without redundant
zeros. They are the same values, with as many digits as any number here: up to 25, although a float needs only 17.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from math import lcm

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape
from grammarlm.layout.numbers import LEAST_TIDY, MOST_TIDY, NEVER_EASY, Bound, Flag, Number

from .decimals import length_of, ten_to, without_zeros
from .plans import CAPS, LONGEST_RUN, MOST_EXCLUDED, Caps, Plan, plan

Packed = tuple[tuple[int, ...], tuple[int, ...]]  # a row's columns; its part of the pool
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
    for column in (
        Number.EXCLUDED_AT,
        Number.POSITIVE + Bound.LOW_AT,
        Number.POSITIVE + Bound.HIGH_AT,
        Number.NEGATIVE + Bound.LOW_AT,
        Number.NEGATIVE + Bound.HIGH_AT,
    ):
        row[column] += base
    return row


def in_halves(shape: NumberShape) -> list[NumberShape]:
    """Splits a shape into shapes that fit one tidy row each. Where a bound is among whole numbers so large that floats have an
    exponent, numbers written in digits only are separated from the others."""
    if shape.integer or shape.fractional or shape.plain or not (shape.low or shape.high):
        return [shape]
    row = packed(shape, CAPS, True)[0]
    sides = [
        start
        for start, side in zip((Number.POSITIVE, Number.NEGATIVE), plan(shape).sides, strict=True)
        if side and side[0] != side[1]
    ]
    for start in sides:
        for bound in (start + Bound.LOW, start + Bound.HIGH):
            is_whole = row[bound] - row[bound + Bound.LOW_LENGTH] + 1 >= 0
            if MOST_TIDY < row[bound] < row[Number.DIGITS] and (row[Number.FLAGS] & Flag.STEPS or not is_whole):
                return [replace(shape, integer=True, plain=True), replace(shape, fractional=True, plain=True)]
    return [shape]


def tidied(row: list[int]) -> None:
    """Turns a row into one of tidy numbers."""
    row[Number.FLAGS] |= Flag.TIDY
    if row[Number.FLAGS] & Flag.PLAIN:
        return
    filled = [
        start for start in (Number.POSITIVE, Number.NEGATIVE) if row[start + Bound.LOW] <= row[start + Bound.HIGH]
    ]
    farthest = max(row[Number.DIGITS] - 1, MOST_TIDY)
    is_open = all(row[start + Bound.LOW] < LEAST_TIDY and row[start + Bound.HIGH] > farthest for start in filled)
    row[Number.FLAGS] &= ~Flag.OPEN
    if is_open and not row[Number.FLAGS] & (Flag.STEPS | Flag.SPELLED):
        row[Number.FLAGS] |= Flag.OPEN


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
    row = [0] * Number.LENGTH
    tail: list[int] = []
    row[Number.FLAGS] = (
        Flag.ZERO * it.zero
        | Flag.PLAIN * it.plain
        | Flag.SPELLED * it.spelled
        | Flag.SYMMETRIC * (it.sides[0] == it.sides[1])
        | Flag.STEPS * (it.step != 1 or bool(it.excluded))
    )
    row[Number.DIGITS], row[Number.ZEROS], row[Number.EXPONENT_DIGITS] = it.digits, it.zeros, caps.exponent_digits
    row[Number.LARGEST_EXPONENT] = 10**caps.exponent_digits - 1
    (row[Number.FINEST], row[Number.STEP]), row[Number.POWERS], row[Number.MODULUS] = splits[0], powers, modulus
    row[Number.EXCLUDED], row[Number.EXCLUDED_AT], row[Number.RUN] = len(it.excluded), 0, run
    row[Number.FARTHEST], row[Number.COARSEST] = it.digits + coarsest + powers, coarsest
    row[Number.FINEST_STEP] = min((place for place, _ in splits[it.step == 1 :]), default=0)
    for place, factor in splits[1:]:
        tail += (place, factor)
    for start, side, from_least in zip((Number.POSITIVE, Number.NEGATIVE), it.sides, it.from_least, strict=True):
        if side is None:
            row[start + Bound.LOW] = 1  # above HIGH, which is 0: no power of ten is right
            continue
        bounds = [(Bound.HIGH, side[1])]
        if from_least and (it.step > 1 or side[0] == ten_to(length_of(side[0]) - 1)):
            # no digit string: every number read is above it
            row[start + Bound.LOW] = it.digits - it.places if it.step > 1 else length_of(side[0]) - 1 - it.places
        else:
            bounds.insert(0, (Bound.LOW, side[0]))
        for column, bound in bounds:
            exponent, length, words = _spelling(bound, it.places)
            row[start + column : start + column + 3] = (exponent, length, len(tail))
            tail += words
    signs = (Number.POSITIVE, Number.NEGATIVE)
    filled: list[int] = [start for start, side in zip(signs, it.sides, strict=True) if side is not None]
    row[Number.EASY] = _easy(it, row, splits, filled)
    if (
        not it.plain
        and row[Number.FLAGS] & Flag.STEPS == 0
        and all(row[s + Bound.LOW] + 2 <= row[s + Bound.HIGH] for s in filled)
    ):
        row[Number.FLAGS] |= Flag.OPEN
    _check_room(it, row)
    if tidy:
        tidied(row)
    return tuple(row), tuple(tail)


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


@lru_cache(maxsize=4096)
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


def _easy(it: Plan, row: list[int], splits: list[tuple[int, int]], filled: list[int]) -> int:
    """The number of remaining digits from which any digits can be completed to a value in the shape; NEVER_EASY where there is no
    simple answer.

    Applies to digits at powers of ten strictly between those of the bounds. Completion is possible where at some such power the
    last allowed digit is fine enough for the step, and not everything is excluded.
    """
    if it.plain:
        return 0 if splits == [(0, 1)] else NEVER_EASY
    for start in filled:
        bottom, top = row[start + Bound.LOW] + 1, row[start + Bound.HIGH] - 1
        if bottom > top or (
            row[Number.FLAGS] & Flag.STEPS and row[Number.FINEST] + row[Number.POWERS] + it.digits > top
        ):
            return NEVER_EASY
        if it.excluded:
            power = max(
                bottom, row[Number.FINEST] + it.digits - 1
            )  # where the last allowed digit has the place of the step
            finest = min(place for place, _ in splits[1:])
            if power > row[Number.FINEST] + it.digits - 1 and power - it.digits + 1 >= finest:
                return NEVER_EASY
            if bottom + 2 > finest:
                return NEVER_EASY
    return length_of(row[Number.STEP] * row[Number.RUN]) if row[Number.STEP] * row[Number.RUN] > 1 else 0


def _check_room(it: Plan, row: list[int]) -> None:
    """Checks what the kernel relies on: wherever the point is, the exponent can reach every power of ten in the shape."""
    farthest = max(
        abs(row[start + column]) for start in (Number.POSITIVE, Number.NEGATIVE) for column in (Bound.LOW, Bound.HIGH)
    )
    if not it.plain and 10 ** row[Number.EXPONENT_DIGITS] <= farthest + it.digits + row[Number.ZEROS] + 1:
        raise ValueError("the cap on the digits of an exponent is too low for the other caps")
