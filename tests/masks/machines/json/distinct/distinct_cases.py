"""Schemas of arrays whose items must differ and may be objects or arrays, and a vocabulary whose tokens hold several items."""

from typing import Any

import grammarlm as gl

PIECES = [
    *(
        b"},{",
        b"[],[]",
        b'{"a":1},{"a":1}',
        b'"}]',
        b"[{},{}]",
        b"[{},",
        b"{}",
        b"[]",
        b'":',
        b'{"a":',
        b',{"a":1}',
        b"}]",
        b"1}",
    ),
    *(
        b'"},{"a":"',
        b"]]",
        b"],[",
        b", ",
        b",\n  ",
        b'"a',
        b'",',
        b"1.0",
        b"10e-1",
        b"true",
        b"null",
        b'\\u0061":',
        b'x"',
        b"[[1],",
    ),
]
VOCAB = gl.Vocabulary([*(bytes([b]) for b in range(256)), *PIECES, b"</s>"], stop_ids=[256 + len(PIECES)])


def closed(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def array(items: Any, **more: Any) -> dict[str, Any]:
    return {"type": "array", "uniqueItems": True, "items": items, **more}


INTEGER, BOOLEAN, STRING = ({"type": name} for name in ("integer", "boolean", "string"))
ITEMS = {"enum": [{"a": 1}, {"a": 2}, [1], "x", 1, None]}
SCHEMAS: dict[str, Any] = {
    "anything": {"type": "array", "uniqueItems": True},
    "open objects": array({"type": "object"}),
    "some open objects": array(
        {"type": "object", "properties": {"a": INTEGER, "b": BOOLEAN}, "required": ["a"]}, minItems=2
    ),
    "closed objects": array(closed("a", a=INTEGER, b=BOOLEAN)),
    "few objects": array(closed(a=BOOLEAN, b=BOOLEAN), minItems=2),
    "objects of strings": array(closed("a", a=STRING, b={"enum": ["x", "xy", None]})),
    "strings or objects": array({"anyOf": [STRING, closed("a", a={"type": "string", "maxLength": 2})]}, minItems=3),
    "arrays": array({"type": "array", "items": INTEGER, "maxItems": 2}),
    "few arrays": array({"type": "array", "items": BOOLEAN, "maxItems": 2}, minItems=3),
    "arrays of arrays that differ": array(array({"type": "array", "items": {"type": "null"}})),
    "few in objects": array(closed("a", a=array({"enum": [{"a": 1}, {"b": 1}]}))),
    "differ or are few": {"anyOf": [array({"type": "object"}), {"type": "array", "maxItems": 2}]},
    "differ or are three": closed(
        "a",
        a={
            "anyOf": [
                array({"enum": [[], [1], {}]}),
                {"type": "array", "items": {"type": "array"}, "minItems": 3, "maxItems": 3},
            ]
        },
    ),
    "arrays or booleans": array({"type": ["array", "boolean"]}, minItems=3),
    "one array": array({"const": [0, "aé"]}),
    "positions": array(closed(a=STRING), prefixItems=[{"type": "object"}, {"type": "array"}]),
    "listed": array(ITEMS),
    "three listed": array(ITEMS, minItems=3, maxItems=4),
    "some that count": array({"type": "object"}, contains={"type": "object", "required": ["a"]}, minContains=2),
    "objects in objects": array(closed("a", a=closed(b=STRING))),
    "few numbers": array(closed("a", a={"enum": [1, 2, 10, 0.5]}), minItems=2),
    "numbers in bounds": array(
        {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 11}, "minItems": 1, "maxItems": 1},
        minItems=2,
    ),
    "itself": {"$defs": {"t": array({"$ref": "#/$defs/t"})}, "$ref": "#/$defs/t"},
    "one of": array({"oneOf": [closed("a", a={"const": 1}), closed("b", b=STRING)]}),
    "one key": array({"type": "object", "maxProperties": 1, "additionalProperties": BOOLEAN}, minItems=2),
    "keys of a pattern": array({"type": "object", "patternProperties": {"^x": INTEGER}, "additionalProperties": False}),
    "strings of a pattern": array(closed("a", a={"type": "string", "pattern": "^(ab?|c+)$"})),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"property_order": "schema"},
    {"spelling": "plain"},
    {"whitespace": "natural"},
    {"whitespace": "natural", "spelling": "plain", "property_order": "schema"},
    {"whitespace": "compact"},
]
