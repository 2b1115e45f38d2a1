"""Fast path for rows of numbers between whole bounds, without fractions: most bounds of schemas are small whole numbers.

Apart from the bounds, a row of rows.py is one of few kinds: that of its type without bounds, or of one value. Such a row is
copied, and the bounds are written into it. Invariant, checked by tests: `packed` makes the same row.
"""

from __future__ import annotations

from functools import cache

from grammarlm.grammars.json_schema.shapes.shapes import NumberShape
from grammarlm.layout.numbers import NEVER_EASY, Bound, Flag, Number

from .numbers import exact
from .plans import CAPS
from .rows import Packed, packed, tidied

FARTHEST = 10**14  # larger bounds take the general path
NO_POWER = [1, 0, 0, 0, 0, 0]  # for an empty sign: the least power of ten is above the greatest
KINDS = {
    "number": NumberShape(),
    "integer": NumberShape(integer=True),
    "plain integer": NumberShape(integer=True, plain=True),  # draft 4's: no fraction, no exponent
}


@cache
def _model(name: str, is_point: bool) -> tuple[int, ...]:
    """The columns of a row without bounds, or of one value."""
    kind = KINDS[name]
    if is_point:
        kind = NumberShape(exact(1), False, exact(1), False, kind.integer, kind.fractional, plain=kind.plain)
    return packed(kind)[0]


def packed_whole(name: str, low: int | None, high: int | None, tidy: bool = False) -> Packed | None:
    """The row of the numbers of a type from low to high, both included; None where the general path is needed."""
    if tidy and name == "integer":
        name = "plain integer"
    if any(bound is not None and abs(bound) > FARTHEST for bound in (low, high)):
        return None
    least = None if name == "number" else 1
    sides = _magnitudes(low, high, least), _magnitudes(_negated(high), _negated(low), least)
    filled = [side for side in sides if side is not None]
    is_point = low is not None and low == high
    if all(side[0] == side[1] for side in filled) and not (is_point and filled):
        return None  # empty, 0 alone, or one value of each sign: these have forms of their own
    row, tail = list(_model(name, is_point)), list[int]()
    flags = row[Number.FLAGS] & (Flag.PLAIN | Flag.STEPS)
    if (low is None or low <= 0) and (high is None or high >= 0):
        flags |= Flag.ZERO
    if sides[0] == sides[1]:
        flags |= Flag.SYMMETRIC
    is_easy, is_open = True, not flags & (Flag.PLAIN | Flag.STEPS)
    for start, side in zip((Number.POSITIVE, Number.NEGATIVE), sides, strict=True):
        if side is None:
            row[start : start + 6] = NO_POWER
            continue
        bottom, top = side
        if bottom is None or (bottom == least and not is_point):  # implied by the caps and the step
            row[start + Bound.LOW : start + Bound.LOW + 3] = _unbounded(name, Bound.LOW, tail)
        else:
            row[start + Bound.LOW : start + Bound.LOW + 3] = _spelled(bottom, tail)
        row[start + Bound.HIGH : start + Bound.HIGH + 3] = (
            _unbounded(name, Bound.HIGH, tail) if top is None else _spelled(top, tail)
        )
        powers = row[start + Bound.HIGH] - row[start + Bound.LOW]
        is_easy = is_easy and powers >= 2 and not (flags & Flag.STEPS and CAPS.digits > row[start + Bound.HIGH] - 1)
        is_open = is_open and powers >= 2
    if not flags & Flag.PLAIN:
        row[Number.EASY] = 0 if is_easy else NEVER_EASY
    row[Number.FLAGS] = flags | (Flag.OPEN if is_open else 0)
    if tidy:
        tidied(row)
    return tuple(row), tuple(tail)


def _negated(bound: int | None) -> int | None:
    return None if bound is None else -bound


def _magnitudes(low: int | None, high: int | None, least: int | None) -> tuple[int | None, int | None] | None:
    """The bounds of the positive part; None where it is empty."""
    if high is not None and high <= 0:
        return None
    return (least if low is None or low <= 0 else low), high


def _spelled(bound: int, tail: list[int]) -> list[int]:
    """The power of ten of the first digit, the number of digits and their offset in the tail."""
    text = str(bound)
    digits = text.rstrip("0")
    tail.append(int(digits[::-1], 16))
    return [len(text) - 1, len(digits), len(tail) - 1]


def _unbounded(name: str, bound: int, tail: list[int]) -> list[int]:
    """The same for the least or the largest magnitude of all, as in the row without bounds."""
    columns, words = packed(KINDS[name])
    power, length, at = columns[Number.POSITIVE + bound : Number.POSITIVE + bound + 3]
    if not length:
        return [power, 0, 0]
    tail += words[at : at + -(-length // 16)]
    return [power, length, len(tail) - -(-length // 16)]
