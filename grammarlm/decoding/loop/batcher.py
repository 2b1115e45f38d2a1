"""Which texts a forward reads: those of a batch, until each of them has ended, or of a queue whose texts come and go.

With a `Queue` the next prompt begins where a text has ended. It is read by a forward of its own, together with others that begin
then, since beside texts that read one id its length would cost as much in each of them. A forward costs about as much as a
batch of places that stay empty for a turn: so prompts are let in once empty places have cost one.

Where texts of unequal length cannot share a cache (sliding windows, states), a batch that takes one in would read all of its texts
again. There the next prompts begin when all texts have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grammarlm.decoding.readers.kept import KeptTexts
from grammarlm.decoding.readers.reader import Groups, Reader
from grammarlm.decoding.settings import AnswerSpec

from .row import GIVEN_UP, Row


def new_first(rows: Sequence[Row], size: int, is_ragged: bool) -> Sequence[Row]:
    """Those that read their prompts next, where there are some; else all."""
    return [row for row in rows if not row.has_begun] or rows


@dataclass(frozen=True)
class Queue:
    """Prompts that wait."""

    open: Callable[[Sequence[int]], Reader]  # a reader of the prompts with these numbers
    size: int  # prompts that share a forward
    pool: int = 1  # so many times that many have begun and not ended
    choose: Callable[[Sequence[Row], int, bool], Sequence[Row]] = new_first  # those of the next forward: schedule.py


class Batcher:
    def __init__(self, reader: Reader, specs: Sequence[AnswerSpec], n: int, queue: Queue | None):
        self._specs, self._n, self._queue = specs, n, queue
        self._next = len(reader.beginnings)  # the first prompt that waits
        self._wasted = 0  # turns of places that stay empty while prompts wait
        self._groups: Groups[Row] = Groups()
        self.reader = reader
        # Unfinished rows. Until its first forward one row stands for all n samples of a prompt: they share the prefill.
        self.live = self._begun(reader, range(self._next))
        self.batch = self.live  # of this turn

    def _begun(self, reader: Reader, numbers: Sequence[int]) -> list[Row]:
        """New rows of this reader's texts."""
        rows = [Row(self._specs[at], at, ids) for at, ids in zip(numbers, reader.beginnings, strict=True)]
        for row in rows:
            row.width = reader.width
        self._groups.open(rows, reader)
        return rows

    @property
    def has_more(self) -> bool:
        return bool(self.live) or self._next < len(self._specs)

    def next(self) -> None:
        """Lets prompts in, and chooses the batch of the next forward."""
        if self._queue is None:
            self.batch = self.live
        else:
            self._let_in(self._queue)
            self.batch = self._chosen(self._queue)
        if self.batch:
            self.reader = self._groups.gather(self.batch)

    def _let_in(self, queue: Queue) -> None:
        waiting = len(self._specs) - self._next
        places = queue.size * queue.pool * self._n - sum(1 if row.has_begun else self._n for row in self.live)
        if not waiting or places < self._n:
            return
        self._wasted += places
        if self.live and (self._wasted < queue.size * self._n or not self._may_join(queue)):
            return
        self._wasted = 0
        numbers = range(self._next, self._next + min(waiting, places // self._n))
        self._next = numbers.stop
        self.live = [*self.live, *self._begun(queue.open(numbers), numbers)]

    def _may_join(self, queue: Queue) -> bool:
        return queue.pool > 1 or self.reader.unequal_is_cheap

    def _chosen(self, queue: Queue) -> list[Row]:
        size, is_ragged = queue.size * self._n, self.reader.unequal_is_cheap
        return list(queue.choose(self.live, size, is_ragged)) if self.live else []

    @property
    def is_first(self) -> bool:
        """Does the batch read its prompts next?"""
        return any(not row.has_begun for row in self.batch)

    def spread(self, rows: Sequence[Row], texts: Sequence[int]) -> None:
        """The batch is these rows from now on: row i goes on from what was text `texts[i]`."""
        self._groups.replace(self.batch, rows, texts)
        gone = set(self.batch)
        self.live = [row for row in self.live if row not in gone] + list(rows)
        self.batch = list(rows)

    def join(self, other: Batcher) -> None:
        """The texts of another batch without a queue are read with these."""
        self._groups.join(other._groups)
        self.live = self.batch = [*self.live, *other.live]

    def drop_finished(self) -> list[Row]:
        """Those of the batch that have ended."""
        gone = [row for row in self.batch if row.finish_reason is not None]
        if gone:
            self._keep()
            self._groups.drop(gone)
            self.live = [row for row in self.live if row.finish_reason is None]
            self.batch = [row for row in self.batch if row.finish_reason is None]
        return gone

    def _keep(self) -> None:
        """Texts of the batch that have ended, where the next call may go on from them."""
        ended: dict[KeptTexts, list[int]] = {}
        for at, row in enumerate(self.batch):
            cache = row.spec.settings.cache
            if isinstance(cache, KeptTexts) and row.finish_reason not in (None, GIVEN_UP):
                ended.setdefault(cache, []).append(at)
        for kept, numbers in ended.items():
            kept.add(self.reader, numbers)
