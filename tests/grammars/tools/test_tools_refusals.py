"""What is wrong with tools is said in one sentence, by compile."""

import pytest

import grammarlm as gl
from grammarlm.grammars.tools.tool_format import Entries, ToolFormat
from tests.grammars.tools.layouts import BY_NAME
from tests.grammars.tools.turns import TOOLS, tool
from tests.texts import BYTES

LOOK = tool("look", TOOLS["look"])
ENTRIES = BY_NAME["function tags"].form
UNSATISFIABLE = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 2}},
    "required": ["a"],
}


def bare(**options: object) -> ToolFormat:
    return ToolFormat("bare", ("", "(", ")"), **options)


@pytest.mark.parametrize(
    ("tools", "options", "kind", "message"),
    [
        ([LOOK, LOOK], {}, gl.GrammarError, "two tools have the name 'look'"),
        ([LOOK], {"calls": "find"}, gl.GrammarError, "names the tool 'find'; there are look"),
        ([], {"calls": "required"}, gl.GrammarError, "asks for a call, and there are no tools"),
        ([], {"calls": "find"}, gl.GrammarError, "tool_choice= (calls= of gl.Tools) names the tool 'find'; there are none"),
        ([tool('a"b', {})], {}, gl.GrammarError, "cannot spell the name 'a\"b'"),
        ([tool("", {})], {}, gl.GrammarError, "cannot spell the name ''"),
        ([tool("a\nb", {})], {}, gl.GrammarError, "cannot spell the name"),
        ([tool("a>b", {})], {"format": ENTRIES}, gl.GrammarError, "cannot spell the name 'a>b'"),
        ([LOOK, tool("bad", {"properties": {"a": {"type": "strin"}}})], {}, gl.GrammarError, "tool 'bad': /properties/a/type: "),
        (
            [LOOK, tool("bad", {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}})],
            {"format": ENTRIES},
            gl.GrammarError,
            "tool 'bad': /properties/a/pattern: ",
        ),
        ([LOOK, tool("bad", UNSATISFIABLE)], {}, gl.UnsatisfiableGrammar, "tool 'bad': /properties/a: no value"),
        ([LOOK, tool("bad", UNSATISFIABLE)], {"format": ENTRIES}, gl.UnsatisfiableGrammar, "tool 'bad': /properties/a: "),
        ([tool("bad", {"type": "string"})], {}, gl.GrammarError, "tool 'bad': arguments are an object"),
        ([tool("bad", {"type": "string"})], {"format": ENTRIES}, gl.UnsupportedFeature, "tool 'bad': #: arguments are written"),
        (
            [tool("bad", {"type": "object", "minProperties": 1})],
            {"format": ENTRIES},
            gl.UnsupportedFeature,
            "tool 'bad': /minProperties: where arguments are written one by one",
        ),
        ([tool("bad", {"type": "object", "properties": {"a>": {}}})], {"format": ENTRIES}, gl.GrammarError, "its argument 'a>'"),
        (
            [tool("bad", {"type": "object", "properties": {k: {"type": "null"} for k in "abcdef"}})],
            {"format": ENTRIES, "property_order": "any"},
            gl.UnsupportedFeature,
            "of 6 arguments",
        ),
        ([LOOK], {"format": bare()}, gl.UnsupportedFeature, "has no mark that calls begin with"),
        ([LOOK], {"format": bare(), "reasoning": True, "calls": "required"}, gl.UnsupportedFeature, "has no reasoning"),
        (
            [LOOK],
            {"format": ToolFormat("open", ("<c>", "", ""), arguments=Entries(("", "=", "")))},
            gl.UnsupportedFeature,
            "its end cannot be told",
        ),
        (
            [LOOK],
            {"format": ToolFormat("twice", ("<c{index}>", ":", "</c{index}>"))},
            gl.UnsupportedFeature,
            "writes {index} twice",
        ),
    ],
)  # fmt: skip
def test_compile_refuses(tools, options, kind, message):
    grammar = gl.Tools(tools, **{"format": BY_NAME["hermes"].form, **options})
    with pytest.raises(gl.GrammarError) as caught:
        gl.compile(grammar, BYTES)
    assert type(caught.value) is kind
    assert message in str(caught.value)
    assert len(str(caught.value)) <= 500


@pytest.mark.parametrize(
    ("tools", "options", "kind", "message"),
    [
        ("look", {}, TypeError, "tools is str; it takes a list of tools"),
        (LOOK, {}, TypeError, "tools is dict; it takes a list of tools"),
        ([3], {}, TypeError, "3 is no tool"),
        ([lambda city: city], {}, TypeError, "a lambda is no tool: it has no name"),
        ([{"type": "web_search"}], {}, gl.UnsupportedFeature, "a tool of type 'web_search'"),
        ([{"type": "function", "function": {}}], {}, gl.GrammarError, "a tool has no name"),
        ([{"name": "f", "input_schema": {}}], {}, gl.GrammarError, "tool 'f' has no 'parameters', and has 'input_schema', which"),
        ([{"function": {"name": "f", "params": {}}}], {}, gl.GrammarError, "has no 'parameters', and has 'params', which"),
        ([tool("a", [1])], {}, TypeError, "tool 'a': its parameters are a schema, not list"),
        ([], {"calls": 3}, TypeError, "the name of a tool or OpenAI's dictionary, not int"),
        ([], {"calls": {"type": "tool"}}, gl.GrammarError, "is none of OpenAI's"),
        ([], {"calls": {"type": "function"}}, gl.GrammarError, "names no function"),
        ([], {"reasoning": 0}, ValueError, "a number of tokens from 1"),
        ([], {"reasoning": "yes"}, TypeError, "takes True, None or a number of tokens, not str"),
        ([], {"parallel": 2}, ValueError, "Tools(parallel=2)"),
        ([], {"property_order": ["a"]}, ValueError, "Tools(property_order="),
        ([], {"tool_choice": "auto"}, TypeError, "Tools() has no argument tool_choice="),
    ],
)  # fmt: skip
def test_the_constructor_refuses(tools, options, kind, message):
    with pytest.raises(kind) as caught:
        gl.Tools(tools, **{"format": BY_NAME["hermes"].form, **options})
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["hermes", "function tags"])
def test_reading_ten_thousand_tools_asks_the_clock(name):
    tools = [tool(f"tool_{number}", TOOLS["look"]) for number in range(10_000)]
    grammar = gl.Tools(tools, format=BY_NAME[name].form)
    with pytest.raises(gl.LimitExceeded):
        gl.compile(grammar, BYTES, limits=gl.Limits(max_work=1_000))
