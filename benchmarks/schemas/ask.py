"""A child's task: asks an OpenAI-compatible server for a text under a schema, and takes the times of its stream."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any

from grammarlm.bench.cases import Case
from grammarlm.bench.generation.prompts import examples
from grammarlm.bench.generation.record import LENGTH, STOP, Generated, Output
from grammarlm.bench.tasks import Step

from .endpoint import Endpoint

REFUSED = (400, 422)  # statuses: the server does not take the schema


class Answered(Exception):
    """The server answered with an error, as a status or in the stream."""

    def __init__(self, code: int, said: str):
        super().__init__(f"the server answered {code}: {said}")
        self.code = code


class Ask:
    """Options: `url`, `model`, `temperature`, `samples`, `most`, `limit`, `seed`, `shots` and `examples`, and `completions`: the
    prompt as plain text instead of a chat.
    """

    record = Generated

    def __init__(self, settings: dict[str, Any]) -> None:
        self._options = settings["options"]["generation"]
        self._endpoint = Endpoint.of(self._options["url"], self._options["model"])

    def run(self, case: Case, step: Step) -> Generated:
        schema = case.load()["schema"]
        record = Generated(case.name, data_set=case.data_set)
        try:
            for number in range(self._options["samples"]):
                record.outputs.append(self._text(case, schema, number))
                step(record)
        except Answered as error:
            if error.code in REFUSED:
                record.refused = str(error)[:300]
            else:
                record.crash = str(error)[:300]
        except Exception as error:
            record.crash = f"{type(error).__name__}: {error}"[:300]
        return record

    def _text(self, case: Case, schema: Any, number: int) -> Output:
        is_plain = self._options["completions"]
        body: dict[str, Any] = {
            **self._endpoint.prompt(schema, examples(self._options, case, schema), is_plain),
            "temperature": self._options["temperature"],
            "max_tokens": self._options["most"],
            "seed": self._options["seed"] + number,
            "stream": True,
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
        }
        url = f"{self._endpoint.url}/v1/{'completions' if is_plain else 'chat/completions'}"
        begin = first = last = perf_counter_ns()
        text, tokens, reason = "", 0, None
        for event in self._events(url, body):
            if "error" in event:  # vLLM has begun to answer by then
                raise Answered(*_error(event["error"]))
            tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
            for choice in event.get("choices", []):
                piece = choice.get("text") or (choice.get("delta") or {}).get("content") or ""
                last = perf_counter_ns()
                first = last if piece and not text else first
                text += piece
                reason = choice.get("finish_reason") or reason
        ended = STOP if reason == "stop" else LENGTH
        return Output(text, tokens, ended, (first - begin) / 1e3, max(last - first, 0) / 1e3)

    def _events(self, url: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            answer = urllib.request.urlopen(request, timeout=self._options["limit"])
        except urllib.error.HTTPError as error:
            raise Answered(error.code, error.read(2000).decode(errors="replace")) from None
        with answer:
            for line in answer:
                data = line.strip().removeprefix(b"data:").strip()
                if line.startswith(b"data:") and data != b"[DONE]":
                    yield json.loads(data)


def _error(said: Any) -> tuple[int, str]:
    """Code and message of an error in a stream."""
    if not isinstance(said, dict):
        return 500, str(said)
    code = said.get("code")
    return code if isinstance(code, int) else 500, str(said.get("message", said))
