"""extra="forbid": which keys the objects of a written schema take. jsonschema says of each text whether the schema takes it, and
whether the closed one does."""

import itertools
import json
from typing import Any

import jsonschema
import pytest

import grammarlm as gl
from tests.corpus_files import tables
from tests.laws.vocabularies import every_byte
from tests.texts import accepts

VOCAB = every_byte().vocabulary()
A = {"type": "object", "properties": {"a": {"type": "integer"}}}
B = {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}
CAT = {"type": "object", "properties": {"kind": {"const": "cat"}, "a": {"type": "integer"}}, "required": ["kind"]}
DOG = {"type": "object", "properties": {"kind": {"const": "dog"}, "b": A}, "required": ["kind"]}
MAP = {"type": "object", "additionalProperties": {"type": "integer"}}
CLOSED = tables("json_schema")["closed"]["schemas"]
TEXTS = sorted({text for _, taken, refused in CLOSED for text in [*taken, *refused]})
TEXTS += ["{}", "1", "[]", '{"a":"x"}', '{"c":{}}']


@pytest.mark.parametrize(("written", "taken", "refused"), CLOSED)
def test_undeclared_keys_are_forbidden(written: str, taken: list[str], refused: list[str]) -> None:
    schema = json.loads(written)
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
    assert gl.JsonSchema(written, extra="forbid").document() == document
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
