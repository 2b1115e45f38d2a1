"""A reader of JSON texts that knows the items of open arrays that are objects or arrays; the kernel compares the others.

The machine has read the text as well, so nothing is checked here: what comes is JSON. A tracker never changes; it is the text, and
which objects and arrays are open in it (`Place`, from the innermost outwards). An item's value is read from its text, when its
bracket comes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from .text import Text
from .values import Values, has, value_of, with_value

QUOTE, COMMA = b'",'
OPENING = b"{["
STRUCTURE = re.compile(rb'["{}\[\],]')


class Place(NamedTuple):
    """An open object or array."""

    above: Place | None
    depth: int  # how many are open, this one included
    is_object: bool
    begin: int  # where its bracket stands in the text
    last: int  # where its last member or item begins: after the bracket, or a comma
    items: Values = ()  # of an array: the objects and arrays that are finished
    longest: int = 0  # bytes of the longest of these

    @property
    def closing(self) -> bytes:
        return b"}" if self.is_object else b"]"


@dataclass(frozen=True, slots=True, eq=False)
class Tracker:
    """Where a text stands."""

    text: Text
    place: Place | None  # the innermost one; None: all values are finished, or none has begun
    is_quoted: bool = False  # does the text stand in a string?

    @property
    def relevant(self) -> bytes:
        """The text from the outermost open array on: what can come does not depend on what was before."""
        place, begin = self.place, self.text.length
        while place is not None:
            begin, place = begin if place.is_object else place.begin, place.above
        return self.text.after(begin)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Tracker) and self.relevant == other.relevant)

    def __hash__(self) -> int:
        return hash(self.relevant)


class Read(NamedTuple):
    """How far a text was read."""

    tracker: Tracker
    at: int
    repeated: int = 0  # the depth of the array that has just got an item it had already; 0: none


START = Tracker(Text(), None)


def read(tracker: Tracker, data: bytes, at: int = 0) -> Read:
    """Reads until an array has an item twice, or all of the data."""
    text, place, is_quoted, first = tracker.text, tracker.place, tracker.is_quoted, at
    while True:
        if is_quoted:
            end = _end_of_string(text, data, first, at)
            if end < 0:
                break
            at, is_quoted = end, False
        found = STRUCTURE.search(data, at)
        if found is None:
            break
        at = found.end()
        byte, length = data[at - 1], text.length + at - first
        if byte == QUOTE:
            is_quoted = True
        elif byte in OPENING:
            place = Place(place, place.depth + 1 if place else 1, byte == OPENING[0], length - 1, length)
        elif byte == COMMA:
            assert place is not None
            place = place._replace(last=length)
        else:
            assert place is not None
            begin, place = place.begin, place.above
            if place is None or place.is_object:
                continue
            item = text.with_(data[first:at]).after(begin)
            value = value_of(item)
            is_repeated = has(place.items, value)
            place = place._replace(items=with_value(place.items, value), longest=max(place.longest, len(item)))
            if is_repeated:
                return Read(Tracker(text.with_(data[first:at]), place), at, place.depth)
    return Read(Tracker(text.with_(data[first:]), place, is_quoted), len(data))


def _end_of_string(text: Text, data: bytes, first: int, at: int) -> int:
    """After the quote that ends a string; -1: it goes on."""
    while (quote := data.find(b'"', at)) >= 0:
        at = quote + 1
        if not text.with_(data[first:quote]).escapes:
            return at
    return -1


def closes_twice(tracker: Tracker) -> bool:
    """Has the array around the innermost place an item that is equal to the place, were its bracket to come now?"""
    place = tracker.place
    if place is None or place.above is None or not place.above.items:
        return False
    return has(place.above.items, value_of(tracker.text.after(place.begin) + place.closing))
