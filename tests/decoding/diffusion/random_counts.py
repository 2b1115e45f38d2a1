"""Random schemas that count what a text has, and a value of each: what a row has room for is then known without a canvas."""

import random
from typing import Any

Schema = dict[str, Any]
VALUES = [
    ({"type": "integer"}, 1),
    ({"type": "boolean"}, True),
    ({"type": "string"}, ""),
    ({}, 1),
    ({"enum": [1, 2]}, 1),
    ({"type": "null"}, None),
]
NAMES = [
    ({"enum": ["a", "b", ""]}, ["", "a", "b"]),
    ({"pattern": "^[abc]?$"}, ["", "a", "b", "c"]),
    ({"pattern": "^x+$"}, ["x", "xx", "xxx", "xxxx"]),
    ({"maxLength": 1}, ["", "a", "b", "c"]),
]
SETS = [{"enum": [1, 2, 3]}, {"enum": ["a", "b", "c", "d"]}, {"type": "boolean"}, {"enum": [None, True, "x"]}]


def random_case(chosen: random.Random) -> tuple[Schema, Any]:
    """A schema, and a value of it."""
    return chosen.choice([counted, required, patterned, named, unique, contained, nested])(chosen)


def capped(schema: Schema, value: dict[str, Any], chosen: random.Random) -> tuple[Schema, Any]:
    if chosen.random() < 0.3:
        schema["maxProperties"] = max(1, len(value)) + chosen.randrange(2)
    return schema, value


def counted(chosen: random.Random) -> tuple[Schema, Any]:
    least, (kind, one) = chosen.randrange(1, 6), chosen.choice(VALUES)
    schema = {"type": "object", "minProperties": least, "additionalProperties": kind}
    return capped(schema, dict.fromkeys(["", *"abcd"][:least], one), chosen)


def required(chosen: random.Random) -> tuple[Schema, Any]:
    (first, one), (kind, other), least = chosen.choice(VALUES), chosen.choice(VALUES), chosen.randrange(1, 6)
    names = chosen.sample(["b", "c", "de"], chosen.randrange(4))
    schema = {"type": "object", "properties": {"id": first}, "required": ["id", *names], "minProperties": least}
    value = {"id": one, **dict.fromkeys(names, other)}
    names = [*names, *(name for name in ["", *"vwxy"])][: max(len(names), least - 1)]
    return capped({**schema, "additionalProperties": kind}, {**value, **dict.fromkeys(names, other)}, chosen)


def patterned(chosen: random.Random) -> tuple[Schema, Any]:
    (kind, one), names = chosen.choice(VALUES), chosen.sample(["x", "xy", "xz"], chosen.randrange(3))
    pattern, least = chosen.choice(["^x", "^[a-z]+$", "x"]), chosen.randrange(4)
    schema = {"type": "object", "patternProperties": {pattern: kind}, "minProperties": least, "required": names}
    names = [*names, *(name for name in ["x", "xa", "xb"] if name not in names)][: max(len(names), least)]
    return capped({**schema, "additionalProperties": False}, dict.fromkeys(names, one), chosen)


def named(chosen: random.Random) -> tuple[Schema, Any]:
    (kind, one), (names, keys), least = chosen.choice(VALUES), chosen.choice(NAMES), chosen.randrange(1, 4)
    schema = {"type": "object", "propertyNames": names, "minProperties": least, "additionalProperties": kind}
    return capped(schema, dict.fromkeys(keys[:least], one), chosen)


def unique(chosen: random.Random) -> tuple[Schema, Any]:
    items = chosen.choice(SETS)
    values = items.get("enum", [True, False])
    least = chosen.randrange(1, len(values) + 1)
    return {"type": "array", "uniqueItems": True, "items": items, "minItems": least}, values[:least]


def contained(chosen: random.Random) -> tuple[Schema, Any]:
    items, one = chosen.choice([({"type": "integer"}, 3), ({"enum": [1, 3]}, 3), ({"type": ["string", "null"]}, None)])
    least, many = chosen.randrange(1, 3), chosen.randrange(4)
    contains = {"type": "array", "items": items, "contains": {"const": one}, "minContains": least, "minItems": many}
    return contains, [one] * max(least, many)


def nested(chosen: random.Random) -> tuple[Schema, Any]:
    schema, value = counted(chosen)
    return {"type": "array", "minItems": 1, "maxItems": 3, "items": schema}, [value]
