"""method="masked": each step masks the tokens that cannot be continued to a text of the grammar, and draws one of the others.

    gl.generate(model, prompt, schema=Person)                                   # the default, at temperature 0
    gl.generate(model, prompt, schema=Person, method="masked", temperature=0.8, n=3)

Of more prompts than share a forward the next ones begin where answers have ended (loop/batcher.py).

Purpose: the default. Forwards: one a token, and none of its own for a token that is the only allowed one. Law: the masked one,
the model's own distribution renormalised step by step over the allowed tokens. Not where draws must follow the model's law given
the grammar: what leads to texts that the model finds unlikely is drawn as often as if it did not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grammarlm.decoding.loop.batcher import Queue
from grammarlm.decoding.loop.cost import cost_of
from grammarlm.decoding.loop.loop import Decoding
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import Result


def masked(request: Request, show: Callable[[int], None] = lambda done: None) -> list[Result]:
    """The answers to all prompts; `show` is told how many prompts are done."""
    results: list[Result] = []
    for decoding in decodings(request):
        done = 0
        for _ in decoding:
            if decoding.ended > done:
                done = decoding.ended
                show((len(results) + done) // request.n)
        results += decoding.results()
        show(len(results) // request.n)
    return results


def decodings(request: Request) -> Iterator[Decoding]:
    """All that comes before the first token: once where prompts join a running batch, else once for each batch."""
    size = request.at_once or len(request.prompts)
    if size < len(request.prompts) and not may_join(request):
        for batch in request.batches(size):
            yield start(batch)
    else:
        yield start(request)


def may_join(request: Request) -> bool:
    """No where a drafter has a reader of its own around the target's, which belongs to one batch."""
    return request.draft is None or not request.draft.drafter.has_reader


def start(request: Request) -> Decoding:
    """All that comes before the first token."""
    cost, size = cost_of(request.model), request.at_once
    drafting = request.drafting(cost)
    if size is None or size >= len(request.prompts):
        reader = request.reader()
        if drafting is not None:
            reader = drafting.reader(reader)
        return Decoding(reader, request.specs, request.n, drafting, cost=cost)
    queue = Queue(request.reader, size)
    if drafting is not None:
        queue = Queue(request.reader, size, drafting.pool, drafting.choose)
    return Decoding(request.reader(range(size)), request.specs, request.n, drafting, queue, cost)
