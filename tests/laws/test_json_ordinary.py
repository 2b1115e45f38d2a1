"""Ordinary schemas, each with a trait that a reader may get wrong: of small instances all readers say what the oracle says.

References, addresses, drafts, parts that stand in several places, unions of types, of calls and of tagged variants.
"""

import json

import pytest

import grammarlm as gl
from tests.laws.keyword_laws import VOCAB, check_readers
from tests.oracles.keyword_schemas import INSTANCES

SMALL = [
    {"type": "object"},
    {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["a", "z", "y"]},
    {"type": "object", "properties": {}, "additionalProperties": False},
    {"properties": {"é": {"minimum": 3}, "e": {"maxLength": 4}}, "additionalProperties": {"type": ["null", "integer", "number"]}},
    {"type": "array", "items": {"enum": ["a", None, True, 3, 2, 1, 7, "é"]}, "minItems": 2, "maxItems": 5},
    {"type": ["array", "boolean"], "items": True, "uniqueItems": False},
    {"type": "string", "pattern": "^a+$", "minLength": 2},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "unknown", "maxLength": 9},
    {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
    {"$schema": "http://json-schema.org/draft-04/schema#", "id": "http://x/y", "type": "integer", "minimum": 0,
     "exclusiveMinimum": True},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"next": {"$ref": "#/$defs/a"}}}}},
    {"type": "object", "properties": {str(i): {"type": "null"} for i in range(80)}, "required": ["3", "70", "5"]},
    {"definitions": {"x": {"type": "string"}}, "properties": {"a": {"$ref": "#/definitions/x", "maxLength": 1}},
     "$schema": "http://json-schema.org/draft-07/schema#"},
    {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"$ref": "#/properties/b"}]}, "b": {"type": "integer"}}},
    {"const": "x"},
    {"type": "string", "enum": ["x", 1, "y"]},
    {"title": "nothing is said"},
]  # fmt: skip

LOOP = {"required": ["x"], "type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}
NOTHING_OR_WRONG = [
    {"type": "object", "properties": {"a": False}},
    {"type": "object", "required": ["a"], "additionalProperties": False},
    {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    {"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}, "minItems": 1}, "b": LOOP}, "$ref": "#/$defs/a"},
    {"type": ["object", "array"], "required": ["a"], "properties": {"a": {"$ref": "#"}}, "items": {"$ref": "#"}, "minItems": 1},
    {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": ["array", "object"], "items": {"$ref": "#/$defs/b"},
     "minItems": 1, "required": ["a"], "additionalProperties": {"$ref": "#/$defs/b"}},
     "b": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/a"}, "minItems": 2}]}}},
    {"type": "integer", "minimum": 2, "maximum": 1},
    {"type": "integer", "minimum": 1.2, "maximum": 1.8},
    {"type": "string", "minLength": 2, "maxLength": 1},
    {"type": "string", "pattern": "^a$", "minLength": 2},
    {"type": "strange"},
    {"type": "number", "minimum": "a"},
    {"type": "number", "exclusiveMinimum": None},
    {"$ref": "#"},
    {"$ref": "#/nowhere"},
    {"type": "object", "properties": {"\ud800": True}},
    {"type": "array", "items": 3},
]  # fmt: skip


STRING, SHARED_LIST = {"type": "string"}, ["b", "a", "b"]


def called(name, argument="x"):
    arguments = {"type": "object", "properties": {argument: STRING}}
    return {"type": "object", "properties": {name: arguments}, "required": [name], "additionalProperties": False}


def tagged(*names):
    return {"type": "object", "properties": {"x": STRING, "kind": {"enum": list(names)}}, "required": ["kind"]}


NAMED = {
    "a dict in several places": {"properties": {"a": STRING, "b": STRING}, "required": ["b"], "additionalProperties": STRING},
    "a dict of two properties in several places": {"properties": {n: {"properties": {"x": STRING, "y": True}} for n in "ab"}},
    "a list in several places": {"properties": {"a": {"enum": SHARED_LIST}, "b": {"enum": SHARED_LIST, "type": "string"}}},
    "keywords as names": {"properties": {"type": {"type": "string"}, "properties": {"enum": ["type", "enum"]}, "id": True,
                                         "$ref": {"type": "null"}, "required": True}, "required": ["required", "type"]},
    "values twice": {"enum": ["b", "a", "b", True, True, None]},
    "long texts": {"enum": ["x" * 300, "x" * 299, "é" * 400], "description": "y" * 70_000},
    "half a pair in a description": {"type": "string", "description": "\ud800"},
    "names that begin alike": {"properties": {n: {"maxLength": len(n)} for n in ("aa", "a", "", "ab", "é", "Z", "zé", "z")}},
    "large numbers": {"type": "integer", "minimum": -(10**30), "maximum": 10**20},
    "a fraction": {"type": "number", "minimum": 0.1, "maximum": 1e300},
    "several types": {"type": ["array", "integer", "number", "null", "object"], "minimum": 3, "minItems": 1},
    "a type twice": {"type": ["string", "string"], "maxLength": 3},
    "lists in lists": {"items": {"items": {"items": {"maxItems": 0 + 3, "items": {"type": "boolean"}}}, "minItems": 2}},
    "lists of listed lists": {"title": "t", "examples": [[], [[]], [[1, [2]], {}], {"a": []}], "type": "array", "items": STRING},
    "required, not declared": {"type": "object", "required": ["b", "a", "b"], "additionalProperties": {"type": "null"}},
    "required is true": {"type": "object", "properties": {"a": {"type": "null", "required": True}}},
    "many keys": {"properties": {f"k{i % 7}{i}": {"type": "null"} for i in range(300)}, "required": ["k00", "k1141", "z", "y"]},
    "references to references": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/c"},
                                                                "c": STRING}},
    "a loop through optional keys": {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"items": {"$ref": "#"}}}},
    "a loop through a list": {"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#"}}}, "required": ["a"]},
    "a reference through a list": {"properties": {"a": {"$ref": "#/anyOf/0"}}, "anyOf": [{"type": "object"}]},
    "an escaped reference": {"properties": {"a/b": STRING, "c": {"$ref": "#/properties/a~1b"},
                                            "d": {"$ref": "#/properties/a%2Fb"}}},
    "a reference by anchor": {"$defs": {"a": {"$anchor": "x", "type": "null"}}, "$ref": "#x"},
    "an address of its own": {"$id": "http://x/", "$defs": {"a": {"$id": "y", "$defs": {"b": STRING}}}, "$ref": "y#/$defs/b"},
    "a reference into another address": {"$defs": {"a": {"$id": "http://y/", "$defs": {"b": STRING}}}, "$ref": "#/$defs/a/$defs/b"},
    "an address of draft 4": {"$schema": "http://json-schema.org/draft-04/schema",
                              "properties": {"a": {"id": "http://y/", "items": STRING}}},
    "addresses that nothing leads to": {"$id": "http://x/", "properties": {"a": {"$id": "http://y/", "items": {"$id": "z",
                                        "type": "string"}}, "$id": {"$id": "#a", "maxLength": 3}}},
    "addresses, and a reference": {"properties": {"a": {"$id": "http://y/", "items": {"$ref": "#/$defs/b"},
                                                        "$defs": {"b": STRING}}}, "$defs": {"b": {"type": "null"}}},
    "addresses, and another draft": {"properties": {"a": {"$id": "http://y/", "$schema": "http://json-schema.org/draft-04/schema#",
                                                          "items": {"type": "integer"}}}},
    "no address of draft 7": {"$schema": "http://json-schema.org/draft-07/schema",
                              "properties": {"a": {"id": "http://y/", "items": STRING}}},
    "next to a reference, draft 7": {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": STRING},
                                    "items": {"$ref": "#/definitions/a", "maxLength": 2}},
    "next to a reference, later": {"definitions": {"a": STRING}, "items": {"$ref": "#/definitions/a", "maxLength": 2}},
    "alternatives below": {"properties": {"a": {"oneOf": [STRING, {"type": "null"}]}, "b": {"items": {"not": {"type": "null"}}}},
                           "required": ["b"], "additionalProperties": {"anyOf": [STRING, {"const": 3}]}},
    "alternatives above": {"anyOf": [{"properties": {"a": STRING}}, {"type": "null"}]},
    "other items": {"additionalItems": False, "properties": {"a": {"type": "array", "items": STRING,
                                                                              "additionalItems": {"type": "null"}},
                    "b": {"type": "array", "additionalItems": False}}},
    "other items next to a list": {"items": {"items": [STRING], "additionalItems": False}},
    "formats": {"items": {"format": "date"}, "properties": {"a": {"type": "string", "format": "uuid", "maxLength": 99},
                "b": {"format": "hostname"}, "c": {"format": "unheard of"}, "d": {"format": "unheard of", "pattern": "^a"}}},
    "a union": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"b": STRING, "a": {"minimum": 3, "type": "number"}}},
                          {"type": "string", "maxLength": 4}]},
    "a union in another order": {"oneOf": [{"type": "array", "items": STRING}, {"enum": ["b", True, "a"]},
                                           {"type": ["null", "object"]}, {"type": "integer", "maximum": 9}]},
    "a union by references": {"items": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}], "title": "x"},
                              "$defs": {"a": {"$ref": "#/$defs/c"}, "b": {"type": ["null", "boolean"]}, "c": STRING}},
    "a union in a union": {"anyOf": [{"type": "null"}, {"anyOf": [STRING, {"type": "array"}]}]},
    "a union in a union, by reference": {"properties": {"a": {"$ref": "#/$defs/a"},
                                                        "b": {"oneOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}},
                                         "$defs": {"a": {"anyOf": [STRING, {"type": "integer", "minimum": 3}]}}},
    "a union that holds itself": {"$defs": {"a": {"anyOf": [STRING, {"type": "array", "items": {"$ref": "#/$defs/a"},
                                                                     "minItems": 1}]}}, "$ref": "#/$defs/a"},
    "calls of functions": {"anyOf": [called("f"), called("g"), called("h"), {"type": "null"}]},
    "calls, one of them open": {"oneOf": [called("f"), called("g") | {"additionalProperties": True}]},
    "calls of one name": {"anyOf": [called("f"), called("f", "y")]},
    "tagged variants": {"items": {"oneOf": [tagged("a"), {"type": "integer"}, tagged("b", "c"), tagged("d")]}},
    "tagged variants, tags in common": {"items": {"oneOf": [tagged("a"), tagged("b", "a")]}},
    "tagged variants by reference": {"$defs": {"a": tagged("a"), "b": tagged("b"), "u": {"anyOf": [{"$ref": "#/$defs/a"},
                                     {"$ref": "#/$defs/b"}]}}, "items": {"$ref": "#/$defs/u"},
                                     "properties": {"x": {"$ref": "#/$defs/a"}}},
    "tags that a reference hides": {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"s": STRING}, "oneOf": [
        {"type": "object", "properties": {"kind": {"$ref": "#/definitions/s", "enum": [n]}}, "required": ["kind"]} for n in "ab"]},
    "tags not required": {"oneOf": [{"type": "object", "properties": {"kind": {"const": n}}} for n in "ab"]},
    "a tag against none": {"anyOf": [tagged("a"), {"type": "object", "properties": {"x": STRING}, "additionalProperties": False}]},
    "a union of everything": {"properties": {"a": {"anyOf": [True, STRING]}, "b": {"anyOf": [{}]}, "c": {"oneOf": [STRING, {}]}}},
    "a union of one type": {"items": {"anyOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]}},
    "a union with nothing": {"properties": {"a": {"anyOf": [STRING, False, {"type": "null"}]}, "b": {"oneOf": [False, STRING]}}},
    "a union next to something": {"type": ["string", "null"], "anyOf": [{"type": "string"}, {"type": "null"}]},
    "two unions": {"anyOf": [STRING, {"type": "null"}], "oneOf": [STRING, {"type": "object"}]},
    "a union of what is not plain": {"properties": {"a": {"anyOf": [{"not": STRING}, STRING]}, "b": {"anyOf": [{"type": "null"},
                                     {"patternProperties": {"^a": STRING}, "type": "object"}]}, "c": {"not": STRING}}},
    "one of one": {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"type": "object", "required": ["b", "a"]}]}}},
    "all of two": {"allOf": [STRING, {"maxLength": 3}]},
    "whole numbers": {"items": {"enum": [3, 1, 2, 2, 7, -5, "a", None, 100000]}, "properties": {"a": {"const": 0},
                      "b": {"type": "integer", "enum": list(range(40, 0, -3))}, "c": {"type": "string", "enum": ["a", 1]}}},
    "many whole numbers": {"enum": list(range(0, 600, 2))},
    "whole numbers of draft 4": {"$schema": "http://json-schema.org/draft-04/schema#", "enum": [1, 2, "a"]},
    "a loop through an alternative": {"type": ["object", "null"], "required": ["a"], "properties": {"a": {"$ref": "#"}}},
    "values of other types": {"type": ["string", "boolean"], "enum": [1, 2.5, None, "a", False]},
}  # fmt: skip


TEXTS = (
    *INSTANCES,
    *('"b"', '"x"', '"aaa"', '"aaaa"', '"2024-02-29"', '"2024-02-30"', "3", "7", "100000000000000000000", "0.1", "40"),
    *("true", "false", '{"b":"a"}', '{"b":1}', '{"a":null}', '{"a":true}', '{"b":[null]}', '{"b":[]}', '{"x":{"x":1}}'),
    *('{"a":{"a":{}}}', '{"a":[{"a":[]}]}', '{"f":{"x":"a"}}', '{"f":{"x":1}}', '{"g":{}}', '{"g":{},"f":{"x":"a"}}'),
    *('{"f":{"y":1}}', '{"kind":"a"}', '{"kind":"c"}', '{"kind":"a","x":1}', '[{"kind":"a"}]', '[{"kind":"b"}]'),
    *('[{"kind":"d"},3]', '[{"x":"a"}]', '{"a/b":"a","c":"a","d":1}', '{"type":"a","required":1}', '{"a":"2"}', "[null]"),
    *('{"required":null,"type":"a"}', '["2024-02-29"]', '["a",null,true,3]', "[[[]]]", '{"3":null,"70":null,"5":null}'),
    *('{"a":1,"z":2,"y":3}', '{"next":{"next":1}}', '{"é":2,"e":"abcd"}', '{"é":3}', '{"a":"ab","b":2}'),
)  # fmt: skip


@pytest.mark.parametrize("schema", SMALL, ids=lambda s: json.dumps(s)[:60])
def test_small_schemas(schema):
    assert check_readers(schema, TEXTS)["compiled"]


@pytest.mark.parametrize("name", NAMED)
def test_schemas_with_a_trait(name):
    assert check_readers(NAMED[name], TEXTS)["refused"] < 2


@pytest.mark.parametrize("schema", NOTHING_OR_WRONG, ids=lambda s: json.dumps(s)[:60])
def test_what_may_hold_no_value_or_is_wrong(schema):
    check_readers(schema, TEXTS)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": []}, "/type: the name of a type"),
        ({"type": "object", "properties": {"a": {"type": []}}}, "/properties/a/type: the name of a type"),
        ({"type": "object", "required": "a"}, "/required: a list of names"),
    ],
)
def test_what_the_metaschemas_do_not_take_is_refused(schema, message):
    with pytest.raises(gl.GrammarError, match=f"^{message}"):
        gl.compile(gl.JsonSchema(schema), VOCAB)


def test_a_deep_schema():
    schema = {"type": "string"}
    for _ in range(3000):
        schema = {"type": "array", "items": schema}
    assert gl.compile(gl.JsonSchema(schema), VOCAB).matcher().advance_bytes(b"[" * 3000 + b'"a"')


def test_places_that_are_the_same_dict_are_read_once():
    schema = {"type": "string"}
    for _ in range(300):
        schema = {"properties": {"a": schema, "b": schema}}
    assert gl.compile(gl.JsonSchema(schema), VOCAB).nbytes < 1_000_000
