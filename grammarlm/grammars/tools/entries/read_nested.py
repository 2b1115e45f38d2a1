"""Reads objects and arrays in a notation of their own (nested.py) back to values."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

from grammarlm.errors import brief
from grammarlm.grammars.tools.texts import Coder, end_mark

from .nested import NUMBER, Notation

NUMBERS = re.compile(NUMBER)
QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def python_string(quoted: str) -> str:
    try:
        found: str = ast.literal_eval(quoted)
    except SyntaxError as error:
        raise ValueError(f"{quoted!r:.60} is no string of Python's: {error}") from None
    return found


class NestedReader:
    def __init__(self, notation: Notation, coder: Coder):
        self.notation, text = notation, coder.text
        self.object, self.array = (tuple(map(text, marks)) for marks in (notation.object, notation.array))
        self.entry, self.gap = tuple(map(text, notation.entry)), text(notation.gap)
        self.strings = None if notation.strings is None else tuple(map(text, notation.strings))
        self.mark = "" if notation.strings is None else text(end_mark(notation.strings[1]))
        self.words = {text(notation.word(word)): json.loads(word) for word in ("null", "true", "false")}

    def value(self, text: str, at: int) -> tuple[Any, int]:
        """The value that begins here, and where it ends; ValueError where none does."""
        string = self._string(text, at)
        if string is not None:
            return string
        if text.startswith(self.object[0], at):
            pairs, end = self._listed(text, at + len(self.object[0]), self.object[1], self._pair)
            return dict(pairs), end
        if text.startswith(self.array[0], at):
            return self._listed(text, at + len(self.array[0]), self.array[1], self.value)
        for word, value in self.words.items():
            if text.startswith(word, at):
                return value, at + len(word)
        number = NUMBERS.match(text, at)
        if number is None:
            raise ValueError(f"no value begins at {brief(text[at : at + 60], 80)}")
        return json.loads(number[0]), number.end()

    def _string(self, text: str, at: int) -> tuple[str, int] | None:
        if self.strings is None:
            quoted = QUOTED.match(text, at)
            return None if quoted is None else (python_string(quoted[0]), quoted.end())
        left, right = self.strings
        if not text.startswith(left, at):
            return None
        end = text.find(self.mark, at + len(left)) - right.index(self.mark)
        return text[at + len(left) : end], self._after(text, end, right)

    def _pair(self, text: str, at: int) -> tuple[tuple[str, Any], int]:
        before, between, after = self.entry
        start = self._after(text, at, before)
        end = text.find(between, start)
        if end < start:
            raise ValueError(f"no key begins at {brief(text[at : at + 60], 80)}")
        value, done = self.value(text, end + len(between))
        return (text[start:end], value), self._after(text, done, after)

    def _listed(self, text: str, at: int, close: str, one: Any) -> tuple[list[Any], int]:
        found: list[Any] = []
        while not text.startswith(close, at):
            value, at = one(text, self._after(text, at, self.gap) if found else at)
            found.append(value)
        return found, at + len(close)

    def _after(self, text: str, at: int, wanted: str) -> int:
        if at < 0 or not text.startswith(wanted, at):
            raise ValueError(f"{wanted!r} should be at {brief(text[at : at + 60], 80)}")
        return at + len(wanted)
