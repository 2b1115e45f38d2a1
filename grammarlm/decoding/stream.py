"""stream(): events of an answer while it is generated.

    for event in gl.stream(model, "Ada, 36, and Tom, 41.\\n", schema=list[Person]):
        if event.kind == "text":
            print(event.text, end="")                       # the answer, in pieces
        elif event.kind == "value" and len(event.path) == 1:
            save(event.value)                               # a whole item, long before the list is complete
    result = event.result                                   # of the last event: what generate() returns

Each token becomes a delta of the text and the events that this delta completes: of JSON (json_events.py), and of named parts
(parts.py). Parsing is incremental: each byte is read once, however long the answer gets.
"""

from __future__ import annotations

import codecs
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.loop.step import Step
from grammarlm.decoding.methods.blends.blend import Blended
from grammarlm.decoding.methods.masked import start
from grammarlm.decoding.systems import STREAMING
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.masks.readings.reader import Begun, Told

from .answers.events import Event
from .answers.json_events import JsonEvents
from .answers.parts import PartReader
from .answers.turns import CallEvents, tools_of
from .argument_types import Model, Prompts
from .arguments import check_choice
from .generate import method_of
from .request import Request, prepare
from .result import COMPLETE, Result
from .settings import AnswerSpec, settings_of, with_settings


@with_settings
def stream(model: Model, prompt: Prompts, **settings: Any) -> Iterator[Event]:
    """The events of an answer while it is generated (events.py lists them), the last one with `.result`.

    Takes generate()'s arguments; invalid ones raise at once, not with the first event. The deltas of the text, concatenated, are
    `result.text`. Where the answer is held to a JSON schema there are also events of keys, strings and values; where its grammar
    has named parts or tools, of these; elsewhere there are deltas only. With several prompts or n > 1 the events of all answers
    come as the batch is decoded, `event.row` is the index of the answer (n of the first prompt, n of the second, ...), and the
    last event's `.result` is the list.

    `method` is "masked" or a blend, such as "contrast" (methods/blends/): other methods choose among whole texts, which are known
    only at their end.
    `progress` has no effect.
    """
    method = settings.get("method", "masked")
    if not isinstance(method, Blended):
        check_choice("method", method, STREAMING)
    find = method_of(method)
    begin = find.start if isinstance(find, Blended) else start
    asked, options = settings_of("stream", settings, find)
    request = prepare(model, prompt, asked)
    if asked.checked.is_asked:
        raise ValueError(
            "stream() takes no check= and no retries=: what it has told cannot be taken back; use generate()"
        )
    if asked.probabilities:
        raise ValueError("stream() takes no probabilities=True: they are known before it begins; use gl.decide()")
    batches = request.batches(asked.at_once)
    first = next(batches, None)
    if first is None:
        return iter([Event("end", result=[])])
    return events(
        request, chain([(first, begin(first, **options))], ((batch, begin(batch, **options)) for batch in batches))
    )


def events(request: Request, decodings: Iterator[tuple[Request, Decoding]]) -> Iterator[Event]:
    """The events of one batch after the other, and then the results of all."""
    results: list[Result] = []
    for batch, decoding in decodings:
        specs = [spec for spec in batch.specs for _ in range(batch.n)]
        answers = [AnswerEvents(len(results) + at, spec) for at, spec in enumerate(specs)]
        for step in decoding:
            yield from answers[step.row].more(step)
        done = decoding.results()
        for one, row, result in zip(answers, decoding.rows, done, strict=True):
            yield from one.end(row.answer_pieces if row else [], is_complete=result.finish_reason in COMPLETE)
        results += done
    yield Event("end", result=results if request.is_list or request.n > 1 else results[0])


class AnswerEvents:
    """The streaming state of one answer."""

    def __init__(self, row: int, spec: AnswerSpec):
        self._row = row
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._parts = None if spec.ways is None else PartReader(spec.ways)
        self._names: list[tuple[str, int]] = []  # of the open parts, the innermost one last
        self._counts = Counter[str]()
        self._held = deque[tuple[int, bytes]]()  # tokens that may be of a stop string
        self._told_tokens = 0
        self._json = JsonEvents(row=row) if isinstance(spec.form.grammar, JsonSchema) else None
        tools = tools_of(spec.form.grammar)
        self._calls = None if tools is None else CallEvents(tools, spec.vocab)

    def more(self, step: Step) -> Iterator[Event]:
        """The events of one more token, and of earlier ones that were held back: stop strings are no part of the text."""
        self._held.append((step.token, step.data))
        while len(self._held) > step.held:
            yield from self._add(*self._held.popleft())

    def _add(self, token: int, data: bytes) -> Iterator[Event]:
        """The events of a token, which adds these bytes."""
        self._told_tokens += 1
        if self._parts is None:
            yield from self._text(data)
        else:
            self._parts.feed(token, data)
            yield from self._told(self._parts.told())
        for call in self._calls.feed(token, data) if self._calls else ():
            yield Event("call", value=call, **self._common)

    def end(self, pieces: Sequence[bytes], is_complete: bool) -> Iterator[Event]:
        """The last events: of tokens that were held back and are of the answer, which has these pieces, a character that it was cut
        in, and a number that ends with the text."""
        for (token, _), piece in zip(self._held, pieces[self._told_tokens :], strict=False):
            yield from self._add(token, piece)
        if self._parts is not None:
            yield from self._told(self._parts.told(is_complete))
            yield from self._delta(self._decoder.decode(self._parts.untold))
        yield from self._delta(self._decoder.decode(b"", final=True))
        if self._json is not None and is_complete:
            yield from self._json.finish()

    def _told(self, told: list[Told]) -> Iterator[Event]:
        assert self._parts is not None
        for one in told:
            if isinstance(one, bytes):
                yield from self._text(one)
                continue
            if isinstance(one, Begun):
                if one.label.name is not None:
                    self._names.append((one.label.name, self._counts[one.label.name]))
                    self._counts[one.label.name] += 1
                    yield Event("begin", **self._common)
                if isinstance(one.label.value, JsonSchema):
                    self._json = JsonEvents(**self._common)
            part = self._parts.take(one)
            if part is not None:
                if self._json is not None:
                    yield from self._json.finish()
                    self._json = None
                if part.name:
                    yield Event("part", value=part, **self._common)
                    self._names.pop()

    @property
    def _common(self) -> dict[str, Any]:
        """The fields that say whose an event is."""
        name, number = self._names[-1] if self._names else (None, 0)
        return {"row": self._row, "part": name, "number": number}

    def _text(self, data: bytes) -> Iterator[Event]:
        yield from self._delta(self._decoder.decode(data))
        if self._json is not None:
            yield from self._json.feed(data)

    def _delta(self, text: str) -> Iterator[Event]:
        if text:
            yield Event("text", text=text, **self._common)
