"""Reading bytes in a machine and a tracker at once, and the threads that repeat no item.

Whether items must differ is a property of a thread: of the arrays that its frames stand for. The tracker belongs to the text, so
it says the same for all of them. A thread ends where an array of its own gets an item twice.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from grammarlm.layout.json import BRACKET, Frame, Kind
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import frames_around, put_record, threads_of
from grammarlm.masks.machines.json.endings.texts import Thread
from grammarlm.masks.machines.json.machine import Machine

from .tracked_rows import TrackedRows
from .tracker import Tracker, closes_twice, read


class Reached(NamedTuple):
    """Where a text stands after some bytes."""

    record: int  # the config; DEAD: they are refused
    tracker: Tracker
    good: int  # of the bytes: so many are not refused, up to one that repeats an item


class Steps:
    """Steps of the configs of one machine."""

    def __init__(self, machine: Machine, tracked: TrackedRows):
        self.machine, self._tracked = machine, tracked.rows
        self._blanks = machine.program.tables.blanks

    def read(self, record: int, tracker: Tracker, data: bytes) -> Reached:
        """Without threads that have repeated an item, or can only end so."""
        whole, at, good = self.machine.after_bytes(record, data), 0, 0
        if whole == DEAD:
            return Reached(DEAD, tracker, 0)
        while at < len(data) and record != DEAD:
            good = at
            tracker, at, repeated = read(tracker, data, good)
            record = whole if at - good == len(data) else self.machine.after_bytes(record, data[good:at])
            if repeated:
                good = at - 1
                record = self._without(record, functools.partial(self._is_tracked, depth=repeated))
        if self._blanks.has_gaps and record != DEAD:
            record = self._without(record, functools.partial(self._must_repeat, tracker=tracker))
        return Reached(record, tracker, good if record == DEAD else at)

    def depths(self, record: int) -> set[int]:
        """How deep the open arrays are whose items must differ, in whatever thread."""
        frames = {f for *_, f in self.threads(record)}
        return {depth for f in frames for depth in self._depths(f)}

    def threads(self, record: int) -> list[Thread]:
        return threads_of(self.machine, record)

    def _without(self, record: int, is_dead: Callable[[Thread], bool]) -> int:
        """The config without some of its threads."""
        threads = self.threads(record)
        living = [thread for thread in threads if not is_dead(thread)]
        return record if len(living) == len(threads) else put_record(self.machine, living)

    def _is_tracked(self, thread: Thread, depth: int) -> bool:
        """Must the items of the thread's open array so deep differ?"""
        return depth in self._depths(thread[3])

    def _must_repeat(self, thread: Thread, tracker: Tracker) -> bool:
        """Does white space ask for the bracket of an item that would repeat another? Elsewhere items can always get more
        (rows/free_items.py)."""
        c, _, y, _ = thread
        if c & 31 != Kind.AFTER or self._blanks.table[y, 4] != BRACKET:
            return False
        assert tracker.place is not None
        return self._is_tracked(thread, tracker.place.depth - 1) and closes_twice(tracker)

    def _depths(self, f: int) -> list[int]:
        """How deep the arrays around a frame are whose items must differ, its own included."""
        frames = self.machine.arrays["frames"]
        rows = [int(frames[here, Frame.ROW]) for here in frames_around(self.machine, f)]
        return [depth for depth, row in enumerate(reversed(rows), 1) if row in self._tracked]
