"""The fuzzer's JSON schemas: the first ones, how a tree of one becomes another, and values that no JSON text can hold."""

from __future__ import annotations

import ast
import itertools
import json
import random
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import grammarlm as gl
from grammarlm.grammars.json_schema.strings.formats import FORMATS
from tests.oracles.random_json_schemas import MAGNITUDES, RandomSchemas, written

OPTIONS = (
    *(f"whitespace={name}" for name in ("flexible", "natural", "compact", "any", "[ ]?", "\\s{0,3}")),
    *(f"spelling={name}" for name in ("any", "plain")),
    *(f"extra={name}" for name in ("allow", "forbid")),
    *(f"unknown={name}" for name in ("warn", "refuse")),
    *(f"property_order={name}" for name in ("schema", "any")),
    *("integers=plain", "formats=annotation", "draft=declared", "strict="),
)
PATHS = (
    *("/etc/passwd", "/dev/zero", "/proc/self/environ", "~/.bashrc", "schema.json", "./pyproject.toml", "C:\\a.json"),
    *("file:///etc/passwd", "../../README.md", "tests/corpus/regex.toml", "/", ".", "", "\0", "-", "%00", "\ufeff{}"),
)
LABELS = (
    *("xn--4gbwdl.xn--wgbh1c", "xn--p1ai", "xn--", "xn--a", "xn--X", "xn---", "XN--P1AI.com", "a.xn--80ak6aa92e"),
    *("xn--0000h", "-xn--a", "xn--99999999", "a@xn--p1ai.com", "a" * 64, "a.-b", "é.com", "ａ.b", "a_b", "1.2.3.4"),
)
NUMBERS = (*(written(number) for number in MAGNITUDES), "1e400", "-1E-0400", "1" * 5000, "1e99999999999", "-0", "1.50")
ODD: dict[str, Callable[[str], Any]] = {
    "!Decimal": Decimal,
    "!Fraction": Fraction,
    "!float": float,
    "!digits": lambda text: 10 ** (int(text) % 30_000),
    "!grammar": gl.Regex,
}
LITERALS = r"""
{1:{}} {None:1} {True:[]} {("a",):2} {b"a":{}} {"a":b"b"} {"const":(1,2)} {"enum":{1,2}} {"const":1j} {"type":...}
{"minimum":"!Decimal__1e400"} {"multipleOf":"!Fraction__1/3"} {"maximum":"!float__nan"} {"const":"!float__inf"}
{"const":"!digits__9000"} {"type":["!digits__5000"]} {"default":"!digits__9000"} {"properties":{1:{}}} {"$ref":1} {"$id":None}
{"properties":{"a":{"const":5e-324}}} {"required":["\ud800"]} {"const":{"\ud800":1}} {"$schema":[]} {"properties":[]}
{"items":{"a":"!grammar__a+"}} {"pattern":b"a"} {"format":3}
""".split()  # noqa: SIM905 - two underscores are a space


class Number(str):
    """A number of a JSON text, as it is spelled there."""


# From text to trees and back


def trees(text: str) -> Any:
    """The tree of a JSON text; ValueError where it is none."""
    try:
        return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)
    except RecursionError:
        raise ValueError("too deep") from None


def spelled(tree: Any) -> str:
    if isinstance(tree, Number):
        return str(tree)
    if isinstance(tree, list):
        return f"[{', '.join(map(spelled, tree))}]"
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {spelled(item)}" for key, item in tree.items()) + "}"
    return json.dumps(tree)


def odd(text: str) -> Any:
    """A Python value of its literal, in which "!Decimal 1e400" and the like are what no literal can say."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _odd(ast.literal_eval(text))
    except (SyntaxError, MemoryError, RecursionError, ArithmeticError, TypeError) as error:
        raise ValueError(f"no literal: {error}") from None


def _odd(value: Any) -> Any:
    if isinstance(value, dict):
        return {_odd(key): _odd(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_odd(item) for item in value]
    name, _, argument = value.partition(" ") if isinstance(value, str) else ("", "", "")
    return ODD[name](argument) if name in ODD else value


# The first ones


def schema_seeds(rng: random.Random) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(kind, text, options) of each."""
    for number in range(80):
        yield "JsonSchema", written(RandomSchemas(f"fuzz {number}").schema()), some_options(rng)
        great = RandomSchemas(f"great {number}", numbers=MAGNITUDES)
        yield "JsonSchema", written(great.schema()), some_options(rng)
    for text, around in itertools.product(NUMBERS, range(3)):
        yield "JsonSchema", spelled(inside(number_schema(Number(text), rng), around, rng)), some_options(rng)
    for name in sorted(FORMATS):
        yield "JsonSchema", json.dumps({"format": name, "type": "string"}), some_options(rng)
        yield "JsonSchema", json.dumps({"format": name, "enum": list(LABELS)}), some_options(rng)
    for path in PATHS:
        yield "JsonSchema", path, ()
    for literal in LITERALS:
        yield "Schema", literal.replace("__", " "), some_options(rng)


def some_options(rng: random.Random) -> tuple[str, ...]:
    return tuple(rng.sample(OPTIONS, rng.choice([0, 0, 1, 2, 3])))


def number_schema(number: Any, rng: random.Random) -> dict[str, Any]:
    keyword = rng.choice(["const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
    value = rng.choice([number, [number], {"a": number}, [{"b": [number]}]]) if keyword in ("const", "enum") else number
    return {keyword: [value, None] if keyword == "enum" else value}


def inside(schema: Any, times: int, rng: random.Random) -> Any:
    """The schema as a part of others, so many deep."""
    for _ in range(times):
        schema = rng.choice(
            [
                {"properties": {"a": schema}},
                {"properties": {"a": schema}, "required": ["a"], "additionalProperties": False},
                {"prefixItems": [schema], "minItems": 1},
                {"type": "array", "items": schema, "uniqueItems": True},
                {"anyOf": [schema, {"type": "null"}]},
                {"oneOf": [schema, {"const": 1}]},
                {"allOf": [schema, {"type": ["number", "object", "array"]}]},
                {"not": schema},
                {"contains": schema},
                {"$ref": "#/$defs/d", "$defs": {"d": schema}},
                {"if": schema, "then": {"maxLength": 2}},
            ]
        )
    return schema


# One becomes another


def mutated_schema(text: str, other: str, rng: random.Random) -> str:
    """A schema with one subtree changed, or taken from another; ValueError where the text is no JSON."""
    tree = [trees(text)]
    places = list(_places(tree))
    holder, key = rng.choice(places)
    value, what = holder[key], rng.randrange(8)
    if what == 0 and holder is not tree:
        del holder[key]
    elif what == 1:
        holder[key] = Number(rng.choice(NUMBERS))
    elif what == 2:
        holder[key] = number_schema(Number(rng.choice(NUMBERS)), rng)
    elif what == 3:
        holder[key] = inside(value, 1, rng)
    elif what == 4:
        holder[key] = rng.choice([*LABELS, *PATHS, True, False, None, [], {}, "", "\ud800", "a"])
    elif what == 5 and isinstance(value, dict):
        value[rng.choice(["format", "extra", "$id", "maxLenght"])] = rng.choice([*sorted(FORMATS), "uuid4", "xn--"])
    elif what == 6 and isinstance(value, dict):
        value.update(number_schema(Number(rng.choice(NUMBERS)), rng))
    else:
        donor = [trees(other)]
        theirs, place = rng.choice(list(_places(donor)))
        holder[key] = theirs[place]
    return spelled(tree[0])


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a tree: what holds it, and its key there."""
    left = [tree]
    while left:
        holder = left.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], (list, dict)):
                left.append(holder[key])
