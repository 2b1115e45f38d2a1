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
XKEYS = {"type": "object", "patternProperties": {"^x": INTEGER}, "additionalProperties": False}
MANY = {"type": "array", "items": INTEGER}
SCHEMAS: dict[str, Any] = {
    "anything": {"type": "array", "uniqueItems": True},
    "objects": array({"type": "object"}),
    "objects that need a key": array(
        {"type": "object", "properties": {"a": INTEGER, "b": BOOLEAN}, "required": ["a"]}, minItems=2
    ),
    "two keys at least": array({"type": "object", "minProperties": 2}),
    "objects of booleans": array({"type": "object", "properties": {"a": STRING}, "additionalProperties": BOOLEAN}),
    "strings or objects": array({"anyOf": [STRING, {"type": "object", "required": ["a"]}]}, minItems=3),
    "arrays": array(MANY),
    "arrays of arrays that differ": array(array(MANY)),
    "few booleans or arrays": array({"anyOf": [BOOLEAN, {"type": "array", "items": {"type": "null"}}]}, minItems=4),
    "in objects": array({"type": "object", "properties": {"a": array({"type": "object"})}, "required": ["a"]}),
    "differ or are few": {"anyOf": [array({"type": "object"}), {"type": "array", "maxItems": 2}]},
    "differ or are three": closed(
        "a",
        a={
            "anyOf": [
                array({"type": ["array", "object"]}),
                {"type": "array", "items": {"type": "array"}, "minItems": 3, "maxItems": 3},
            ]
        },
    ),
    "arrays or booleans": array({"type": ["array", "boolean"]}, minItems=3),
    "one array": array({"const": [0, "aé"]}, maxItems=1),
    "positions": array({"type": "object"}, prefixItems=[{"type": "object"}, {"type": "array"}]),
    "some that count": array({"type": "object"}, contains={"type": "object", "required": ["a"]}, minContains=2),
    "itself": {"$defs": {"t": array({"anyOf": [{"$ref": "#/$defs/t"}, STRING]})}, "$ref": "#/$defs/t"},
    "one of": array({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"}),
    "keys of a pattern": array(XKEYS),
    "keys of a pattern, and two": array({**XKEYS, "properties": {"a": BOOLEAN}}, minItems=2),
}
REFUSED: dict[str, Any] = {
    "closed objects": array(closed("a", a=INTEGER, b=BOOLEAN)),
    "few objects": array(closed(a=BOOLEAN, b=BOOLEAN), minItems=2),
    "few arrays": array({"type": "array", "items": BOOLEAN, "maxItems": 2}),
    "listed": array({"enum": [{"a": 1}, {"a": 2}, [1], "x", 1, None]}),
    "one of many": array({"oneOf": [{"type": "object"}, {"type": "array", "maxItems": 1}]}),
    "one key": array({"type": "object", "maxProperties": 1, "additionalProperties": BOOLEAN}),
    "few keys": array({"type": "object", "patternProperties": {"^x$": INTEGER}, "additionalProperties": False}),
    "arrays that contain": array({"type": "array", "contains": INTEGER}),
    "arrays of few that differ": array(array(BOOLEAN)),
    "in a branch": {"anyOf": [STRING, array(closed(a=INTEGER))]},
    "few by position": array({"type": "object"}, prefixItems=[BOOLEAN]),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"property_order": "schema"},
    {"spelling": "plain"},
    {"whitespace": "natural"},
    {"whitespace": "natural", "spelling": "plain", "property_order": "schema"},
    {"whitespace": "compact"},
]
