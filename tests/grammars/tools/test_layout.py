"""Formats as data: what they write, the files of those that have a name, and what is no format."""

import json
from pathlib import Path
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.tools import formats
from grammarlm.grammars.tools.tool_format import Entries, Nested, ToolFormat
from tests.corpus_files import read_toml

PLAIN = ToolFormat("plain", ("<", " ", ">"), section=("[", "]"), between=",")
TAGS = ("<", "=", ">")
ENTRIES = {
    "raw strings, JSON values": (
        Entries(TAGS, gap=";"),
        {"a": ' "x"\n', "b": 3, "c": {"d": [True, None]}, "e": False},
        '<a= "x"\n>;<b=3>;<c={"d": [true, null]}>;<e=false>',
    ),
    "compact JSON, strings too": (
        Entries(TAGS, strings="json", values="compact"),
        {"a": 'é"', "b": [1, {"c": 2.5}]},
        '<a="é\\""><b=[1,{"c":2.5}]>',
    ),
    "marks around strings": (Entries(TAGS, strings=("'", "'")), {"a": "x'y", "b": ""}, "<a='x'y'><b=''>"),
    "marks where they are needed": (
        Entries(TAGS, strings=("{", "}"), marked="<&"),
        {"a": "x", "b": "<", "c": "a&b"},
        "<a=x><b={<}><c={a&b}>",
    ),
    "Python's spelling": (
        Entries(TAGS, python=("boolean", "null", "array")),
        {"a": True, "b": None, "c": ["x", None], "d": {"e": True}},
        "<a=True><b=None><c=['x', None]><d={\"e\": true}>",
    ),
    "other texts before what is no string": (
        Entries(TAGS, other=":"),
        {"a": "x", "b": 1},
        "<a=x><b:1>",
    ),
    "names of types and keys": (
        Entries(("<{type} ", "=", "</{key}>")),
        {"a": "x", "b": 1, "c": 1.5, "d": True, "e": None, "f": {}, "g": []},
        "<string a=x</a><number b=1</b><number c=1.5</c><boolean d=true</d><null e=null</e><object f={}</f><array g=[]</g>",
    ),
    "sorted without regard to case": (Entries(TAGS, keys="sorted"), {"b": 1, "C": 2, "a": 3}, "<a=3><b=1><C=2>"),
    "without nulls": (Entries(TAGS, nulls=False), {"a": None, "b": 1}, "<b=1>"),
    "values in the notation of the entries": (
        Entries(("", ":", ""), gap=",", strings=('"', '"'), values=Nested(("{", "}"), ("[", "]")), keys="sorted"),
        {"b": {"y": "s", "x": [1, "t", {}]}, "a": []},
        'a:[],b:{x:[1,"t",{}],y:"s"}',
    ),
    "items as entries": (
        Entries(("<", ">", "</{key}>"), values=Nested(("", ""), ("", ""), item="item"), nulls=False),
        {"a": [1, {"b": "x", "c": None}], "d": True},
        "<a><item>1</item><item><b>x</b></item></a><d>true</d>",
    ),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_arguments_as_entries(name: str) -> None:
    entries, arguments, text = ENTRIES[name]
    assert entries.write(arguments) == text
    form = ToolFormat("entries", ("", "(", ")"), arguments=entries)
    assert form.write([("f", arguments)]) == f"f({text})"
    assert form.write([("f", {})]) == "f()"


def test_calls_around_each_other() -> None:
    assert PLAIN.write([]) == ""
    assert PLAIN.write([("f", {"a": [1, "é"]})]) == '[<f {"a": [1, "é"]}>]'
    assert PLAIN.write([("f", {}), ("g", {}), ("f", {})]) == "[<f {}>,<g {}>,<f {}>]"
    compact = ToolFormat("compact", ("", "", ""), json="compact")
    assert compact.write([("f", {"a": [1, 2]})]) == 'f{"a":[1,2]}'


def test_names_ids_and_numbers_in_texts() -> None:
    form = ToolFormat("all", ("{id}#{index} ", " {name}:", " {id}"), between="|", first_index=1)
    assert form.write([("f", {}, "x"), ("g", {"a": "{id}"}, "y")]) == 'x#1 f f:{} x|y#2 g g:{"a": "{id}"} y'
    with pytest.raises(gl.GrammarError, match=r"writes ids: the call of f must be \(name, arguments, id\)"):
        form.write([("f", {})])


def test_one_call_a_turn() -> None:
    form = ToolFormat("single", ("", " ", ""), between=None)
    assert form.write([("f", {})]) == "f {}"
    with pytest.raises(gl.GrammarError, match="has one call a turn, not 2"):
        form.write([("f", {}), ("g", {})])


@pytest.mark.parametrize("name", formats.names())
def test_files(name: str) -> None:
    """Each says how it writes a conversation; harmony's and llama3's have one call a turn."""
    file = formats.read(name)
    form = ToolFormat.named(name)
    assert form.name == name
    assert form.write(file.conversation) == file.text
    assert len(file.conversation) == (2 if form.between is not None else 1)
    assert all(call[0] in file.text and "Paris" in file.text for call in file.conversation)
    assert file.mark + file.said
    given = json.loads((Path(formats.__file__).parent / f"{name}.json").read_text("utf-8"))
    assert set(given) - {"mark", "said"} == {"models", "format", "conversation", "text"}


def test_the_files_that_there_must_be_are_in_the_package() -> None:
    assert {"hermes", "llama3", "mistral", "harmony", "gemma4", "kimi"} <= set(formats.names())
    project = read_toml(Path(__file__).parents[3] / "pyproject.toml")
    assert "grammars/tools/formats/*.json" in project["tool"]["setuptools"]["package-data"]["grammarlm"]


@pytest.mark.parametrize("name", ["", "Hermes", "../hermes", "hermes.json", "x" * 1000])
def test_an_unknown_name_tells_those_that_there_are(name: str) -> None:
    with pytest.raises(ValueError, match=r"no format is called .*; there are deepseek_r1, .*hermes, .*qwen3_coder"):
        ToolFormat.named(name)


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"call": ("a", "b")}, TypeError, r"ToolFormat\(call=\) takes 3 texts, not \('a', 'b'\)"),
    ({"call": "abc"}, TypeError, r"ToolFormat\(call=\) takes 3 texts, not 'abc'"),
    ({"section": ("a", None)}, TypeError, r"ToolFormat\(section=\) takes 2 texts"),
    ({"reasoning": ("<think>", "</think>")}, TypeError, r"ToolFormat\(reasoning=\) takes 3 texts"),
    ({"stop": "</s>"}, TypeError, r"ToolFormat\(stop=\) takes 2 texts"),
    ({"json": "pretty"}, ValueError, r'ToolFormat\(json=\) takes "spaced" or "compact", not \'pretty\''),
    ({"arguments": "xml"}, TypeError, r'ToolFormat\(arguments=\) takes "json" or gl.Entries, not \'xml\''),
]


@pytest.mark.parametrize(("given", "error", "message"), WRONG)
def test_what_is_no_format(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ToolFormat("wrong", **({"call": ("", "", "")} | given))


def test_lists_are_copied() -> None:
    form = ToolFormat("lists", ["a", "b", "c"], stop=["", "x"])  # type: ignore[arg-type]
    assert form == ToolFormat("lists", ("a", "b", "c"), stop=("", "x"))
    assert hash(form) == hash(ToolFormat("lists", ("a", "b", "c"), stop=("", "x")))


THINKING = ToolFormat("thinking", ("", "", ""), reasoning=("<think>\n", "\n</think>", "\n\n"), turn="<|assistant|>\n")
PROMPTS = [
    ("<|user|>hi<|assistant|>\n", "none"),
    ("<|user|>hi<|assistant|>\n<think>\n", "open"),
    ("<|user|>hi<|assistant|>\n<think>\nwell, ", "open"),
    ("<|user|>hi<|assistant|>\n<think>", "open"),
    ("<|user|>hi<|assistant|>\n<think>\n\n</think>\n\n", "closed"),
    ("<|user|>hi<|assistant|>\n</think>", "closed"),
    ("<|assistant|>\n<think>\na\n</think>b<|user|>c<|assistant|>\n", "none"),
    ("<|user|><think></think><|assistant|>\n<think>", "open"),
    ("<think>x</think> elsewhere", "none"),
    ("elsewhere <think>\n", "open"),
    ("elsewhere <think></think>", "closed"),
    ("", "none"),
]


@pytest.mark.parametrize(("prompt", "state"), PROMPTS)
def test_prompts(prompt: str, state: str) -> None:
    assert THINKING.opened(prompt) == state
    assert PLAIN.opened(prompt) == "none"


def test_prompts_that_always_open_the_reasoning() -> None:
    form = ToolFormat("always", ("", "", ""), reasoning=("", "<end>", ""), turn="<|assistant|><think>")
    assert form.opened("<|user|><end><|assistant|><think>") == "open"
    assert form.opened("<|assistant|><think>well<end>") == "closed"
    assert form.opened("elsewhere") == "none"
    with pytest.raises(TypeError, match=r"opened\(\) takes the text of a prompt, not list"):
        form.opened([1])  # type: ignore[arg-type]
