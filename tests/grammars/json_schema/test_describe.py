"""describe(): what a text says of hand-written schemas, and that it says all of random ones and never fails otherwise."""

import dataclasses
import json
import random
from typing import Annotated, Any, Literal

import pytest

import grammarlm as gl
from tests.counts import tiers
from tests.oracles.random_json_schemas import RandomSchemas

INNER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
CASES: dict[str, tuple[Any, str]] = {
    "nothing said": (True, "JSON: any JSON value"),
    "nothing allowed": (False, "JSON: nothing"),
    "type": ({"type": "boolean"}, "JSON: true or false"),
    "types": ({"type": ["string", "null"], "minLength": 2}, "JSON: string of at least 2 characters or null"),
    "string": ({"minLength": 1, "maxLength": 1, "format": "date"}, "JSON: string of 1 character in the format date"),
    "pattern": ({"type": "string", "maxLength": 9, "pattern": "^a"}, "JSON: string of at most 9 characters that matches ^a"),
    "range": ({"minimum": 1, "maximum": 2.5}, "JSON: number from 1 to 2.5"),
    "bounds": ({"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5}, "JSON: integer of more than 0, a multiple of 5"),
    "draft 4": ({"type": "number", "maximum": 3, "exclusiveMaximum": True}, "JSON: number of less than 3"),
    "enum": ({"type": "string", "enum": ["a", 'b"']}, 'JSON: one of "a", "b\\""'),
    "const": ({"const": {"a": 1}}, 'JSON: {"a":1}'),
    "many values": ({"enum": list(range(500))}, f"JSON: one of 500 values, among them {', '.join(map(str, range(100)))}"),
    "list": ({"items": {"type": "integer"}, "minItems": 1, "maxItems": 3}, "JSON: list of 1 to 3 items, each integer"),
    "set": ({"uniqueItems": True}, "JSON: list, no two alike, each any JSON value"),
    "tuple": (
        {"prefixItems": [{"type": "integer"}, INNER], "items": {"type": "null"}},
        "JSON: list with\n- item 1: integer\n- item 2: object with\n  - n: integer\n- further items: null",
    ),
    "map": ({"type": "object", "additionalProperties": {"type": "integer"}}, "JSON: object with\n- any key: integer"),
    "keys": (
        {
            "properties": {"a b": {"const": 1, "description": "One.\nAlways"}},
            "required": ["c"],
            "patternProperties": {"^x": True},
            "additionalProperties": False,
        },
        'JSON: object with\n- "a b" (optional): 1. One.\n  Always\n- c: any JSON value\n- each key that matches ^x: any JSON value',
    ),
    "or null": ({"anyOf": [INNER, {"type": "null"}]}, "JSON: null or object with\n- n: integer"),
    "alternatives": (
        {"oneOf": [INNER, {"type": "null"}, INNER]},
        "JSON: one of these\n- object with\n  - n: integer\n- null\n- object with\n  - n: integer",
    ),
    "both": ({"allOf": [INNER, {"required": ["m"]}]}, "JSON: object with\n- n: integer\n- m: any JSON value"),
    "no words": (
        {"type": "string", "not": {"const": "a"}, "x-mine": 1, "title": "T"},
        'JSON: string; not {"const":"a"}',
    ),
    "references": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/in"}, "b": {"$ref": "#/$defs/in"}, "c": {"$ref": "#/$defs/s"}},
            "$defs": {"in": INNER, "s": {"type": "string"}},
        },
        "JSON: object with\n- a (optional): in, object with\n  - n: integer\n- b (optional): in (above)\n- c (optional): string",
    ),
    "itself": (
        {"type": "array", "items": {"$ref": "#"}},
        "JSON: list, each the whole, list, each the whole (above)",
    ),
    "elsewhere": ({"$ref": "https://example.com/a"}, 'JSON: any JSON value; $ref "https://example.com/a"'),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_said(name: str) -> None:
    schema, expected = CASES[name]
    assert gl.describe(schema) == expected
    assert gl.describe(json.dumps(schema)) == gl.describe(gl.JsonSchema(schema)) == expected


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


def test_python_types(tmp_path) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Order(pydantic.BaseModel):
        customer: Annotated[str, pydantic.Field(max_length=30, description="Who ordered")]
        quantity: Annotated[int, pydantic.Field(ge=1)]
        color: Literal["red", "green"] = "red"
        at: Point | None = None
        further: list["Order"] = pydantic.Field([])

    assert gl.describe(Order) == (
        "JSON: Order, object with\n"
        "- customer: string of at most 30 characters. Who ordered\n"
        "- quantity: integer of at least 1\n"
        '- color (optional): one of "red", "green"\n'
        "- at (optional): null or Point, object with\n"
        "  - x: integer\n"
        "  - y (optional): number\n"
        "- further (optional): list, each Order (above)"
    )
    assert gl.describe(Point) == "JSON: object with\n- x: integer\n- y (optional): number"
    assert gl.describe(bool) == "JSON: true or false"
    path = tmp_path / "schema.json"
    path.write_text('{"type": "null"}')
    assert gl.describe(path) == "JSON: null"


@tiers("seed, count", (0, 150), *((seed, 1000) for seed in range(1, 11)))
def test_random_schemas(seed: int, count: int) -> None:
    """Each is described, with all its properties; the same from its JSON text."""
    schemas, rng = RandomSchemas(f"described {seed}"), random.Random(seed)
    for _ in range(count):
        schema = schemas.schema()
        if rng.random() < 0.2 and isinstance(schema, dict):
            schema[rng.choice(list(schema) or ["type"])] = rng.choice([5, "x", None, [], {}, [3], True, {"a": 1}])
        text = gl.describe(schema)
        assert text == gl.describe(json.dumps(schema))
        if (
            isinstance(schema, dict)
            and schema.get("type") == "object"
            and schema.keys().isdisjoint(("enum", "const", "$ref"))
        ):
            properties = schema.get("properties")
            is_right = isinstance(properties, dict) and all(
                isinstance(inner, (dict, bool)) for inner in properties.values()
            )
            for key in properties if is_right else ():
                assert f"- {key}" in text


def test_what_is_refused() -> None:
    assert gl.describe({"type": "strin", "minimum": 1}) == 'JSON: number of at least 1; type "strin"'
    assert gl.describe({"properties": {"a": 3}}) == 'JSON: any JSON value; properties {"a":3}'
    with pytest.raises(gl.GrammarError, match="no JSON"):
        gl.describe("{")
    with pytest.raises(TypeError, match="takes a dict"):
        gl.describe(3)
    deep: Any = {}
    for _ in range(3000):
        deep = {"items": deep}
    with pytest.raises(gl.LimitExceeded):
        gl.describe(deep)
    wide: dict[str, Any] = {"$defs": {"0": {"type": "string"}}, "$ref": "#/$defs/40"}
    for number in range(1, 41):
        inner = {"$ref": f"#/$defs/{number - 1}"}
        wide["$defs"][str(number)] = {"anyOf": [inner, inner]}
    with pytest.raises(gl.LimitExceeded, match="more than 4,096 parts"):
        gl.describe(wide)
