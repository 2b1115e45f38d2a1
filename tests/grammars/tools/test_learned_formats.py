"""ToolFormat.of() on chat templates: what it learns writes random calls as transformers renders them, or it says that it cannot."""

import copy
import dataclasses
import random
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.tools import formats
from grammarlm.grammars.tools.tool_format import Entries, Nested, ToolFormat
from tests.corpus_files import corpus
from tests.oracles.chat_templates import USER, assistant, needs_jinja2, random_call, rendered, writes_calls
from tests.real_data import FOLDER, needs_data

pytestmark = needs_jinja2
CASES = {case["name"]: case for case in corpus("chat_templates")}
LEARNED = [name for name, case in CASES.items() if "refused" not in case]
TEMPLATES = {path.stem: path for path in sorted((FOLDER / "chat_templates").glob("*.jinja"))}
THINKING = {"enable_thinking": True, "thinking": True}
# By the mark in a template that tells of tools, but writes no calls.
NAMED = {"ibm-granite-granite-3.3-2B-Instruct": "granite"}


def source_of(name: str) -> str:
    return TEMPLATES[name].read_text("utf-8")


def learned(source: str) -> ToolFormat | None:
    try:
        return ToolFormat.of(source)
    except gl.UnsupportedFeature as error:
        assert all(name in str(error) for name in ("hermes", "harmony", "ToolFormat.named"))  # noqa: PT017
        return None


def conversation(rng: random.Random, form: ToolFormat) -> list[Any]:
    calls = [random_call(rng) for _ in range(rng.randrange(1, 4) if form.between is not None else 1)]
    ids = form.call_id
    return [
        (name, given, ids.replace("{name}", name).replace("{index}", str(index)) if ids else id)
        for index, (name, given, id) in enumerate(calls)
    ]


def check(source: str, form: ToolFormat, count: int) -> None:
    """Turns with random calls, thoughts and texts, against what transformers renders."""
    rng = random.Random(0)
    message = {"as_text": form.as_text, "no_text": form.no_text}
    first = conversation(rng, form)
    start, found, end = rendered(source, [assistant(first, **message)]).partition(form.write(first))
    assert found
    assert end.startswith(form.stop[0]) or not end
    thinks = thinking_options(source, form)
    for number in range(count):
        calls = conversation(rng, form)
        text = "Now, let me\nsee." if number % 3 == 1 and form.beside else ""
        thought = f"step {number},\nthen on" if number % 2 and thinks is not None else ""
        options = thinks if thought and thinks else {}
        turn = rendered(source, [assistant(calls, **message, text=text, thought=thought)], **options)
        written = form.write(calls) + end
        if text and form.beside:
            written = form.beside[0] + text + form.beside[1] + written
        if thought and form.reasoning:
            written = form.reasoning[0] + thought + "".join(form.reasoning[1:]) + written
            assert turn.endswith(written), (calls, turn)
            assert turn.removesuffix(written).endswith(form.turn)
        elif (
            text and thinks is not None
        ):  # beside a text, a template may write an end of the thoughts that there are not
            assert turn.endswith(written.removeprefix(form.beside[0] if form.beside else "")), (calls, turn)
        else:
            assert turn == start + written, (calls, turn)


def thinking_options(source: str, form: ToolFormat) -> dict[str, Any] | None:
    """With which options a template writes thoughts; None where it writes none."""
    message = {"as_text": form.as_text, "no_text": form.no_text, "thought": "so it is"}
    for options in ({}, THINKING):
        turn = rendered(source, [assistant([("Find2", {}, "abcdef123")], **message)], **options)  # type: ignore[arg-type]
        if form.reasoning and "so it is" in turn:
            return options
    return None


def expected(case: dict[str, Any]) -> dict[str, Any]:
    if "same" in case:
        return {**dataclasses.asdict(formats.read(case["same"]).layout), "name": "learned"}
    given = dict(case["fields"])
    given = {key: None if value is False else value for key, value in given.items()}
    if isinstance(arguments := copy.copy(given.get("arguments")), dict):
        values = arguments.get("values", "json")
        nested = Nested(**{key: tuple(value) for key, value in values.items()}) if isinstance(values, dict) else values
        escapes = tuple(map(tuple, arguments.pop("escapes", ())))
        entries = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
        given["arguments"] = Entries(**(entries | {"values": nested, "escapes": escapes}))
    return dataclasses.asdict(ToolFormat("learned", **given))


@pytest.mark.parametrize("name", LEARNED)
def test_what_is_learned_from_our_own_templates(name: str) -> None:
    assert dataclasses.asdict(ToolFormat.of(CASES[name]["template"].strip())) == expected(CASES[name])


@pytest.mark.parametrize("name", LEARNED)
def test_our_own_templates_beside_transformers(name: str) -> None:
    source = CASES[name]["template"].strip()
    assert writes_calls(source) or "kimi" in name or CASES[name]["fields"].get("call_id")
    check(source, ToolFormat.of(source), 30)


@pytest.mark.parametrize("name", sorted(CASES.keys() - set(LEARNED)))
def test_what_cannot_be_learned_is_refused(name: str) -> None:
    with pytest.raises(gl.UnsupportedFeature, match="no format of calls is known") as refusal:
        ToolFormat.of(CASES[name]["template"].strip())
    assert CASES[name]["refused"] in str(refusal.value)
    assert "hermes" in str(refusal.value)
    assert "ToolFormat.named" in str(refusal.value)


@needs_data
def test_most_real_templates_are_exact_and_the_others_are_refused() -> None:
    exact, refused = [], []
    for name in TEMPLATES:
        source = source_of(name)
        form = learned(source)
        if not writes_calls(source):
            assert (form and form.name) == NAMED.get(name)
        elif form is None:
            refused.append(name)
        else:
            check(source, form, 10)
            exact.append(name)
    assert len(exact) >= 0.9 * len(exact + refused) > 30, refused


@needs_data
@pytest.mark.proof
@pytest.mark.parametrize("name", TEMPLATES)
def test_many_conversations_of_real_templates(name: str) -> None:
    form = learned(source_of(name))
    if form is not None and form.name == "learned":
        check(source_of(name), form, 300)


# What prompts say of the reasoning: by themselves, with it wanted, and with it unwanted.
OPENED = {
    "Qwen-QwQ-32B": ("closed", "open", "closed"),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": ("open", "open", "closed"),
    "MiniMax-M2": ("open", "open", "open"),
    "GLM-4.6": ("none", "none", "closed"),
    "deepseek-ai-DeepSeek-V3.2": ("closed", "open", "closed"),
    "deepseek-ai-DeepSeek-V4": ("closed", "open", "closed"),
    "google-gemma-4-31B-it": ("closed", "none", "closed"),
    "Cohere2MoE": ("open", "open", "open"),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": ("closed", "none", "closed"),
    "tencent-Hy3": ("closed", "closed", "closed"),
    "muse-glimmer": ("none", "none", "none"),
    "Kimi-K2-Instruct": ("none", "none", "none"),
}


@needs_data
@pytest.mark.parametrize("name", OPENED)
def test_prompts_that_open_or_close_the_reasoning(name: str) -> None:
    source, silent = source_of(name), {"enable_thinking": False, "thinking": False}
    form = ToolFormat.of(source)
    prompts = [USER + rendered(source, [], **options) for options in ({}, THINKING, silent)]
    assert tuple(map(form.opened, prompts)) == OPENED[name]
    history = f"<think> is a tag, and </think> is one.{USER}"
    assert tuple(form.opened(history + prompt) for prompt in prompts) == OPENED[name]
