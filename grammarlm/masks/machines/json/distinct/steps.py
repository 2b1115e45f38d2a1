"""Reading bytes in a machine and a tracker at once, and the threads that repeat no item.

Whether items must differ is a property of a thread: of the arrays that its frames stand for. The tracker belongs to the text, so that
it says the same for all of them. A thread ends where an array of its own gets an item twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammarlm.layout.json import FOLLOWS, Frame, Kind
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import put_record
from grammarlm.masks.machines.json.endings.texts import Thread

from .rivals import rivals
from .tracker import Tracker, begun, read
from .values import Value

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.epoch import JsonEpoch

    from .freedom import Freedom

IN_GAPS = (Kind.AFTER, Kind.KEYS, Kind.ENTRY)  # where white space may commit a text to a closing bracket
OPEN_ARRAY = ord("[")


class Steps:
    """Steps of the states of one epoch of the JSON machine."""

    def __init__(self, machine: JsonEpoch, freedom: Freedom):
        self.machine, self.freedom = machine, freedom
        self._follows = machine.program.tables.blanks.table[:, 4]

    def threads(self, record: int) -> list[Thread]:
        found, records = [], self.machine.arrays["records"]
        while record:
            c, x, y, f, record = records[record].tolist()
            found.append((c, x, y, f))
        return found

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
        """The config and tracker after some bytes, without threads that have repeated an item; (DEAD, None)."""
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
                return DEAD, None
            begin = at
        if not is_split:
            return whole, tracker
        if begin < len(data):
            record = self.machine.after_bytes(record, data[begin:])
        return (record, tracker) if record != DEAD else (DEAD, None)

    def _begun(self, record: int) -> Tracker | None:
        """A tracker of an array that has just been opened, if its items must differ in some thread."""
        for c, _, _, f in self.threads(record):
            if f and c & 31 == Kind.ENTRY:
                rows = self.rows_of(f)
                if rows[-1] in self.freedom.tracked:
                    return begun(len(rows))
        return None

    def _without(self, record: int, depth: int) -> int:
        """The config without the threads in which the items of the array so deep must differ."""
        threads = self.threads(record)
        return self.only(record, threads, [self.rows_of(f)[depth - 1] not in self.freedom.tracked for *_, f in threads])

    def only(self, record: int, threads: list[Thread], kept: list[bool]) -> int:
        """The config with some of its threads."""
        if all(kept):
            return record
        return put_record(self.machine, [thread for thread, stays in zip(threads, kept, strict=True) if stays])

    # ------------------------------------------------------------------ rivals

    def risks(self, thread: Thread, tracker: Tracker, known: dict[int, list[Value]]) -> list[int]:
        """The depths of the thread's tracked arrays whose item, as it stands, may still become an earlier one."""
        found = []
        for depth, row in enumerate(self.rows_of(thread[3]), 1):
            if row in self.freedom.tracked:
                if depth not in known:
                    known[depth] = rivals(tracker, depth)
                if known[depth]:
                    found.append(depth)
        return found

    def is_sure(self, thread: Thread, depth: int) -> bool:
        """Can the item of the array so deep certainly become one that differs from all others?"""
        rows = self.rows_of(thread[3])
        if len(rows) == depth:  # after a comma
            return self.freedom.has_endless_items(rows[-1])
        last = len(rows) - 1 if self._must_close(thread) else len(rows)
        return any(map(self.freedom.is_free, rows[depth:last]))

    def _must_close(self, thread: Thread) -> bool:
        c, _, y, _ = thread
        return c & 31 in IN_GAPS and not self._follows[y] & FOLLOWS

    def is_safe(self, thread: Thread, tracker: Tracker | None, known: dict[int, list[Value]] | None = None) -> bool:
        """Can the thread be ended without a search for an end that repeats no item?"""
        if tracker is None:
            return True
        risks = self.risks(thread, tracker, {} if known is None else known)
        return all(self.is_sure(thread, depth) for depth in risks)
