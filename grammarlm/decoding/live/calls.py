"""A call of the live loop: answers that somebody waits for, while they are made in another thread.

call = Call(request)                        its answers are in call.future
call = Call(request, AnswerEvents, tell)    and `tell` gets, in the loop's thread, what each forward adds to them
call.future.cancel()                        nobody waits any more: no later forward reads its texts
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, Protocol

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.loop.step import Step
from grammarlm.decoding.request import Request
from grammarlm.decoding.result import COMPLETE, Result
from grammarlm.decoding.settings import AnswerSpec


class Watcher(Protocol):
    """What is told of one answer (AnswerEvents of stream.py)."""

    def more(self, step: Step) -> Iterable[Any]:
        """Of one more token."""

    def end(self, pieces: Sequence[bytes], is_complete: bool) -> Iterable[Any]:
        """Of the whole answer, with the bytes that each of its tokens adds."""


class Call:
    """Answers to prompts: n to the first, n to the second, ..."""

    def __init__(
        self,
        request: Request,
        watch: Callable[[int, AnswerSpec], Watcher] | None = None,
        tell: Callable[[list[Any]], object] | None = None,
    ):
        self.request, self.future, self._tell = request, Future[list[Result]](), tell
        specs = [spec for spec in request.specs for _ in range(request.n)]
        self.answers = [Answer(self, watch and watch(at, spec)) for at, spec in enumerate(specs)]
        self.begun = 0  # of its prompts
        self.batch_size = max(spec.settings.batch_size for spec in request.specs)

    @property
    def is_waiting(self) -> bool:
        """Are there prompts that have not begun, and somebody who waits for them?"""
        return self.begun < len(self.request.prompts) and not self.future.done()

    def tell(self, items: Iterable[Any]) -> None:
        """A failure here, of whoever listens too, is this call's alone."""
        try:
            told = list(items)
            if told and self._tell is not None:
                self._tell(told)
        except Exception as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        with suppress(InvalidStateError):
            self.future.set_exception(error)

    def finish(self) -> None:
        """Where all answers are there."""
        results = [answer.result for answer in self.answers if answer.result is not None]
        if len(results) == len(self.answers):
            with suppress(InvalidStateError):  # cancelled
                self.future.set_result(results)


class Answer:
    """One answer of a call."""

    def __init__(self, call: Call, watcher: Watcher | None):
        self.call, self._watcher = call, watcher
        self.result: Result | None = None
        self._told: list[int] = []  # tokens, where somebody watches
        self._to_repeat: deque[int] = deque()  # of these, those that come once more

    @property
    def is_wanted(self) -> bool:
        return self.result is None and not self.call.future.done()

    def begin_again(self) -> None:
        """From the first token; what has been told is not told again."""
        self._to_repeat = deque(self._told)

    def more(self, step: Step) -> None:
        if self._watcher is None or not self.is_wanted:
            return
        if not self._to_repeat:
            self._told.append(step.token)
            self.call.tell(self._watcher.more(step))
        elif self._to_repeat.popleft() != step.token:
            self.call.fail(RuntimeError("a forward failed, and read again the model gave another answer"))

    def end(self, row: Row) -> None:
        """The text has ended."""
        if not self.is_wanted:
            return
        try:
            self.result = row.result()
        except Exception as error:
            self.call.fail(error)
            return
        if self._watcher is not None:
            self.call.tell(self._watcher.end(row.answer_pieces, self.result.finish_reason in COMPLETE))
        self.call.finish()
