"""Schemas that admit few values, each with a universe of values in which all of them are."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.oracles.json_texts import (
    Prefixes,
    Style,
    natural_gaps,
    optional_blanks,
    spaced_gaps,
    valid_values,
    values,
    whole_texts,
)

ONE, YES, NULL = {"const": 1}, {"const": True}, {"type": "null"}
MANY = [f"k{i:02}" for i in range(70)]  # more keys than an integer has bits


@dataclass(frozen=True, eq=False)
class Small:
    schema: Any
    universe: list[Any]
    style: Style = field(default_factory=Style)
    options: dict[str, Any] = field(default_factory=dict)

    @cache  # noqa: B019 - the schemas live as long as the process
    def prefixes(self) -> Prefixes:
        found = valid_values(self.schema, self.universe)
        return Prefixes(text for value in found for text in whole_texts(value, self.style))


def small(schema: Any, universe: Iterable[Any], style: Style | None = None, **options: Any) -> Small:
    """In any order of keys unless the style names one; in plain spelling unless the style has another."""
    style = style or Style()
    order = "schema" if style.declared is not None else "any"
    spelling = "plain" if style.is_plain else "any"
    defaults = {"whitespace": "compact", "property_order": order, "spelling": spelling}
    return Small(schema, list(universe), style, defaults | options)


def closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False} | more


KEYS = closed(
    {"b": ONE, "": YES, "ab": {"enum": [1, True]}, "a": ONE, "c": ONE}, required=["a"], minProperties=2, maxProperties=4
)
DEPENDENT = closed(
    {"b": ONE, "": YES, "ab": {"enum": [1, True]}, "a": ONE, "c": ONE},
    dependentRequired={"b": ["ab"], "ab": ["c"], "": ["a"]},
    maxProperties=4,
)
NAMED = {
    "type": "object",
    "properties": {"y": NULL, "xyx": ONE},
    "propertyNames": {"pattern": "^[xy]{1,2}$"},
    "additionalProperties": YES,
    "minProperties": 3,
    "maxProperties": 4,
}
PATTERNS = {
    "type": "object",
    "properties": {"xz": ONE},
    "patternProperties": {"^x": {"enum": [True, 1]}, "y$": {"enum": [True, None]}},
    "propertyNames": {"enum": ["x", "xy", "y", "xz", "z"]},
    "additionalProperties": NULL,
    "required": ["xy"],
    "maxProperties": 3,
}
TUPLES = {
    "type": "array",
    "prefixItems": [{"enum": [1, "a"]}, {"type": "boolean"}, NULL],
    "items": {"enum": ["a", 1]},
    "minItems": 1,
    "maxItems": 5,
}
COUNTED = {
    "type": "array",
    "items": {"enum": [1, 12, "a", None]},
    "contains": {"type": "integer"},
    "minContains": 2,
    "maxContains": 3,
    "minItems": 3,
    "maxItems": 5,
}
COUNTED_LATE = {
    "type": "array",
    "prefixItems": [{"enum": ["a", 1]}, {"const": "b"}],
    "items": {"enum": ["a", 1]},
    "contains": ONE,
    "minContains": 2,
    "maxItems": 4,
}
COUNTED_AHEAD = {
    "type": "array",
    "prefixItems": [{"enum": ["a", 1]}, {"enum": ["b", 1]}],
    "items": ONE,
    "contains": ONE,
    "minContains": 1,
    "maxContains": 3,
    "minItems": 4,
    "maxItems": 5,
}
UNIQUE = {
    "type": "array",
    "items": {"enum": [1, 12, "a", "ab", True, None]},
    "uniqueItems": True,
    "minItems": 2,
    "maxItems": 4,
}
UNIQUE_NUMBERS = {
    "type": "array",
    "items": {"type": "integer", "minimum": 9, "maximum": 12},
    "uniqueItems": True,
    "minItems": 3,
    "maxItems": 4,
}
UNIQUE_STRINGS = {
    "type": "array",
    "items": {"type": "string", "pattern": "^p?[pq]$"},
    "uniqueItems": True,
    "minItems": 2,
    "maxItems": 3,
}
WAYS = {
    "anyOf": [
        closed({"a": ONE, "b": {"enum": [1, None]}}, required=["a"]),
        closed({"a": {"enum": [1, True]}, "c": ONE}, minProperties=1),
        {"type": "array", "items": {"anyOf": [ONE, {"type": "array", "maxItems": 0}]}, "minItems": 1, "maxItems": 2},
        {"enum": ["a", 1, "ab", False]},
    ]
}
NESTED = {
    "type": "array",
    "items": closed({"a": {"type": "array", "items": {"enum": [1, True]}, "maxItems": 2}, "b": closed({"a": ONE})}),
    "minItems": 1,
    "maxItems": 2,
}
FEW_WAYS = {
    "anyOf": [
        closed({"a": ONE}, required=["a"]),
        closed({"a": ONE, "c": ONE}, required=["c"]),
        {"type": "array", "items": ONE, "maxItems": 2},
        {"enum": ["a", 1, "ab", False]},
    ]
}
GAPS = {
    "type": "array",
    "items": {"anyOf": [ONE, closed({"a": NULL}), {"type": "array", "items": ONE, "maxItems": 1}]},
    "maxItems": 1,
}
NESTED_TWICE = {"type": "array", "items": closed({"a": ONE, "b": closed({})}), "maxItems": 2, "minItems": 1}
WORDS = ["p", "pq", 'q"', "a/", "é", "€p", "😀", "\n\t", "\\", ""]
ITEMS = [1, True, None]
INNER_ARRAYS = [{}, *({"a": items} for items in values([1, True], [], 2, 0, 1) if isinstance(items, list))]
INNER_OBJECTS = [{}, {"b": {}}, {"b": {"a": 1}}]

SMALL = {
    "keys in any order": small(KEYS, values([1, True], ["b", "", "ab", "a", "c"], 0, 4, 1)),
    "keys in order": small(
        KEYS, values([1, True], ["b", "", "ab", "a", "c"], 0, 4, 1), Style(declared=("b", "", "ab", "a", "c"))
    ),
    "dependent keys": small(DEPENDENT, values([1, True], ["b", "", "ab", "a", "c"], 0, 4, 1)),
    "dependent keys in order": small(
        DEPENDENT, values([1, True], ["b", "", "ab", "a", "c"], 0, 4, 1), Style(declared=("b", "", "ab", "a", "c"))
    ),
    "names in any order": small(NAMED, values([True, None], ["x", "y", "xx", "xy", "yx", "yy"], 0, 4, 1)),
    "names in order": small(
        NAMED, values([True, None], ["x", "y", "xx", "xy", "yx", "yy"], 0, 4, 1), Style(declared=("y", "xyx"))
    ),
    "patterns": small(PATTERNS, values(ITEMS, ["x", "xy", "y", "xz", "z"], 0, 3, 1)),
    "escaped names": small(
        NAMED | {"minProperties": 1, "maxProperties": 2},
        values([True, None], ["x", "y", "xx", "xy", "yx", "yy"], 0, 2, 1),
        Style(is_plain=False),
    ),
    "tuples": small(TUPLES, values([1, "a", True, False, None], [], 5, 0, 1)),
    "contains": small(COUNTED, values([1, 12, "a", None], [], 5, 0, 1)),
    "contains late": small(COUNTED_LATE, values(["a", "b", 1], [], 4, 0, 1)),
    "contains ahead": small(COUNTED_AHEAD, values(["a", "b", 1], [], 5, 0, 1)),
    "unique": small(UNIQUE, values([1, 12, "a", "ab", True, None], [], 4, 0, 1)),
    "unique numbers": small(UNIQUE_NUMBERS, values([9, 10, 11, 12], [], 4, 0, 1)),
    "unique strings": small(UNIQUE_STRINGS, values(["p", "q", "pp", "pq"], [], 3, 0, 1)),
    "unique escapes": small(
        UNIQUE_STRINGS | {"maxItems": 2}, values(["p", "q", "pp", "pq"], [], 2, 0, 1), Style(is_plain=False)
    ),
    "ways": small(
        WAYS, [*values([1, True, None], ["a", "b", "c"], 0, 3, 1), *values([1], [], 2, 0, 2), "a", "ab", False]
    ),
    "nested": small(NESTED | {"maxItems": 1}, [[first | second] for first in INNER_ARRAYS for second in INNER_OBJECTS]),
    "nested twice": small(NESTED_TWICE, values([{}, {"a": 1}, {"b": {}}, {"a": 1, "b": {}}], [], 2, 0, 1)),
    "words": small({"enum": WORDS}, WORDS, Style(is_plain=False)),
    "plain words": small({"enum": WORDS}, WORDS),
    "lengths": small(
        {"type": "string", "pattern": "^[pq]*$", "minLength": 1, "maxLength": 3},
        ["p" * n for n in range(4)] + ["q", "pq", "qp", "qq", *(a + b + c for a in "pq" for b in "pq" for c in "pq")],
        Style(is_plain=False),
    ),
    "many keys": small(
        closed(dict.fromkeys(MANY, ONE), required=["k03"], maxProperties=2),
        [{"k03": 1}, *({"k03": 1, key: 1} for key in MANY)],
    ),
    "many keys in order": small(
        closed(dict.fromkeys(MANY, ONE), required=["k03", "k66"], minProperties=3, maxProperties=3),
        [{"k03": 1, "k66": 1, key: 1} for key in MANY],
        Style(declared=tuple(MANY)),
    ),
    "blanks": small(
        FEW_WAYS,
        [[1], [1, 1], {"a": 1}, {"c": 1}, {"a": 1, "c": 1}, "a", 1, []],
        Style(gaps=optional_blanks),
        whitespace=" ?",
    ),
    "natural commas": small(
        {"type": "array", "items": ONE, "maxItems": 2},
        [[], [1], [1, 1]],
        Style(gaps=natural_gaps),
        whitespace="natural",
    ),
    "natural": small(GAPS, [[], [1], [{}], [{"a": None}], [[]], [[1]]], Style(gaps=natural_gaps), whitespace="natural"),
    "spaced": small(
        FEW_WAYS,
        [[1], [1, 1], {"a": 1}, {"c": 1}, {"a": 1, "c": 1}, "a", "ab", 1, False, []],
        Style(gaps=spaced_gaps),
        whitespace="spaced",
    ),
    "spaced, nested": small(
        GAPS, [[], [1], [{}], [{"a": None}], [[]], [[1]]], Style(gaps=spaced_gaps), whitespace="spaced"
    ),
}
