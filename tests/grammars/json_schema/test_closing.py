"""extra="forbid": which keys the objects of a written schema take. jsonschema says of each text whether the schema takes it, and
whether the closed one does."""

import itertools
import json
from typing import Any

import jsonschema
import pytest

import grammarlm as gl
from tests.laws.vocabularies import every_byte

VOCAB = every_byte().vocabulary()
A = {"type": "object", "properties": {"a": {"type": "integer"}}}
B = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}
CAT = {"type": "object", "properties": {"kind": {"const": "cat"}, "a": {"type": "integer"}}, "required": ["kind"]}
DOG = {"type": "object", "properties": {"kind": {"const": "dog"}, "b": A}, "required": ["kind"]}
MAP = {"type": "object", "additionalProperties": {"type": "integer"}}
DEFS = {"A": A, "B": B, "Node": {**A, "properties": {"a": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}}}}

# A schema; texts that the closed one takes; texts that only the schema itself takes.
CASES: list[tuple[Any, list[str], list[str]]] = [
    (A, ['{"a":1}', "{}"], ['{"z":1}', '{"a":1,"z":2}']),
    ({"properties": {}}, ["{}", "1"], ['{"z":1}']),
    (MAP, ['{"z":1}'], []),
    ({**A, "additionalProperties": True}, ['{"z":1}'], []),
    ({**A, "patternProperties": {"^x": {}}}, ['{"xy":1}', '{"z":1}'], []),
    ({"type": "object"}, ['{"z":1}'], []),
    ({**A, "required": ["c"]}, ['{"c":1}'], ['{"c":1,"z":1}']),
    ({"type": "array", "items": A}, ['[{"a":1}]'], ['[{"z":1}]']),
    ({"properties": {"x": {"properties": {"y": A}}}}, ['{"x":{"y":{"a":1}}}'], ['{"x":{"y":{"z":1}}}', '{"x":{"z":1}}']),
    ({"allOf": [A, B]}, ['{"a":1,"b":2}', '{"b":2}'], ['{"b":2,"z":3}']),
    ({**A, "allOf": [B]}, ['{"a":1,"b":2}'], ['{"b":2,"z":3}']),
    ({"$ref": "#/$defs/A", "$defs": DEFS}, ['{"a":1}'], ['{"z":1}']),
    ({"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}], "$defs": DEFS}, ['{"a":1,"b":2}'], ['{"b":2,"z":3}']),
    (
        {"properties": {"x": {"$ref": "#/$defs/A"}, "y": {"allOf": [{"$ref": "#/$defs/A"}, B]}}, "$defs": DEFS},
        ['{"x":{"a":1},"y":{"a":1,"b":2}}'],
        ['{"x":{"b":1}}', '{"y":{"b":1,"z":1}}', '{"z":1}'],
    ),
    ({"$ref": "#/$defs/Node", "$defs": DEFS}, ['{"next":{"next":{"a":1}}}'], ['{"next":{"next":{"z":1}}}']),
    ({**A, "properties": {"a": {}, "again": {"$ref": "#"}}}, ['{"again":{"a":1}}'], ['{"again":{"z":1}}']),
    ({"anyOf": [A, B]}, ['{"a":1}', '{"b":1}'], ['{"a":1,"z":1}', '{"a":1,"b":1}']),
    ({"anyOf": [A, MAP]}, ['{"z":1}', '{"a":1}'], ['{"a":1,"z":"x"}']),
    ({**A, "anyOf": [{"required": ["a"]}, {"required": ["c"]}]}, ['{"a":1}', '{"c":1}'], ['{"a":1,"z":1}']),
    ({**A, "anyOf": [B, {"properties": {"c": {}}}]}, ['{"a":1,"c":1}', '{"a":1,"b":1}'], ['{"a":1,"z":1}']),
    ({"oneOf": [CAT, DOG]},
     ['{"kind":"cat","a":1}', '{"kind":"dog","b":{"a":1}}'], ['{"kind":"cat","b":1}', '{"kind":"dog","b":{"z":1}}']),
    ({"oneOf": [A, {"type": "integer"}]}, ['{"a":1}', "1"], ['{"z":1}']),
    ({"oneOf": [{**A, "required": ["a"]}, B]}, ['{"a":1}', '{"b":1}'], ['{"a":1,"z":1}']),
    (
        {**A, "if": {"required": ["a"]}, "then": {"properties": {"c": {}}}, "else": {"properties": {"d": {}}}},
        ['{"a":1,"c":1}', '{"d":1}'],
        ['{"a":1,"d":1}', '{"c":1}'],
    ),
    ({**A, "not": {"properties": {"a": {"const": 1}}, "required": ["a"]}}, ['{"a":2}'], ['{"z":1}']),
    ({"contains": {**A, "required": ["a"]}}, ['[{"a":1,"z":1}]'], []),
    ({"prefixItems": [A], "items": B}, ['[{"a":1},{"b":1}]'], ['[{"z":1}]', '[{"a":1},{"b":1,"z":1}]']),
    ({**A, "dependentSchemas": {"a": {"properties": {"c": {}}}}}, ['{"a":1,"c":1}'], ['{"c":1}']),
]  # fmt: skip
TEXTS = sorted(
    {text for _, taken, refused in CASES for text in [*taken, *refused]} | {"{}", "1", "[]", '{"a":"x"}', '{"c":{}}'}
)


def accepts(constraint: gl.Constraint, text: str) -> bool:
    matcher = constraint.matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting


@pytest.mark.parametrize(("schema", "taken", "refused"), CASES, ids=lambda part: json.dumps(part)[:60])
def test_undeclared_keys_are_forbidden(schema: Any, taken: list[str], refused: list[str]) -> None:
    grammar = gl.JsonSchema(schema, extra="forbid", property_order="any")
    document = grammar.document()
    closed, usual = gl.compile(grammar, VOCAB), gl.compile(gl.JsonSchema(schema, property_order="any"), VOCAB)
    before, after = (jsonschema.Draft202012Validator(s) for s in (schema, document))
    for text in taken:
        assert accepts(closed, text), text
    for text in refused:
        assert not accepts(closed, text), text
        assert accepts(usual, text), text
    for text in TEXTS:
        value = json.loads(text)
        assert accepts(closed, text) == after.is_valid(value), text
        assert before.is_valid(value) or not after.is_valid(value), text
    assert gl.JsonSchema(json.dumps(schema), extra="forbid").document() == document
    assert gl.JsonSchema(document, extra="forbid").document() == document
    again = gl.Constraint.from_bytes(closed.to_bytes(), VOCAB)
    assert again.grammar == grammar or again.grammar.document() == document
    assert gl.JsonSchema(schema).document() == schema


def test_every_text_of_the_closed_schema_is_one_of_the_schema() -> None:
    """Pairs of parts below each way to combine them, against jsonschema."""
    parts = [A, B, CAT, DOG, MAP, {"required": ["a"]}, {"properties": {"x": A}}, True]
    texts = [json.dumps(value) for value in _objects()]
    for one, other in itertools.product(parts, parts):
        for schema in (
            {"allOf": [one, other]},
            {"anyOf": [one, other]},
            {"oneOf": [one, other]},
            {"if": one, "then": other},
        ):
            closed = gl.JsonSchema(schema, extra="forbid").document()
            before, after = jsonschema.Draft202012Validator(schema), jsonschema.Draft202012Validator(closed)
            for text in texts:
                value = json.loads(text)
                assert before.is_valid(value) or not after.is_valid(value), (schema, closed, text)


def _objects() -> list[Any]:
    values: list[dict[str, Any]] = [
        {"a": 1},
        {"b": 1},
        {"b": {"a": 1}},
        {"kind": "cat"},
        {"kind": "dog"},
        {"z": 1},
        {"x": {"a": 1}},
        {"x": {"z": 1}},
    ]
    return [{}, *values, *({**one, **other} for one in values for other in values)]


def test_what_is_not_closed_is_refused_by_name() -> None:
    outside = {"$ref": "https://example.com/a"}
    with pytest.raises(gl.UnsupportedFeature, match="leads out of it"):
        gl.compile(gl.JsonSchema(outside, extra="forbid", registry={"https://example.com/a": A}), VOCAB)
    both = {"properties": {"x": {"$ref": "#/$defs/A"}, "y": {"not": {"$ref": "#/$defs/A"}}}, "$defs": {"A": A}}
    with pytest.raises(gl.UnsupportedFeature, match=r"a condition .* and a description at once"):
        gl.compile(gl.JsonSchema(both, extra="forbid"), VOCAB)
    old = {"$schema": "http://json-schema.org/draft-07/schema", "allOf": [A, B]}
    with pytest.raises(gl.UnsupportedFeature, match="draft='auto'"):
        gl.compile(gl.JsonSchema(old, extra="forbid", draft="declared"), VOCAB)
    assert accepts(gl.compile(gl.JsonSchema(old, extra="forbid"), VOCAB), '{"a":1,"b":1}')
