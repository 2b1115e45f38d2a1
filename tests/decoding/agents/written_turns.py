"""What an agent's answer says, read by str.find, re and json alone: thoughts, calls of tools in several layouts, tags in text.

Layouts are written here by hand, after the chat templates of the models, and arguments are judged by jsonschema. A text that
is none raises AssertionError, KeyError or ValueError.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema


def no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


DECODER = json.JSONDecoder(parse_constant=no_number)


@dataclass(frozen=True)
class Said:
    reasoning: str | None
    content: str
    calls: tuple[tuple[str, dict[str, Any]], ...]
    value: Any = None


def is_valid(value: Any, schema: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(value)


class Cursor:
    """A place in a text; what is not there as asked is an AssertionError."""

    def __init__(self, text: str):
        self.text, self.at = text, 0

    def take(self, wanted: str) -> None:
        assert self.text.startswith(wanted, self.at), (wanted, self.text[self.at : self.at + 60])
        self.at += len(wanted)

    def takes(self, wanted: str) -> bool:
        if not self.text.startswith(wanted, self.at):
            return False
        self.at += len(wanted)
        return True

    def until(self, mark: str) -> str:
        end = self.text.index(mark, self.at)
        inner, self.at = self.text[self.at : end], end + len(mark)
        return inner

    def value(self, schema: Any) -> Any:
        """A JSON value, valid under the schema."""
        value, self.at = DECODER.raw_decode(self.text, self.at)
        assert is_valid(value, schema), (value, schema)
        return value

    def match(self, pattern: str) -> re.Match[str]:
        found = re.compile(pattern, re.DOTALL).match(self.text, self.at)
        assert found is not None, (pattern, self.text[self.at : self.at + 60])
        self.at = found.end()
        return found

    @property
    def rest(self) -> str:
        return self.text[self.at :]


# ---------------------------------------------------------------------- calls

Schemas = dict[str, dict[str, Any]]
Call = tuple[str, dict[str, Any]]


def named(name: str, schemas: Schemas) -> dict[str, Any]:
    assert name in schemas, name
    return schemas[name]


def in_json(before: str, between: str, after: str) -> Callable[[Cursor, Schemas], Call]:
    """`between`: a pattern."""

    def read(cursor: Cursor, schemas: Schemas) -> Call:
        cursor.take(before)
        name = cursor.match(rf"(\w+){between}")[1]
        arguments = cursor.value(named(name, schemas))
        cursor.take(after)
        return name, arguments

    return read


def typed(raw: str, schema: Any) -> Any:
    """A value between tags: words of Python and JSON where they are valid, else the string itself."""
    words = {"True": True, "False": False, "None": None}
    if raw in words and is_valid(words[raw], schema):
        return words[raw]
    try:
        value = DECODER.decode(raw)
    except ValueError:
        return raw
    return raw if isinstance(value, str) or not is_valid(value, schema) else value


def in_entries(before: str, key: str, after: str, end: str) -> Callable[[Cursor, Schemas], Call]:
    """`before` and `key`: patterns with a group for the name. Arrays and objects are JSON, and may hold what ends strings."""

    def read(cursor: Cursor, schemas: Schemas) -> Call:
        name = cursor.match(before)[1]
        schema, arguments = named(name, schemas), dict[str, Any]()
        while not cursor.takes(end):
            found = cursor.match(key)[1]
            own = schema["properties"][found]
            assert found not in arguments
            if own.get("type") in ("array", "object"):
                arguments[found] = cursor.value(own)
                cursor.take(after)
            else:
                arguments[found] = typed(cursor.until(after), own)
        assert is_valid(arguments, schema), arguments
        assert list(arguments) == [key for key in schema["properties"] if key in arguments], "the declared order"
        return name, arguments

    return read


def in_braces(cursor: Cursor, schemas: Schemas) -> Call:
    """Gemma 4: bare keys, sorted; strings between marks."""

    def value() -> Any:
        if cursor.takes('<|"|>'):
            return cursor.until('<|"|>')
        if cursor.takes("{"):
            return pairs()
        if cursor.takes("["):
            items: list[Any] = []
            while not cursor.takes("]"):
                if items:
                    cursor.take(",")
                items.append(value())
            return items
        word = cursor.match(r"[A-Za-z0-9.+-]+")[0]
        return {"None": None}[word] if word == "None" else DECODER.decode(word)

    def pairs() -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not cursor.takes("}"):
            if found:
                cursor.take(",")
            key = cursor.until(":")
            assert key not in found
            found[key] = value()
        return found

    name = cursor.match(r"<\|tool_call>call:(\w+)\{")[1]
    arguments = pairs()
    assert list(arguments) == sorted(arguments)
    assert is_valid(arguments, named(name, schemas)), arguments
    cursor.take("<tool_call|>")
    return name, arguments


@dataclass(frozen=True)
class Layout:
    call: Callable[[Cursor, Schemas], Call]
    mark: str  # that a call begins with; free text has none of it
    think: tuple[str, str]
    section: tuple[str, str] = ("", "")
    between: str | None = ""  # two calls; None: there is one at most
    beside: str | None = ""  # ends a text before calls; None: there is none
    content: str = ""  # begins a text without calls


QWEN_THOUGHT = "<think>\n", "\n</think>\n\n"
LAYOUTS = {
    "hermes": Layout(
        in_json('<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>"), "<tool_call>", QWEN_THOUGHT,
        between="\n", beside="\n",
    ),
    "kimi": Layout(
        in_json("<|tool_call_begin|>functions.", r":\d+<\|tool_call_argument_begin\|>", "<|tool_call_end|>"),
        "<|tool_calls_section_begin|>", ("<think>", "</think>"),
        section=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    ),
    "harmony": Layout(
        in_json(" to=functions.", r"<\|channel\|>commentary json<\|message\|>", ""), " to=functions.",
        ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant"),
        between=None, beside=None, content="<|channel|>final<|message|>",
    ),
    "qwen3_coder": Layout(
        in_entries(
            r"<tool_call>\n<function=(\w+)>", r"\n<parameter=(\w+)>\n", "\n</parameter>", "\n</function>\n</tool_call>"
        ),
        "<tool_call>", QWEN_THOUGHT, between="\n", beside="\n\n",
    ),
    "glm_4_7": Layout(
        in_entries(r"<tool_call>(\w+?)(?=<)", r"<arg_key>(\w+)</arg_key><arg_value>", "</arg_value>", "</tool_call>"),
        "<tool_call>", ("<think>", "</think>"),
    ),
    "gemma4": Layout(
        in_braces, "<|tool_call>", ("<|channel>thought\n", "\n<channel|>"), beside=None,
    ),
}  # fmt: skip


def calls_of(cursor: Cursor, layout: Layout, schemas: Schemas) -> Iterator[Call]:
    """One call or more, and the end of the text."""
    cursor.take(layout.section[0])
    yield layout.call(cursor, schemas)
    while not (cursor.takes(layout.section[1]) and not cursor.rest):
        assert layout.between is not None, cursor.rest
        cursor.take(layout.between)
        yield layout.call(cursor, schemas)


def said(text: str, layout: Layout, schemas: Schemas, *, thinks: bool = False, answer: Any = None) -> Said:
    """One turn. `answer`: a schema, whose values come in place of a text without calls."""
    cursor, thought = Cursor(text), None
    if thinks:
        cursor.take(layout.think[0])
        thought = cursor.until(layout.think[1])
    else:
        cursor.takes("".join(layout.think))
    if answer is not None:
        try:
            value = DECODER.decode(cursor.rest)
        except ValueError:
            assert layout.mark in cursor.rest, "neither calls nor an answer"
        else:
            assert is_valid(value, answer), value
            return Said(thought, cursor.rest, (), value)
    start = cursor.text.find(layout.mark, cursor.at)
    if start < 0 or (layout.beside is None and start > cursor.at):
        cursor.take(layout.content)
        return Said(thought, cursor.rest, ())
    content = cursor.text[cursor.at : start]
    assert content.endswith(layout.beside or "") or not content
    cursor.at = start
    calls = tuple(calls_of(cursor, layout, schemas))
    return Said(thought, content.removesuffix(layout.beside or "") if content else "", calls)
