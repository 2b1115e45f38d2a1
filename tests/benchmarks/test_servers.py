"""JSONSchemaBench on servers: what servers answer, where they are not there, several in one table."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from benchmarks.schemas import servers
from grammarlm.bench.generation.validation import VALID
from tests.commands.bench_cases import case_of, records_of, write_cases

pytest.importorskip("jsonschema")


class Server(BaseHTTPRequestHandler):
    """Answers as its prompt's schema says: an OpenAI-compatible server, so far as the bench asks for one."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            self._answer_about(self.path, body)
            return
        schema = body["response_format"]["json_schema"]["schema"]
        if "refuse" in schema:
            self.send_error(schema["refuse"], "not this schema")
            return
        if "sleep" in schema:
            time.sleep(schema["sleep"])
        is_chat = self.path == "/v1/chat/completions"
        assert is_chat or self.path == "/v1/completions"
        assert json.dumps(schema) in (body["messages"][-1]["content"] if is_chat else body["prompt"])
        self.send_response(200)
        self.end_headers()
        if "stream" in schema:
            self._send({"error": {"message": "too late", "code": schema["stream"]}})
            return
        for piece in ('{"a"', ": 1", schema.get("end", "}")):
            said: dict[str, Any] = {"delta": {"content": piece}} if is_chat else {"text": piece}
            self._send({"choices": [{**said, "finish_reason": None}]})
            time.sleep(0.1)
        self._send({"choices": [{"delta": {}, "text": "", "finish_reason": schema.get("reason", "stop")}]})
        self._send({"choices": [], "usage": {"completion_tokens": 3}})
        self.wfile.write(b"data: [DONE]\n\n")

    def do_GET(self) -> None:
        self._answer_about(self.path, {})

    def _answer_about(self, path: str, body: dict[str, Any]) -> None:
        self.send_error(404)

    def _send(self, event: Any) -> None:
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

    def log_message(self, *args: Any) -> None:
        """Nothing."""


class Talkative(Server):
    """It also tells about itself, as vLLM does: a token is a character."""

    def _answer_about(self, path: str, body: dict[str, Any]) -> None:
        answers = {
            "/v1/models": {"data": [{"id": "m", "max_model_len": 1000}]},
            "/version": {"version": "7.8"},
            "/tokenize": {"count": sum(len(turn["content"]) for turn in body.get("messages", ()))},
        }
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answers[path]).encode())


@contextmanager
def listening(kind: type[Server]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("route", [(), ("--completions",)])
def test_a_server(capsys, tmp_path, route) -> None:
    schemas = {
        "good": {"required": ["a"]},
        "wrong": {"required": ["b"]},
        "cut": {"end": "", "reason": "length"},
        "refused": {"refuse": 400},
        "refused later": {"stream": 400},
        "fault": {"refuse": 500},
        "fault later": {"stream": 500},
        "not here": {"refuse": 404},
        "slow": {"sleep": 4},
    }
    folder = write_cases(
        tmp_path / "data", {f"Github_easy---{name}": case_of(schema) for name, schema in schemas.items()}
    )
    out = tmp_path / "out"
    with listening(Server) as url:
        more = ("--url", url, "--model", "m", "--limit", "1", *route)
        assert servers.main([str(folder), "--out", str(out), *more]) == 0
    printed = capsys.readouterr().out
    found = {name.partition("---")[2]: record for name, record in records_of(out / "server.jsonl").items()}
    assert {name: record.worst() for name, record in found.items()} == {
        "good": "passing", "wrong": "invalid", "cut": "cut", "refused": "refused", "refused later": "refused",
        "fault": "crash", "fault later": "crash", "not here": "crash", "slow": "crash",
    }  # fmt: skip
    assert found["refused later"].refused == "the server answered 400: too late"
    (output,) = found["good"].outputs
    assert (output.text, output.tokens, output.verdict) == ('{"a": 1}', 3, VALID)
    assert output.later_tokens > 50_000  # the pieces came one after another
    assert "| server | 9 | 3 (33.33%) | 1 (11.11%)" in re.sub(" +", " ", printed)


def test_several_servers(capsys, tmp_path) -> None:
    """Rows by name; prompts that are too long for the context that a server tells are passed over, and counted."""
    schemas = {"good": {}, "long": {"title": "x" * 900}}
    folder = write_cases(tmp_path / "data", {f"Snowplow---{name}": case_of(schema) for name, schema in schemas.items()})
    with listening(Talkative) as one, listening(Server) as two:
        urls = ("--url", f"one={one}/v1", "--url", f"two={two}/v1/", "--url", "three=http://127.0.0.1:9/v1")
        more = ("--model", "m", "--max-tokens", "500", "--shots", "0", "--out", str(tmp_path / "out"), *urls)
        assert servers.main([str(folder), *more]) == 0
    printed = re.sub(" +", " ", capsys.readouterr().out)
    for name in ("one", "two"):
        assert f"| {name} | 1 | 1 (100.00%) | 1 (100.00%)" in printed
        assert list(records_of(tmp_path / "out" / f"{name}.jsonl")) == ["Snowplow---good"]
    assert f"- one: {one}, version 7.8\n- two: {two}\n" in printed
    assert "- three: not measured: http://127.0.0.1:9 does not answer" in printed
    assert "Not taken, as the prompt leaves too little room: 1." in printed


@pytest.mark.parametrize(
    ("urls", "message"),
    [
        (("http://127.0.0.1:9",), "--url: http://127.0.0.1:9 does not answer: "),
        (("{}", "{}"), "--url: two servers are called server; give each a name of its own, as NAME=URL"),
        (("{}/v1",), "has no model other: --model takes m"),
    ],
)
def test_servers_that_are_not_there(capsys, tmp_path, urls, message) -> None:
    folder = write_cases(tmp_path / "data", {"Snowplow---a": case_of({})})
    with listening(Talkative) as url:
        given = [part for each in urls for part in ("--url", each.format(url))]
        more = ("--model", "other", "--out", str(tmp_path / "out"), *given)
        assert servers.main([str(folder), *more]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert message in err
