"""Rows that threads make side by side: the jobs of a batch, and who does which.

Each thread takes the next job and makes its row beside the others. Where that cannot be it puts the job off and takes another one:
until whoever is at what it needs has ended, or for one thread that makes rows under the lock of their constraint, as a matcher
alone does. So nobody waits while there is something to do.
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

PAUSE = 5e-5  # seconds, before a thread with nothing else to do looks again
PATIENCE = 0.05  # seconds of such pauses for one job, before it is done without waiting


class NotNow(enum.Enum):
    """Why a row is not made beside other threads."""

    UNDER_THE_LOCK = enum.auto()  # it takes the lock
    SOON = enum.auto()  # another thread is at what it needs


@dataclass
class Job:
    """Rows of one matcher, which are made together."""

    rows: list[int]
    constraint: Hashable
    waited: float = 0.0


@dataclass
class SideBySide:
    """Runs jobs in several threads. `make` makes rows alone; `beside` makes theirs beside other threads, or says why not."""

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
        """Until no job is left but those that are put off while another thread does such."""
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
        """Does what is put off, unless another thread is at it."""
        jobs, lock = self._put_off[constraint], self._locks[constraint]
        while jobs and lock.acquire(blocking=False):
            try:
                while jobs:
                    self.make(jobs.popleft())
            finally:
                lock.release()


@cache
def pool(process: int) -> ThreadPoolExecutor:
    """The threads of this process; a forked one has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="grammarlm")
