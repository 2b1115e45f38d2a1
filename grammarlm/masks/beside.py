"""Rows made in parallel: the jobs of a batch, and the workers that take them.

Each worker takes the next job and makes its row in parallel with the others. Where that is not possible it defers the
job and takes another one. A row that needs what another thread is just making is tried again later; a row that needs
the constraint's lock is left to one worker, which makes such rows one by one, as a matcher alone does. So no worker
waits while there is something to do.
"""

from __future__ import annotations

import enum
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache

PAUSE = 5e-5  # seconds before a worker with nothing else to do tries again
PATIENCE = 0.05  # seconds of such pauses for one job, before it is made under the lock


class NotNow(enum.Enum):
    """Why a row is not made in parallel."""

    UNDER_THE_LOCK = enum.auto()  # it needs the lock
    SOON = enum.auto()  # another thread is making what it needs


@dataclass
class Job:
    """Rows of one matcher, which are made together."""

    rows: list[int]
    constraint: Hashable
    waited: float = 0.0


@dataclass
class SideBySide:
    """Runs jobs in several threads. `make` makes rows alone; `beside` makes them in parallel with other threads, or
    returns why not."""

    make: Callable[[Job], None]
    beside: Callable[[Job], NotNow | None]
    pending: deque[Job]
    _put_off: dict[Hashable, deque[Job]] = field(default_factory=dict)
    _locks: dict[Hashable, threading.Lock] = field(default_factory=dict)

    def run(self, threads: int) -> None:
        for constraint in {job.constraint for job in self.pending}:
            self._put_off[constraint], self._locks[constraint] = deque(), threading.Lock()
        helping = [pool(os.getpid()).submit(self._work) for _ in range(min(threads, len(self.pending)) - 1)]
        try:
            self._work()
        finally:
            for future in helping:
                future.result()
        for constraint in self._put_off:
            self._make_alone(constraint)

    def _work(self) -> None:
        """Works until no job is left, except deferred ones that another worker is making."""
        while True:
            try:
                job = self.pending.popleft()
            except IndexError:
                return
            why = self.beside(job)
            if why is None:
                self.make(job)
            elif why is NotNow.SOON and job.waited < PATIENCE:
                if not self.pending:
                    time.sleep(PAUSE)
                    job.waited += PAUSE
                self.pending.append(job)
            else:
                self._put_off[job.constraint].append(job)
                self._make_alone(job.constraint)

    def _make_alone(self, constraint: Hashable) -> None:
        """Makes the deferred jobs of a constraint, unless another worker is making them."""
        jobs, lock = self._put_off[constraint], self._locks[constraint]
        while jobs and lock.acquire(blocking=False):
            try:
                while jobs:
                    self.make(jobs.popleft())
            finally:
                lock.release()


@cache
def pool(process: int) -> ThreadPoolExecutor:
    """The worker threads of this process; a forked process has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="grammarlm")
