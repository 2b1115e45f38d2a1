"""What callers give as tools, and what they get back: types, functions, tool_choice, answers, saved tools."""

import dataclasses
import json
import pickle

import pydantic
import pytest

import grammarlm as gl
from grammarlm.grammars.derived import Specials
from grammarlm.grammars.tools.read import CallReader, read
from grammarlm.grammars.tools.tool_format import ToolFormat
from tests.grammars.tools.layouts import BY_NAME, LAYOUTS, vocabulary, written
from tests.grammars.tools.turns import TOOLS, accepts, tool
from tests.oracles.tool_turns import units
from tests.texts import BYTES

HERMES, TAGS = BY_NAME["hermes"].form, BY_NAME["function tags"].form

NAMES = ["hermes", "function tags", "braces", "python in tags", "python call", "typed"]


def add(first: int, second: int = 1) -> int:
    return first + second


class Search(pydantic.BaseModel):
    query: str
    most: int = pydantic.Field(3, ge=1)


@dataclasses.dataclass
class Point:
    x: int
    name: str | None = None


def takes(tools: gl.Tools, text: str) -> bool:
    return accepts(gl.compile(tools, BYTES), units(text))


def call(name: str, form: ToolFormat = HERMES, /, **arguments: object) -> str:
    return form.write([(name, arguments, "call_1")])


@pytest.mark.parametrize("form", [HERMES, TAGS], ids=["json", "entries"])
def test_functions_and_types_give_schemas_and_get_instances(form):
    tools = gl.Tools([add, Search, Point], format=form)
    for name, arguments, instance in [
        ("add", {"first": 2}, {"first": 2}),
        ("Search", {"query": "a b"}, Search(query="a b")),
        ("Point", {"x": 1, "name": None}, Point(1)),
    ]:
        text = call(name, form, **arguments)
        assert takes(tools, text)
        found = read(tools, text).calls[0]
        assert (found.name, found.json, found.arguments, found.text) == (name, arguments, instance, text)
    for name, wrong in [
        ("add", {"second": 1}),
        ("add", {"first": 1, "third": 1}),
        ("Search", {"query": "", "most": 0}),
    ]:
        assert not takes(tools, call(name, form, **wrong))
    assert read(tools, call("add", form, first=2, second=3)).calls[0].call() == 5
    with pytest.raises(TypeError, match="was not given as a function"):
        read(tools, call("Point", form, x=1)).calls[0].call()


def test_arguments_that_a_validator_refuses_are_read_and_refused_when_asked_for():
    class Even(pydantic.BaseModel):
        n: int

        @pydantic.field_validator("n")
        @classmethod
        def is_even(cls, n: int) -> int:
            assert n % 2 == 0
            return n

    found = read(gl.Tools([Even], format=HERMES), call("Even", n=3)).calls[0]
    assert found.json == {"n": 3}
    with pytest.raises(ValueError, match="Assertion failed"):
        _ = found.arguments


@pytest.mark.parametrize("form", [BY_NAME[name].form for name in NAMES], ids=NAMES)
def test_dictionaries_are_closed_unless_they_are_not_strict(form):
    inner = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    flat = {"type": "function", "name": "flat", "parameters": inner}
    bare = {"type": "function", "function": {"name": "bare"}}
    free = tool("free", inner, strict=False)
    row = {"type": "object", "properties": {"n": {"type": ["string", "null"]}}, "required": ["n"]}
    columns = {
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "r": {"type": "array", "items": row, "maxItems": 2},
    }
    maps = tool("maps", {"type": "object", "properties": columns})
    tools = gl.Tools(
        [flat, bare, free, maps, tool("open", {**inner, "additionalProperties": {"type": "boolean"}})], format=form
    )
    for name, arguments, is_taken in [
        ("flat", {"a": 1}, True),
        ("flat", {"a": 1, "b": 1}, False),
        ("flat", {}, False),
        ("bare", {}, True),
        ("bare", {"a": 1}, False),
        ("free", {}, True),
        ("free", {"b": "x", "c": [{"d": None}]}, True),
        ("open", {"a": 1, "b": True, "c": False}, True),
        ("open", {"a": 1, "b": 1}, False),
        ("maps", {"m": {"x": 1, "y": -2}, "r": [{"n": "a b"}, {"n": None}]}, True),
        ("maps", {"m": {"x": 1.5}}, False),
        ("maps", {"r": [{"n": 3}]}, False),
        ("maps", {"r": [{"n": "a"}] * 3}, False),
        ("maps", {"r": [{}]}, False),
    ]:
        text = call(name, form, **arguments)
        assert takes(tools, text) == is_taken, text
        if is_taken:
            assert read(tools, text).calls[0].arguments == arguments


def test_references_and_unions_in_entries():
    schema = {
        "type": "object",
        "properties": {"unit": {"$ref": "#/$defs/u%20n"}, "at": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        "required": ["unit"],
        "$defs": {"u n": {"enum": ["c", "1", 1]}},
    }
    tools = gl.Tools(
        [tool("f", {"$ref": "#/$defs/root", "$defs": {"root": schema, "u n": schema["$defs"]["u n"]}})], format=TAGS
    )
    taken = {value: takes(tools, call("f", TAGS, unit=value)) for value in ("c", "1", "d")}
    assert taken == {"c": True, "1": True, "d": False}
    assert read(tools, call("f", TAGS, unit="1")).calls[0].json == {"unit": 1}  # what reads as the number is the number
    assert read(tools, call("f", TAGS, unit="c", at="null")).calls[0].json == {"unit": "c", "at": None}


def test_property_order():
    schema = {"type": "object", "properties": {k: {"type": "integer"} for k in "abc"}, "required": ["a", "c"]}
    orders = ["ac", "ca", "abc", "acb", "bac", "bca", "cab", "cba"]
    for form in (HERMES, TAGS, BY_NAME["named twice"].form):
        for order, taken in (("schema", ["ac", "abc"]), ("any", orders)):
            tools = gl.Tools([tool("f", schema)], format=form, property_order=order)
            found = [
                keys for keys in [*orders, "ab", "a", "acc"] if takes(tools, call("f", form, **dict.fromkeys(keys, 1)))
            ]
            assert [keys for keys in found if keys in orders] == [keys for keys in orders if keys in taken]
            assert not {"ab", "a"} & set(found)


@pytest.mark.parametrize(
    ("choice", "texts"),
    [
        ("auto", ["", "look", "set", "look+set"]),
        ("required", ["look", "set", "look+set"]),
        ("none", [""]),
        ("set", ["set"]),
        ({"type": "function", "function": {"name": "set"}}, ["set"]),
        ({"type": "function", "name": "set"}, ["set"]),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "set"}]}, ["", "set"]),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [{"function": {"name": "look"}}]}},
            ["look"],
        ),
    ],
)
def test_calls(choice, texts):
    tools = gl.Tools([tool("look", TOOLS["look"]), tool("set", TOOLS["set"])], format=HERMES, calls=choice)
    calls = {"look": {"city": "Paris"}, "set": {}}
    for names in ("", "look", "set", "look+set"):
        listed = [name for name in names.split("+") if name]
        text = HERMES.write([(name, calls[name]) for name in listed]) or "Hello."
        assert takes(tools, text) == (names in texts)


def test_an_answer_comes_instead_of_calls():
    answer = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    for form in (HERMES, BY_NAME["llama3"].form):
        tools = gl.Tools([add], format=form, answer=answer)
        for text, value in (('{"name": "x"}', {"name": "x"}), (call("add", form, first=1), None)):
            assert takes(tools, text)
            assert read(tools, text).value == value
        assert not takes(tools, "Hello.")
        marked = '{"name": "<tool_call>\\n"}'
        assert takes(tools, marked)
        assert read(tools, marked).value == {"name": "<tool_call>\n"}
    assert read(gl.Tools([], format=HERMES, answer=Point), '{"x": 1}').value == Point(1)
    assert read(gl.Tools([], format=HERMES, answer=gl.Regex("[0-9]+")), "12").value == "12"


def test_a_prompt_that_has_opened_or_closed_the_reasoning():
    tools = gl.Tools([add], format=HERMES, reasoning=True)
    prompt = "<|im_start|>assistant\n"
    for end, text in (
        ("", "<think>\nhm\n</think>\n\nHi"),
        ("<think>\n", "hm\n</think>\n\nHi"),
        ("<think>\n\n</think>\n\n", "Hi"),
    ):
        here = tools.after(prompt + end)
        turns = [end for end in ("<think>\nhm\n</think>\n\nHi", "hm\n</think>\n\nHi", "Hi") if takes(here, end)]
        assert turns == [text]
        assert read(here, text).content == "Hi"
    silent = gl.Tools([add], format=HERMES)
    assert [takes(silent.after(prompt + "<think>\n"), text) for text in ("hm\n</think>\n\nHi", "Hi")] == [True, False]
    assert [takes(silent, text) for text in ("Hi", "<think>\n\n</think>\n\nHi", "<think>\nhm\n</think>\n\nHi")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("form", [HERMES, BY_NAME["sections"].form], ids=["letters", "marks"])
def test_a_thought_has_so_many_tokens_at_most(form):
    specials = tuple(BY_NAME[form.name].specials)
    tools = gl.Tools([add], format=form, reasoning=12)
    constraint = gl.compile(tools, vocabulary(specials))
    begin, end, blanks = form.reasoning
    room = 12 - (len(end) if form is HERMES else 0)
    assert accepts(constraint, units(begin + "x" * room + end + blanks + "Hi", specials))
    assert not accepts(constraint, units(begin + "x" * (room + 1) + end + blanks + "Hi", specials))
    assert not accepts(
        gl.compile(gl.Tools([add], format=form, reasoning=60), vocabulary(())),
        units(begin + "<tool_call><|calls|>" + end + blanks),
    )


def test_a_message_is_in_the_form_that_the_template_takes():
    text = "<think>\nhm\n</think>\n\nLet me.\n" + call("add", first=1)
    tools = gl.Tools([add], format=HERMES, reasoning=True)
    function = {"name": "add", "arguments": {"first": 1}}
    assert read(tools, text).message == {
        "role": "assistant",
        "content": "Let me.",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "call_0", "type": "function", "function": function}],
    }
    assert read(gl.Tools([add], format=HERMES), "Hi").message == {"role": "assistant", "content": "Hi"}
    form = dataclasses.replace(HERMES, as_text=True, no_text=None)
    message = read(gl.Tools([add], format=form), call("add", first=1)).message
    assert message["content"] is None
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"first": 1}


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.form.name)
def test_tools_are_saved_and_compared_by_content(layout):
    given = [tool(name, schema) for name, schema in TOOLS.items()]
    options = {
        "calls": "required",
        "parallel": False,
        "reasoning": 40 if layout.form.reasoning else None,
        "answer": {"type": "integer"},
    }
    tools, same = (gl.Tools(given, format=layout.form, **options) for _ in range(2))
    assert tools == same
    assert hash(tools) == hash(same)
    assert tools != gl.Tools(given, format=layout.form, **{**options, "parallel": True})
    vocab = vocabulary(layout.specials)
    again = gl.Constraint.from_bytes(gl.compile(tools, vocab).to_bytes(), vocab).grammar
    assert again == tools
    assert again.format == layout.form
    assert pickle.loads(pickle.dumps(tools)) == tools
    text = written(layout.form, [("look", {"city": "x"})], "", "hm" if layout.form.reasoning else None)
    assert read(again, text).calls[0].json == {"city": "x"}


def test_calls_are_told_as_soon_as_they_are_complete():
    tools = gl.Tools([add], format=HERMES)
    first, second = call("add", first=1), call("add", first=2)
    reader = CallReader(tools)
    told = [reader.feed(letter) for letter in "Well.\n" + first + "\n" + second]
    at = len("Well.\n" + first) - 1
    assert [i for i, found in enumerate(told) if found] == [at, len(told) - 1]
    assert [found.json for found in CallReader(tools).feed("Well.\n" + first + "\n" + second)] == [
        {"first": 1},
        {"first": 2},
    ]
    assert CallReader(tools, Specials(["<tool_call>"])).feed(first) == []  # letters are no token


@pytest.mark.parametrize(("between", "after"), [("", ""), ("\n", ""), ("", "\n"), (" ; ", " ")])
def test_white_space_after_json_that_nothing_else_ends(between, after):
    form = ToolFormat("own", ("[call]", " ", after), between=between)
    tools = gl.Tools([add], format=form)
    constraint = gl.compile(tools, BYTES)
    for blanks in ("", " ", "\n", "\n \n", " \n  \t\n"):
        one = f'[call]add {{"first": 1}}{blanks}{after}'
        for text in (one, f"{one}{between}{one}{between}{one}"):
            assert accepts(constraint, text)
            turn, count = read(tools, text), text.count("[call]")
            assert [found.json for found in turn.calls] == [{"first": 1}] * count
            reader = CallReader(tools)
            assert len([found for letter in text for found in reader.feed(letter)]) == count
