"""Rows filled side by side: of those that wait for logits, rows of one width are read in one call of the model.

Each row has its own canvas, draws and trace; what is written is what each would be alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np

from .denoiser import Denoiser, read_together
from .look import Logits
from .run import Asking, Run

MOST_NUMBERS = 1 << 26  # logits of one call: 256 MiB


class RowReader(Protocol):
    """What reads rows: a Denoiser, or what stands in front of one."""

    @property
    def calls(self) -> int: ...

    def read(self, rows: np.ndarray) -> Sequence[Logits]: ...


@dataclass
class Job:
    """A row on its way: what fills it, and the rows of which it wants logits."""

    reader: RowReader
    run: Run
    asks: Asking[None]
    rows: np.ndarray

    def send(self, logits: Sequence[Logits]) -> bool:
        """The row goes on until it wants logits again; False where it is filled."""
        try:
            self.rows = self.asks.send(logits)
        except StopIteration:
            return False
        return True


def fill_together(jobs: Sequence[tuple[RowReader, Run, Asking[None]]]) -> None:
    """Every run to its end."""
    waiting = []
    for reader, run, asks in jobs:
        first = next(asks, None)
        if first is not None:
            waiting.append(Job(reader, run, asks, first))
    while waiting:
        waiting = [job for group in groups(waiting) for job in answered(group)]


def answered(group: Sequence[Job]) -> list[Job]:
    """Those that go on after one call for all of the group. Its time is shared by the rows that were read."""
    start, calls = perf_counter(), group[0].reader.calls
    if len(group) == 1:
        found = [group[0].reader.read(group[0].rows)]
    else:
        found = read_together([(job.reader, job.rows) for job in group if isinstance(job.reader, Denoiser)])
    seconds, calls = perf_counter() - start, group[0].reader.calls - calls
    rows = sum(len(job.rows) for job in group)
    for job in group:
        job.run.spend(calls, seconds * len(job.rows) / rows)
    return [job for job, logits in zip(group, found, strict=True) if job.send(logits)]


def groups(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """What is read in one call: rows of one width, as many as there is room for."""
    alike: dict[object, list[Job]] = {}
    for job in jobs:
        reader = job.reader
        alike.setdefault(reader.group(job.rows) if isinstance(reader, Denoiser) else id(job), []).append(job)
    for each in alike.values():
        group: list[Job] = []
        numbers = 0
        for job in each:
            own = job.reader.numbers(job.rows) if isinstance(job.reader, Denoiser) else 0
            if group and numbers + own > MOST_NUMBERS:
                yield group
                group, numbers = [], 0
            group.append(job)
            numbers += own
        yield group
