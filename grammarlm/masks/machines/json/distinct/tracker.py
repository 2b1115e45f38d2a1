"""A reader of JSON texts that knows the values, from the bracket that opens an array of items that must differ to the closing one.

The machine has read the text as well, so nothing is checked here: what comes is JSON. A tracker never changes; it is what has
been read of the open containers (`Place`, from the innermost outwards), and of a string or number that has begun.
"""

from __future__ import annotations

from typing import NamedTuple

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
    done: frozenset[tuple[str, Value]] | tuple[Value, ...]  # the members, or items, that are finished
    key: str | None = None  # the key whose value comes next or has begun


class Tracker(NamedTuple):
    """Where a text stands."""

    place: Place
    mode: int = BETWEEN
    lexeme: bytes = b""  # of a string after its quote, of a number or literal


class Read(NamedTuple):
    """How far a text was read."""

    tracker: Tracker | None  # None: the outermost array has ended
    at: int
    repeated: int = 0  # the depth of the array that has just got an item it had already; 0: none


def begun(depth: int) -> Tracker:
    """After the bracket of an array, so many containers deep."""
    return Tracker(Place(None, depth, False, ()))


def read(tracker: Tracker, data: bytes, at: int = 0) -> Read:
    """Reads until a repeated item or the outermost array has ended, or all of the data."""
    place, mode, lexeme = tracker
    size = len(data)
    while at < size:
        byte = data[at]
        if mode in (TEXT, KEY):
            end = end_of_string(lexeme, data, at)
            if end < 0:
                return Read(Tracker(place, mode, lexeme + data[at:]), size)
            text = text_of(lexeme + data[at:end])
            place = place._replace(key=text) if mode == KEY else with_value(place, text)
            mode, lexeme, at = BETWEEN, b"", end + 1
            continue
        if mode == SCALAR:
            if byte not in ENDS_SCALAR:
                lexeme, at = lexeme + data[at : at + 1], at + 1
                continue
            place, mode, lexeme = with_value(place, scalar_of(lexeme)), BETWEEN, b""
        at += 1
        if byte in CLOSING:
            above = place.above
            if above is None:
                return Read(None, at)
            value = (OBJECT if place.is_object else ARRAY, place.done)
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
            mode, lexeme = SCALAR, data[at - 1 : at]
    return Read(Tracker(place, mode, lexeme), at)


def end_of_string(lexeme: bytes, data: bytes, at: int) -> int:
    """The index of the quote that ends a string; -1: it goes on."""
    first = at
    while (at := data.find(b'"', at)) >= 0:
        if not escapes(lexeme + data[first:at]):
            return at
        at += 1
    return -1


def escapes(lexeme: bytes) -> bool:
    """Is the character after this text escaped?"""
    return (len(lexeme) - len(lexeme.rstrip(b"\\"))) % 2 == 1


def opened(place: Place, is_object: bool) -> Place:
    return Place(place, place.depth + 1, is_object, frozenset() if is_object else ())


def with_value(place: Place, value: Value) -> Place:
    """The place after a value in it."""
    if place.is_object:
        assert place.key is not None
        return Place(place.above, place.depth, True, frozenset((*place.done, (place.key, value))))
    return Place(place.above, place.depth, False, (*place.done, value))
