"""Small schemas for the law of keywords: each keyword with a few values, pairs and triples of them, and places to put them.

The instances are few enough to try all of them on every schema.
"""

import json
import random
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

from tests.corpus_files import read_toml

CORPUS = read_toml(Path(__file__).parents[1] / "corpus" / "schemas.toml")
# The values of each keyword of 2020-12, of the drafts before it, and a misspelt one.
VALUES: dict[str, list[Any]] = {keyword: json.loads(values) for keyword, values in CORPUS["keywords"].items()}
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
EVALUATING: list[dict[str, Any]] = [json.loads(schema) for schema in CORPUS["evaluating"]["schemas"]]
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
