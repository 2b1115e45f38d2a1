"""gl.response_format: OpenAI's forms and vLLM's structured_outputs as grammars, and what is refused by name."""

import json
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.models.tiny import FOLDER as EMBEDDED
from tests.texts import accepts

VOCAB = gl.Vocabulary.from_tokenizer(EMBEDDED)
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
TAG = {"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}
OLDER = {"structures": [{"begin": "<a>", "schema": SCHEMA, "end": "</a>"}], "triggers": ["<a"]}


@pytest.mark.parametrize(("given", "accepted", "refused"), [
    ({"type": "text"}, ["", "any é"], []),
    ({"type": "json_object"}, ["{}", '{"a": [1]}'], ["[]", "1"]),
    ({"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}}, ['{"a": 1}'],
     ["{}", '{"a": 1, "b": 2}']),
    ({"type": "json_schema", "json_schema": {"schema": SCHEMA, "strict": False, "description": None}}, ['{"a": 1}'], ["{}"]),
    ({"type": "json_schema", "json_schema": {"schema": {"properties": {"a": {}}}}}, ['{"b": 1}', "1"], ["x"]),
    ({"type": "json_schema", "name": "x", "schema": SCHEMA, "strict": True}, ['{"a": 1}'], ["{}"]),
    ({"type": "structural_tag", "format": TAG}, ["<a>x</a>"], ["x"]),
    ({"type": "structural_tag", **OLDER}, ['x<a>{"a": 1}</a>y'], ["<ab"]),
    (OLDER, ['x<a>{"a": 1}</a>y'], ["<ab"]),
    ({"json": SCHEMA}, ['{"a": 1}'], ["{}"]),
    ({"json": json.dumps(SCHEMA), "regex": None, "json_object": False}, ['{"a": 1}'], ["{}"]),
    ({"json": SCHEMA, "disable_any_whitespace": True}, ['{"a":1}'], ['{"a": 1}', ' {"a":1}']),
    ({"json": {"properties": {"a": {}}}, "disable_additional_properties": True}, ['{"a": 1}'], ['{"b": 1}']),
    ({"json": True}, ["[]"], ["x"]),
    ({"json_object": True}, ['{"b": 1}'], ["[]"]),
    ({"json_object": True, "disable_any_whitespace": True}, ['{"b":1}'], ['{"b": 1}']),
    ({"regex": "[ab]+"}, ["ab"], ["", "c"]),
    ({"choice": ["yes", "no"]}, ["yes"], ["y", "maybe"]),
    ({"grammar": 'root ::= "a" root | "b"'}, ["aab"], ["aa"]),
    ({"grammar": 'start: "a"+'}, ["aa"], ["b"]),
    ({"structural_tag": {"type": "structural_tag", "format": TAG}}, ["<a></a>"], ["x"]),
    ({"structural_tag": json.dumps(OLDER)}, ["", '<a>{"a": 2}</a>'], ["<a>1"]),
])  # fmt: skip
def test_texts(given: dict[str, Any], accepted: list[str], refused: list[str]) -> None:
    for form in (given, json.dumps(given)):
        constraint = gl.compile(gl.response_format(form), VOCAB)
        assert all(accepts(constraint, text) for text in accepted)
        assert not any(accepts(constraint, text) for text in refused)


@pytest.mark.parametrize(("given", "words", "error", "pointer"), [
    ({"type": "grammar", "grammar": "x"}, "'grammar' is not supported; there are text, json_object, json_schema, structural_tag",
     "UnsupportedFeature", "/type"),
    ({"type": ["text"]}, "['text'] is not supported", "UnsupportedFeature", "/type"),
    ({"type": "text", "schema": {}}, "'schema' is not supported", "UnsupportedFeature", "/schema"),
    ({"type": "json_schema"}, '/json_schema: it is missing; write {"type": "json_schema",', "GrammarError", "/json_schema"),
    ({"type": "json_schema", "json_schema": None}, "None is no object", "GrammarError", "/json_schema"),
    ({"type": "json_schema", "json_schema": {"name": "x"}}, "/json_schema/schema: it is missing; write", "GrammarError",
     "/json_schema/schema"),
    ({"type": "json_schema", "json_schema": {"schema": {}, "lazy": 1}}, "'lazy' is not supported; there are schema, name",
     "UnsupportedFeature", "/json_schema/lazy"),
    ({"type": "json_schema", "json_schema": {"schema": {}}, "strict": True}, "'strict' is not supported; there are json_schema",
     "UnsupportedFeature", "/strict"),
    ({"json": {}, "regex": "a"}, "there is json and regex; an answer has one of json, regex, choice", "GrammarError", None),
    ({}, "there is no form; an answer has one of", "GrammarError", None),
    ({"json": {}, "whitespace_pattern": " ?"}, "'whitespace_pattern' is not supported; there are json", "UnsupportedFeature",
     "/whitespace_pattern"),
    ({"xgrammar": {}}, "'xgrammar' is not supported", "UnsupportedFeature", "/xgrammar"),
    ({"json": 3}, "3; it takes a value of type dict or bool or str", "GrammarError", "/json"),
    ({"regex": ["a"]}, "it takes a value of type str", "GrammarError", "/regex"),
    ({"choice": "a"}, "it takes a value of type list", "GrammarError", "/choice"),
    ({"choice": []}, "a list of at least one string", "GrammarError", "/choice"),
    ({"choice": ["a", 1]}, "a list of at least one string", "GrammarError", "/choice"),
    ([], "the response format is []; it is an object", "GrammarError", None),
])  # fmt: skip
def test_what_is_refused(given: Any, words: str, error: str, pointer: str | None) -> None:
    with pytest.raises(gl.GrammarError) as caught:
        gl.response_format(json.dumps(given))
    assert type(caught.value) is getattr(gl, error)
    assert words in str(caught.value)
    assert caught.value.pointer == pointer


def test_what_is_no_json() -> None:
    with pytest.raises(gl.GrammarError, match="the response format is no JSON"):
        gl.response_format("{")
    with pytest.raises(gl.LimitExceeded, match="the response format's JSON text is nested too deeply; flatten it"):
        gl.response_format("[" * 100_000)
    with pytest.raises(TypeError, match="a dict or JSON text, not int"):
        gl.response_format(3)  # type: ignore[arg-type]


def test_options_of_other_forms_are_refused() -> None:
    with pytest.raises(gl.UnsupportedFeature, match="/disable_any_whitespace"):
        gl.response_format({"regex": "a", "disable_any_whitespace": True})
