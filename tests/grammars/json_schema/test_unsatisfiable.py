"""A schema without values says which of its keywords contradict each other, and where."""

import random
import re
from typing import Any

import pytest

import grammarlm as gl
from tests.oracles.keyword_schemas import VALUES, document

VOCAB = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"<eos>"], stop_ids=[256], special_ids=[256])
CLOSED = {"type": "object", "properties": {"name": {}, "age": {}}, "additionalProperties": False}
# A schema; where it has no values; what is said.
CASES: list[tuple[Any, str, str]] = [
    ({"minLength": 3, "maxLength": 2, "type": "string"}, "", '"minLength": 3, "maxLength": 2, "type": "string"'),
    ({"type": "integer", "title": "t", "minimum": 3, "maximum": 2}, "", '"type": "integer", "minimum": 3, "maximum": 2'),
    ({"type": "number", "exclusiveMinimum": 3, "maximum": 3}, "", '"type": "number", "exclusiveMinimum": 3, "maximum": 3'),
    ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4}, "", '"exclusiveMinimum": 3, "exclusiveMaximum": 4'),
    ({"type": "integer", "minimum": 11, "maximum": 19, "multipleOf": 10}, "", '"minimum": 11, "maximum": 19, "multipleOf": 10'),
    ({"type": "array", "minItems": 3, "maxItems": 2, "items": {}}, "", '"type": "array", "minItems": 3, "maxItems": 2'),
    ({"type": "object", "minProperties": 3, "maxProperties": 2}, "", '"type": "object", "minProperties": 3, "maxProperties": 2'),
    ({"type": "array", "contains": {"const": 1}, "minContains": 2, "maxContains": 1}, "", '"minContains": 2, "maxContains": 1'),
    ({"type": "array", "prefixItems": [True], "items": False, "minItems": 2}, "", '"items": false, "minItems": 2'),
    ({"type": "string", "enum": [1, 2], "maxLength": 9}, "", '"type": "string", "enum": [1, 2]'),
    ({"allOf": [{"minLength": 3}, {"maxLength": 2}], "type": "string"}, "", '"minLength": 3 (/allOf/0), "maxLength": 2 (/allOf/1)'),
    ({"$ref": "#/$defs/a", "type": "null", "$defs": {"a": {"type": "array"}}}, "", '"$ref": "#/$defs/a", "type": "null"'),
    ({"type": "object", "required": ["a", "b"], "maxProperties": 1}, "", '"required": ["a", "b"], "maxProperties": 1'),
    (
        {"type": "array", "items": {"type": "string", "minLength": 3, "maxLength": 2}, "minItems": 1}, "/items",
        'at /items these contradict each other: "type": "string", "minLength": 3, "maxLength": 2',
    ),
    ({**CLOSED, "required": ["age", "nmae"]}, "", "\"required\" has 'nmae', which no object can have here"),
    ({**CLOSED, "required": ["nmae"]}, "", "; did you mean 'name'?"),
    ({"type": "object", "properties": {"a": False}, "required": ["a", "b"]}, "", "\"required\" has 'a', which no object can have"),
    ({"type": "array", "items": {**CLOSED, "required": ["Name"]}, "minItems": 1}, "/items", "at /items \"required\" has 'Name'"),
    ({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}, "", "only be had by way of itself"),
    (False, "", "it is false"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer", "said"), CASES, ids=lambda case: str(case)[:60])
@pytest.mark.parametrize("options", [{}, {"registry": {}}, {"draft": "declared"}, {"strict": False}], ids=str)
def test_what_contradicts_is_named(schema: Any, pointer: str, said: str, options: dict[str, Any]) -> None:
    with pytest.raises(gl.UnsatisfiableGrammar) as refused:
        gl.compile(gl.JsonSchema(schema, **options), VOCAB)
    assert said in str(refused.value)
    assert refused.value.pointer == pointer
    assert len(str(refused.value)) <= 500


def is_satisfiable(schema: Any) -> bool:
    try:
        gl.compile(gl.JsonSchema(document(schema)), VOCAB)
    except gl.UnsatisfiableGrammar:
        return False
    return True


def test_the_keywords_that_are_named_contradict_each_other_and_no_fewer_do() -> None:
    rng, checked = random.Random(3), 0
    words = [
        word
        for word in VALUES
        if not re.match(r"\$|if|then|else|unevaluated|.*[iI]tems$|.*Contains|contains|.*ropert", word)
    ]
    while checked < 40:
        schema = {word: rng.choice(VALUES[word]) for word in rng.sample(words, 4)}
        schema["type"] = rng.choice(["object", "string", "integer"])
        try:
            gl.compile(gl.JsonSchema(document(schema)), VOCAB)
            continue
        except gl.UnsupportedFeature:
            continue
        except gl.UnsatisfiableGrammar as error:
            said = str(error)
        if "allOf" in schema or "required" in schema:
            continue  # named by their parts
        named = [word for word in schema if f'"{word}": ' in said.partition(" at # ")[2]]
        assert named, (schema, said)
        assert not is_satisfiable({word: schema[word] for word in named}), (schema, said)
        for left_out in named:
            assert is_satisfiable({word: schema[word] for word in named if word != left_out}), (schema, left_out, said)
        checked += 1


def test_a_large_schema_without_values_is_not_taken_apart() -> None:
    schema = {"allOf": [{"enum": [f"k{i}", f"k{i + 1}"]} for i in range(200)]}
    with pytest.raises(gl.UnsatisfiableGrammar, match="its keywords contradict each other"):
        gl.compile(gl.JsonSchema(schema), VOCAB)
