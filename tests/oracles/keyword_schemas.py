"""Small schemas for the law of keywords: each keyword with a few values, pairs and triples of them, and places to put them.

The instances are few enough to try all of them on every schema.
"""

import random
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

# The values of each keyword of 2020-12, of the drafts before it, and a misspelt one.
VALUES: dict[str, list[Any]] = {
    "type": ["object", ["array", "integer"], ["string", "null"]],
    "enum": [[1, "a", {"a": 1}, ["ab"]], ["ab", None, True, -1]],
    "const": [1, "a", [1], {"c": 1}],
    "minLength": [1, 2],
    "maxLength": [1],
    "pattern": ["^a$", "b"],
    "format": ["ipv4"],
    "minimum": [1],
    "maximum": [1],
    "exclusiveMinimum": [0],
    "exclusiveMaximum": [1],
    "multipleOf": [2, 0.5],
    "properties": [{"a": {"type": "integer"}}, {"c": False}, {"aa": {"items": True}}],
    "patternProperties": [{"^a": {"type": "integer"}}, {"c": False}],
    "additionalProperties": [False, {"type": "array"}],
    "required": [["a"], ["c", "aa"]],
    "minProperties": [1, 2],
    "maxProperties": [0, 1],
    "propertyNames": [{"maxLength": 1}, {"not": {"const": "c"}}],
    "dependentRequired": [{"c": ["a"]}],
    "dependentSchemas": [
        {"c": False},
        {"aa": {"items": True}},
        {"a": {"properties": {"c": True}}},
        {"c": {"minProperties": 2}},
    ],
    "dependencies": [{"c": ["a"]}, {"c": False}],
    "items": [False, {"type": "integer"}, [{"type": "integer"}]],
    "prefixItems": [[{"type": "integer"}], [True, False]],
    "additionalItems": [False],
    "minItems": [1, 2],
    "maxItems": [0, 1],
    "uniqueItems": [True],
    "contains": [{"type": "string"}, {"const": 1}],
    "minContains": [0, 2],
    "maxContains": [1],
    "allOf": [[{"type": "object"}], [{"properties": {"a": True}}, {"prefixItems": [True]}]],
    "anyOf": [[{"type": "array"}], [{"type": "string"}, {"required": ["a"]}, {"contains": {"const": 1}}]],
    "oneOf": [[{"type": "object"}], [{"type": "integer"}, {"minimum": 1}], [{"items": {"type": "string"}}, {"maxItems": 1}]],
    "not": [{"type": "string"}, {"required": ["c"]}, {"items": {"type": "integer"}}],
    "if": [{"type": "object"}, {"required": ["a"], "properties": {"a": True}}, {"contains": {"const": 1}}],
    "then": [{"minProperties": 1}, {"items": {"type": "integer"}}],
    "else": [{"maxLength": 1}, False],
    "unevaluatedProperties": [False, {"type": "integer"}],
    "unevaluatedItems": [False, {"type": "integer"}],
    "$ref": ["#/$defs/one", "#/$defs/two"],
    "$dynamicRef": ["#three"],
    "maxLenght": [1],
}  # fmt: skip
DEFINITIONS = {
    "one": {"type": ["object", "array"], "properties": {"a": True}},
    "two": {"items": {"type": "integer"}, "maxProperties": 1},
    "three": {"$dynamicAnchor": "three", "prefixItems": [True], "maxLength": 1},
}
DRAFTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
}
# What an older draft has otherwise.
OLDER: dict[int, dict[str, list[Any]]] = {
    4: {"exclusiveMinimum": [True], "exclusiveMaximum": [True], "id": ["http://x/"]},
    2019: {"$recursiveRef": ["#"]},
}
INSTANCES = (
    *("null", "true", "0", "1", "-1", "1.5", "1.0", "2", '""', '"a"', '"ab"', '"1.1.1.1"', "[]", "[1]", "[0]", '["ab"]', "[[]]"),
    *("[1,1]", '[1,"a"]', '["a","a",1]', "[{},2]", "{}", '{"a":1}', '{"a":"a"}', '{"c":1}', '{"aa":["ab"]}', '{"a":1,"c":1}'),
    *('{"c":[],"aa":["ab"]}', '{"b":1,"aa":1}', '{"a":{"c":1}}', '{"a":[1]}'),
)  # fmt: skip

# Places for a schema: what holds it, and instances that have its instances there.
PLACES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "itself": (lambda schema: schema, "%s"),
    "items": (lambda schema: {"items": schema}, "[%s]"),
    "properties": (lambda schema: {"properties": {"a": schema}}, '{"a":%s}'),
    "allOf": (lambda schema: {"allOf": [schema]}, "%s"),
    "anyOf": (lambda schema: {"anyOf": [schema, {"type": "boolean"}]}, "%s"),
    "oneOf": (lambda schema: {"oneOf": [schema]}, "%s"),
    "$ref": (lambda schema: {"$ref": "#/$defs/held", "$defs": {"held": schema}}, "%s"),
    "not": (lambda schema: {"not": schema}, "%s"),
}  # fmt: skip

# Keywords that apply schemas to the value itself: each with a function that puts one there.
APPLICATORS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "allOf": lambda schema: {"allOf": [schema]},
    "anyOf": lambda schema: {"anyOf": [schema, {"type": ["object", "array"]}]},
    "oneOf": lambda schema: {"oneOf": [schema, {"type": "boolean"}]},
    "not not": lambda schema: {"not": {"not": schema}},
    "if": lambda schema: {"if": schema},
    "if, then and else": lambda schema: {"if": schema, "then": {"minItems": 1}, "else": {"maxProperties": 1}},
    "then": lambda schema: {"if": {"anyOf": [{"minItems": 2}, {"required": ["c"]}]}, "then": schema},
    "else": lambda schema: {"if": {"anyOf": [{"minItems": 2}, {"required": ["c"]}]}, "else": schema},
    "dependentSchemas": lambda schema: {"dependentSchemas": {"c": schema}},
    "dependentSchemas, absent": lambda schema: {"dependentSchemas": {"b": schema, "zz": schema}},
    "dependencies": lambda schema: {"dependencies": {"c": schema}},
    "$ref": lambda schema: {"$ref": "#/$defs/held", "$defs": {"held": schema}},
}  # fmt: skip
# Keywords that count what they look at as evaluated, and some that do not.
EVALUATING: list[dict[str, Any]] = [
    {"items": True},
    {"items": {"type": "integer"}},
    {"items": [True]},
    {"items": [{"type": "integer"}], "additionalItems": True},
    {"prefixItems": [True]},
    {"contains": {"type": "string"}},
    {"contains": {"const": 1}, "minContains": 0},
    {"unevaluatedItems": {"type": "string"}},
    {"minItems": 1},
    {"properties": {"a": True}},
    {"properties": {"c": {"type": "integer"}}},
    {"patternProperties": {"^a": True}},
    {"additionalProperties": {"type": "integer"}},
    {"unevaluatedProperties": {"type": "integer"}},
    {"required": ["a"]},
    {"propertyNames": {"maxLength": 1}},
    {"prefixItems": [True], "properties": {"a": True}},
]
REST = (
    {"unevaluatedItems": False},
    {"unevaluatedProperties": False},
    {"unevaluatedItems": {"type": "integer"}, "unevaluatedProperties": {"type": "string"}},
)


def document(schema: Any, place: str = "itself", draft: "int | None" = None) -> dict[str, Any]:
    """The schema in a place, with `$schema` and what references lead to."""
    held = PLACES[place][0](schema)
    head = {"$schema": DRAFTS[draft]} if draft else {}
    return {**head, **held, "$defs": {**DEFINITIONS, **held.get("$defs", {})}}


def instances(place: str = "itself") -> list[str]:
    """All instances, and those that have them where the place is."""
    around = PLACES[place][1]
    return [*INSTANCES, *(around % text for text in INSTANCES)] if around != "%s" else list(INSTANCES)


def values_of(draft: "int | None") -> dict[str, list[Any]]:
    return {**VALUES, **OLDER.get(draft or 0, {})}


def pairs(draft: "int | None" = None) -> Iterator[dict[str, Any]]:
    """Each keyword alone, and each ordered pair of them, with each of their values."""
    known = values_of(draft)
    for one, values in known.items():
        for value in values:
            yield {one: value}
            for other, others in known.items():
                if other != one:
                    yield from ({one: value, other: also} for also in others)


def one_of_each_pair(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Each two keywords once, in any order, with any of their values."""
    for one, other in combinations(VALUES, 2):
        words = [one, other] if rng.random() < 0.5 else [other, one]
        yield {word: rng.choice(VALUES[word]) for word in words}


def triple(rng: random.Random, draft: "int | None" = None) -> dict[str, Any]:
    """Three keywords at random."""
    known = values_of(draft)
    return {word: rng.choice(known[word]) for word in rng.sample(sorted(known), 3)}


def applied() -> Iterator[dict[str, Any]]:
    """What evaluates, in one applicator or in one inside another, beside an unevaluated keyword."""
    for rest in REST:
        for schema in EVALUATING:
            for outer in APPLICATORS.values():
                yield {**outer(schema), **rest}
                for inner in APPLICATORS.values():
                    held = inner(schema)
                    definitions = held.pop("$defs", {})
                    whole = {**outer(held), **rest}
                    if "$defs" in whole and definitions:
                        continue  # a $ref to itself
                    yield {**whole, "$defs": {**whole.get("$defs", {}), **definitions}} if definitions else whole
