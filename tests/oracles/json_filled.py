"""Texts of a schema that are spelled as canvases fill them in, by json and jsonschema.

Strings are as json.dumps writes them, numbers as repr, integers in digits, declared keys in their order.
"""

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import jsonschema

BLANKS = {"compact": "", "any": r"[ \t\r\n]*"}  # by whitespace=
# magnitudes of numbers, as a compile report states them
LEAST, MOST = Fraction(1e-307), Fraction(1.7976931348623157e308)


def whole(text: str) -> int:
    if str(int(text)) != text:
        raise ValueError("spelled otherwise")
    return int(text)


def fraction(text: str) -> Fraction:
    if repr(float(text)) != text or (float(text) and not LEAST <= abs(Fraction(text)) <= MOST):
        raise ValueError("spelled otherwise, or beyond the caps")
    return Fraction(text)


def refused(text: str) -> None:
    raise ValueError(text)


def strictly(order: tuple[str, ...]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """No key twice; the keys of `order` stand first and in this order."""

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        if len(set(keys)) < len(keys) or keys != [k for k in order if k in keys] + [k for k in keys if k not in order]:
            raise ValueError("keys")
        return dict(pairs)

    return read


def declared(schema: Any) -> Iterator[str]:
    """The properties that a schema names anywhere, in order of appearance."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        for below in schema.values():
            yield from declared(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from declared(below)


def exact(schema: Any) -> Any:
    """A validator that reads multipleOf and bounds of Fractions. What is asked to be an integer is written as one."""

    def multiple(validator: Any, step: Any, instance: Any, _: Any) -> Any:
        if validator.is_type(instance, "number") and Fraction(instance) / Fraction(step) % 1:
            yield jsonschema.ValidationError("no multiple")

    def one_of(validator: Any, values: list[Any], instance: Any, _: Any) -> Any:
        if not any(
            validator.is_type(instance, "number") <= (value.__class__ is instance.__class__)
            and jsonschema._utils.equal(value, instance)
            for value in values
        ):
            yield jsonschema.ValidationError("another value")

    def the_one(validator: Any, value: Any, instance: Any, _: Any) -> Any:
        return one_of(validator, [value], instance, _)

    def pattern(validator: Any, value: str, instance: Any, _: Any) -> Any:
        """In JSON Schema `$` is the very end; in Python also what is before a last newline."""
        if validator.is_type(instance, "string") and not re.search(re.sub(r"\$$", r"\\Z", value), instance):
            yield jsonschema.ValidationError("another text")

    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine(
        "number", lambda _, x: isinstance(x, (int, Fraction)) and not isinstance(x, bool)
    )
    types = types.redefine("integer", lambda _, x: isinstance(x, int) and not isinstance(x, bool))
    rules = {"multipleOf": multiple, "enum": one_of, "const": the_one, "pattern": pattern}
    return jsonschema.validators.extend(base, rules, type_checker=types)(schema)


def filled(schema: Any, whitespace: str = "compact", property_order: str = "schema") -> Callable[[bytes], bool]:
    validator = exact(schema)
    order = () if property_order == "any" else tuple(dict.fromkeys(declared(schema)))
    decoder = json.JSONDecoder(
        parse_float=fraction, parse_int=whole, parse_constant=refused, object_pairs_hook=strictly(order)
    )

    def accepts(data: bytes) -> bool:
        try:
            text = data.decode()
            value = decoder.decode(text)
            strings = re.findall(r'"(?:\\.|[^"\\])*"', text)
            if any(json.dumps(json.loads(string), ensure_ascii=False) != string for string in strings):
                return False
        except ValueError:
            return False
        runs = re.findall(r"\s+", re.sub(r'"(\\.|[^"\\])*"', '""', text))
        return all(re.fullmatch(BLANKS[whitespace], run) for run in runs) and bool(validator.is_valid(value))

    return accepts
