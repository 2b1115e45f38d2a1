"""agenerate() and astream(): generate() and stream() for asyncio.

    out = await gl.agenerate(model, "Ada, 36.\\n", tokenizer=tokenizer, schema=Person)
    outs = await asyncio.gather(*(gl.agenerate(model, each, schema=Person) for each in prompts))     # share their forwards
    async for event in gl.astream(model, "Ada, 36.\\n", schema=Person): ...

The model runs in a thread of its own (live.py), one for each model, and calls that wait at the same time share its forwards.
Vocabulary and grammar are made in a thread, too, so that the event loop goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from grammarlm.decoding.answers.events import Event
from grammarlm.decoding.argument_types import Model, Prompts
from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.generate import method_for, next_try, tries_of
from grammarlm.decoding.request import Request, prepare
from grammarlm.decoding.result import Result
from grammarlm.decoding.settings import AnswerSpec, Settings, settings_of, with_settings
from grammarlm.decoding.stream import AnswerEvents

from .calls import Call, Watcher
from .live import live_of

MOST_WAITING = 1024  # calls


@with_settings
async def agenerate(model: Model, prompt: Prompts, *, max_waiting: int = MOST_WAITING, **settings: Any) -> Any:
    """generate() for asyncio: `out = await gl.agenerate(model, prompt, schema=Person)`.

    Takes generate()'s arguments and gives its answers: token for token those of a call by itself. Calls that wait at the same time
    share forwards, each with its own grammar, sampling and length. A call that is cancelled leaves before the next forward.

    max_waiting  gl.TooManyCalls where so many calls wait already whose texts have not begun; they begin in the order in which their
                 prompts and grammars were ready
    batch_size   how many texts, of all calls, share a forward when those of this call begin
    method       "masked"; others, and draft=, are of generate() alone

    What fails for all answers of a call (the model raises, an argument is wrong) is raised in that call alone. The thread that runs
    a model's forwards ends after five seconds without a call; a forked process starts one of its own.
    """
    asked = asked_of("agenerate", model, settings, max_waiting)
    request = await asyncio.to_thread(prepared, model, prompt, asked)
    results = await answers(request, max_waiting)
    if asked.checked.is_asked:
        tries = tries_of(results, prompt, request, asked)
        try:
            again = next(tries)
            while True:
                _, following = await asyncio.to_thread(next_try, request, asked, *again)
                again = tries.send(await answers(following, max_waiting))
        except StopIteration as done:
            results = done.value
    return given(results, request)


@with_settings
def astream(model: Model, prompt: Prompts, *, max_waiting: int = MOST_WAITING, **settings: Any) -> AsyncIterator[Event]:
    """stream() for asyncio: `async for event in gl.astream(model, prompt, schema=Person)`.

    Takes agenerate()'s arguments, and gives the events of stream(). The call begins with the first event, where a grammar or a
    prompt that is wrong raises; whoever leaves the loop early ends the call.
    """
    asked = asked_of("astream", model, settings, max_waiting)
    if asked.checked.is_asked:
        raise ValueError(
            "astream() takes no check= and no retries=: what it has told cannot be taken back; use agenerate()"
        )
    return _events(model, prompt, asked, max_waiting)


async def _events(model: Model, prompt: Prompts, asked: Settings, max_waiting: int) -> AsyncIterator[Event]:
    request = await asyncio.to_thread(prepared, model, prompt, asked)
    async with aclosing(watched(request, AnswerEvents, max_waiting)) as told:
        async for one in told:
            yield Event("end", result=given(one, request)) if isinstance(one, list) else one


def asked_of(function: str, model: Model, given: Mapping[str, Any], max_waiting: int) -> Settings:
    """The settings of a call; ValueError for what only generate() does."""
    asked, _ = settings_of(function, given)
    check_integer("max_waiting", max_waiting, 1)
    if method_for(model, asked.method) != "masked" or asked.draft is not None:
        found = f"method={method_for(model, asked.method)!r:.60}" if asked.draft is None else "a draft"
        raise ValueError(
            f'{function}() finds answers by method="masked", without drafts, and {found} is asked for: generate() does that; '
            "await asyncio.to_thread(gl.generate, ...) keeps the event loop free"
        )
    return asked


def prepared(model: Model, prompt: Prompts, asked: Settings) -> Request:
    """All that is known before the first forward, refusals too."""
    request = prepare(model, prompt, asked)
    request.check_budgets()
    return request


def given(results: list[Result], request: Request) -> list[Result] | Result:
    """As generate() returns them."""
    return results if request.is_list or request.n > 1 else results[0]


async def answers(request: Request, max_waiting: int) -> list[Result]:
    """n to each prompt; whoever is cancelled here cancels the call."""
    if not request.prompts:
        return []
    call = Call(request)
    live_of(request.model).submit(call, max_waiting)
    return await asyncio.wrap_future(call.future)


async def watched(
    request: Request, watch: Callable[[int, AnswerSpec], Watcher], max_waiting: int
) -> AsyncGenerator[Any, None]:
    """What the watchers of the answers tell, as it comes, and then the list of the results."""
    if not request.prompts:
        yield []
        return
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[list[Any] | None]()
    call = Call(request, watch, lambda items: loop.call_soon_threadsafe(queue.put_nowait, items))
    call.future.add_done_callback(lambda _: loop.call_soon_threadsafe(queue.put_nowait, None))
    live_of(request.model).submit(call, max_waiting)
    try:
        while (items := await queue.get()) is not None:
            for item in items:
                yield item
        yield call.future.result()
    finally:
        call.future.cancel()
