"""Numbers of Python types: floats, Decimals, Fractions and complex ones. Bounds hold for the value that is read.

JSON's numbers are read as floats, also for a Decimal: bounds are those of the nearest floats.
"""

from __future__ import annotations

import math
from decimal import Decimal

from . import texts
from .values import Base, Refused, Schema, refuse_bounds, string, takes_negative_multiples

LARGEST_FLOAT = Decimal("1.7976931348623157e308")
EXACT_DIGITS = 15  # decimals that survive the conversion to float
LARGEST_MULTIPLE = 10**6  # of a fraction, where pydantic's float remainder is still near enough to 0


class Numbers(Base):
    def float_schema(self, schema: Schema) -> Schema:
        found: Schema = {"type": "number"}
        low, high = schema.get("ge"), schema.get("le")
        if schema.get("gt") is not None:  # what rounds to the bound is not above it
            low = max(math.nextafter(schema["gt"], math.inf), -math.inf if low is None else low)
        if schema.get("lt") is not None:
            high = min(math.nextafter(schema["lt"], -math.inf), math.inf if high is None else high)
        if schema.get("multiple_of") is not None:
            found["multipleOf"] = schema["multiple_of"]
            most = LARGEST_MULTIPLE if schema["multiple_of"] % 1 else 2**53
            high = most if high is None else min(high, most)
            low = max(-most if takes_negative_multiples(schema["multiple_of"]) else 0, -most if low is None else low)
        if low is not None and low > -math.inf:
            found["minimum"] = low
        if high is not None and high < math.inf:
            found["maximum"] = high
        return found

    def decimal_schema(self, schema: Schema) -> Schema:
        """A number, which is read as a float; without bounds also plain digits in a string, which are kept exactly."""
        numbers = [self._decimal_number(schema, *grid) for grid in _grids(schema)]
        found = numbers[0] if len(numbers) == 1 else {"anyOf": numbers}
        if any(schema.get(word) is not None for word in ("gt", "ge", "lt", "le", "multiple_of")):
            return found
        digits = string(texts.decimal_text(schema.get("max_digits"), schema.get("decimal_places")))
        return {"anyOf": [*numbers, digits]}

    def _decimal_number(self, schema: Schema, before: int | None, after: int | None) -> Schema:
        found: Schema = {"type": "number"}
        step, low, high = None if after is None else Decimal(1).scaleb(-after), -LARGEST_FLOAT, LARGEST_FLOAT
        if before is not None:
            exact = after is not None and before + after <= EXACT_DIGITS
            least = Decimal(1).scaleb(-(after or 0) if exact else before - EXACT_DIGITS)
            high = Decimal(10) ** before - least
            low = -high
        if schema.get("multiple_of") is not None:
            multiple = Decimal(str(schema["multiple_of"]))
            step = multiple if step is None or multiple % step == 0 else step
            if step != multiple:
                raise Refused("a Decimal with both multiple_of and decimal_places that do not divide one another")
            high = min(high, multiple.scaleb(26))  # beyond it the remainder has more digits than Python's context
            low = max(low, -high)
        if step is not None:
            found["multipleOf"] = step
        low, high = _decimal_bounds(schema, low, high)
        if low > -LARGEST_FLOAT:
            found["minimum"] = low
        if high < LARGEST_FLOAT:
            found["maximum"] = high
        if before == 0 and schema.get("decimal_places") is not None:
            found["not"] = {"const": 0}  # which has a digit before the point
        return found

    def complex_schema(self, schema: Schema) -> Schema:
        return string(texts.COMPLEX)

    def fraction_schema(self, schema: Schema) -> Schema:
        refuse_bounds(schema, "Fraction")
        return {"anyOf": [{"type": "number"}, string(texts.FRACTION_TEXT)]}


def _grids(core: Schema) -> list[tuple[int | None, int | None]]:
    """The numbers of digits before and after the point that a JSON number may have."""
    digits, places = core.get("max_digits"), core.get("decimal_places")
    if digits is None:
        return [(None, places)]
    if places is not None:
        return [(max(digits - places, 0), min(digits, places))]
    return [(digits - after, after) for after in range(digits + 1)] if digits <= EXACT_DIGITS else [(digits, 0)]


def _decimal_bounds(core: Schema, low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds of the text, such that the nearest float, in its shortest spelling, is within the type's."""
    for word, above in (("ge", True), ("gt", True), ("le", False), ("lt", False)):
        if core.get(word) is None:
            continue
        bound = Decimal(str(core[word]))
        nearest = float(bound)
        if not math.isfinite(nearest):
            raise Refused(f"a Decimal with {word}={bound:.3E}: JSON numbers are read as floats")
        while not _holds(Decimal(repr(nearest)), word, bound):
            nearest = math.nextafter(nearest, math.inf if above else -math.inf)
        found = Decimal(repr(nearest))
        low, high = (max(low, found), high) if above else (low, min(high, found))
    return low, high


def _holds(value: Decimal, word: str, bound: Decimal) -> bool:
    return {"ge": value >= bound, "gt": value > bound, "le": value <= bound, "lt": value < bound}[word]
