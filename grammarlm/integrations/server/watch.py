"""What a server tells of an answer while it is written: texts, calls, the probabilities of its tokens; and why not others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grammarlm.decoding.answers.events import Event
from grammarlm.decoding.answers.turns import TextEvents, tools_of
from grammarlm.decoding.loop.step import Step
from grammarlm.decoding.loop.written import spelled
from grammarlm.decoding.settings import AnswerSpec
from grammarlm.decoding.stream import AnswerEvents
from grammarlm.vocab.names import token_name
from grammarlm.vocab.vocabulary import Vocabulary


@dataclass(frozen=True)
class Told:
    """What has come of one answer."""

    row: int
    content: str = ""
    reasoning: str = ""
    calls: tuple[Any, ...] = ()
    tokens: tuple[dict[str, Any], ...] = ()  # as OpenAI has log-probabilities


class Watch:
    """Of one answer. Texts and calls where it is streamed, tokens where log-probabilities are asked for (`shown`)."""

    def __init__(self, row: int, spec: AnswerSpec, is_streamed: bool, is_turn: bool, shown: int | None):
        self._row, self._spec, self._shown = row, spec, shown
        tools = tools_of(spec.form.grammar) if is_turn else None
        self._events = AnswerEvents(row, spec) if is_streamed else None
        self._texts = None if tools is None or not is_streamed else TextEvents(tools, spec.vocab)
        self._held = deque[tuple[Step, dict[str, Any] | None]]()  # tokens that may be of a stop string
        self._count = 0  # of the tokens that have been told

    def more(self, step: Step) -> Iterator[Told]:
        """Of one more token."""
        events = () if self._events is None else self._events.more(step)
        self._held.append((step, None if self._shown is None else shown_token(step, self._spec, self._shown)))
        ready = [self._held.popleft() for _ in range(len(self._held) - step.held)]
        self._count += len(ready)
        yield from self._told(events, [(one.token, one.data, shown) for one, shown in ready])

    def end(self, pieces: Sequence[bytes], is_complete: bool) -> Iterator[Told]:
        """Of what was held back and is of the answer."""
        events = () if self._events is None else self._events.end(pieces, is_complete)
        rest = zip(self._held, pieces[self._count :], strict=False)
        yield from self._told(events, [(one.token, piece, shown) for (one, shown), piece in rest])

    def _told(
        self, events: Iterator[Event] | tuple[()], tokens: list[tuple[int, bytes, dict[str, Any] | None]]
    ) -> Iterator[Told]:
        listed = list(events)
        content = "".join(event.text for event in listed)
        reasoning = ""
        if self._texts is not None:
            pairs = [self._texts.feed(token, data) for token, data, _ in tokens]
            reasoning, content = ("".join(texts) for texts in zip(*pairs, strict=True)) if pairs else ("", "")
        calls = tuple(event.value for event in listed if event.kind == "call")
        shown = tuple(token for *_, token in tokens if token is not None)
        if content or reasoning or calls or shown:
            yield Told(self._row, content, reasoning, calls, shown)


def shown_token(step: Step, spec: AnswerSpec, count: int) -> dict[str, Any]:
    """A token, its log-probability and the most probable ones among those that were allowed, and how many these are."""
    allowed = np.flatnonzero(step.logits > -np.inf)
    scaled = step.logits[allowed].astype(np.float64) / spec.settings.sampling.warmth
    scaled -= scaled.max()
    logprobs = scaled - np.log(np.exp(scaled).sum())
    best = np.argsort(-logprobs, kind="stable")[:count]
    top = [named(int(allowed[at]), float(logprobs[at]), spec.vocab) for at in best]
    own = named(step.token, step.logprob, spec.vocab)
    return own | {"id": step.token, "top_logprobs": top, "allowed": len(allowed), "model_logprob": step.model_logprob}


def named(token: int, logprob: float, vocab: Vocabulary) -> dict[str, Any]:
    data = vocab.token_bytes(token)
    return {"token": data.decode(errors="replace"), "logprob": logprob, "bytes": list(data)}


def why_not(spec: AnswerSpec, tokens: list[int], text: str) -> dict[str, str]:
    """Why a text does not come after these tokens of an answer, of its first token that is refused; "": why not the end."""
    matcher, _ = spec.matcher()
    if matcher is not None and not all(map(matcher.advance, tokens)):
        raise ValueError("'tokens' are not the beginning of an answer to this request")
    told = {"token": repr(text), "reason": "no tokens of the vocabulary spell it"}
    for token in spelled(spec.vocab, text) if text else spec.vocab.stop_ids[:1]:
        reason = "allowed" if matcher is None else matcher.explain(token)
        told = {"token": token_name(spec.vocab, token), "reason": reason}
        if matcher is None or not matcher.advance(token):
            break
    return told
