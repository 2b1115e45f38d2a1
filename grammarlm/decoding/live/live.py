"""The live loop of a model: calls come in from any thread, and one thread decodes the texts of all of them.

    live_of(model).submit(Call(request), max_waiting=1024)

Prompts begin in the order in which their calls came, as soon as there are places: a call lets as many texts share its forwards as
its `batch_size` says. The thread starts with the first call and ends when there has been none for a while, or with the process. It
holds no model while it has nothing to do. A forked process has none of its parent's loops; its calls start their own.
"""

from __future__ import annotations

import atexit
import os
import threading
from typing import Any
from weakref import WeakKeyDictionary

from grammarlm.errors import TooManyCalls

from .calls import Call
from .companies import Begin, Companies

IDLE = 5.0  # seconds without a call after which the thread ends


class Live:
    """The calls of one model, and the thread that answers them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[Call] = []  # calls with prompts that have not begun, in the order in which they came
        self._thread: threading.Thread | None = None
        self._is_closed = False

    @property
    def waiting(self) -> int:
        """Calls with prompts that have not begun."""
        return sum(call.is_waiting for call in self._waiting)

    def submit(self, call: Call, max_waiting: int) -> None:
        """TooManyCalls where so many wait already."""
        with self._changed:
            if self.waiting >= max_waiting:
                raise TooManyCalls(
                    f"{self.waiting} calls wait for the model, and max_waiting is {max_waiting}; call again when some of them have "
                    "been answered"
                )
            self._waiting.append(call)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="grammarlm live", daemon=True)
                RUNNING.add(self)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Ends the thread after the forward that it is at."""
        with self._changed:
            self._is_closed, thread = True, self._thread
            self._changed.notify()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        companies = Companies()
        while self._has_work(companies):
            self._go_on(companies)

    def _go_on(self, companies: Companies) -> None:
        begun = self._let_in(companies.count)
        try:
            companies.begin(begun)
            companies.turn()
        except BaseException as error:  # nobody waits for ever
            companies.fail([call for call, _ in begun], error)

    def _has_work(self, companies: Companies) -> bool:
        """Waits for it. False: the thread ends."""
        with self._changed:
            while not self._is_closed and not companies.count and not self._waiting:
                if not self._changed.wait(IDLE):
                    break
            if not self._is_closed and (companies.count or self._waiting):
                return True
            self._thread = None
            RUNNING.discard(self)
            return False

    def _let_in(self, count: int) -> list[Begin]:
        """The prompts that begin now, beside so many texts."""
        begun = list[Begin]()
        with self._changed:
            self._waiting = [call for call in self._waiting if call.is_waiting]
            for call in self._waiting:
                n, left = call.request.n, len(call.request.prompts) - call.begun
                room = max(call.batch_size - count, 0) // n or (0 if count else 1)
                numbers = range(call.begun, call.begun + min(room, left))
                if numbers:
                    begun.append((call, numbers))
                    call.begun, count = numbers.stop, count + len(numbers) * n
                if len(numbers) < left:
                    break
        return begun


LIVES: WeakKeyDictionary[Any, Live] = WeakKeyDictionary()
RUNNING: set[Live] = set()  # those that have a thread


def live_of(model: Any) -> Live:
    """The loop of this process for a model."""
    try:
        return LIVES.setdefault(model, Live())
    except TypeError:  # no weak reference, or no hash
        return Live()


@atexit.register
def _end_all() -> None:
    """A thread that is in the middle of a forward when the interpreter goes would crash."""
    for live in list(RUNNING):
        live.close()


def _forget_all() -> None:
    global LIVES  # noqa: PLW0603 - a lock of the old one may be held by a thread that this process does not have
    LIVES = WeakKeyDictionary()
    RUNNING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
