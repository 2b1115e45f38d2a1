"""Ends of texts in which no item comes twice.

The machine's own end is read until it would repeat an item. There the item gets one more member, and the machine's end from there
is read, and so on:

    [{"a":1},{"a":1        the machine's end is }], and } would repeat {"a":1}
    [{"a":1},{"a":1        ,"b":0 leads away; the machine's end from there is }]
    [[1],[1                an item more than the one before: ,0 and ]]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from grammarlm.errors import LimitExceeded
from grammarlm.layout.json import ARRAY_BIT, Frame
from grammarlm.masks.machines.json.configs import put_record
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.masks.machines.json.epoch import JsonEpoch

from .steps import Steps
from .tracked_rows import TrackedRows
from .tracker import Tracker

MOST_TURNS = 10_000
MOST_MEMBERS = 4096  # that are tried: more than earlier items that a text has


def completion(machine: JsonEpoch, tracked: TrackedRows, record: int, tracker: Tracker) -> list[bytes] | None:
    """Pieces that end the text; None where none can be written down."""
    endings = machine.endings
    threads = endings.reader.threads_of(record)
    with endings.reader.scratch():
        ending = _Ending(endings, Steps(endings.reader.machine, tracked), tracked)
        return ending.of(put_record(endings.reader.machine, threads), tracker)


class _Ending:
    """Makes ends in the reader's machine, within its scratch."""

    def __init__(self, endings: Endings, steps: Steps, tracked: TrackedRows):
        self._endings, self._steps, self._tracked = endings, steps, tracked

    def of(self, record: int, tracker: Tracker) -> list[bytes] | None:
        text = b""
        for _ in range(MOST_TURNS):
            own = self._endings.pieces_of(self._steps.threads(record))
            if own is None:
                return None
            more = b"".join(own)
            good = self._steps.read(record, tracker, more).good
            if good == len(more):
                return [text, *own] if text else own
            away = more[:good] or self._away(record, tracker)
            if not away:
                return None
            text += away
            record, tracker, _ = self._steps.read(record, tracker, away)
        raise LimitExceeded("the items that must differ are too many to be ended one by one")

    def _away(self, record: int, tracker: Tracker) -> bytes:
        """Another member for the innermost object, or item for the array: one after which it may close, or else any; empty:
        none can be written down."""
        assert tracker.place is not None
        first = b""
        for member in islice(self._members(record, tracker), MOST_MEMBERS):
            after = self._steps.read(record, tracker, member)
            if after.record and self._steps.read(after.record, after.tracker, tracker.place.closing).record:
                return member
            if after.record:
                first = first or member
        return first

    def _members(self, record: int, tracker: Tracker) -> Iterator[bytes]:
        """What may be the next member of the object, or item of the array."""
        reader, place = self._endings.reader, tracker.place
        assert place is not None
        blanks = self._steps.machine.program.tables.blanks
        comma = blanks.comma if tracker.text.after(place.last).strip() else b""
        for *_, f in self._steps.threads(record):
            words = reader.frame(f)
            row = words[Frame.ROW]
            if row & ARRAY_BIT:
                values = map(self._endings.values.value, self._tracked.ways(row, words[Frame.COUNT]))
                yield from (comma + value for value in values if value is not None)
                yield from [comma] if comma else []
            else:
                yield from (comma + entry for _, entry in self._endings.frames.other_entries(row, words))
