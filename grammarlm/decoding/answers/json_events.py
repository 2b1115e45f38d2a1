"""Incremental JSON parser: chunks of bytes in, events out, wherever the chunks are split.

    reader = JsonEvents()
    reader.feed(b'{"name": "Zo\\xc3')      # [object (), key ("name",), string ("name",) "Zo"]
    reader.feed(b'\\xab"}')                # [string ("name",) "ë", value ("name",) "Zoë", value () {"name": "Zoë"}]
    reader.finish()                        # []; only here is it known that a text such as 12 has no further digit

A character is read once, or twice where it ends a number; nothing is parsed again: the state is a stack of open containers and
the method that reads what comes next. Runs of characters are matched by regular expressions, so a long string costs one call a
chunk. A character split over two chunks is held back, and so is an escaped half of a surrogate pair.

The texts are those of RFC 8259, the values those of `json.loads`.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

from .events import Event, LinkedPath

BLANK = re.compile(r"[ \t\n\r]*")
PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
NUMBER = re.compile(r"[-+.0-9eE]*")
WORD = re.compile(r"[a-z]*")
WORDS = {"true": True, "false": False, "null": None}
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
HIGH, LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
Reading = Callable[[str, int], int]  # reads some of the text from a position; returns the new position


class JsonEvents:
    """Parser of one JSON text. ValueError where the text is not JSON."""

    def __init__(self, **common: Any) -> None:
        """`common`: fields of all its events."""
        self._common = common
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._read: Reading = self._value
        self._open: list[tuple[dict | list, LinkedPath]] = []
        self._linked_path: LinkedPath = None  # of the current or next value
        self._pieces: list[str] = []  # of the current string, number or word
        self._told = 0  # how many of a string's pieces have been reported
        self._escape, self._high = "", ""  # an incomplete escape; the high half of a surrogate pair
        self._is_key = False
        self._position = 0  # of the current chunk, in characters
        self._events: list[Event] = []

    @property
    def linked_path(self) -> LinkedPath:
        """The current position: inside the value at this path, or before it."""
        return self._linked_path

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete."""
        text, at = self._decoder.decode(data), 0
        while at < len(text):
            at = self._read(text, at)
        if self._read in (self._string, self._escaped):
            self._tell_string()
        self._position += len(text)
        return self._taken()

    def finish(self) -> list[Event]:
        """The text is complete: returns the last events."""
        if self._decoder.getstate()[0]:
            raise ValueError("the JSON text ends within a character")
        if self._read == self._number and not self._open:
            self._end_number("", 0)
        if self._read != self._rest:
            raise ValueError(f"the JSON text ends after {self._position} characters, before it is complete")
        return self._taken()

    def _taken(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _tell(self, kind: str, **fields: Any) -> None:
        self._events.append(Event(kind, linked_path=self._linked_path, **self._common, **fields))

    def _refuse(self, text: str, at: int, expected: str) -> NoReturn:
        raise ValueError(f"no JSON: {text[at]!r} is character {self._position + at}; expected {expected}")

    # ------------------------------------------------------------------ between values

    def _value(self, text: str, at: int, or_end: str = "") -> int:
        """The beginning of a value; before an array's first item also the array's end."""
        at = end_of(BLANK, text, at)
        if at == len(text):
            return at
        char = text[at]
        if char == '"':
            self._begin_string(is_key=False)
        elif char in "{[":
            self._begin_container({} if char == "{" else [])
        elif char in "-0123456789":
            self._read = self._number
            return at
        elif char in "tfn":
            self._read = self._word
            return at
        elif char == or_end:
            self._end_container()
        else:
            self._refuse(text, at, "a value")
        return at + 1

    def _first_item(self, text: str, at: int) -> int:
        return self._value(text, at, or_end="]")

    def _key(self, text: str, at: int, or_end: str = "") -> int:
        at = end_of(BLANK, text, at)
        if at == len(text):
            return at
        if text[at] == '"':
            self._begin_string(is_key=True)
        elif text[at] == or_end:
            self._end_container()
        else:
            self._refuse(text, at, "a key")
        return at + 1

    def _first_key(self, text: str, at: int) -> int:
        return self._key(text, at, or_end="}")

    def _colon(self, text: str, at: int) -> int:
        at = end_of(BLANK, text, at)
        if at == len(text):
            return at
        if text[at] != ":":
            self._refuse(text, at, "':'")
        self._read = self._value
        return at + 1

    def _next(self, text: str, at: int) -> int:
        """After a value in a container: the next one, or the container's end."""
        at = end_of(BLANK, text, at)
        if at == len(text):
            return at
        holder, linked_path = self._open[-1]
        is_list = isinstance(holder, list)
        if text[at] == ("]" if is_list else "}"):
            self._end_container()
        elif text[at] != ",":
            self._refuse(text, at, "',' or the end of the container")
        elif isinstance(holder, list):
            self._linked_path, self._read = (linked_path, len(holder)), self._value
        else:
            self._read = self._key
        return at + 1

    def _rest(self, text: str, at: int) -> int:
        at = end_of(BLANK, text, at)
        if at < len(text):
            self._refuse(text, at, "nothing more")
        return at

    # ------------------------------------------------------------------ values

    def _begin_container(self, holder: dict | list) -> None:
        is_list = isinstance(holder, list)
        self._tell("array" if is_list else "object")
        self._open.append((holder, self._linked_path))
        if is_list:
            self._linked_path, self._read = (self._linked_path, 0), self._first_item
        else:
            self._read = self._first_key

    def _end_container(self) -> None:
        holder, self._linked_path = self._open.pop()
        self._end_value(holder)

    def _end_value(self, value: Any) -> None:
        self._tell("value", value=value)
        if not self._open:
            self._read = self._rest
            return
        holder, linked_path = self._open[-1]
        assert self._linked_path is not None
        if isinstance(holder, list):
            holder.append(value)
        else:
            holder[str(self._linked_path[1])] = value
        self._linked_path, self._read = linked_path, self._next

    def _number(self, text: str, at: int) -> int:
        end = end_of(NUMBER, text, at)
        self._pieces.append(text[at:end])
        if end < len(text):
            self._end_number(text, end)
        return end

    def _end_number(self, text: str, end: int) -> None:
        digits, self._pieces = "".join(self._pieces), []
        try:
            value = number_of(digits)
        except ValueError:
            raise ValueError(f"no JSON: {digits:.40} before character {self._position + end} is no number") from None
        self._end_value(value)

    def _word(self, text: str, at: int) -> int:
        end = end_of(WORD, text, at)
        self._pieces.append(text[at:end])
        word = "".join(self._pieces)
        if word in WORDS:
            self._pieces = []
            self._end_value(WORDS[word])
        elif end < len(text) or not any(known.startswith(word) for known in WORDS):
            self._refuse(text, at, "true, false or null")
        return end

    # ------------------------------------------------------------------ strings

    def _begin_string(self, is_key: bool) -> None:
        self._is_key, self._told, self._read = is_key, 0, self._string

    def _string(self, text: str, at: int) -> int:
        end = end_of(PLAIN, text, at)
        if end > at:
            self._add(text[at:end])
        if end == len(text):
            return end
        if text[end] == '"':
            self._end_string()
        elif text[end] == "\\":
            self._read = self._escaped
        else:
            self._refuse(text, end, "a string without control characters")
        return end + 1

    def _escaped(self, text: str, at: int) -> int:
        """One character of an escape, after its backslash."""
        self._escape += text[at]
        if self._escape in ESCAPES:
            self._add(ESCAPES[self._escape])
        elif not re.fullmatch(r"u[0-9a-fA-F]{0,4}", self._escape):
            self._refuse(text, at, "an escape of JSON")
        elif len(self._escape) < 5:
            return at + 1
        else:
            self._add(chr(int(self._escape[1:], 16)))
        self._escape, self._read = "", self._string
        return at + 1

    def _add(self, piece: str) -> None:
        """Adds characters to the string. Two escaped halves of a surrogate pair are one character."""
        if self._high:
            high, self._high = self._high, ""
            if len(piece) == 1 and ord(piece) in LOW:
                piece = chr(0x10000 + (ord(high) - HIGH.start << 10) + ord(piece) - LOW.start)
            else:
                self._pieces.append(high)
        if len(piece) == 1 and ord(piece) in HIGH:
            self._high = piece
        else:
            self._pieces.append(piece)

    def _tell_string(self) -> None:
        if self._told < len(self._pieces) and not self._is_key:
            self._tell("string", chunk="".join(self._pieces[self._told :]))
            self._told = len(self._pieces)

    def _end_string(self) -> None:
        if self._high:
            self._pieces.append(self._high)
            self._high = ""
        self._tell_string()
        whole, self._pieces = "".join(self._pieces), []
        if self._is_key:
            self._linked_path = (self._open[-1][1], whole)
            self._tell("key")
            self._read = self._colon
        else:
            self._end_value(whole)


def end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The end of a run of characters; the run may be empty."""
    found = pattern.match(text, at)
    assert found
    return found.end()


def number_of(digits: str) -> int | float | Decimal:
    """As json.loads reads it, except that an integer of more than 4,300 digits, which json.loads refuses, is a Decimal."""
    try:
        value: int | float = json.loads(digits)
        return value
    except json.JSONDecodeError:
        raise
    except ValueError:
        return Decimal(digits)
