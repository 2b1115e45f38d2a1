"""Numbers of a schema: minimum, maximum, multipleOf and integers, as exact shapes.

    read({"minimum": 0, "exclusiveMaximum": 1.5})  ->  NumberShape(low=0, high=3/2, high_open=True)

Everything is a fraction, so nothing is rounded: a float in a schema means its shortest decimal text (0.1 is 1/10).

In draft 4 integers are defined by spelling (`plain`): 1 is one and 1.0 is none. There, `integer` requires `-?(0|[1-9][0-9]*)`, and
`fractional`, which is "no integer", a fraction or an exponent.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

from grammarlm.errors import GrammarError, UnsupportedFeature, brief
from grammarlm.grammars.json_schema.shapes.shapes import NumberShape

from .plans import CAPS, beyond_caps, plan

EVERY_NUMBER = NumberShape()
KEYWORDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
FARTHEST_EXPONENT = 4000  # of a number in a schema: its digits are expanded
MOST_BITS = 13_300  # of an integer
WITHOUT_CAPS = replace(CAPS, digits=3 * FARTHEST_EXPONENT)  # room between any bounds and multiples that are read


def exact(value: int | float | Decimal | Fraction) -> Fraction:
    """The number exactly as it is written."""
    if type(value) is int:
        if value.bit_length() > MOST_BITS:
            digits = value.bit_length() * 30_103 // 100_000
            raise UnsupportedFeature(f"an integer of about {digits:,} digits (at most {FARTHEST_EXPONENT:,} are read)")
        return Fraction(value)
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > 2 * MOST_BITS:
            raise UnsupportedFeature(f"a fraction of more than {2 * FARTHEST_EXPONENT:,} digits")
        return value
    if isinstance(value, float):
        if not isfinite(value):
            raise GrammarError(f"{value} is no JSON number")
        return Fraction(int(value)) if value.is_integer() and abs(value) < 1e15 else Fraction(float.__repr__(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise GrammarError(f"{value} is no JSON number")
        if value and (abs(value.adjusted()) > FARTHEST_EXPONENT or len(value.as_tuple().digits) > FARTHEST_EXPONENT):
            raise UnsupportedFeature(
                f"a number with an exponent beyond {FARTHEST_EXPONENT:,}, or more digits than that: such are not read"
            )
        return Fraction(value)
    raise GrammarError(f"expected a number, found {brief(value)}")


def whole(value: Any) -> int | None:
    """The count in a keyword's value; None where it is none. Beyond the limit, all counts are equivalent."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() > FARTHEST_EXPONENT:
        return 10**FARTHEST_EXPONENT if value > 0 else -1
    try:
        number = exact(value)
    except UnsupportedFeature:
        return value if type(value) is int else None
    except GrammarError:
        return None
    return number.numerator if number.denominator == 1 else None


def read(schema: dict[str, Any]) -> NumberShape:
    """The keywords about numbers of one schema object. An error begins with the keyword that it is about.

    `exclusiveMinimum` and `exclusiveMaximum` are booleans in draft 4 and numbers later; both are read, whatever the draft.
    """
    if KEYWORDS.isdisjoint(schema):
        return EVERY_NUMBER
    low, low_open = _bound(schema, "minimum", "exclusiveMinimum", max)
    high, high_open = _bound(schema, "maximum", "exclusiveMaximum", min)
    multiple = _number(schema, "multipleOf")
    if multiple is not None and multiple <= 0:
        raise GrammarError(f"multipleOf must be above 0, found {brief(schema['multipleOf'])}")
    return NumberShape(low, low_open, high, high_open, multiples=() if multiple is None else (multiple,))


def _number(schema: dict[str, Any], keyword: str) -> Fraction | None:
    if keyword not in schema:
        return None
    value = schema[keyword]
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        raise GrammarError(f"{keyword} must be a number, found {brief(value)}")
    try:
        return exact(value)
    except GrammarError as error:
        raise type(error)(f"{keyword}: {error}") from None


def _bound(schema: dict[str, Any], keyword: str, exclusive: str, tighter: Any) -> tuple[Fraction | None, bool]:
    """The tighter one of an inclusive bound and an exclusive one, and whether it is exclusive."""
    inclusive = _number(schema, keyword)
    value = schema.get(exclusive)
    if isinstance(value, bool):
        return inclusive, value and inclusive is not None
    other = _number(schema, exclusive)
    if other is None or (inclusive is not None and inclusive != other and tighter(inclusive, other) == inclusive):
        return inclusive, False
    return other, True


def both(a: NumberShape, b: NumberShape) -> NumberShape:
    """The intersection of a and b."""
    if a is EVERY_NUMBER or a == b:
        return b
    if b is EVERY_NUMBER:
        return a
    # One speaks of how a number is written, the other of its value.
    if a.plain != b.plain and not (a.integer and b.integer):
        a, b = (a, _by_value(b)) if a.plain else (_by_value(a), b)
    low, low_open = a.low, a.low_open
    if b.low is not None and (low is None or b.low > low or (b.low == low and b.low_open)):
        low, low_open = b.low, b.low_open
    high, high_open = a.high, a.high_open
    if b.high is not None and (high is None or b.high < high or (b.high == high and b.high_open)):
        high, high_open = b.high, b.high_open
    return NumberShape(
        low,
        low_open,
        high,
        high_open,
        a.integer or b.integer,
        a.fractional or b.fractional,
        _union(a.multiples, b.multiples),
        _union(a.not_multiples, b.not_multiples),
        a.plain or b.plain,
    )


def _by_value(a: NumberShape) -> NumberShape:
    """The same numbers, without `integer` and `fractional`: next to `plain` these are about the spelling."""
    whole = (Fraction(1),)
    return replace(
        a,
        integer=False,
        fractional=False,
        multiples=_union(a.multiples, whole if a.integer else ()),
        not_multiples=_union(a.not_multiples, whole if a.fractional else ()),
    )


def _union(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    return a + tuple(value for value in b if value not in a) if a and b else a or b


def opposites(a: NumberShape) -> list[NumberShape]:
    """Shapes whose union is the complement of a."""
    found = []
    if a.low is not None:
        found.append(NumberShape(high=a.low, high_open=not a.low_open))
    if a.high is not None:
        found.append(NumberShape(low=a.high, low_open=not a.high_open))
    if a.integer:
        found.append(NumberShape(fractional=True, plain=a.plain))
    if a.fractional:
        found.append(NumberShape(integer=True, plain=a.plain))
    found += [NumberShape(not_multiples=(multiple,)) for multiple in a.multiples]
    found += [NumberShape(multiples=(multiple,)) for multiple in a.not_multiples]
    return found


def is_empty(a: NumberShape) -> bool:
    """Is the shape empty? One that only our caps make empty (rows.py) is refused by name."""
    if a.low is None and a.high is None and not (a.not_multiples or a.fractional):
        return False  # 0 is in it
    if a.low is not None and a.high is not None and a.low >= a.high:
        return a.low > a.high or not has(a, a.low)
    if not plan(a).is_empty:
        return False
    if not plan(a, WITHOUT_CAPS).is_empty:
        raise UnsupportedFeature(beyond_caps(a))
    return True


def has(a: NumberShape, value: Fraction) -> bool:
    """Is the value in the shape? In draft 4 an integer's plain spelling is meant, and for a required non-integer the other one."""
    if a.low is not None and (value < a.low or (a.low_open and value == a.low)):
        return False
    if a.high is not None and (value > a.high or (a.high_open and value == a.high)):
        return False
    if a.integer and value.denominator != 1:
        return False
    if a.fractional and (a.integer if a.plain else value.denominator == 1):
        return False
    return all((value / m).denominator == 1 for m in a.multiples) and all(
        (value / m).denominator != 1 for m in a.not_multiples
    )
