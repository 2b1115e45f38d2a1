"""Ends of texts in which no item comes twice.

The machine's own end is read until it would repeat an item. There a way is searched that leads away from all earlier items, and the
machine's end from there is read, and so on:

    [{"a":1},{"a":1        the machine's end is }], and } would repeat {"a":1}
    [{"a":1},{"a":1        ,"k0": leads away; the machine's end from there is 0}]
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

from grammarlm.errors import LimitExceeded
from grammarlm.layout.table import DEAD
from grammarlm.masks.machines.json.configs import put_record
from grammarlm.masks.machines.json.endings.completion import Endings, endings_of

from .rivals import is_composite
from .search import Search
from .tracker import AFTER_COMMA, BETWEEN, Place, Tracker
from .values import OBJECT, Value

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.epoch import JsonEpoch

    from .freedom import Freedom

MOST_TURNS = 10_000
Here = tuple[int, "Tracker | None"]  # a config of the reader, and a tracker


def completion(machine: JsonEpoch, freedom: Freedom, record: int, tracker: Tracker | None) -> list[bytes] | None:
    """Pieces that end the text; None where none can be written down."""
    endings = endings_of(machine)
    if tracker is None and freedom.fewest_items < 2:
        return endings.pieces(record)
    threads = endings.reader.threads_of(record)
    with endings.reader.scratch():
        return _Ending(endings, Search(endings.reader, freedom)).of(
            (put_record(endings.reader.machine, threads), tracker)
        )


class _Ending:
    """Makes ends in the reader's machine, within its scratch."""

    def __init__(self, endings: Endings, search: Search):
        self._endings, self._search, self._steps = endings, search, search.steps

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
            way, here = self._away(here)
            text += rest[:good] + way
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
        record = self._steps.only(record, threads, [self._search.lives(thread, tracker) for thread in threads])
        return None if record == DEAD else (record, tracker)

    def _away(self, here: Here) -> tuple[bytes, Here]:
        """What leads away from all earlier items, and the threads after it."""
        record, tracker = here
        assert tracker is not None
        for text in _members(tracker):
            after = self._after(here, text)
            if after is not None:
                return text, after
        ways = (self._search.away(thread, tracker) for thread in self._steps.threads(record))
        way = min((way for way in ways if way is not None), key=len)
        after = self._after(here, way)
        assert after is not None
        return way, after


def _members(tracker: Tracker) -> Iterator[bytes]:
    """The beginning of another member, or item, that no earlier item has."""
    place = tracker.place
    if tracker.mode not in (BETWEEN, AFTER_COMMA) or (place.is_object and place.key is not None):
        return
    comma = b"," if place.done and tracker.mode == BETWEEN else b""
    names = _names(tracker)
    fresh = next(name for i in count() if (name := f"k{i}") not in names).encode()
    yield comma + (b'"%s":' if place.is_object else b'"%s"') % fresh


def _names(tracker: Tracker) -> set[str]:
    """The keys and strings of earlier items, in the open containers."""
    found: set[str] = set()
    place: Place | None = tracker.place
    while place is not None:
        if place.is_object:
            found.update(key for key, _ in place.done)
        else:
            for item in place.done:
                found |= _names_in(item)
        place = place.above
    return found


def _names_in(item: Value) -> set[str]:
    if not is_composite(item):
        return {item} if item.__class__ is str else set()
    kind, members = item
    return {key for key, _ in members} if kind == OBJECT else {each for each in members if each.__class__ is str}
