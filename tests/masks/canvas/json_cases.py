"""JSON schemas over vocabularies of all bytes and a few tokens more, with an oracle of json and jsonschema.

Texts are spelled as canvases fill them in: strings as json.dumps does, numbers as repr, integers in digits.
"""

import itertools
import json
import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import jsonschema

import grammarlm as gl
from tests.masks.canvas.canvas_law import Case

LEAST, MOST = (
    Fraction(1e-307),
    Fraction(1.7976931348623157e308),
)  # magnitudes of numbers, as a compile report states them


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

    base = jsonschema.Draft202012Validator
    types = base.TYPE_CHECKER.redefine(
        "number", lambda _, x: isinstance(x, (int, Fraction)) and not isinstance(x, bool)
    )
    types = types.redefine("integer", lambda _, x: isinstance(x, int) and not isinstance(x, bool))
    rules = {"multipleOf": multiple, "enum": one_of, "const": the_one}
    return jsonschema.validators.extend(base, rules, type_checker=types)(schema)


def by_schema(schema: Any, order: tuple[str, ...] = (), blanks: str = "") -> Callable[[bytes], bool]:
    validator, hook = exact(schema), strictly(order)
    decoder = json.JSONDecoder(parse_float=fraction, parse_int=whole, parse_constant=refused, object_pairs_hook=hook)

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
        return all(re.fullmatch(blanks, run) for run in runs) and bool(validator.is_valid(value))

    return accepts


def like(pattern: str) -> Callable[[bytes], bool]:
    compiled = re.compile(pattern.encode("latin-1"), re.S)
    return lambda data: compiled.fullmatch(data) is not None


def pairs(first: str, after: dict[str, str]) -> Callable[[bytes], bool]:
    """Of a text: it begins with `first`, and after each of these characters comes one of those, or nothing."""
    steps = (f"[{re.escape(each)}](?=[{re.escape(nexts)}]|$)" for each, nexts in after.items())
    return like(f"(?=[{re.escape(first)}]|$)({'|'.join(steps)})*")


def beginning_of(*texts: bytes) -> Callable[[bytes], bool]:
    """Of one of these texts, with any letter as an escape, and any number where a 1 stands."""

    def begins(data: bytes) -> bool:
        data = re.sub(rb"\\u00([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), data)
        data = re.sub(rb"[0-9][-+0-9.eE]*", b"1", re.sub(rb"\\(u(0(0[0-9a-fA-F]?)?)?)?$", b"", data))
        return any(text.startswith(data) for text in texts)

    return begins


def objects(**values: bytes) -> list[bytes]:
    """Every object with some of these keys, in any order."""
    members = [b'"%s":%s' % (key.strip("_").encode(), value) for key, value in values.items()]
    return [b"{" + b",".join(x) + b"}" for n in range(len(members) + 1) for x in itertools.permutations(members, n)]


def case(
    schema: Any, extra: list[bytes], alphabet: bytes, begins: Callable[[bytes], bool], order: tuple[str, ...] = (),
    blanks: str = "", oracle: Any = None, **options: Any,
) -> Case:  # fmt: skip
    """`alphabet`: the bytes of texts; it saves time, no more."""
    tokens = [b"?", *(bytes([b]) for b in range(256)), *extra, b"."]
    accepts = by_schema(schema if oracle is None else oracle, order, blanks)
    grammar = gl.JsonSchema(schema, **{"whitespace": "compact", "spelling": "plain", **options})
    return Case(
        grammar,
        tokens,
        lru_cache(None)(accepts),
        lambda data: not data.strip(alphabet) and begins(data),
        alphabet=alphabet,
    )
