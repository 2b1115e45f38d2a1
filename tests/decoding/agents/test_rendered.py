"""Answers of random weights, in the formats that real chat templates teach: the template writes out.message as the very answer.

Templates are rendered as transformers renders them.
"""

import re
from collections import Counter
from dataclasses import astuple
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.generated import as_generated
from tests.counts import record_counts
from tests.decoding.agents.answers import GIVEN, SCHEMAS
from tests.decoding.agents.babbling import babbling, vocabulary
from tests.decoding.agents.written_turns import is_valid
from tests.oracles.chat_templates import USER, needs_jinja2, rendered, writes_calls
from tests.real_data import FOLDER, needs_data

torch = pytest.importorskip("torch")
pytestmark = needs_jinja2

SPARE, THOUGHTS = 60, 40
TEMPLATES = {path.stem: path for path in sorted((FOLDER / "chat_templates").glob("*.jinja"))}
THINKING = {"enable_thinking": True, "thinking": True}
SILENT = {"enable_thinking": False, "thinking": False}


def pieces_of(form: gl.ToolFormat) -> list[str]:
    """What its texts are made of."""
    texts = [text for text in re.findall(r"'((?:[^'\\]|\\.)+)'", repr(astuple(form))) if "{" not in text or '"' in text]
    found = [part for text in texts for part in re.split(r"\{\w+\}", text.encode().decode("unicode_escape")) if part]
    return sorted(set(found))


def squeezed(text: str) -> str:
    return "".join(text.split())


def unnumbered(text: str, form: gl.ToolFormat) -> str:
    """Where templates count calls themselves, answers may count from anywhere: conversations may."""
    for piece in form.call:
        if "{index}" in piece:
            left, _, right = piece.replace("{name}", "").partition("{index}")
            text = re.sub(f"({re.escape(left)})[0-9]+(?={re.escape(right)})", r"\1#", text)
    return text


def outcome(source: str, form: gl.ToolFormat, tools: gl.Tools, out: Any, options: dict[str, Any]) -> str:
    """How the template writes an answer: "exact", or why it can not be compared; AssertionError where it writes another."""
    for call in out.calls:
        assert is_valid(call.arguments, SCHEMAS[call.name])
    message = out.message
    if out.reasoning is not None:
        message |= dict.fromkeys(("reasoning", "thinking"), out.reasoning)
    texts = [out.content, out.reasoning or ""]
    if any(text != text.strip() for text in texts) or (out.reasoning is not None and not out.reasoning):
        return "white space around texts, or an empty one"  # templates strip, and leave out
    prompt = rendered(source, [], tools=GIVEN, **options)
    whole = rendered(source, [message], tools=GIVEN, **options)
    if not whole.startswith(prompt):
        return "the prompt is no beginning"
    turn, text = whole.removeprefix(prompt), out.text
    if out.reasoning and out.reasoning not in turn:
        return "the template leaves the thought out"
    if form.reasoning is not None and out.reasoning is None:  # an empty thought: may be written, or left out
        turn, text = (each.removeprefix("".join(form.reasoning)) for each in (turn, text))
    if turn.startswith(text):
        return "exact"
    turn, text = unnumbered(turn, form), unnumbered(text, form)
    if turn.startswith(text):
        return "exact but for numbers of calls"
    assert squeezed(turn).startswith(squeezed(text)), (text, turn)
    return "exact but for white space in JSON"


def compiled(tools: gl.Tools, vocab: gl.Vocabulary) -> gl.Constraint | None:
    try:
        return gl.compile(as_generated(tools), vocab)
    except gl.UnsupportedFeature as error:  # free text beside calls without a mark, arrays in a notation of its own
        assert "the format" in str(error)  # noqa: PT017
        return None


def learned(source: str) -> gl.ToolFormat | None:
    if "json_to_python_type" in source:  # a macro that does not end where a type is a list
        return None
    try:
        return gl.ToolFormat.of(source) if writes_calls(source) else None
    except gl.UnsupportedFeature:
        return None


def answers(name: str, count: int) -> Counter[str]:
    source, found = TEMPLATES[name].read_text("utf-8"), Counter[str]()
    form = learned(source)
    if form is None:
        return Counter(refused=1)
    vocab = vocabulary(pieces_of(form))
    model = babbling(7, vocab)
    for number in range(count):
        thinks = form.reasoning is not None and number % 2 == 1
        options = THINKING if thinks else SILENT
        prompt = USER + rendered(source, [], tools=GIVEN, **options)
        calls = ("any", "required")[number % 3 == 0]
        tools = gl.Tools(GIVEN, format=form, calls=calls, reasoning=THOUGHTS if thinks else None).after(prompt)
        if (constraint := compiled(tools, vocab)) is None:
            found["refused"] += 1
            continue
        most = constraint.matcher().min_tokens_left + SPARE
        out = gl.generate(model, [number], vocab=vocab, grammar=tools, max_tokens=most, temperature=1.0, seed=number)
        assert out.finish_reason in ("stop", "closed")
        found[outcome(source, form, tools, out, options)] += 1
    return found


FEW = ["Qwen3-Coder", "Kimi-K2-Thinking", "GLM-4.7-Flash", "LFM2.5-8B-A1B", "Spark2.5"]


@needs_data
@pytest.mark.parametrize("name", FEW)
def test_answers_are_what_the_template_writes_of_them(name: str) -> None:
    assert any(outcome.startswith("exact") for outcome in answers(name, 3))


@needs_data
@pytest.mark.proof
@pytest.mark.parametrize("name", TEMPLATES)
def test_many_answers_are_what_the_template_writes_of_them(name: str, record_property: Any) -> None:
    found = answers(name, 40)
    record_counts(record_property, found)
    is_compared = {outcome for outcome in found if outcome.startswith("exact")}
    assert is_compared or found["refused"] or any(outcome.startswith("the ") for outcome in found), found
