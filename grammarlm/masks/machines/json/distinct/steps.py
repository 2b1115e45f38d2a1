"""Reading bytes in a machine and a tracker at once, and the threads that repeat no item.

Whether items must differ is a property of a thread: of the arrays that its frames stand for. The tracker belongs to the text, so
it says the same for all of them. A thread ends where an array of its own gets an item twice.
"""

from __future__ import annotations

import functools

from grammarlm.layout.json import FOLLOWS, Frame, Kind
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import put_record, threads_of
from grammarlm.masks.machines.json.endings.texts import Thread
from grammarlm.masks.machines.json.machine import Machine
from grammarlm.masks.machines.json.vocabulary.blanks import Blanks

from .rivals import has_rival
from .tracked_rows import TrackedRows
from .tracker import Tracker, begun, read

IN_GAPS = (Kind.AFTER, Kind.KEYS, Kind.ENTRY)  # where white space may commit a text to a closing bracket
OPEN_ARRAY = ord("[")


class Steps:
    """Steps of the states of one epoch of the JSON machine."""

    def __init__(self, machine: Machine, tracked: TrackedRows):
        self.machine, self.tracked = machine, tracked
        self._closing = closing_states(machine.program.tables.blanks)

    def threads(self, record: int) -> list[Thread]:
        return threads_of(self.machine, record)

    def rows_of(self, f: int) -> list[int]:
        """The rows of the open containers, from the outermost inwards."""
        found, frames = [], self.machine.arrays["frames"]
        while f:
            words = frames[f]
            found.append(int(words[Frame.ROW]))
            f = int(words[Frame.PARENT])
        found.reverse()
        return found

    # ------------------------------------------------------------------ reading

    def read(self, record: int, tracker: Tracker | None, data: bytes) -> tuple[int, Tracker | None]:
        """The config and tracker after some bytes, without threads that have repeated an item. (DEAD, None) where the machine
        refuses the bytes; DEAD and a tracker where no thread is left."""
        whole = self.machine.after_bytes(record, data)
        if whole == DEAD:
            return DEAD, None
        at, is_split = 0, False
        while at < len(data):
            begin = at
            if tracker is None:
                at = data.find(b"[", begin) + 1 or len(data)
                if at == len(data) and data[-1] != OPEN_ARRAY:
                    break
                repeated = 0
            else:
                tracker, at, repeated = read(tracker, data, begin)
                if at == len(data) and not repeated:
                    break
            is_split = True
            record = self.machine.after_bytes(record, data[begin:at])
            if repeated:
                record = self._without(record, repeated)
            elif tracker is None and data[at - 1] == OPEN_ARRAY:
                tracker = self._begun(record)
            if record == DEAD:
                return DEAD, tracker
            begin = at
        if not is_split:
            return whole, tracker
        if begin < len(data):
            record = self.machine.after_bytes(record, data[begin:])
        return record, tracker

    def _begun(self, record: int) -> Tracker | None:
        """A tracker of an array that has just been opened, if its items must differ in some thread."""
        for c, _, _, f in self.threads(record):
            if f and c & 31 == Kind.ENTRY:
                rows = self.rows_of(f)
                if rows[-1] in self.tracked.rows:
                    return begun(len(rows))
        return None

    def _without(self, record: int, depth: int) -> int:
        """The config without the threads in which the items of the array so deep must differ."""
        threads = self.threads(record)
        return self.only(record, threads, [self.rows_of(f)[depth - 1] not in self.tracked.rows for *_, f in threads])

    def only(self, record: int, threads: list[Thread], kept: list[bool]) -> int:
        """The config with some of its threads."""
        if all(kept):
            return record
        return put_record(self.machine, [thread for thread, stays in zip(threads, kept, strict=True) if stays])

    # ------------------------------------------------------------------ repeated items

    def risks(self, thread: Thread, tracker: Tracker) -> list[int]:
        """The depths of the thread's tracked arrays whose item, as it stands, may still become an earlier one."""
        return [
            depth
            for depth, row in enumerate(self.rows_of(thread[3]), 1)
            if row in self.tracked.rows and has_rival(tracker, depth)
        ]

    def lives(self, thread: Thread, tracker: Tracker | None) -> bool:
        """Can the thread be ended so that no item comes twice? Items can always get more (rows/free_items.py), except where white
        space asks for the bracket that closes one."""
        if tracker is None or not self._must_close(thread):
            return True
        place, rows = tracker.place, self.rows_of(thread[3])
        if place.above is None or place.above.is_object or rows[place.above.depth - 1] not in self.tracked.rows:
            return True
        return place.value not in place.above.done

    def lives_after(self, record: int, tracker: Tracker | None, data: bytes) -> bool:
        """Does a thread live after some bytes?"""
        after, then = self.read(record, tracker, data)
        return after != DEAD and any(self.lives(thread, then) for thread in self.threads(after))

    def _must_close(self, thread: Thread) -> bool:
        c, _, y, _ = thread
        return c & 31 in IN_GAPS and y in self._closing


@functools.lru_cache(maxsize=64)
def closing_states(blanks: Blanks) -> frozenset[int]:
    """The states of white space after which, with more white space or none, only a closing bracket may come."""
    table = blanks.table.tolist()
    open_ = {state for state, row in enumerate(table) if row[4] & FOLLOWS}
    found = set[int]()
    while open_ != found:
        found = open_
        open_ = found | {state for state, row in enumerate(table) if found.intersection(row[:4])}
    return frozenset(range(len(table))) - found
