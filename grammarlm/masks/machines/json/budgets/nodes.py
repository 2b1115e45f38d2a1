"""The nodes that a schema's texts can reach, the shapes of their values, what each has below it, and what ends it."""

from __future__ import annotations

from typing import Any

from grammarlm.layout.json import Array, Key, Object, Shape
from grammarlm.layout.numbers import Bound, Number
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.masks.machines.json.endings.texts import spelled

NEW_KEY = 8  # tokens of letters that make a key a new one, and the quote
NUMBER = 15  # bytes of the rest of any number, besides its digits
LONGEST = 1 << 20  # characters that are counted


class Shapes:
    """The shapes of one program: a kind and a row each."""

    def __init__(self, endings: Endings):
        self._endings, self._rows = endings, endings.reader.rows
        self._blanks = endings.reader.program.tables.blanks
        self.start = int(endings.reader.program.json.start)
        self.graph: dict[Any, list[Any]] = {}  # of each node its shapes, of each shape the nodes below it
        queue: list[Any] = [self.start]
        while queue:
            each = queue.pop()
            if each not in self.graph:
                endings.reader.program.clock.tick()
                self.graph[each] = self._below(*each) if isinstance(each, tuple) else endings.reader.shapes(each)
                queue += self.graph[each]
        shapes = [each for each in self.graph if isinstance(each, tuple)]
        self.frames = [shape for shape in shapes if shape[0] in (Shape.OBJECT, Shape.ARRAY)]
        self.objects = [row for kind, row in self.frames if kind == Shape.OBJECT]
        self.lexemes = {shape: self._lexeme(*shape) for shape in shapes if shape[0] not in (Shape.OBJECT, Shape.ARRAY)}

    def _below(self, kind: int, row: int) -> list[int]:
        rows = self._rows
        if kind == Shape.ARRAY:
            at = rows[row + Array.ITEMS]
            lists = {rows[at + i] for i in range(rows[row + Array.PREFIX] + 1)}
            return [rows[ways + 1 + 2 * i] for ways in lists for i in range(rows[ways])]
        if kind != Shape.OBJECT:
            return []
        found = {rows[key + Key.NODE] for key in self._keys(row) if rows[key + Key.NODE] >= 0}
        found.update(self._endings.frames.other_nodes(row))
        found.update(meeting for _, _, meeting in self._endings.frames.obligations(row))
        return list(found)

    def _keys(self, row: int) -> range:
        first = self._rows[row + Object.KEYS]
        return range(first, first + self._rows[row + Object.COUNT] * Key.LENGTH, Key.LENGTH)

    def must_differ(self) -> bool:
        """Has a text items that must differ, or keys of any name of which more must come?"""
        return any(
            self._endings.frames.takes_others(row) if kind == Shape.OBJECT else self._rows[row + Array.UNIQUE]
            for kind, row in self.frames
        )

    def _lexeme(self, kind: int, row: int) -> int:
        """Tokens that end a scalar, from anywhere in it."""
        rows = self._rows
        if kind == Shape.LITERAL:
            return 5
        if kind == Shape.NUMBER:
            highest = min(rows[row + sign + Bound.HIGH] for sign in (Number.POSITIVE, Number.NEGATIVE))
            return NUMBER + int(
                rows[row + Number.DIGITS] + max(0, -highest)
            )  # zeros after the point, to where a bound is
        if kind == Shape.WORDS:
            table, low, high = rows[row : row + 3]
            return 2 + max(rows[table + i * Key.LENGTH + Key.SIZE] for i in range(low, high))
        least, most, language, _ = rows[row : row + 4]
        if language == 0:
            return min(least, LONGEST) + 2
        return self._endings.lexemes.longest_end(language, min(least, LONGEST), most)

    def names(self, row: int) -> list[bytes]:
        """The keys of an object that have an entry, with quotes, and what comes before the value and after it."""
        between = b'"' + self._blanks.colon + self._blanks.comma
        return [b'"' + spelled(self._endings.reader.name(key)) + between for key in self._keys(row)]

    def other_key(self, row: int) -> int:
        """Tokens that end a key without an entry, from anywhere in it, and the colon."""
        language = self._rows[row + Object.LANGUAGE]
        return NEW_KEY + len(self._blanks.colon) + (self._endings.languages.ceiling(language) if language else 0)

    def opened(self, kind: int, row: int) -> int:
        """Tokens that end an object or array after its bracket: of the shortest, and of all entries that its keys may ask for."""
        frames = self._endings.frames
        implied = {i for found in frames.implied(row).values() for i in found} if kind == Shape.OBJECT else set()
        texts = [frames.of_shape(kind, row), *(frames.entry(row, i) for i in implied)]
        return sum(
            INFINITE if text is None else len(self._blanks.comma) + self._endings.reader.tokens(text) for text in texts
        )
