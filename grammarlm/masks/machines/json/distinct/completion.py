"""Ends of texts in which no item comes twice.

The machine's own end is read until it would repeat an item. There the item gets one more member, and the machine's end from there
is read, and so on:

    [{"a":1},{"a":1        the machine's end is }], and } would repeat {"a":1}
    [{"a":1},{"a":1        ,"b":0 leads away; the machine's end from there is }]
    [[1],[1                an item more than the one before: ,0 and ]]
"""

from __future__ import annotations

from collections.abc import Iterator

from grammarlm.errors import LimitExceeded
from grammarlm.layout.json import ARRAY_BIT, Frame
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import put_record
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.masks.machines.json.epoch import JsonEpoch

from .rivals import is_composite
from .steps import Steps
from .tracked_rows import TrackedRows
from .tracker import SCALAR, Place, Tracker
from .values import OBJECT, Value

MOST_TURNS = 10_000
Here = tuple[int, "Tracker | None"]  # a config of the reader, and a tracker


def completion(machine: JsonEpoch, tracked: TrackedRows, record: int, tracker: Tracker | None) -> list[bytes] | None:
    """Pieces that end the text; None where none can be written down."""
    endings = machine.endings
    if tracker is None and tracked.fewest_items < 2:
        return endings.pieces(record)
    threads = endings.reader.threads_of(record)
    with endings.reader.scratch():
        ending = _Ending(endings, Steps(endings.reader.machine, tracked))
        return ending.of((put_record(endings.reader.machine, threads), tracker))


class _Ending:
    """Makes ends in the reader's machine, within its scratch."""

    def __init__(self, endings: Endings, steps: Steps):
        self._endings, self._steps = endings, steps

    def of(self, here: Here) -> list[bytes] | None:
        text = b""
        for _ in range(MOST_TURNS):
            own = self._endings.pieces_of(self._steps.threads(here[0]))
            if own is None:
                return None
            rest = b"".join(own)
            good, here = self._read(here, rest)
            if good == len(rest):
                return [text, *own] if text else own
            way = self._away(here)
            if way is None:
                return None
            text += rest[:good] + way[0]
            here = way[1]
        raise LimitExceeded("the items that must differ are too many to be ended one by one")

    def _read(self, here: Here, text: bytes) -> tuple[int, Here]:
        """How many bytes can be read, and what is after them."""
        good, bad, best = 0, len(text) + 1, here
        middle = len(text)
        while bad - good > 1:
            after = self._after(here, text[:middle])
            if after is None:
                bad = middle
            else:
                good, best = middle, after
            middle = (good + bad) // 2
        return good, best

    def _after(self, here: Here, data: bytes) -> Here | None:
        """The threads that live after some bytes; None: there are none."""
        record, tracker = self._steps.read(*here, data)
        if record == DEAD or tracker is None:
            return None if record == DEAD else (record, tracker)
        threads = self._steps.threads(record)
        record = self._steps.only(record, threads, [self._steps.lives(thread, tracker) for thread in threads])
        return None if record == DEAD else (record, tracker)

    def _away(self, here: Here) -> tuple[bytes, Here] | None:
        """Another member for the innermost object, or item for the array, and what is after it; None: none can be written down."""
        record, tracker = here
        assert tracker is not None
        comma = b"," if tracker.place.done or tracker.mode == SCALAR else b""
        for text in self._members(record, tracker, comma):
            after = self._after(here, text)
            if after is not None:
                return text, after
        return None

    def _members(self, record: int, tracker: Tracker, comma: bytes) -> Iterator[bytes]:
        """What may be the next member, of no earlier item where that is an object; the next item."""
        reader, names = self._endings.reader, None
        for *_, f in self._steps.threads(record):
            words = reader.frame(f)
            row = words[Frame.ROW]
            if row & ARRAY_BIT:
                if comma:
                    yield comma
                values = map(self._endings.values.value, self._steps.tracked.ways(row, words[Frame.COUNT]))
                yield from (comma + value for value in values if value is not None)
                continue
            names = _names(tracker) if names is None else names
            for key, entry in self._endings.frames.other_entries(row, words):
                if key not in names:
                    yield comma + entry


def _names(tracker: Tracker) -> set[bytes]:
    """The keys of earlier items, in the arrays around the text."""
    found: set[str] = set()
    place: Place | None = tracker.place
    while place is not None:
        if not place.is_object:
            for item in place.done:
                found |= _keys_in(item)
        place = place.above
    return {name.encode("utf-8", "surrogatepass") for name in found}


def _keys_in(item: Value) -> set[str]:
    return {key for key, _ in item[1]} if is_composite(item) and item[0] == OBJECT else set()
