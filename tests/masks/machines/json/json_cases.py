"""Schemas of every kind, each with texts that are valid under it, and a vocabulary whose tokens cut JSON in awkward places."""

import json
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import grammarlm as gl

PIECES = [
    *(
        b'{"',
        b'":',
        b'": ',
        b'", "',
        b'","',
        b'"}',
        b"]}",
        b"}]",
        b"},",
        b'},{"',
        b"[[",
        b"]]",
        b'["',
        b'"]',
        b"[]",
        b"{}",
    ),
    *(
        b',"a',
        b',"a"',
        b'"a":',
        b'"b":',
        b'"c":',
        b'"k1":',
        b'"k65":',
        b'{"a":',
        b'"a":1,"b":',
        b'{"a":{"a":',
        b'":{"',
        b'a":1}',
        b'b":[1,',
    ),
    *(
        b"1,",
        b"1,2",
        b"12",
        b"00",
        b"123",
        b"0.",
        b".5",
        b"1.0",
        b"e1",
        b"E+",
        b"-1",
        b"-0",
        b"1e2",
        b"25",
        b",1",
        b", 1",
        b"1]",
        b"1}",
    ),
    *(b"true", b"tr", b"ue", b"false", b"null", b"nul", b"true,", b"null]"),
    *(b"  ", b"\n  ", b"\r\n", b" \t", b"\n\n", b" " * 41, b": ", b", ", b' "', b" }", b"\n]"),
    *(
        b'\\"',
        b"\\\\",
        b"\\u",
        b"\\u00",
        b"\\u0061",
        b"\\u00e9",
        b"\\ud83d",
        b"\\ude00",
        b"\\ud83d\\ude00",
        b"\\n",
        b'\\u0061"',
        b"\\/",
    ),
    *(
        "é".encode(),
        "é".encode()[:1] + b'"',
        "é".encode()[1:] + b'"',
        "😀".encode(),
        "😀".encode()[:3],
        "😀".encode()[2:],
        b"\xff\xfe",
    ),
    *(b"ab", b"aa", b"abab", b'a"', b'"a', b'"ab"', b"bb", b'b":', b'",', b"20", b"-0", b"T1", b"Z", b"a@b", b".c"),
    *(b'"a', b"}", b"1,", b"true", b"a", b'"'),  # each there already: twins
    b"",
]
STOP, SPECIAL, OTHER_STOP = (256 + len(PIECES) + i for i in range(3))
TOKENS = [bytes([byte]) for byte in range(256)] + PIECES + [b"</s>", b'{"', b"}"]
PADDING = 45


@cache
def vocabulary() -> gl.Vocabulary:
    return gl.Vocabulary(TOKENS, stop_ids=[STOP, OTHER_STOP], special_ids=[STOP, SPECIAL], size=len(TOKENS) + PADDING)


@dataclass(frozen=True)
class Case:
    """A schema, and texts that are valid under it and in the order that its options ask for."""

    schema: Any
    texts: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)

    @cache  # noqa: B019 - the cases live as long as the process
    def compiled(self) -> gl.Constraint:
        return self.compile()

    def compile(self, **settings: Any) -> gl.Constraint:
        return gl.compile(gl.JsonSchema(self.schema, **self.options), vocabulary(), **settings)

    def __hash__(self) -> int:
        return id(self)

    def __str__(self) -> str:
        return json.dumps(self.schema) + str(self.options or "")


def case(schema: Any, *texts: str, **options: Any) -> Case:
    return Case(schema, texts, options)


ANY = {"property_order": "any"}
_MANY = {f"k{i}": {"type": "integer"} if i % 2 else {"enum": [1, "a"]} for i in range(70)}
_TREE = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            "required": ["a"],
        }
    },
    "$ref": "#/$defs/tree",
}

CASES = {
    "anything": case(True, '{"a":[1,"b",{"a":null}]}', " [ ]", '"\\ud83d\\ude00é"', "-1.0e2"),
    # strings
    "string": case({"type": "string"}, '"ab\\u0061é"', '"😀\\n"'),
    "keys with a part": case(
        {
            "type": "object",
            "patternProperties": {"ab": {"type": ["object", "string", "array"]}},
            "properties": {"b": {"type": "string"}, "bab": {"type": "object"}},
            "additionalProperties": False,
        },
        '{"ab":{},"b":"","aab":"x","bab":{},"\\u0061bb":[]}',
        '{"bab":{"ab":1},"abab":""}',
        property_order="any",
    ),
    "keys with a part, unevaluated": case(
        {
            "oneOf": [
                {"required": ["aa"], "patternProperties": {"a": True}},
                {"required": ["b"], "properties": {"b": True}},
                {"required": ["k1"], "unevaluatedProperties": True},
            ],
            "unevaluatedProperties": False,
        },
        '{"aa":1,"foa":[]}',
        '{"k1":1,"foo":""}',
        property_order="any",
    ),
    "keys of two patterns": case(
        {
            "patternProperties": {"^a": {"type": "string"}, "^[bc]+$": {"type": "array"}},
            "properties": {"ab": {"type": "string"}, "k1": {}},
            "required": ["k1"],
        },
        '{"a":"","k1":{},"bc":[],"ab":"","z":null}',
        '{"z":"","k1":"","b":[]}',
        property_order="any",
    ),
    "closed, strings": case(
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "ab": {"type": "string"}, "b": {"type": "string"}},
            "required": ["b"],
            "additionalProperties": False,
        },
        '{"ab":"","b":"","a":""}',
        '{"b":"x"}',
        '{"a":"","b":""}',
        property_order="any",
    ),
    "strings in frames": case(
        {"items": {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}, "maxItems": 3},
        '[{"a":"","b":"x"},{"b":"","a":"","c":""},{"c":"","a":"k"}]',
        property_order="any",
    ),
    "lengths": case(
        {"type": "string", "minLength": 2, "maxLength": 4}, '"abab"', '"\\ud83d\\ude00é"', '"😀a"', '"\\u0061a"'
    ),
    "a long length": case({"type": "string", "minLength": 30, "maxLength": 1_000_000}, '"' + "ab" * 16 + '"'),
    "pattern": case({"type": "string", "pattern": "^(ab)*$"}, '"abab"', '"\\u0061b"', '""'),
    "a pattern anywhere": case({"type": "string", "pattern": "b\\d"}, '"aab1é"', '"b\\u0031"'),
    "pattern and lengths": case(
        {"type": "string", "pattern": "^(ab)*é?$", "minLength": 3, "maxLength": 5}, '"abé"', '"abab\\u00e9"', '"abab"'
    ),
    "two patterns": case({"allOf": [{"pattern": "^a"}, {"pattern": "b$"}], "type": "string"}, '"ab"', '"aéb"'),
    "date": case({"type": "string", "format": "date"}, '"2021-12-25"', '"\\u0032020-02-29"'),
    "date-time": case({"type": "string", "format": "date-time"}, '"2020-02-29T12:00:00Z"'),
    "email, uuid, ipv4": case(
        {"anyOf": [{"type": "string", "format": f} for f in ("email", "uuid", "ipv4")]},
        '"a@b.c"',
        '"1.2.3.4"',
        '"123e4567-e89b-12d3-a456-426614174000"',
    ),
    "enum": case(
        {"enum": ["a", "ab", "é", 'a"b', 12, 1.5, None, True, [1, {"a": 2}], {"a": "b", "b": []}]},
        '"ab"',
        '"\\u00e9"',
        '"a\\"b"',
        "12",
        "1.50",
        '[1, {"a":2}]',
        '{"a":"b","b":[]}',
    ),
    "const": case({"const": {"a": [1, 2], "b": "é"}}, '{"a":[1,2],"b":"\\u00e9"}', '{ "a": [1.0, 2], "b": "é" }'),
    "not a string": case({"type": "string", "not": {"enum": ["a", "ab"]}}, '"aa"', '""', '"aba"'),
    "not a pattern": case({"type": "string", "not": {"pattern": "a"}}, '"bb"', '"é"'),
    # numbers
    "integer": case({"type": "integer"}, "-12", "1.0", "1e2", "0"),
    "bounds": case({"type": "integer", "minimum": -12, "exclusiveMaximum": 125}, "124", "-12", "1.2e1", "0"),
    "fractions": case(
        {"type": "number", "exclusiveMinimum": 0.5, "maximum": 12.25}, "0.51", "12.25", "1e1", "0.500001"
    ),
    "multipleOf 7": case({"type": "integer", "multipleOf": 7, "minimum": 10}, "14", "21.0", "7e2"),
    "multipleOf .25": case({"type": "number", "multipleOf": 0.25, "maximum": 3}, "0.25", "-1.75", "2.5e-1"),
    "a large multipleOf": case({"type": "number", "multipleOf": 982451653}, "982451653", "0"),
    "not a multiple": case({"type": "integer", "not": {"multipleOf": 2}, "minimum": 0, "maximum": 30}, "25", "1"),
    "an array of numbers": case(
        {"type": "array", "items": {"type": "number", "minimum": 1, "maximum": 25}}, "[1,25, 1.5,\n  12]", "[2.5e1]"
    ),
    # objects
    "any object": case({"type": "object"}, '{"a":1,"b":{"a":2}}', '{"\\u0061b":[],"a":""}', '{"":1,"é":2}'),
    "declared": case(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "ab": {"type": "boolean"}},
            "required": ["b"],
        },
        '{"a":1,"b":"é","ab":true,"c":[]}',
        '{"b":"a"}',
        '{"\\u0061":1,"\\u0062":""}',
    ),
    "declared, any order": case(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "ab": {"type": "boolean"}},
            "required": ["b"],
        },
        '{"ab":true,"c":[],"b":"é","a":1}',
        '{"b":"a"}',
        '{"aa":{},"\\u0062":""}',
        **ANY,
    ),
    "closed": case(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "null"}},
            "additionalProperties": False,
        },
        '{"a":12,"b":null}',
        "{}",
        '{"b":null}',
    ),
    "closed, any order": case(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "null"}, "c": True},
            "required": ["a", "c"],
            "additionalProperties": False,
        },
        '{"c":12,"b":null,"a":1}',
        '{"a":1,"c":[]}',
        **ANY,
    ),
    "a list of names": case(
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
        '{"b":1,"a":2}',
        property_order=["b", "a"],
    ),
    "others of one type": case(
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
        '{"a":"","b":1,"c":12}',
        '{"é":0}',
    ),
    "escapes in keys": case(
        {
            "type": "object",
            "properties": {
                'a"b': {"type": "integer"},
                "é\n": {"type": "integer"},
                "😀": {"const": 1},
                "\\": {"type": "null"},
            },
            "additionalProperties": False,
            "required": ["😀"],
        },
        '{"a\\"b":1,"\\u00e9\\n":2,"\\ud83d\\ude00":1,"\\\\":null}',
        '{"😀":1}',
        **ANY,
    ),
    "patterns of keys": case(
        {
            "type": "object",
            "patternProperties": {"^a": {"type": "integer"}, "b$": {"minimum": 5}},
            "additionalProperties": False,
        },
        '{"a":1,"ab":12,"b":"é"}',
        '{"\\u0061b":5}',
    ),
    "declared and patterns": case(
        {
            "type": "object",
            "properties": {"b": {"type": "integer"}},
            "patternProperties": {"^a": True},
            "additionalProperties": False,
        },
        '{"b":1,"ab":[]}',
        '{"aa":1}',
        '{"b":1}',
    ),
    "names": case(
        {"type": "object", "propertyNames": {"pattern": "^[ab]+$", "maxLength": 3}}, '{"a":1,"ab":2}', '{"\\u0061bb":1}'
    ),
    "few names": case(
        {"type": "object", "propertyNames": {"enum": ["a", "ab", "c"]}, "minProperties": 2},
        '{"a":1,"ab":2}',
        '{"c":1,"\\u0061":1,"ab":0}',
        **ANY,
    ),
    "one-letter names": case({"type": "object", "propertyNames": {"pattern": "^[ab]?$"}}, '{"a":1,"b":2,"":3}', "{}"),
    "counts": case(
        {"type": "object", "minProperties": 2, "maxProperties": 3}, '{"a":1,"b":2}', '{"c":1,"a":[],"é":{}}'
    ),
    "counts and needs": case(
        {"type": "object", "required": ["a", "b"], "maxProperties": 3, "properties": {"c": {"type": "integer"}}},
        '{"c":1,"a":1,"b":2}',
        '{"a":0,"b":1,"aa":""}',
        **ANY,
    ),
    "counts, closed": case(
        {
            "type": "object",
            "properties": {"a": True, "b": True, "c": True},
            "additionalProperties": False,
            "minProperties": 2,
        },
        '{"a":1,"c":1}',
        '{"b":1,"c":1}',
    ),
    "dependentRequired": case(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {}},
            "dependentRequired": {"c": ["a"], "a": ["b"]},
        },
        '{"c":1,"a":1,"b":1}',
        '{"b":1}',
        '{"aa":1}',
        **ANY,
    ),
    "dependentSchemas": case(
        {"type": "object", "dependentSchemas": {"a": {"required": ["b"], "properties": {"b": {"type": "integer"}}}}},
        '{"a":1,"b":12}',
        '{"b":"é"}',
        '{"b":1,"a":[]}',
        **ANY,
    ),
    "more than 62 keys": case(
        {"type": "object", "properties": _MANY, "required": ["k1", "k65"], "additionalProperties": False},
        '{"k0":1,"k1":12,"k65":1,"k68":"a"}',
        '{"k1":0,"k65":1}',
    ),
    "dependencies among more than 62 keys": case(
        {"type": "object", "properties": _MANY, "dependentRequired": {"k1": ["k3"], "k3": ["k65"]}},
        '{"k65":1,"k3":1,"k1":3}',
        '{"k65":2}',
        '{"k0":"a"}',
        property_order="any",
    ),
    "a rule that some key breaks": case(
        {"not": {"patternProperties": {"^a": {"type": "string"}}}},
        '{"a":1}',
        '{"b":1,"ab":[],"aa":"a"}',
        '{"aa":"b","ab":null}',
        property_order="any",
    ),
    "a rule that some key breaks, after those of the schema": case(
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
            "required": ["b"],
            "not": {"additionalProperties": {"type": "string"}, "properties": {"a": True, "b": True}},
        },
        '{"a":1,"b":"a","c":2}',
        '{"b":"ab","c":"a","ab":{"a":1}}',
    ),
    "two rules that keys break": case(
        {
            "type": "object",
            "allOf": [
                {"not": {"patternProperties": {"a": {"type": "integer"}}}},
                {"not": {"patternProperties": {"b": {"type": "integer"}}}},
            ],
        },
        '{"ab":true}',
        '{"a":"a","b":[]}',
        '{"ab":1,"bb":null,"aa":"a"}',
        property_order="any",
    ),
    "a name that breaks a rule": case(
        {"type": "object", "not": {"propertyNames": {"pattern": "^a"}}, "minProperties": 2},
        '{"a":1,"b":2}',
        '{"b":"","aa":2,"ab":3}',
        property_order="any",
    ),
    "more than 62 keys, any order": case(
        {"type": "object", "properties": _MANY, "required": ["k1", "k65"]},
        '{"k69":1,"k65":1,"k1":12,"k0":1,"a":[]}',
        '{"k1":0,"k65":1}',
        **ANY,
    ),
    "unevaluatedProperties": case(
        {
            "type": "object",
            "anyOf": [
                {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
            ],
            "unevaluatedProperties": False,
        },
        '{"a":1,"b":1}',
        '{"b":12}',
        **ANY,
    ),
    # arrays
    "items": case(
        {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3},
        "[true,false]",
        "[ true,true,\n  true ]",
    ),
    "prefixItems": case(
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}},
        '[1,"a",null,null]',
        "[12]",
        "[]",
    ),
    "prefixItems alone": case(
        {"type": "array", "prefixItems": [{"enum": ["a", 1]}, {"const": 2}], "items": False, "minItems": 2},
        '["a",2]',
        "[1, 2]",
    ),
    "contains": case(
        {"type": "array", "contains": {"type": "integer"}, "minContains": 2, "maxContains": 3},
        '[1,"a",2]',
        "[1,2,12,null]",
    ),
    "contains, bounded": case(
        {"type": "array", "items": {"enum": ["a", 1, 2]}, "contains": {"const": 1}, "minContains": 2, "maxItems": 3},
        '[1,"a",1]',
        "[1,1]",
    ),
    "contains one object": case(
        {
            "type": "array",
            "items": {"type": "object"},
            "contains": {"type": "object", "required": ["a"]},
            "minContains": 1,
            "maxContains": 1,
        },
        '[{"a":1},{"b":1}]',
        '[{},{"aa":2,"a":[]}]',
        **ANY,
    ),
    "uniqueItems": case(
        {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}, "[1,2,12]", "[1.5e1,1]", "[]"
    ),
    "uniqueItems of few": case(
        {"type": "array", "uniqueItems": True, "items": {"enum": ["aa", "ab", "b"]}, "minItems": 2},
        '["aa","b","ab"]',
        '["ab","\\u0061a"]',
    ),
    "unevaluatedItems": case(
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}],
            "allOf": [{"contains": {"const": "a"}}],
            "unevaluatedItems": False,
        },
        '[1,"a"]',
        '[1,"a","a"]',
    ),
    # combined
    "anyOf": case(
        {
            "anyOf": [
                {"type": "integer"},
                {"type": "string", "maxLength": 2},
                {"type": "array", "items": {"type": "integer"}},
                {"type": "array", "items": {"type": "string"}},
            ]
        },
        "12",
        '"ab"',
        "[1,2]",
        '["a","b"]',
        "[]",
    ),
    "objects that differ late": case(
        {
            "anyOf": [
                {"properties": {"a": {"type": "string"}, "b": {"const": 1}}, "required": ["a", "b"]},
                {"properties": {"a": {"type": "string"}, "b": {"const": "a"}}, "required": ["a", "b"]},
            ],
            "type": "object",
        },
        '{"a":"é","b":1}',
        '{"a":"","b":"a"}',
    ),
    "oneOf": case(
        {"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "integer", "multipleOf": 3}]}, "2", "3", "9"
    ),
    "oneOf keys": case(
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        '{"a":1}',
        '{"b":1,"c":2}',
        '{"aa":1,"b":1}',
        **ANY,
    ),
    "not": case(
        {"not": {"anyOf": [{"type": "object"}, {"type": "array"}, {"type": "string", "maxLength": 2}]}},
        "12",
        "null",
        '"aba"',
        "true",
    ),
    "not an object": case(
        {"type": "object", "not": {"required": ["a"], "properties": {"b": {"type": "integer"}}}},
        '{"a":1,"b":"a"}',
        '{"b":1}',
        "{}",
        **ANY,
    ),
    "if": case(
        {
            "type": "object",
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"required": ["b"]},
            "else": {"properties": {"b": {"type": "null"}}},
        },
        '{"a":1,"b":2}',
        '{"a":2,"b":null}',
        '{"c":1}',
        **ANY,
    ),
    "if required": case(
        {"if": {"required": ["a"]}, "then": {"maxProperties": 2}},
        '{"b":false,"ab":[],"c":2}',
        '{"a":1,"b":2}',
        "1",
        **ANY,
    ),
    "recursion": case(_TREE, '{"a":1,"b":[{"a":2,"b":[]},{"a":1}]}', '{"a": 1}'),
    "recursion, any order": case(_TREE, '{"b":[{"b":[],"a":2}],"a":1}', **ANY),
    "nested arrays": case({"$id": "x", "type": "array", "items": {"$ref": "#"}}, "[[],[[]]]", "[ [ ] ]"),
    "types": case({"type": ["string", "null", "integer"], "minLength": 1, "minimum": 10}, '"a"', "null", "12"),
    # white space
    "compact": case(
        {"type": "object", "properties": {"a": {"type": "array"}}}, '{"a":[1,{"b":2}],"c":"a b"}', whitespace="compact"
    ),
    "any white space": case(
        {"type": "array", "items": {"type": "integer"}}, "\n\n[\n\n \t1 ,\r\n\r2]  ", whitespace="any"
    ),
    "flexible": case({"type": "object", "required": ["a"]}, '{\n  "a": [\r\n  1,\n  2\n]\n}', ' \t\r\n{ "a" : 1 } '),
    "white space by pattern": case(
        {"type": "object", "properties": {"a": {"type": "integer"}}}, '{ "a": 1,\n  "b":[ ] }', whitespace=r" ?|\n  "
    ),
}
