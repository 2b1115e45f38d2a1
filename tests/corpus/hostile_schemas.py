"""Schemas that would keep a careless engine busy for minutes, for ever, or until the memory is gone; tests/test_hostile.py compiles
each and walks in what compiles.

A case is a name, what makes the schema (only then: some take megabytes), and the outcome, where no clock decides it: "built" or the
name of the error that compile raises with ordinary limits.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial, reduce
from typing import Any

Schema = Any


@dataclass(frozen=True)
class Case:
    name: str
    make: Callable[[], Schema]
    outcome: "str | None" = None


def nested(times: int, around: Callable[[Schema], Schema], inner: Schema = None) -> Schema:
    """A schema around a schema around a schema; made without recursion."""
    return reduce(lambda schema, _: around(schema), range(times), {"type": "null"} if inner is None else inner)


def chain_of_references(count: int) -> Schema:
    links = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{count}": {"type": "boolean"}}}


def doubling_references(count: int) -> Schema:
    """Each definition holds the next one twice: 2^count places, count + 1 schemas."""
    links = {
        f"d{i}": {
            "type": "object",
            "properties": {k: {"$ref": f"#/$defs/d{i + 1}"} for k in "ab"},
            "required": ["a", "b"],
        }
        for i in range(count)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**links, f"d{count}": {"const": 1}}}


def choices_in_conjunction(count: int, width: int) -> Schema:
    """width^count alternatives that all differ."""
    return {
        "allOf": [
            {"anyOf": [{"required": [f"k{i}_{j}"], "properties": {f"k{i}_{j}": {"minimum": j}}} for j in range(width)]}
            for i in range(count)
        ]
    }


def wide(count: int) -> Schema:
    return {f"property_{i:06d}": {"type": "string", "maxLength": i % 50, "description": "x" * 40} for i in range(count)}


def each_needs_the_next(count: int, keyword: str) -> Schema:
    def dependent(i: int) -> Any:
        return [f"k{(i + 1) % count}"] if keyword == "dependentRequired" else {"required": [f"k{(i + 1) % count}"]}

    return {"type": "object", keyword: {f"k{i}": dependent(i) for i in range(count)}}


def conditions(count: int) -> Schema:
    return {
        "type": "object",
        "allOf": [
            {"if": {"required": [f"c{i}"]}, "then": {"required": [f"t{i}"]}, "else": {"required": [f"e{i}"]}}
            for i in range(count)
        ],
    }


def overlapping(count: int) -> Schema:
    return {"oneOf": [{"type": "object", "properties": {f"p{i}": {"minimum": i}}} for i in range(count)]}


PLACES: dict[str, Callable[[Any], Schema]] = {
    "an optional property": lambda v: {"properties": {"a": {"const": v}}},
    "a required property": lambda v: {"properties": {"a": {"const": v}}, "required": ["a"]},
    "positions": lambda v: {"prefixItems": [{"const": v}, {"enum": [v, None]}], "minItems": 2},
    "anyOf": lambda v: {"anyOf": [{"const": [v]}, {"enum": [{"a": v}]}]},
    "an object in an enum": lambda v: {"enum": [{"a": v}, {"b": 1}]},
    "an array in an array": lambda v: {"const": [[v], v]},
    "a bound": lambda v: {"type": "number", "minimum": v, "maximum": v},
    "multiples": lambda v: {"type": "number", "multipleOf": abs(v)},
    "not": lambda v: {"items": {"type": "number", "not": {"const": v}}, "type": "array", "minItems": 1},
}

MAGNITUDES: dict[str, Any] = {
    "the least double": 5e-324,
    "the least normal double": 2.2250738585072014e-308,
    "more than the greatest double": Decimal("1.7976931348623158e308"),
    "1e400": Decimal("1e400"),
    "-10^309": -(10**309),
}
_STRING = {"type": "string"}
CASES: tuple[Case, ...] = (
    Case("objects in objects, 800 deep", lambda: nested(800, lambda s: {"type": "object", "properties": {"a": s}})),
    Case("required objects, 800 deep", lambda: nested(800, lambda s: {"properties": {"a": s}, "required": ["a"]})),
    Case("arrays in arrays, 800 deep", lambda: nested(800, lambda s: {"type": "array", "items": s, "minItems": 1})),
    Case("arrays in arrays, 100,000 deep", lambda: nested(100_000, lambda s: {"items": s})),
    Case("allOf in allOf, 800 deep", lambda: nested(800, lambda s: {"allOf": [s, {"maxLength": 9}]})),
    Case("anyOf in anyOf, 800 deep", lambda: nested(800, lambda s: {"anyOf": [s, {"type": "string"}]})),
    Case("not in not, 801 deep", lambda: nested(801, lambda s: {"not": s})),
    Case("oneOf in oneOf, 200 deep", lambda: nested(200, lambda s: {"oneOf": [s, {"type": "string"}]})),
    Case(
        "if in if, 300 deep", lambda: nested(300, lambda s: {"if": s, "then": {"minimum": 1}, "else": {"maxLength": 2}})
    ),
    Case(
        "enum of a value 800 deep",
        lambda: {"enum": [nested(800, lambda v: [v], 1), nested(800, lambda v: {"a": v}, 1)]},
    ),
    Case("const of a value 100,000 deep", lambda: {"const": nested(100_000, lambda v: [v], 1)}),
    Case("enum of 100,000 integers", lambda: {"enum": list(range(100_000))}),
    Case("enum of 100,000 strings", lambda: {"enum": [f"value number {i}" for i in range(100_000)]}),
    Case(
        "enum of 100,000 strings that a pattern leaves none of",
        lambda: {"enum": [str(i) for i in range(100_000)], "pattern": "x"},
    ),
    Case("enum of 20,000 objects", lambda: {"enum": [{"a": i, "b": [i]} for i in range(20_000)]}),
    Case("a const of 4 MB", lambda: {"const": "a" * 4_000_000}),
    Case(
        "1,500 optional properties",
        lambda: {"type": "object", "properties": {f"p{i}": {} for i in range(1500)}},
        "built",
    ),
    Case("1,500 required properties", lambda: {"type": "object", "required": [f"p{i}" for i in range(1500)]}, "built"),
    Case("50,000 required properties", lambda: {"type": "object", "required": [f"p{i}" for i in range(50_000)]}),
    Case("40,000 properties, 4 MB", lambda: {"type": "object", "properties": wide(40_000)}),
    Case("4 MB of descriptions", lambda: {"description": "x" * 4_000_000, "type": "integer"}, "built"),
    Case("a million empty schemas", lambda: {"$defs": {str(i): {} for i in range(10**6)}, "type": "null"}),
    Case("a chain of 10,000 references", lambda: chain_of_references(10_000)),
    Case("2^30 places of 31 schemas", lambda: doubling_references(30)),
    Case(
        "a list of itself in every keyword",
        lambda: {k: {"$ref": "#"} for k in ("items", "contains", "not", "propertyNames", "additionalProperties")},
    ),
    Case(
        "more required than allowed",
        lambda: {"type": "object", "required": list("abc"), "maxProperties": 2},
        "UnsatisfiableGrammar",
    ),
    Case(
        "a million different ones",
        lambda: {"type": "array", "items": {"enum": list(range(5000))}, "uniqueItems": True, "minItems": 4999},
    ),
    Case("2^60 alternatives", lambda: choices_in_conjunction(60, 2)),
    Case("10^6 alternatives", lambda: choices_in_conjunction(6, 10)),
    Case("not of 40 choices", lambda: {"not": choices_in_conjunction(40, 2)}),
    Case("oneOf with 60 that overlap", lambda: overlapping(60)),
    Case("oneOf with 2,000 that overlap", lambda: overlapping(2000)),
    Case(
        "anyOf of 10,000 objects",
        lambda: {"anyOf": [{"properties": {"kind": {"const": str(i)}}, "required": ["kind"]} for i in range(10_000)]},
    ),
    Case("60 conditions", lambda: conditions(60)),
    Case("a ring of 2,000 requirements", lambda: each_needs_the_next(2000, "dependentRequired")),
    Case("a ring of 200 dependent schemas", lambda: each_needs_the_next(200, "dependentSchemas")),
    Case(
        "40 key patterns that overlap",
        lambda: {"patternProperties": {f"^[a-z]*{'x' * i}": {"minimum": i} for i in range(40)}},
    ),
    Case(
        "30 contains",
        lambda: {"type": "array", "allOf": [{"contains": {"multipleOf": i}, "minContains": 3} for i in range(2, 32)]},
    ),
    Case(
        "unevaluated behind 30 choices",
        lambda: {
            "anyOf": [{"properties": {f"p{i}": True}, "required": [f"p{i}"]} for i in range(30)],
            "unevaluatedProperties": False,
        },
    ),
    Case("30 look-aheads that count", lambda: {**_STRING, "pattern": "".join(f"(?=.*a.{{{i}}}b)" for i in range(30))}),
    Case("100 patterns at once", lambda: {**_STRING, "allOf": [{"pattern": f"a.{{{i}}}b"} for i in range(100)]}),
    Case("a pattern of a megabyte", lambda: {**_STRING, "pattern": "(ab|cd)" * 150_000}),
    Case("an open pattern", lambda: {**_STRING, "pattern": "(" * 100_000}, "GrammarError"),
    Case(
        "multiples of many numbers",
        lambda: {"type": "integer", "allOf": [{"multipleOf": p} for p in (999983, 999979, 999961, 999959)]},
    ),
    Case(
        "no multiple of many", lambda: {"type": "integer", "allOf": [{"not": {"multipleOf": p}} for p in range(2, 60)]}
    ),
    Case("a bound of 5,000 digits", lambda: {"type": "integer", "minimum": 10**4000}),
    Case(
        "constants beyond all floats, inside others",
        lambda: {"enum": [{"a": 10**309}, [-(10**400), {"b": 1}]]},
        "built",
    ),
    Case("a count beyond all numbers", lambda: {"type": "string", "maxLength": Decimal("1e999999999")}, "built"),
    Case("a whole number of 10,000 digits", lambda: {"const": 10**10_000}, "UnsupportedFeature"),
    Case("a whole number of 10,000 digits that says nothing", lambda: {"default": 10**10_000}, "built"),
    Case("a list of numbers of 10,000 digits as a type", lambda: {"type": [10**10_000]}, "GrammarError"),
    Case("infinity", lambda: {"type": "number", "minimum": float("inf")}),
    Case("no number at all", lambda: {"type": "number", "multipleOf": float("nan")}),
    Case(
        "10,000 anchors",
        lambda: {"$ref": "#a9999", "$defs": {str(i): {"$anchor": f"a{i}", "type": "null"} for i in range(10_000)}},
        "built",
    ),
    Case("enum of a million strings", lambda: {"enum": [f"value {i}" for i in range(10**6)]}),
    Case("enum of 40 strings of a megabyte", lambda: {"enum": [str(i) + "x" * 10**6 for i in range(40)]}),
    Case("a description of 40 MB", lambda: {"description": "x" * 40_000_000}),
    Case("100,000 properties, 10 MB", lambda: {"type": "object", "properties": wide(100_000)}),
    Case("100,000 properties as text, 10 MB", lambda: json.dumps({"type": "object", "properties": wide(100_000)})),
    Case("a million empty schemas as text", lambda: '{"$defs": {"a": [' + ",".join(["{}"] * 10**6) + "]}}"),
    Case("a million required names", lambda: {"required": [f"name {i}" for i in range(10**6)]}),
    # Numbers of every magnitude, wherever a schema holds one
    *(
        Case(f"{name} in {place}", partial(around, number), "built")
        for place, around in PLACES.items()
        for name, number in MAGNITUDES.items()
    ),
    Case(
        "text with a bound of an exponent of 23 digits",
        lambda: '{"minimum": 1e99999999999999999999999}',
        "UnsupportedFeature",
    ),
    Case("text with an integer of 5,000 digits", lambda: '{"const": ' + "7" * 5000 + "}", "UnsupportedFeature"),
    Case("text with an integer of 5,000 digits that says nothing", lambda: '{"x": ' + "7" * 5000 + "}", "built"),
    Case("text with a number of a million digits", lambda: '{"multipleOf": 0.' + "1" * 10**6 + "}"),
    Case("a thousand numbers of a thousand digits", lambda: {"enum": [10**998 + i for i in range(1000)]}),
    # What is no JSON
    Case("a key that is a number", lambda: {"properties": {1: {}}}, "GrammarError"),
    Case("keys of every kind", lambda: {None: 1, (1, 2): {}, b"a": [], 1.5: True}),
    Case("values of every kind", lambda: {"const": {"a": (1, {2}), "b": b"c"}, "enum": [1j]}, "GrammarError"),
    Case("a description that is a class", lambda: {"description": object, "type": "null"}, "built"),
    # Text that looks like a path is text
    *(
        Case(f"the text {path!r}", partial(str, path), "GrammarError")
        for path in (
            "/etc/passwd",
            "/dev/zero",
            "/proc/self/environ",
            "schema.json",
            "~",
            "../..",
            "file:///dev/zero",
            "",
        )
    ),
    # Labels in Punycode
)
