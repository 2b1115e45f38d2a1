"""Sixteen clients of one server for ten minutes: whole answers and streams of every kind, wrong requests, clients that leave. Each
answer is what its request asks for, nobody starves, and the server holds no more at the end than after its first minute."""

import json
import random
import re
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.counts import record_counts
from tests.integrations.server.process import free_port, serving

httpx = pytest.importorskip("httpx", reason="the client is not installed: pip install httpx")
jsonschema = pytest.importorskip("jsonschema")

CLIENTS = 16
ORDER = {
    "type": "object",
    "properties": {"customer": {"type": "string", "maxLength": 30}, "quantity": {"type": "integer"}},
    "required": ["customer", "quantity"],
    "additionalProperties": False,
}
MINUTES = {"type": "object", "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]}
TIMER = {"type": "function", "function": {"name": "set_timer", "parameters": MINUTES}}
SAID = ["Count 15 minutes.", "Mira Tolan ordered seven steel lamps.", "Ada, 36, lives in Rome. " * 8]
WRONG = [
    {"response_format": {"type": "xml"}},
    {"temprature": 1},
    {"max_tokens": 0},
    {"grammarlm": {"regex": "("}},
    {"grammarlm": {"regex": "a{50}"}, "max_tokens": 2},
    {"tools": [TIMER], "tool_choice": "nobody"},
]


def is_free(text, calls):
    return not calls


def is_order(text, calls):
    jsonschema.validate(json.loads(text), ORDER)
    return not calls


def is_name(text, calls):
    return re.fullmatch("[A-Z][a-z]{2,12}", text) is not None


def is_call(text, calls):
    [(name, arguments)] = calls
    jsonschema.validate(json.loads(arguments), MINUTES)
    return name == "set_timer"


# What a request asks for beside its messages, and what its answer has to be.
ASKED = [
    ({"max_tokens": 40}, is_free),
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "order", "schema": ORDER}}}, is_order),
    ({"grammarlm": {"regex": "[A-Z][a-z]{2,12}"}}, is_name),
    ({"tools": [TIMER], "tool_choice": "required"}, is_call),
]


def whole(found):
    [choice] = found["choices"]
    calls = [
        (one["function"]["name"], one["function"]["arguments"]) for one in choice["message"].get("tool_calls") or ()
    ]
    return choice["message"]["content"] or "", calls


def streamed(lines):
    """The text and the calls of a stream that has come to its end."""
    text, calls = "", []
    for line in filter(None, lines):
        if line == "data: [DONE]":
            return text, calls
        for choice in json.loads(line.removeprefix("data: "))["choices"]:
            text += choice["delta"].get("content") or ""
            calls += [
                (one["function"]["name"], one["function"]["arguments"])
                for one in choice["delta"].get("tool_calls") or ()
            ]
    raise AssertionError("the stream breaks off")


def ask(client, url, rng):
    """One request of some kind; what became of it."""
    body = {
        "messages": [{"role": "user", "content": rng.choice(SAID)}],
        "temperature": rng.choice([0, 1]),
        "seed": rng.randrange(99),
    }
    kind = rng.choice(["whole", "stream", "stream", "wrong", "left"])
    if kind == "wrong":
        found = client.post(url, json={**body, **rng.choice(WRONG)})
        assert found.status_code == 400, found.text
        assert found.json()["error"]["message"]
        return kind
    asked, is_right = rng.choice(ASKED)
    body = {"max_tokens": 100, **body, **asked}
    if kind == "whole":
        text, calls = whole(client.post(url, json=body).raise_for_status().json())
    else:
        with client.stream("POST", url, json={**body, "stream": True}) as found:
            found.raise_for_status()
            lines = found.iter_lines()
            if kind == "left":
                next(lines)
                return kind
            text, calls = streamed(lines)
    assert is_right(text, calls), (body, text, calls)
    return kind


def held_by(process):
    """Megabytes."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4 / 1024


@pytest.mark.proof
@pytest.mark.parametrize("seconds", [600])
def test_sixteen_clients(seconds, tmp_path, monkeypatch, record_property):
    monkeypatch.delenv("GRAMMARLM_API_KEY", raising=False)
    port, outcomes, failures = free_port(), [Counter() for _ in range(CLIENTS)], []
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    with serving(port, tmp_path / "log") as process:
        end = time.monotonic() + seconds

        def run(number):
            rng = random.Random(number)
            with httpx.Client(timeout=120) as client:
                while time.monotonic() < end and not failures:
                    try:
                        outcomes[number][ask(client, url, rng)] += 1
                    except Exception as error:
                        failures.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        threads[0].join(seconds / 10)
        before = held_by(process)
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        after = held_by(process)
        assert process.poll() is None
    answered = [one["whole"] + one["stream"] for one in outcomes]
    assert min(answered) > 0.5 * max(answered)
    assert (
        after - before < 40
    )  # megabytes: a kilobyte and a half an answer of the thousands that a minute has would be more
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log, log[-2000:]
    record_counts(
        record_property,
        {**sum(outcomes, Counter()), "answers": sum(answered), "MB before": round(before), "MB after": round(after)},
        cases="answers",
    )
