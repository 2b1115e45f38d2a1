"""Features of one answer: what is asked for, and a reader of the answer that shares no code with what made it."""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grammarlm as gl
from tests.decoding.agents.answers import RECORD, SCHEMAS
from tests.decoding.agents.written_turns import DECODER, LAYOUTS, is_valid, said

TOOLS = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in SCHEMAS.items()]
MESSAGES = [
    {"role": "user", "content": "Two days in Rome."},
    {"role": "assistant", "content": "Which ones?"},
    {"role": "user", "content": "At noon, on 4 May 2031."},
]
TEXT = "Mira Tolan ordered seven steel lamps.\n"
CLOSED = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "paid": {"type": "boolean"},
        "size": {"enum": ["small", 7, None]},
        "lamps": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 99}, "maxItems": 3},
    },
    "required": ["name", "paid", "size", "lamps"],
    "additionalProperties": False,
}
FORM = gl.Template(
    "Name: {name}, age {age}.\n{{{color}}} {record}",
    name=gl.Regex("[A-Z][a-z]{1,8}"),
    age=int,
    color=["red", "blue"],
    record=RECORD,
)
STOPS = ["e", ". ", "\n\n", "the cat"]


@dataclass(frozen=True)
class Feature:
    """`check` raises AssertionError, KeyError or ValueError where an answer is not what was asked for."""

    asked: dict[str, Any]
    check: Callable[[Any], None]
    prompt: Any = TEXT
    least: int = 40  # tokens that any answer has room in
    ends: tuple[str, ...] = ("stop", "closed")
    is_streamed: bool = True


def template(out: Any) -> None:
    found = re.fullmatch(r"Name: ([A-Z][a-z]{1,8}), age (-?\d+)\.\n\{(red|blue)\} (.*)", out.text, re.DOTALL)
    assert found is not None
    name, age, color, record = found.groups()
    assert is_valid(json.loads(record), RECORD)
    assert out.value == {"name": name, "age": int(age), "color": color, "record": json.loads(record)}
    assert [out[hole] for hole in ("name", "age", "color")] == [name, int(age), color]


def as_dumped(out: Any) -> None:
    assert is_valid(out.value, CLOSED)
    assert out.text == json.dumps(out.value, ensure_ascii=False)
    assert list(out.value) == list(CLOSED["properties"])


def without_stops(out: Any) -> None:
    assert not any(stop in out.text for stop in STOPS)
    assert (out.stopped_by is None) or (out.stopped_by in STOPS and out.finish_reason == "stop")


def only_at_the_end(out: Any) -> None:
    """Under a grammar a stop counts where the grammar may end."""
    assert re.fullmatch(r"([a-z]{3} )*[a-z]{3}", out.text)
    assert out.stopped_by in (None, " ")
    assert out.stopped_by is None or " " not in out.text


def every_field(out: Any) -> None:
    """Fields are where they are said to be, and their probabilities and those of all other tokens are the answer's."""
    data = out.text.encode()
    assert is_valid(out.value, RECORD)
    for one in out.fields:
        value = out.value
        for step in one.path:
            value = value[step]
        assert json.loads(data[slice(*one.span)]) == value
    inside = {token for one in out.fields for token in one.tokens}
    assert len(inside) == sum(len(one.tokens) for one in out.fields)
    rest = math.fsum(logprob for at, logprob in enumerate(out.logprobs) if at not in inside)
    total = rest + math.fsum(one.logprob for one in out.fields)
    assert math.isclose(total, math.fsum(out.logprobs), abs_tol=1e-6)


def turn(out: Any) -> None:
    """The embedded tokenizer's template: an object of a function and its arguments, and nothing else; or a text."""
    if not out.calls:
        assert out.content == out.text
        assert not out.text.startswith('{"function":')
        return
    call = DECODER.decode(out.text)
    assert list(call) == ["function", "arguments"]
    assert is_valid(call["arguments"], SCHEMAS[call["function"]])
    assert [(one.name, one.arguments) for one in out.calls] == [(call["function"], call["arguments"])]
    assert out.message["role"] == "assistant"
    assert [one["function"]["name"] for one in out.message["tool_calls"]] == [call["function"]]


def called(out: Any) -> None:
    assert out.calls
    turn(out)


def thought_and_record(out: Any) -> None:
    found = said(out.text, LAYOUTS["hermes"], {}, thinks=True, answer=RECORD)
    assert out.reasoning == found.reasoning
    assert found.value is not None
    assert out.value == found.value


def is_fine(value: dict[str, Any]) -> bool:
    return len(value["city"]) % 2 == 0


def checked(out: Any) -> None:
    """A value that passes, or what was wrong with the last one."""
    assert 1 <= out.tries <= 3
    if out.finish_reason == "unsatisfied":
        assert (out.value, out.tries) == (None, 3)
        assert out.error
    else:
        assert out.error is None
        assert is_valid(out.value, RECORD)
        assert is_fine(out.value)


FEATURES = {
    "template": Feature({"grammar": FORM}, template, least=70),
    "template, drawn": Feature({"grammar": FORM, "forced": "score"}, template, least=70),
    "written record": Feature(
        {"grammar": gl.JsonSchema(CLOSED, whitespace="spaced"), "forced": "write"}, as_dumped, least=60
    ),
    "stop": Feature({"stop": STOPS}, without_stops, ends=("stop", "length")),
    "stop in a grammar": Feature({"stop": " ", "regex": "([a-z]{3} )*[a-z]{3}"}, only_at_the_end),
    "fields": Feature({"schema": RECORD}, every_field, least=60),
    "tools": Feature({"tools": TOOLS}, turn, MESSAGES, ends=("stop", "closed", "length"), least=60),
    "a tool": Feature({"tools": TOOLS, "tool_choice": "required"}, called, MESSAGES, least=60),
    "thought, then JSON": Feature(
        {"schema": RECORD, "reasoning": 20, "tool_format": "hermes"}, thought_and_record, MESSAGES, least=100
    ),
    "check": Feature(
        {"schema": RECORD, "check": is_fine, "retries": 2},
        checked,
        MESSAGES,
        least=60,
        ends=("stop", "closed", "unsatisfied"),
        is_streamed=False,
    ),
}
