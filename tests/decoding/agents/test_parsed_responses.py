"""transformers' own reader of answers, by response templates, reads the calls and thoughts of answers as out.calls has them.

What it reads otherwise is left out: a closing tag in an argument ends the call there, whatever JSON says.
"""

from collections import Counter
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.generated import as_generated
from tests.counts import record_counts, tiers
from tests.decoding.agents.answers import FAMILIES, GIVEN
from tests.decoding.agents.babbling import babbling, vocabulary

torch = pytest.importorskip("torch")
parsing = pytest.importorskip("transformers.utils.chat_parsing")

SPARE = 80
NAMED = {"function": {"name": "{name}", "arguments": "{content}"}}
QWEN = {"thinking": {"open": "<think>\n", "close": "\n</think>\n\n", "content_args": {"strip": False}}}
# Of each format: the closing tag, and the fields of a response template, written here after transformers' documentation.
FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    "hermes": (
        "</tool_call>",
        {**QWEN, "tool_calls": {"open": "<tool_call>\n", "close": "\n</tool_call>", "content": "json", "repeats": True,
                                "transform": {"function": "{content}"}}},
    ),
    "qwen3_coder": (
        "</parameter>",
        {**QWEN, "tool_calls": {"open_pattern": r"<tool_call>\n<function=(?P<name>\w+)>", "close": "\n</function>\n</tool_call>",
                                "content": "xml-inline", "repeats": True, "transform": NAMED, "content_args": {
                                    "tag_pattern": r"\n<parameter=(?P<key>\w+)>\n(?P<value>.*?)\n</parameter>"}}},
    ),
    "glm_4_7": (
        "</arg_value>",
        {"thinking": {"open": "<think>", "close": "</think>", "content_args": {"strip": False}},
         "tool_calls": {"open_pattern": r"<tool_call>(?P<name>\w+?)(?=<)", "close": "</tool_call>", "content": "xml-inline",
                        "repeats": True, "transform": NAMED, "content_args": {
                            "tag_pattern": r"<arg_key>(?P<key>\w+)</arg_key><arg_value>(?P<value>.*?)</arg_value>"}}},
    ),
    "harmony": (
        "<|call|>",
        {"thinking": {"open": "<|channel|>analysis<|message|>", "close": "<|end|><|start|>assistant",
                      "content_args": {"strip": False}},
         "tool_calls": {"open_pattern": r" to=functions\.(?P<name>\w+)<\|channel\|>commentary json<\|message\|>",
                        "close": "<|call|>", "content": "json", "transform": NAMED}},
    ),
}  # fmt: skip
CASES = {
    name: case
    for family in ("json", "entries")
    for name, case in FAMILIES[family].items()
    if name.partition(",")[0] in FIELDS
}


def parsed(text: str, fields: dict[str, Any]) -> tuple[str | None, list[tuple[str, dict[str, Any]]]]:
    message = parsing.parse_response(text, {"start_anchor": "<|turn|>", "fields": fields}, prefix="", tools=GIVEN)
    calls = message.get("tool_calls", [])
    listed = calls if isinstance(calls, list) else [calls]
    return message.get("thinking"), [(call["function"]["name"], call["function"]["arguments"]) for call in listed]


@pytest.mark.parametrize("name", CASES)
@tiers("count", 3, 200)
def test_transformers_reads_the_same(name: str, count: int, record_property: Any) -> None:
    end, fields = FIELDS[name.partition(",")[0]]
    closing = [*end.split(), *fields["tool_calls"].get("close", "").split()]
    marks = [text for field in fields.values() for text in (field.get("open"), field.get("close")) if text]
    vocab, found = vocabulary([*marks, "<tool_call>", "<arg_key>", "</arg_value>", " to=functions."]), Counter[str]()
    model = babbling(11, vocab)
    most = gl.compile(as_generated(CASES[name].grammar), vocab).matcher().min_tokens_left + SPARE
    for seed in range(count):
        out = gl.generate(
            model, [seed], vocab=vocab, grammar=CASES[name].grammar, max_tokens=most, temperature=1.0, seed=seed
        )
        assert out.finish_reason in ("stop", "closed")
        if any(tag in call.source or tag in str(call.arguments) for call in out.calls for tag in closing):
            found["a closing tag in an argument"] += 1
            continue
        thought, calls = parsed(out.text, fields)
        assert calls == [(call.name, call.arguments) for call in out.calls], out.text
        assert (thought or None) == (out.reasoning or None), out.text
        found["calls"] += len(calls)
    assert found["calls"] or count < 10 or "required" not in name  # few answers begin a call that they need not
    record_counts(record_property, found)
