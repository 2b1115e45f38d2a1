"""The nodes that a schema's texts can reach, what each alternative of them has below it, and what ends its own lexeme."""

from __future__ import annotations

from grammarlm.layout.json import Array, Key, Object, Shape
from grammarlm.layout.numbers import Bound, Number
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.json.endings.completion import Endings

NUMBER = 15  # bytes of the rest of any number, besides its digits
LONGEST = 1 << 20  # characters that are counted


class Nodes:
    """The nodes of one program."""

    def __init__(self, endings: Endings):
        self._endings, self._rows = endings, endings.reader.rows
        self.start = int(endings.reader.program.json.start)
        self.found: dict[int, list[tuple[int, int, list[int]]]] = {}  # of each the alternatives: kind, row, nodes below
        queue = [self.start]
        while queue:
            node = queue.pop()
            if node in self.found:
                continue
            endings.reader.program.clock.check()
            alternatives = [self._rows[node + 2 + i : node + 4 + i] for i in range(0, 2 * self._rows[node], 2)]
            self.found[node] = [(kind, row, self._below(kind, row)) for kind, row in alternatives]
            queue += [below for _, _, nodes in self.found[node] for below in nodes]

    def _below(self, kind: int, row: int) -> list[int]:
        rows = self._rows
        if kind == Shape.ARRAY:
            at = rows[row + Array.ITEMS]
            lists = {rows[at + i] for i in range(rows[row + Array.PREFIX] + 1)}
            return [rows[ways + 1 + 2 * i] for ways in lists for i in range(rows[ways])]
        if kind != Shape.OBJECT:
            return []
        keys = range(
            rows[row + Object.KEYS], rows[row + Object.KEYS] + rows[row + Object.COUNT] * Key.LENGTH, Key.LENGTH
        )
        found = {rows[key + Key.NODE] for key in keys if rows[key + Key.NODE] >= 0}
        found.update(self._endings.frames.other_nodes(row))
        found.update(meeting for _, _, meeting in self._endings.frames.obligations(row))
        return list(found)

    def must_differ(self) -> bool:
        """Has a text items that must differ, or keys of any name of which more must come?"""
        return any(
            (kind == Shape.ARRAY and self._rows[row + Array.UNIQUE])
            or (kind == Shape.OBJECT and self._endings.frames.takes_others(row))
            for alternatives in self.found.values()
            for kind, row, _ in alternatives
        )

    def lexeme(self, kind: int, row: int) -> int:
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

    def key(self, row: int) -> int:
        """Tokens that end a key of an object, and the colon."""
        rows, reader, language = self._rows, self._endings.reader, self._rows[row + Object.LANGUAGE]
        names = (reader.name(rows[row + Object.KEYS] + i * Key.LENGTH) for i in range(rows[row + Object.COUNT]))
        other = 5 + (self._endings.languages.ceiling(language) if language else 0)
        return max(other, 2 + max((reader.tokens(b'"' + name + b'":,') for name in names), default=0))

    def frame(self, kind: int, row: int) -> int:
        """Tokens that end an object or array: of the shortest, and of all entries that its keys may ask for."""
        frames = self._endings.frames
        implied = {i for found in frames.implied(row).values() for i in found} if kind == Shape.OBJECT else set()
        texts = [frames.of_shape(kind, row), *(frames.entry(row, i) for i in implied)]
        return sum(INFINITE if text is None else 1 + self._endings.reader.tokens(text) for text in texts)
