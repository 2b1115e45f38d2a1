"""One server on loopback, as a client sees it: completions, chat, streams, errors; hard requests are served, bad ones refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.counts import tiers
from tests.integrations.vllm.bad_requests import BAD, HARD, TEXTS, TOLD_BY_TEMPLATE
from tests.integrations.vllm.scenario import DATE, PERSON
from tests.integrations.vllm.server import MESSAGES, SCHEMAS, TOOLS, Pulse, Server, calls_of_stream, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    parser = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
    with serving(tmp_path_factory.mktemp("server"), backend=True, options=parser) as running:
        yield running


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Without the backend: the logits processor alone."""
    with serving(tmp_path_factory.mktemp("plain"), backend=False) as running:
        yield running


def completed(server: Server, asked: dict[str, Any], **more: Any) -> str:
    body = {
        "prompt": "It was on ",
        "max_tokens": 40,
        "temperature": 1.0,
        "vllm_xargs": {"grammarlm": json.dumps(asked)},
    }
    status, answer = server.post("/v1/completions", body | more)
    assert status == 200, answer
    assert answer["choices"][0]["finish_reason"] == "stop", answer
    text: str = answer["choices"][0]["text"]
    return text


@pytest.mark.parametrize("name", ["server", "plain"])
def test_completions_and_chat(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)
    assert re.fullmatch(DATE, completed(server, {"regex": DATE}))
    body = {"messages": MESSAGES, "max_tokens": 60, "temperature": 1.0}
    asked = {"vllm_xargs": {"grammarlm": json.dumps({"schema": PERSON})}}
    status, answer = server.post("/v1/chat/completions", body | asked)
    assert status == 200, answer
    jsonschema.validate(json.loads(answer["choices"][0]["message"]["content"]), PERSON)


def test_response_format(server: Server) -> None:
    body = {"messages": MESSAGES, "max_tokens": 60, "temperature": 1.0}
    form = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}
    status, answer = server.post("/v1/chat/completions", body | {"response_format": form})
    assert status == 200, answer
    assert answer["choices"][0]["finish_reason"] == "stop"
    jsonschema.validate(json.loads(answer["choices"][0]["message"]["content"]), PERSON)
    compact = {"vllm_xargs": {"grammarlm": json.dumps({"whitespace": "compact"})}}
    status, answer = server.post("/v1/chat/completions", body | {"response_format": form} | compact)
    assert status == 200, answer
    text = answer["choices"][0]["message"]["content"]
    assert text == json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False)
    status, answer = server.post("/v1/chat/completions", body | {"response_format": {"type": "json_object"}})
    assert status == 200, answer
    assert isinstance(json.loads(answer["choices"][0]["message"]["content"]), dict)


def test_a_stream(server: Server) -> None:
    body = {"prompt": "It was on ", "max_tokens": 40, "structured_outputs": {"regex": DATE}, "stream": True}
    status, text = server.post("/v1/completions", body)
    assert status == 200
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    assert len(events) > 3
    assert re.fullmatch(DATE, "".join(event["choices"][0]["text"] for event in events))


@pytest.mark.parametrize("name", ["server", "plain"])
def test_bad_requests_are_answered_400_and_the_next_one_works(name: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(name)
    with Pulse(server) as pulse:
        for what, asked in BAD.items():
            status, answer = server.post(
                "/v1/completions", {"prompt": "a", "max_tokens": 20, "vllm_xargs": {"grammarlm": json.dumps(asked)}}
            )
            # With the backend, what is too slow for the event loop is found where nobody can answer 400 any more.
            is_empty = status == 200 and answer["choices"][0]["text"] == "" and name == "server"
            is_told = name == "server" and what in TOLD_BY_TEMPLATE
            assert status == 400 or is_empty or is_told or what == "too many states", (what, status, answer)
            assert "Traceback" not in json.dumps(answer)
            assert re.fullmatch(DATE, completed(server, {"regex": DATE})), what
    assert len(pulse.times) > 20


def test_hard_requests_are_served(server: Server) -> None:
    for what, asked in HARD.items():
        text = completed(server, asked, max_tokens=400)
        if "schema" in asked:
            schema = asked["schema"] if isinstance(asked["schema"], dict) else json.loads(asked["schema"])
            kind = jsonschema.Draft202012Validator
            kind(schema, format_checker=kind.FORMAT_CHECKER).validate(json.loads(text))
        else:
            assert re.fullmatch(TEXTS[what], text), (what, text)


@tiers("count", 8, 60)
@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("choice", ["required", "auto", "keep", "look"])
def test_tools_of_vllm(server: Server, choice: str, is_stream: bool, count: int) -> None:
    """Structural tags of vLLM's own making, calls read by its own parser: valid, complete, of the tool that was asked for."""
    asked: Any = {"type": "function", "function": {"name": choice}} if choice in SCHEMAS else choice
    body = {
        "messages": MESSAGES,
        "max_tokens": 120,
        "temperature": 1.0,
        "tools": TOOLS,
        "tool_choice": asked,
        "stream": is_stream,
    }
    for seed in range(count):
        status, answer = server.post("/v1/chat/completions", {**body, "seed": seed})
        assert status == 200, answer
        if is_stream:
            calls = calls_of_stream(
                [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: {")]
            )
        else:
            assert answer["choices"][0]["finish_reason"] in ("stop", "tool_calls"), answer
            told = answer["choices"][0]["message"].get("tool_calls") or ()
            calls = [(call["function"]["name"], call["function"]["arguments"]) for call in told]
        assert calls or choice == "auto", answer
        for name, arguments in calls:
            assert name == choice or choice not in SCHEMAS
            jsonschema.validate(json.loads(arguments), SCHEMAS[name])


@pytest.mark.parametrize(
    "tag", ["{}", '{"type": "structural_tag", "format": {"type": "tags"}}', '{"structures": [], "triggers": ["a"]}']
)
def test_bad_structural_tags_are_answered_400(server: Server, tag: str) -> None:
    body = {"prompt": "a", "max_tokens": 9, "structured_outputs": {"structural_tag": tag}}
    status, answer = server.post("/v1/completions", body)
    assert status == 400, answer
    assert "struct" in answer["error"]["message"]  # most of them are refused by vLLM itself


def test_tools_of_our_options(server: Server) -> None:
    """By the tokenizer's own chat template, or by a format that is named."""
    body = {"messages": MESSAGES, "max_tokens": 100, "temperature": 1.0}
    asked = {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}
    status, answer = server.post("/v1/chat/completions", body | {"vllm_xargs": {"grammarlm": json.dumps(asked)}})
    assert status == 200, answer
    call = json.loads(answer["choices"][0]["message"]["content"])
    jsonschema.validate(call["arguments"], SCHEMAS[call["function"]])
    named = {"vllm_xargs": {"grammarlm": json.dumps({**asked, "tool_format": "llama3"})}}
    status, answer = server.post("/v1/chat/completions", body | named)
    assert status == 200, answer
    call = json.loads(answer["choices"][0]["message"]["content"])
    jsonschema.validate(call["parameters"], SCHEMAS[call["name"]])


def test_drafts_on_v1_are_refused_at_start(tmp_path: Path) -> None:
    """vLLM would drop the processor without a word."""
    drafts = ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 2}')
    with pytest.raises(AssertionError, match="without a word"), serving(tmp_path, backend=False, options=drafts):
        pass
