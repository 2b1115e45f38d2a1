"""Reading bytes in a machine and a tracker at once, and the threads that repeat no item.

Whether items must differ is a property of a thread: of the arrays that its frames stand for. The tracker belongs to the text, so
it says the same for all of them. A thread ends where an array of its own gets an item twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grammarlm.layout.json import ARRAY_BIT, FIELD, FOLLOWS, ROW, Frame, Kind
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import put_record, threads_of
from grammarlm.masks.machines.json.endings.texts import Thread

from .rivals import has_rival
from .tracker import Tracker, begun, read

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.epoch import JsonEpoch

    from .freedom import Freedom

IN_GAPS = (Kind.AFTER, Kind.KEYS, Kind.ENTRY)  # where white space may commit a text to a closing bracket
OPEN_ARRAY = ord("[")
FEW_DIGITS = 15  # bytes of a number after which there is room for many more


class Steps:
    """Steps of the states of one epoch of the JSON machine."""

    def __init__(self, machine: JsonEpoch, freedom: Freedom):
        self.machine, self.freedom = machine, freedom
        self._follows = machine.program.tables.blanks.table[:, 4]

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

    def risks(self, thread: Thread, tracker: Tracker, known: dict[int, bool]) -> list[int]:
        """The depths of the thread's tracked arrays whose item, as it stands, may still become an earlier one."""
        return [depth for depth in self._tracked(thread) if self._is_risky(tracker, depth, known)]

    def _tracked(self, thread: Thread) -> list[int]:
        return [depth for depth, row in enumerate(self.rows_of(thread[3]), 1) if row in self.freedom.tracked]

    def _is_risky(self, tracker: Tracker, depth: int, known: dict[int, bool]) -> bool:
        if depth not in known:
            known[depth] = has_rival(tracker, depth)
        return known[depth]

    def is_free(self, thread: Thread, depth: int) -> bool:
        """Is a container around the thread, within the item of the array so deep, one that can always become another value?"""
        rows = self.rows_of(thread[3])
        if len(rows) == depth:  # after a comma
            return self.freedom.all_items_are_free
        last = len(rows) - 1 if self._must_close(thread) else len(rows)
        return any(map(self.freedom.is_free, rows[depth:last]))

    def is_sure(self, thread: Thread, tracker: Tracker, depth: int) -> bool:
        """Can the item of the array so deep certainly become one that differs from all others, by what it can still get?"""
        f, frames = thread[3], self.machine.arrays["frames"]
        chain: list[list[int]] = []
        while f:
            chain.append(frames[f].tolist())
            f = chain[-1][Frame.PARENT]
        if len(chain) == depth:  # after a comma
            return self.freedom.has_endless_items(chain[0][Frame.ROW])
        inside, must_close = chain[: len(chain) - depth], self._must_close(thread)
        for at, words in enumerate(inside):
            if at == 0 and must_close:
                continue
            if self.freedom.is_free(words[Frame.ROW]):
                return True
            low, high = self._key_range(thread) if at == 0 else (0, 0)
            if not words[Frame.ROW] & ARRAY_BIT and self.freedom.is_open(words, low, high):
                return True
        return self._is_endless(thread, tracker)

    def _key_range(self, thread: Thread) -> tuple[int, int]:
        """Which keys is the one that is being read?"""
        c, x, _, _ = thread
        return (x & FIELD, x >> 21 & FIELD) if c & 31 == Kind.KEY else (0, 0)

    def _is_endless(self, thread: Thread, tracker: Tracker) -> bool:
        """Has what the thread is in, or before, certainly no end?"""
        c, x, _, _ = thread
        kind, row = c & 31, c >> 11 & ROW
        if kind in (Kind.COLON, Kind.VALUE):
            return self.freedom.is_endless(row)
        if kind == Kind.NUMBER:
            is_short = len(tracker.lexeme) < FEW_DIGITS and b"e" not in tracker.lexeme.lower()
            return is_short and tracker.lexeme.strip(b"-0.") != b"" and self.freedom.number_is_endless(row)
        return kind == Kind.STRING and x == 0 and self.freedom.string_is_endless(row)

    def _must_close(self, thread: Thread) -> bool:
        c, _, y, _ = thread
        return c & 31 in IN_GAPS and not self._follows[y] & FOLLOWS

    def is_safe(self, thread: Thread, tracker: Tracker | None, known: dict[int, bool] | None = None) -> bool:
        """Can the thread be ended without a search for an end that repeats no item?"""
        if tracker is None:
            return True
        known = {} if known is None else known
        return all(
            self.is_sure(thread, tracker, depth) or not self._is_risky(tracker, depth, known)  # items can be many
            for depth in self._tracked(thread)
        )
