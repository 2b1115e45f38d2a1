"""The application: routes, who may ask, how much, and what becomes of requests whose client leaves.

app = application(model, tokenizer, name="tiny")            # for any ASGI server; `grammarlm serve` runs it under uvicorn
"""

from __future__ import annotations

import asyncio
import hmac
import json
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from grammarlm.decoding.fit import positions_of
from grammarlm.decoding.live.asynchronous import asked_of, prepared, watched
from grammarlm.decoding.request import Request as Prepared
from grammarlm.decoding.request import read_prompts
from grammarlm.decoding.result import Result
from grammarlm.errors import TooManyCalls, shorten
from grammarlm.integrations.serving.admission import admit, remembered, warm
from grammarlm.integrations.serving.options import sealed
from grammarlm.masks.runtime.limits import Limits

from .asked import Asked, Bounds, read_json, read_request, read_why
from .replies import Reply, Sent
from .watch import Watch, why_not

LOCAL = ("127.0.0.1", "localhost", "::1", "[::1]")
DROPPED = 16  # times the largest body is read of a larger one, and dropped: who is still sending cannot read a refusal
PATIENCE = 60.0  # seconds in which a body has to come
# The page runs its own script alone and talks to this server alone.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:"
KINDS = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error"}
T = TypeVar("T")


class Refused(Exception):
    """A request that is not answered: with a status, and why."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status, self.kind = status, KINDS.get(status, "invalid_request_error")


@dataclass
class Server:
    """One model, and the requests to it."""

    model: Any
    tokenizer: Any
    name: str
    bounds: Bounds = field(default_factory=Bounds)
    api_key: str | None = None
    waiting: int = 0  # requests whose answer has not begun

    async def page(self, request: Request) -> Response:
        text = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
        return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})

    async def health(self, request: Request) -> Response:
        return as_json({"status": "ok"})

    async def models(self, request: Request) -> Response:
        return as_json({"object": "list", "data": [{"id": self.name, "object": "model", "owned_by": "grammarlm"}]})

    def guarded(self, handle: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Of who has the key alone; whatever is refused, or fails, is an answer in JSON."""

        async def handled(request: Request) -> Response:
            try:
                self._check_key(request)
                return await handle(request)
            except ClientDisconnect:
                return Response(status_code=499)
            except Exception as error:
                refused = refusal(error)
                return as_json(error_of(refused), refused.status)

        return handled

    async def answer(self, request: Request, is_chat: bool) -> Response:
        """Of /v1/chat/completions and /v1/completions."""
        with self._place() as place:
            asked = self._asked(await self._given(request), is_chat)
            made = await unless_left(request, asyncio.to_thread(self._prepared, asked))
            reply = Reply(asked, self.name, sum(map(len, made.prompts)))
            watch = partial(Watch, is_streamed=asked.is_streamed, is_turn=is_chat, shown=asked.shown)
            answers = watched(made, watch, self.bounds.max_waiting)
            first = await unless_left(request, anext(answers)) if asked.is_streamed else None
            if first is not None:
                place.close()
                events = lines(reply, len(made.prompts) * made.n, first, answers)
                return StreamingResponse(events, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
            *told, results = await unless_left(request, listed(answers))
            check_results(results)
            return as_json(reply.whole(results, told))

    async def why(self, request: Request) -> Response:
        """Of /why: a request as above, the tokens of its answer so far, and a text that does not come next."""
        with self._place(), wrong_is_refused():
            given = await self._given(request)
            tokens, text = read_why(given)
            made = await unless_left(request, asyncio.to_thread(self._prepared, self._asked(given, is_chat=True)))
            return as_json(await unless_left(request, asyncio.to_thread(why_not, made.specs[0], tokens, text)))

    async def _given(self, request: Request) -> dict[str, Any]:
        """The body of a request; Refused where it is no object of JSON."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refused(400, "the content-type is not application/json, which the body has to be")
        try:
            body = await asyncio.wait_for(self._body(request), PATIENCE)
        except asyncio.TimeoutError:
            raise Refused(408, f"the body has not come within {PATIENCE:g} seconds") from None
        with wrong_is_refused():
            return read_json(body)

    async def _body(self, request: Request) -> bytes:
        read, count, most = bytearray(), 0, self.bounds.max_body
        async for chunk in request.stream():
            count += len(chunk)
            if count <= most:
                read += chunk
            elif count > DROPPED * most:
                break
        if count > most:
            raise Refused(413, f"the body has more than {most:,} bytes (serve --max-body)")
        return bytes(read)

    def _asked(self, given: dict[str, Any], is_chat: bool) -> Asked:
        """What a body asks for; Refused where it is wrong."""
        with wrong_is_refused():
            name = given.pop("model", self.name)
            if name != self.name:
                raise Refused(404, shorten(f"there is no model {name!r:.80}; this server has {self.name!r}"))
            asked = read_request(given, is_chat, self.tokenizer, self.bounds)
            grammar = asked.settings["grammar"]
            if grammar is not None:
                remembered(sealed(grammar), partial(admit, grammar, in_background=True))
            return asked

    def _prepared(self, asked: Asked) -> Prepared:
        """Prompts, vocabulary and grammar; Refused where one of them is wrong."""
        given = {**asked.settings, "tokenizer": self.tokenizer, "limits": Limits(max_ms=self.bounds.max_ms)}
        with wrong_is_refused():
            if (most := positions_of(self.model)) is not None:
                given["max_tokens"] = self._room(asked, given, most)
            return prepared(self.model, asked.prompt, asked_of("serve", self.model, given, 1))

    def _room(self, asked: Asked, given: dict[str, Any], most: int) -> int:
        """The most tokens of an answer: those that the request names, or those for which the model has positions left; Refused
        where the prompt alone has more of them, since its forward may take minutes, for which all others wait."""
        read = read_prompts(self.model, asked.prompt, asked_of("serve", self.model, given, 1))
        longest, room = max(map(len, read.ids)), asked.settings["max_tokens"]
        if longest > most:
            raise Refused(400, f"the prompt has {longest:,} tokens, and the model is made for {most:,}; shorten it")
        return room if asked.is_bounded else min(room, most - longest + 1)

    def _place(self) -> ExitStack:
        """A place among the requests whose answer has not begun, until it is closed; Refused where there is none."""
        if self.waiting >= self.bounds.max_waiting:
            raise Refused(429, f"{self.waiting} requests wait already (serve --max-waiting); ask again later")
        self.waiting += 1
        place = ExitStack()
        place.callback(self._begun)
        return place

    def _begun(self) -> None:
        self.waiting -= 1

    def _check_key(self, request: Request) -> None:
        if self.api_key is None:
            return
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self.api_key.encode()):
            raise Refused(401, "the API key is missing or wrong; send Authorization: Bearer KEY")


@contextmanager
def wrong_is_refused() -> Iterator[None]:
    """What is wrong with a request is 400."""
    try:
        yield
    except (ValueError, TypeError, RecursionError) as error:
        raise Refused(400, shorten(str(error))) from None


async def unless_left(request: Request, work: Awaitable[T]) -> T:
    """Its result; where the client leaves before, the work is cancelled, and ClientDisconnect is raised."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(disconnected(request))
    try:
        await asyncio.wait([task, gone], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def listed(answers: AsyncIterator[Any]) -> list[Any]:
    return [one async for one in answers]


def check_results(results: Sequence[Result]) -> None:
    """Refused where an answer has failed, of logits that are no distribution for instance."""
    for result in results:
        if result.finish_reason == "error":
            raise Refused(500, result.error or "the answer failed")


async def lines(reply: Reply, count: int, first: Any, answers: Any) -> AsyncIterator[str]:
    """The events of a stream, as text; `first` is the first of the answers."""
    sent = [Sent() for _ in range(count)]
    async with aclosing(answers):
        try:
            for chunk in reply.begin(count):
                yield line(chunk)
            told = first
            while not isinstance(told, list):
                yield line(reply.more(told, sent[told.row]))
                told = await anext(answers)
            check_results(told)
            for chunk in reply.end(told, sent):
                yield line(chunk)
        except Exception as error:
            yield line(error_of(refusal(error)))
    yield "data: [DONE]\n\n"


def line(chunk: dict[str, Any]) -> str:
    return f"data: {json.dumps(chunk)}\n\n"


def refusal(error: Exception) -> Refused:
    """What the client is told. What went wrong here is told in the log, and by its kind alone to the client."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, TooManyCalls):
        return Refused(429, str(error))
    traceback.print_exception(error)
    return Refused(500, f"the answer failed: {type(error).__name__}; the server's log says more")


def error_of(error: Refused) -> dict[str, Any]:
    return {"error": {"message": str(error), "type": error.kind, "param": None, "code": None}}


def as_json(content: dict[str, Any], status: int = 200) -> Response:
    """ASCII: a message may show half of a surrogate pair."""
    return Response(json.dumps(content), status, media_type="application/json")


def application(
    model: Any,
    tokenizer: Any,
    *,
    name: str,
    bounds: Bounds | None = None,
    api_key: str | None = None,
    hosts: tuple[str, ...] = LOCAL,
) -> Starlette:
    """The server of a model. `hosts`: by which names clients call it, so that no foreign page reaches it by one of its own."""
    asked_of("grammarlm serve", model, {}, 1)  # refuses models that fill in masks
    warm()
    server = Server(model, tokenizer, name, bounds or Bounds(), api_key)
    routes = [
        Route("/", server.page),
        Route("/health", server.health),
        Route("/v1/models", server.guarded(server.models)),
        Route("/why", server.guarded(server.why), methods=["POST"]),
    ]
    for path, is_chat in (("/v1/chat/completions", True), ("/v1/completions", False)):
        routes.append(Route(path, server.guarded(partial(server.answer, is_chat=is_chat)), methods=["POST"]))
    paths = ", ".join(sorted(route.path for route in routes))

    async def not_found(request: Request, error: Exception) -> Response:
        return as_json(error_of(Refused(404, shorten(f"there is no {request.url.path!r:.80}; there are {paths}"))), 404)

    async def not_allowed(request: Request, error: Exception) -> Response:
        allow = (getattr(error, "headers", None) or {}).get("Allow", "")
        found = as_json(error_of(Refused(405, f"{request.method} is not answered here; it takes {allow}")), 405)
        found.headers["Allow"] = allow
        return found

    return Starlette(
        routes=routes,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
        exception_handlers={404: not_found, 405: not_allowed},
    )
