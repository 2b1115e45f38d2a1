"""JSON values read exactly: fractions instead of floats, no duplicate keys, no lone surrogates, and one key for equal values.

An integer without fraction and exponent is an int, any other number a Fraction: that tells 1 from 1.0, which draft 4 does.
"""

import json
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any


class NoJson(ValueError):
    """The text is no JSON document, or one that says different things to different readers."""


def read_json(text: "str | bytes") -> Any:
    """The value of a text; NoJson where it is none, has a key twice in one object, or half a surrogate pair."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        value = json.loads(
            text,
            parse_float=_fraction,
            parse_int=int,
            parse_constant=_no_constant,
            object_pairs_hook=_object,
        )
    except NoJson:
        raise
    except (ValueError, RecursionError) as error:
        raise NoJson(str(error)) from None
    if "\\u" in text:
        _refuse_surrogates(value)
    return value


def exact(value: Any) -> Any:
    """A Python value with each float as the fraction that its shortest decimal text says."""
    if isinstance(value, float):
        return Fraction(Decimal(repr(value)))
    if isinstance(value, Decimal):
        return Fraction(value)
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    return value


def identity(value: Any) -> Hashable:
    """Equal for equal values: numbers by value, objects without order, True is not 1."""
    if isinstance(value, list):
        return "array", tuple(identity(item) for item in value)
    if isinstance(value, dict):
        return "object", frozenset((key, identity(item)) for key, item in value.items())
    return ("literal", value) if value is None or isinstance(value, bool) else (isinstance(value, str), value)


def _fraction(text: str) -> Fraction:
    if len(text.lower().partition("e")[2]) > 6:
        raise NoJson("an exponent of millions")
    return Fraction(Decimal(text))


def _no_constant(name: str) -> None:
    raise NoJson(f"{name} is no JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise NoJson("a key comes twice")
    return made


def _refuse_surrogates(value: Any) -> None:
    if isinstance(value, str):
        if any(0xD800 <= ord(char) < 0xE000 for char in value):
            raise NoJson("half a surrogate pair")
    elif isinstance(value, list):
        for item in value:
            _refuse_surrogates(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_surrogates(key)
            _refuse_surrogates(item)
