"""Answers as OpenAI's interface has them: whole ones, and the chunks of a stream."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from grammarlm.decoding.result import Result
from grammarlm.grammars.structural_tag.grammar import StructuralTag

from .asked import Asked
from .watch import Told


@dataclass
class Reply:
    """The answers to one request."""

    asked: Asked
    model: str
    prompt_tokens: int
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, results: Sequence[Result], told: Sequence[Told]) -> dict[str, Any]:
        """All at once."""
        choices = []
        for row, result in enumerate(results):
            tokens = [token for each in told if each.row == row for token in each.tokens]
            calls = self._calls(row, result.calls)
            text = {"message": message_of(result, calls)} if self.asked.is_chat else {"text": result.text}
            choices.append(self._choice(row, text, tokens) | finish_of(result, self.asked))
        return self._object(choices, is_chunk=False) | {"usage": self._usage(results)}

    def begin(self, answers: int) -> Iterator[dict[str, Any]]:
        """The first chunks of a stream."""
        if self.asked.is_chat:
            for row in range(answers):
                yield self._chunk(row, {"delta": {"role": "assistant", "content": ""}})

    def more(self, told: Told, sent: Sent) -> dict[str, Any]:
        """The chunk of what has come."""
        sent.note(told)
        if not self.asked.is_chat:
            return self._chunk(told.row, {"text": told.content}, told.tokens)
        delta: dict[str, Any] = {"content": told.content} if told.content else {}
        if told.reasoning:
            delta["reasoning_content"] = told.reasoning
        if told.calls:
            first = sent.calls - len(told.calls)
            calls = self._calls(told.row, told.calls, first)
            delta["tool_calls"] = [{"index": first + at, **call} for at, call in enumerate(calls)]
        return self._chunk(told.row, {"delta": delta}, told.tokens)

    def end(self, results: Sequence[Result], sent: Sequence[Sent]) -> Iterator[dict[str, Any]]:
        """The last chunks of a stream."""
        for row, (result, before) in enumerate(zip(results, sent, strict=True)):
            rest = before.rest_of(result, row) if self.asked.is_chat else None
            if rest is not None:
                yield self.more(rest, before)
            empty: dict[str, Any] = {"delta": {}} if self.asked.is_chat else {"text": ""}
            yield self._object([self._choice(row, empty) | finish_of(result, self.asked)], is_chunk=True)
        if self.asked.has_usage:
            yield self._object([], is_chunk=True) | {"usage": self._usage(results)}

    def _chunk(self, row: int, content: dict[str, Any], tokens: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        return self._object([self._choice(row, content, tokens) | {"finish_reason": None}], is_chunk=True)

    def _choice(self, row: int, content: dict[str, Any], tokens: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        logprobs = None
        if self.asked.shown is not None and (tokens or "message" in content):
            logprobs = {"content": list(tokens), "refusal": None} if self.asked.is_chat else listed(tokens)
        return {"index": row, **content, "logprobs": logprobs}

    def _calls(self, row: int, calls: Sequence[Any], first: int = 0) -> list[dict[str, Any]]:
        """Where only we number them, an id of a call is this reply's too: clients tell calls of a conversation by their ids."""
        return [
            {
                "id": f"call_{self.id[:24]}_{row}_{first + at}" if call.is_numbered else call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.source},
            }
            for at, call in enumerate(calls)
        ]

    def _object(self, choices: list[dict[str, Any]], is_chunk: bool) -> dict[str, Any]:
        kind = f"chat.completion{'.chunk' if is_chunk else ''}" if self.asked.is_chat else "text_completion"
        begin = "chatcmpl-" if self.asked.is_chat else "cmpl-"
        return {"id": begin + self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}

    def _usage(self, results: Sequence[Result]) -> dict[str, int]:
        read, written = self.prompt_tokens, sum(len(result.tokens) for result in results)
        return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


@dataclass
class Sent:
    """How much of one answer has been streamed."""

    content: int = 0
    reasoning: int = 0
    calls: int = 0

    def note(self, told: Told) -> None:
        self.content += len(told.content)
        self.reasoning += len(told.reasoning)
        self.calls += len(told.calls)

    def rest_of(self, result: Result, row: int) -> Told | None:
        """What was not certain before the end; of an answer that was cut it stays so."""
        if result.turn is None or result.finish_reason not in ("stop", "closed"):
            return None
        content, reasoning = result.content[self.content :], (result.reasoning or "")[self.reasoning :]
        calls = result.calls[self.calls :]
        return Told(row, content, reasoning, calls) if content or reasoning or calls else None


def message_of(result: Result, calls: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"role": "assistant", "content": result.content, "refusal": None}
    if result.reasoning is not None:
        found["reasoning_content"] = result.reasoning
    if calls:
        found |= {"content": result.content or None, "tool_calls": calls}
    return found


def finish_of(result: Result, asked: Asked) -> dict[str, Any]:
    """Why an answer has ended, in OpenAI's words; and the stop string, as vLLM has it."""
    is_cut = result.finish_reason == "length" or (result.finish_reason == "closed" and is_free(result, asked))
    reason = "length" if is_cut else "tool_calls" if asked.is_chat and result.calls else "stop"
    return {"finish_reason": reason, "stop_reason": result.stopped_by}


def is_free(result: Result, asked: Asked) -> bool:
    """Text of any form, beside tools or tags: one that ends with its tokens is no whole answer, though it is one of the grammar."""
    is_turn = result.turn is not None and result.turn.tools.answer is None and not result.calls
    return is_turn or isinstance(asked.settings["grammar"], StructuralTag)


def listed(tokens: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Log-probabilities in the form of completions."""
    offsets, at = [], 0
    for token in tokens:
        offsets.append(at)
        at += len(token["token"])
    return {
        "tokens": [token["token"] for token in tokens],
        "token_logprobs": [token["logprob"] for token in tokens],
        "top_logprobs": [{top["token"]: top["logprob"] for top in token["top_logprobs"]} for token in tokens],
        "text_offset": offsets,
    }
