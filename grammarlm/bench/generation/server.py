"""A child's task: asks an OpenAI-compatible server for a text under a schema, and takes the times of its stream."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Any

from grammarlm.bench.cases import Case
from grammarlm.bench.tasks import Step

from .prompts import examples, messages_of, prompt_of
from .record import LENGTH, STOP, Generated, Output

REFUSED = range(400, 500)  # statuses: the server does not take the request


class Ask:
    """Options: `url`, `model`, `temperature`, `samples`, `most`, `limit`, `seed`, `shots` and `examples`, and `completions`: the
    prompt as plain text instead of a chat.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self._options = settings["options"]["generation"]

    def run(self, case: Case, step: Step) -> Generated:
        schema = case.load()["schema"]
        record = Generated(case.name, data_set=case.data_set)
        try:
            for number in range(self._options["samples"]):
                record.outputs.append(self._text(case, schema, number))
                step(record)
        except urllib.error.HTTPError as error:
            said = error.read(2000).decode(errors="replace")
            if error.code in REFUSED:
                record.refused = f"{error.code}: {said}"[:300]
            else:
                record.crash = f"the server answered {error.code}: {said}"[:300]
        except Exception as error:
            record.crash = f"{type(error).__name__}: {error}"[:300]
        return record

    def _text(self, case: Case, schema: Any, number: int) -> Output:
        shown = examples(self._options, case, schema)
        body: dict[str, Any] = {
            "model": self._options["model"],
            "temperature": self._options["temperature"],
            "max_tokens": self._options["most"],
            "seed": self._options["seed"] + number,
            "stream": True,
            "stream_options": {"include_usage": True},
            "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
        }
        route = "completions" if self._options["completions"] else "chat/completions"
        if self._options["completions"]:
            body["prompt"] = prompt_of(schema, shown)
        else:
            body["messages"] = messages_of(schema, shown)
        begin = first = last = perf_counter_ns()
        text, tokens, reason = "", 0, None
        for event in self._events(f"{self._options['url'].rstrip('/')}/v1/{route}", body):
            if "error" in event:
                raise ValueError(event["error"])
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
        with urllib.request.urlopen(request, timeout=self._options["limit"]) as answer:
            for line in answer:
                data = line.strip().removeprefix(b"data:").strip()
                if line.startswith(b"data:") and data != b"[DONE]":
                    yield json.loads(data)
