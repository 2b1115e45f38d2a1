"""A reader of JSON texts that knows the values, from the bracket that opens an array of items that must differ to the closing one.

The machine has read the text as well, so nothing is checked here: what comes is JSON. A tracker never changes; it is what has
been read of the open containers (`Place`, from the innermost outwards), and of a string or number that has begun.
"""

from __future__ import annotations

from typing import NamedTuple

from .growing import NOTHING, Lexeme, Values
from .values import ARRAY, OBJECT, Value, scalar_of, text_of

BETWEEN, AFTER_COMMA, TEXT, KEY, SCALAR = range(5)  # modes: what the text is in
QUOTE, COMMA, COLON, BACKSLASH = b'",:\\'
BLANKS, OPENING, CLOSING = b" \t\n\r", b"{[", b"}]"
ENDS_SCALAR = b",]}" + BLANKS


class Place(NamedTuple):
    """An open object or array."""

    above: Place | None
    depth: int  # how many are open in the whole text, this one included
    is_object: bool
    done: Values  # the members, or items, that are finished
    key: str | None = None  # the key whose value comes next or has begun

    @property
    def value(self) -> Value:
        """The value of it as it stands."""
        return (OBJECT if self.is_object else ARRAY, self.done.whole())


class Tracker(NamedTuple):
    """Where a text stands."""

    place: Place
    mode: int = BETWEEN
    written: Lexeme = NOTHING

    @property
    def lexeme(self) -> bytes:
        """Of a string after its quote, of a number or literal."""
        return self.written.whole()


class Read(NamedTuple):
    """How far a text was read."""

    tracker: Tracker | None  # None: the outermost array has ended
    at: int
    repeated: int = 0  # the depth of the array that has just got an item it had already; 0: none


def begun(depth: int) -> Tracker:
    """After the bracket of an array, so many containers deep."""
    return Tracker(Place(None, depth, False, Values(False)))


def read(tracker: Tracker, data: bytes, at: int = 0) -> Read:
    """Reads until a repeated item or the outermost array has ended, or all of the data."""
    place, mode, written = tracker
    size = len(data)
    while at < size:
        byte = data[at]
        if mode in (TEXT, KEY):
            end = end_of_string(written, data, at)
            if end < 0:
                return Read(Tracker(place, mode, written.with_(data[at:])), size)
            text = text_of(written.whole() + data[at:end])
            place = place._replace(key=text) if mode == KEY else with_value(place, text)
            mode, written, at = BETWEEN, NOTHING, end + 1
            continue
        if mode == SCALAR:
            if byte not in ENDS_SCALAR:
                written, at = written.with_(data[at : at + 1]), at + 1
                continue
            place, mode, written = with_value(place, scalar_of(written.whole())), BETWEEN, NOTHING
        at += 1
        if byte in CLOSING:
            above = place.above
            if above is None:
                return Read(None, at)
            value = place.value
            is_repeated = not above.is_object and value in above.done
            place, mode = with_value(above, value), BETWEEN
            if is_repeated:
                return Read(Tracker(place), at, above.depth)
        elif byte == QUOTE:
            mode = KEY if place.is_object and place.key is None else TEXT
        elif byte in OPENING:
            place, mode = opened(place, byte == OPENING[0]), BETWEEN
        elif byte == COMMA:
            mode = AFTER_COMMA
        elif byte != COLON and byte not in BLANKS:
            mode, written = SCALAR, Lexeme(data[at - 1 : at])
    return Read(Tracker(place, mode, written), at)


def end_of_string(written: Lexeme, data: bytes, at: int) -> int:
    """The index of the quote that ends a string; -1: it goes on."""
    first = at
    while (at := data.find(b'"', at)) >= 0:
        if not written.with_(data[first:at]).escapes:
            return at
        at += 1
    return -1


def opened(place: Place, is_object: bool) -> Place:
    return Place(place, place.depth + 1, is_object, Values(is_object))


def with_value(place: Place, value: Value) -> Place:
    """The place after a value in it."""
    if place.is_object:
        assert place.key is not None
        return Place(place.above, place.depth, True, place.done.with_((place.key, value)))
    return Place(place.above, place.depth, False, place.done.with_(value))
