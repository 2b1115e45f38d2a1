"""stream(): events of an answer while it is generated.

    for event in gl.stream(model, "Ada, 36, and Tom, 41.\\n", schema=list[Person]):
        if event.kind == "text":
            print(event.text, end="")                       # the answer, in pieces
        elif event.kind == "value" and len(event.path) == 1:
            save(event.value)                               # a whole item, long before the list is complete
    result = event.result                                   # of the last event: what generate() returns

Each token becomes a delta of the text and, where the answer is JSON, the events that this delta completes
(json_events.py). Parsing is incremental: each byte is read once, however long the answer gets.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.methods.blends import Blended
from grammarlm.decoding.methods.masked import start
from grammarlm.decoding.methods.registry import method_of
from grammarlm.grammars.json_schema.schema import JsonSchema
from grammarlm.masks.runtime.limits import Limits
from grammarlm.vocab.vocabulary import Vocabulary

from .answer_spec import AnswerSpec
from .argument_types import AnyGrammar, Choice, Items, Model, OneOrEach, Pattern, Prompts, Schema, Tokenizer, Where
from .arguments import check_choice
from .events import Event
from .json_events import JsonEvents
from .options import BATCH, Options, check_names
from .request import Request, prepare
from .result import COMPLETE, Result


def stream(
    model: Model,
    prompt: Prompts,
    *,
    tokenizer: Tokenizer = None,
    vocab: Vocabulary | None = None,
    schema: Schema = None,
    regex: OneOrEach[Pattern] = None,
    grammar: OneOrEach[AnyGrammar] = None,
    choices: Iterable[Choice] | Sequence[Iterable[Choice] | None] | None = None,
    items: OneOrEach[Items] = None,
    where: OneOrEach[Where] = None,
    max_tokens: int = 256,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    typical_p: float | None = None,
    repetition_penalty: float = 1.0,
    seed: int | None = None,
    n: int = 1,
    close: bool = True,
    heal: bool = False,
    forced: str = "score",
    draft: object = None,
    cache: str | None = None,
    limits: Limits | None = None,
    unknown: str = "warn",
    method: str | Blended = "masked",
    batch_size: int = BATCH,
    progress: bool | None = None,
    **options: object,
) -> Iterator[Event]:
    """The events of an answer while it is generated (events.py lists them), the last one with `.result`.

    Takes generate()'s arguments; invalid ones raise at once, not with the first event. The deltas of the text, concatenated, are
    `result.text`. Where the answer is held to a JSON schema there are also events of keys, strings and values; elsewhere there are
    deltas only. With several prompts or n > 1 the events of all answers come as the batch is decoded, `event.row` is the index of
    the answer (n of the first prompt, n of the second, ...), and the last event's `.result` is the list.

    `method` is "masked" or a blend (blends.py): other methods choose among whole texts, which are known only at their end.
    `progress` has no effect.
    """
    if not isinstance(method, Blended):
        check_choice("method", method, ("masked",))
    begin = method.start if isinstance(method, Blended) else start
    check_names("stream", options, method_of(method), are_bound=True)
    asked = Options(
        tokenizer=tokenizer,
        vocab=vocab,
        limits=limits,
        cache=cache,
        schema=schema,
        regex=regex,
        grammar=grammar,
        choices=choices,
        items=items,
        where=where,
        sampling=Sampling(temperature, top_k, top_p, min_p, typical_p, repetition_penalty, seed),
        n=n,
        max_tokens=max_tokens,
        close=close,
        heal=heal,
        forced=forced,
        draft=draft,
        unknown=unknown,
        method=method,
        batch_size=batch_size,
        progress=progress,
    )
    request = prepare(model, prompt, asked)
    batches = request.batches(max(1, asked.batch_size // request.n))
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
            yield from answers[step.row].more(step.data)
        done = decoding.results()
        for one, result in zip(answers, done, strict=True):
            yield from one.end(is_complete=result.finish_reason in COMPLETE)
        results += done
    yield Event("end", result=results if request.is_list or request.n > 1 else results[0])


class AnswerEvents:
    """The streaming state of one answer."""

    def __init__(self, row: int, spec: AnswerSpec):
        self._row = row
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._reader = JsonEvents(row) if isinstance(spec.output.grammar, JsonSchema) else None

    def more(self, data: bytes) -> Iterator[Event]:
        """The events of these further bytes."""
        yield from self._delta(self._decoder.decode(data))
        if self._reader is not None:
            yield from self._reader.feed(data)

    def end(self, is_complete: bool) -> Iterator[Event]:
        """The last events: a character that the answer was cut in, and a number that ends with the text."""
        yield from self._delta(self._decoder.decode(b"", final=True))
        if self._reader is not None and is_complete:
            yield from self._reader.finish()

    def _delta(self, text: str) -> Iterator[Event]:
        if text:
            yield Event("text", text=text, row=self._row)
