"""vLLM with a reasoning parser: thoughts are free, what follows them is held, and vLLM's own parsers read both.

The embedded model has no words for thoughts: two tokens are added, and requests make the one that ends a thought likely.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.counts import tiers
from tests.integrations.vllm.scenario import MODEL, PERSON
from tests.integrations.vllm.server import MESSAGES, SCHEMAS, TOOLS, Server, calls_of_stream, serving

BEGIN, END = "<think>", "</think>"
LIKELY = 10.0  # added to the logit of END, and taken from that of the end of a turn: thoughts have a few dozen tokens
FORM = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}
ASKED: dict[str, dict[str, Any]] = {
    "auto": {"tools": TOOLS, "tool_choice": "auto"},
    "required": {"tools": TOOLS, "tool_choice": "required"},
    "named": {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "look"}}},
    "schema": {"response_format": FORM},
}


def model_with_thoughts(folder: Path) -> dict[str, float]:
    """Writes the embedded model with two tokens more; the bias that makes its thoughts end."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(MODEL), AutoTokenizer.from_pretrained(MODEL)
    tokenizer.add_tokens([BEGIN, END], special_tokens=False)
    model.resize_token_embeddings(len(tokenizer))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    end = tokenizer.convert_tokens_to_ids(END)
    assert isinstance(end, int)
    return {str(end): LIKELY, str(tokenizer.eos_token_id): -LIKELY}


@pytest.fixture(scope="module")
def thinking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, float]]]:
    folder = tmp_path_factory.mktemp("thinking")
    bias = model_with_thoughts(folder / "model")
    options = ("--reasoning-parser", "deepseek_r1", "--enable-auto-tool-choice", "--tool-call-parser", "hermes")
    with serving(folder, backend=True, options=options, model=folder / "model") as server:
        yield server, bias


@tiers("count", 6, 60)
@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("kind", ASKED)
def test_what_follows_a_thought_is_held(
    thinking: tuple[Server, dict[str, float]], kind: str, is_stream: bool, count: int, record_property: Any
) -> None:
    server, bias = thinking
    met = dict.fromkeys(("thoughts", "thoughts that never end", "calls", "texts"), 0)
    for seed in range(count):
        body = {"messages": MESSAGES, "max_tokens": 400, "temperature": 1.0, "seed": seed, "stream": is_stream}
        body |= {"return_token_ids": True, "logit_bias": bias, **ASKED[kind]}
        status, answer = server.post("/v1/chat/completions", body)
        assert status == 200, answer
        thought, text, calls, finish, ids = read_stream(answer) if is_stream else read(answer)
        met["thoughts"] += bool(thought)
        if not any(bias.get(str(token), 0) > 0 for token in ids):  # no END: the model's own end, or max_tokens
            assert not text, answer
            assert not calls, answer
            met["thoughts that never end"] += 1
            continue
        assert finish in ("stop", "tool_calls"), answer
        for name, arguments in calls:
            assert kind != "named" or name == "look", answer
            jsonschema.validate(json.loads(arguments), SCHEMAS[name])
        if kind == "schema":
            jsonschema.validate(json.loads(text), PERSON)
        assert calls or kind in ("auto", "schema"), answer
        met["calls"] += len(calls)
        met["texts"] += bool(text)
    assert met["thoughts"] > count // 2 > met["thoughts that never end"]
    for name, number in met.items():
        record_property(name, number)


Read = tuple[str, str, list[tuple[str, str]], str, list[int]]  # thought, text, calls, why it ended, tokens


def read(answer: dict[str, Any]) -> Read:
    (choice,) = answer["choices"]
    message = choice["message"]
    calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
    thought, text = message.get("reasoning") or "", message.get("content") or ""
    return thought, text, calls, choice["finish_reason"], choice["token_ids"]


def read_stream(lines: str) -> Read:
    events = [json.loads(line[6:]) for line in lines.splitlines() if line.startswith("data: {")]
    choices = [choice for event in events for choice in event["choices"]]
    thought, text = (
        "".join(choice["delta"].get(part) or "" for choice in choices) for part in ("reasoning", "content")
    )
    finish = next((choice["finish_reason"] for choice in choices if choice["finish_reason"]), "none")
    ids = [token for choice in choices for token in choice.get("token_ids") or ()]
    return thought, text, calls_of_stream(events), finish, ids
