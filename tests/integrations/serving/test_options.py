"""A request's options: what they mean, and one sentence where they are wrong."""

import json
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.generated import as_generated
from grammarlm.grammars.tools.tool_format import ToolFormat
from grammarlm.grammars.tools.tools import Tools
from grammarlm.integrations.serving.admission import admit
from grammarlm.integrations.serving.options import KNOWN, on_the_wire, read_options, sealed

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
TAG = {
    "type": "structural_tag",
    "format": {"type": "tag", "begin": "<a>", "content": {"type": "json_schema", "json_schema": SCHEMA}, "end": "</a>"},
}
TOOL = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}},
}


def look(place: str) -> str:
    return place


def turn(form: str = "hermes", tools: Any = (TOOL,), **options: Any) -> Any:
    return as_generated(Tools(tools, format=form, **options))


CASES: list[tuple[dict[str, Any], Any]] = [
    ({"schema": SCHEMA}, gl.JsonSchema(SCHEMA).as_generated()),
    ({"grammar": 'root ::= "a" | "b"'}, gl.Gbnf('root ::= "a" | "b"')),
    ({"grammar": 'start: "a"'}, gl.Lark('start: "a"')),
    ({"grammar": gl.Text(until="x") + gl.Regex("y")}, gl.Text(until="x") + gl.Regex("y")),
    ({"grammar": gl.Regex("z") + gl.JsonSchema(SCHEMA)}, gl.Regex("z") + gl.JsonSchema(SCHEMA).as_generated()),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
        gl.JsonSchema(SCHEMA).as_generated(),
    ),
    ({"response_format": {"type": "text"}}, gl.Text()),
    ({"structural_tag": TAG}, as_generated(gl.StructuralTag(TAG))),
    ({"structural_tag": json.dumps(TAG)}, as_generated(gl.StructuralTag(TAG))),
    ({"response_format": TAG}, as_generated(gl.StructuralTag(TAG))),
    ({"tools": [TOOL], "tool_format": "hermes"}, turn()),
    ({"tools": [TOOL], "tool_format": "hermes", "tool_choice": "auto", "response_format": {"type": "text"}}, turn()),
    ({"tools": [look], "tool_format": ToolFormat.named("hermes")}, as_generated(Tools([look], format="hermes"))),
    ({"tools": [TOOL], "tool_format": "llama3", "tool_choice": "required"}, turn("llama3", calls="required")),
    (
        {"tools": [TOOL], "tool_format": "hermes", "parallel_tool_calls": False, "reasoning": 50, "schema": SCHEMA},
        turn(parallel=False, reasoning=50, answer=gl.JsonSchema(SCHEMA).as_generated()),
    ),
    (
        {"reasoning": True, "tool_format": "hermes", "choices": ["a"]},
        turn(tools=(), reasoning=True, answer=gl.Choices(["a"])),
    ),
    ({"reasoning": False, "regex": "a"}, gl.Regex("a")),
]


@pytest.mark.parametrize(("given", "grammar"), CASES)
def test_what_is_asked_for(given: dict[str, Any], grammar: Any) -> None:
    assert read_options(given).grammar == grammar
    wire = on_the_wire(given)
    assert read_options(json.dumps(wire)).grammar == grammar  # through another process
    assert on_the_wire(wire) == wire


def test_python_types_travel() -> None:
    class Person:
        name: str

    Person.__annotations__ = {"name": str}
    from dataclasses import dataclass

    kind = dataclass(Person)
    wire = on_the_wire({"schema": kind, "whitespace": "compact", "close": True})
    found = read_options(json.dumps(wire))
    assert found.grammar == gl.JsonSchema(kind, whitespace="compact").as_generated()
    assert found.close is True


def test_options_without_a_grammar() -> None:
    assert read_options({"close": False, "min_tokens": 3}).grammar is None
    assert read_options('{"close": false, "min_tokens": 3}').min_tokens == 3
    assert read_options({}).close is None
    assert read_options({"whitespace": "compact"}).grammar is None  # of a schema that is named elsewhere


WRONG: list[tuple[Any, str]] = [
    ({"shema": {}}, "did you mean 'schema'"),
    ({"schema": {}, "regex": "a"}, "schema and regex"),
    ({"regex": "a", "whitespace": "compact"}, "whitespace is an option of 'schema'"),
    ({"regex": "a", "notation": "lark"}, "notation is an option of 'grammar'"),
    ({"grammar": "start: a", "notation": "bnf"}, "gbnf, ebnf, lark"),
    ({"grammar": 'root ::= "a"', "start": "root"}, "start is an option of Lark"),
    ({"grammar": 3}, "takes text"),
    ({"regex": 3}, "regex"),
    ({"choices": "yes"}, "choices"),
    ({"schema": 3}, "schema"),
    ({"schema": {}, "close": "yes"}, "true or false"),
    ({"schema": {}, "min_tokens": -1}, "min_tokens"),
    ({"schema": {}, "min_tokens": True}, "min_tokens"),
    ("{", "no JSON"),
    ("[" * 100_000, "no JSON"),
    ("[1]", "takes an object"),
    (7, "takes an object"),
    (None, "takes an object"),
    ({"grammar": "grammarlm:????"}, "no grammar that was written as text"),
    ({"grammar": "grammarlm:AAAA"}, "no grammar that was written as text"),
    ({5: "a"}, "no option"),
    ({"tools": [TOOL]}, "tools: tool_format is needed, .* hermes"),
    ({"reasoning": 5, "schema": SCHEMA}, "reasoning: tool_format is needed"),
    ({"tools": [TOOL], "tool_format": "hermess"}, "no format is called 'hermess'; there are"),
    ({"tools": [TOOL], "tool_format": {"name": "hermes"}}, "tool_format is"),
    ({"tools": [{"type": "retrieval"}], "tool_format": "hermes"}, "only functions are called"),
    ({"tools": [TOOL], "tool_format": "hermes", "structural_tag": TAG}, "leave one of them out"),
    ({"tools": [TOOL], "tool_format": "hermes", "response_format": TAG}, "leave one of them out"),
    ({"tools": [TOOL], "tool_format": "hermes", "schema": SCHEMA, "regex": "a"}, "schema and regex"),
    ({"tools": [TOOL], "tool_format": "hermes", "regex": "a", "whitespace": "compact"}, "option of 'schema'"),
    ({"tool_choice": "auto"}, "tool_choice is an option of 'tools', which is not given"),
    ({"regex": "a", "parallel_tool_calls": True}, "parallel_tool_calls is an option of 'tools', which is not given"),
    ({"regex": "a", "tool_format": "hermes"}, "tool_format is an option of 'tools' or 'reasoning', which is not given"),
    ({"tools": [TOOL], "tool_format": "hermes", "tool_choice": {"type": "any"}}, "none of OpenAI's"),
    ({"tools": [TOOL], "tool_format": "hermes", "reasoning": 0}, "from 1"),
    ({"response_format": {"type": "json"}}, "'json' is not supported"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_wrong_options(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_options(given)
    assert "grammarlm" in str(caught.value)
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value).split("\n\n")[0][:80]


# Values of every JSON type, and what each option takes of them besides null: all else is refused by name.
VALUES: dict[str, Any] = {
    "null": None, "true": True, "number": 3, "fraction": 3.5, "huge": 10**400, "text": "x", "no text": "", "surrogate": "\ud800",
    "list": [], "names": ["a"], "numbers": [1], "nulls": [None], "lists": [["a"]], "objects": [{}], "object": {},
    "number by name": {"a": 1}, "object by name": {"a": {"b": [None]}}, "list by name": {"": [True]},
}  # fmt: skip
TAKEN: dict[str, set[str]] = {
    "schema": {
        "true",
        "object",
        "number by name",
        "object by name",
        "list by name",
    },  # the last three: names that no draft has
    "regex": {"text", "no text"},
    "choices": {"names"},
    "grammar": set(),
    "notation": set(),
    "start": {"text"},
    "close": {"true"},
    "min_tokens": {"number", "huge"},
    "whitespace": {"no text"},  # as a pattern
    "property_order": {"list", "names"},
    "formats": set(),
    "registry": {"object", "object by name", "list by name"},
    "draft": set(),
    "strict": {"true"},
    "integers": set(),
    "spelling": set(),
    "extra": set(),
    "unknown": set(),
    "response_format": set(),
    "structural_tag": set(),
    "tools": {"list"},
    "tool_choice": set(),
    "parallel_tool_calls": {"true"},
    "tool_format": set(),
    "reasoning": {"true", "number", "huge"},
}
BESIDE: dict[str, dict[str, Any]] = {
    "schema": {}, "regex": {}, "choices": {}, "grammar": {}, "response_format": {}, "structural_tag": {},
    "tools": {"tool_format": "hermes"}, "reasoning": {"tool_format": "hermes"}, "tool_format": {"tools": [TOOL]},
    "tool_choice": {"tools": [TOOL], "tool_format": "hermes"},
    "parallel_tool_calls": {"tools": [TOOL], "tool_format": "hermes"},
    "notation": {"grammar": 'root ::= "a"'}, "start": {"grammar": 'x: "a"'}, "close": {"regex": "a"}, "min_tokens": {"regex": "a"},
}  # fmt: skip
RECORD = {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string", "format": "date"}}}
NO_NULL = {"start", "min_tokens", "tools", "tool_format", "reasoning"}  # that grammar has no rule named start
NAMES = {
    "tool_choice": "calls",
    "structural_tag": "",
    "tool_format": "no format",
}  # in the words of those who take them


def judged(given: object) -> str:
    """What is wrong with the options; nothing but a ValueError may rise where requests are received."""
    try:
        grammar = read_options(given).grammar
        if grammar is not None:
            admit(grammar)
            assert read_options({"grammar": sealed(grammar)}).grammar == grammar
            assert read_options(on_the_wire(given)).grammar == grammar
    except ValueError as error:
        return str(error).lower()
    return ""


@pytest.mark.parametrize("name", KNOWN)
def test_values_of_every_type(name: str) -> None:
    for kind, value in VALUES.items():
        given = {**BESIDE.get(name, {"schema": RECORD}), name: value}
        is_taken = kind in TAKEN[name] or (kind == "null" and name not in NO_NULL)
        for wrong in (judged(given), judged(json.dumps(given))):
            assert (not wrong) if is_taken else (wrong and (name in wrong or NAMES.get(name, name) in wrong)), (
                kind,
                wrong,
            )


def test_every_option_is_known() -> None:
    assert set(TAKEN) == set(KNOWN)
