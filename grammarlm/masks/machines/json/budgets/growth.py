"""Upper bound, for a whole schema, on how much one token can lengthen the shortest completion of a JSON text.

A token opens nested values, at most as many as it has brackets, and each of them then needs its shortest text; it may
begin a key, which then needs its value and the keys it implies, or a long word. So the bound is the costliest path
through that many nested nodes. While the rest of a budget exceeds that, masks need no check (budget.py).
"""

from __future__ import annotations

import functools
import re

from grammarlm.layout.json import Array, Key, Object, Shape
from grammarlm.layout.numbers import Number
from grammarlm.masks.filters.budget import INFINITE
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.vocab.vocabulary import Vocabulary

SPARE = 8  # tokens: half a character, half an escape, a quote, ...
NUMBER = 15  # bytes of the rest of any number, besides its digits
OPENING = re.compile(rb"\[|\{(?![{\[\w])")


def growth_of(endings: Endings) -> int:
    """A bound for all texts of the program; INFINITE where none is known."""
    return _most(Nodes(endings), endings.reader.program.vocab)


@functools.lru_cache(maxsize=8)
def most_openings(vocab: Vocabulary) -> int:
    """The largest number of nested values that one token can open."""
    data, offsets = vocab.data.tobytes(), vocab.offsets
    texts = (data[offsets[i] : offsets[i + 1]] for i in range(len(offsets) - 1))
    return 1 + max((len(OPENING.findall(text)) for text in texts if b"[" in text or b"{" in text), default=0)


class Nodes:
    """The nodes of a program that its texts can reach, and what each alternative of them has below it."""

    def __init__(self, endings: Endings):
        self._program, self._endings, self._rows = endings.reader.program, endings, endings.reader.rows
        self.start = int(self._program.json.start)
        # of each node the alternatives: kind, row, and its children with the extra cost of each
        self.found: dict[int, list[tuple[int, int, list[tuple[int, int]]]]] = {}
        rows, queue = self._rows, [self.start]
        while queue:
            node = queue.pop()
            if node in self.found:
                continue
            self._program.clock.check()
            ways = self.found[node] = []
            for i in range(rows[node]):
                kind, row = rows[node + 2 + 2 * i], rows[node + 3 + 2 * i]
                children = self._children(kind, row)
                ways.append((kind, row, children))
                queue += [child for child, _ in children]

    def must_differ(self) -> bool:
        """Has a text items that must differ, or keys of any name of which more must come?"""
        return any(
            (kind == Shape.ARRAY and self._rows[row + Array.UNIQUE])
            or (kind == Shape.OBJECT and self._endings.frames.takes_others(row))
            for ways in self.found.values()
            for kind, row, _ in ways
        )

    def _children(self, kind: int, row: int) -> list[tuple[int, int]]:
        rows = self._rows
        if kind == Shape.ARRAY:
            at = rows[row + Array.ITEMS]
            lists = {rows[at + i] for i in range(rows[row + Array.PREFIX] + 1)}
            return [(rows[ways + 1 + 2 * i], 2) for ways in lists for i in range(rows[ways])]
        if kind != Shape.OBJECT:
            return []
        implied = self._endings.frames.implied(row)
        keys = rows[row + Object.KEYS]
        children: dict[int, int] = {}
        for i in range(rows[row + Object.COUNT]):
            key = keys + i * Key.LENGTH
            if rows[key + Key.NODE] < 0:
                continue
            extra = self._endings.reader.tokens(b'"' + self._endings.reader.name(key) + b'":,') + 2
            for j in implied.get(i, ()):
                extra += self._tokens(self._endings.frames.entry(row, j)) + 1
            node = rows[key + Key.NODE]
            children[node] = max(children.get(node, 0), extra)
        others = rows[row + Object.OTHERS]
        if others != -1:
            language = rows[row + Object.LANGUAGE]
            extra = 5 + (self._endings.languages.ceiling(language) if language else 0)
            for node in self._endings.frames.other_nodes(row):
                children[node] = max(children.get(node, 0), extra)
            for _, node, meeting in self._endings.frames.obligations(row):
                children[meeting] = children.get(node, extra)
        return list(children.items())

    def _tokens(self, text: bytes | None) -> int:
        return INFINITE if text is None else self._endings.reader.tokens(text)

    def cost(self, kind: int, row: int) -> int:
        """Tokens that end the alternative, from anywhere in its own lexeme."""
        rows, endings = self._rows, self._endings
        if kind == Shape.LITERAL:
            return 5
        if kind == Shape.NUMBER:
            return NUMBER + int(rows[row + Number.DIGITS])
        if kind == Shape.WORDS:
            table, low, high = rows[row], rows[row + 1], rows[row + 2]
            longest = max(range(low, high), key=lambda i: rows[table + i * Key.LENGTH + Key.SIZE])
            return rows[table + longest * Key.LENGTH + Key.SIZE] + 2
        if kind == Shape.STRING:
            least, most, language, _ = (rows[row + i] for i in range(4))
            if language == 0:
                return min(least, 1 << 20) + 2
            return endings.lexemes.longest_end(language, min(least, 1 << 20), most)
        text = endings.frames.of_shape(kind, row)
        return self._tokens(text)


def _most(nodes: Nodes, vocab: Vocabulary) -> int:
    """The bound, level by level: what a node needs after so many values have been opened in it."""
    ways = {
        node: [(nodes.cost(kind, row), children) for kind, row, children in found]
        for node, found in nodes.found.items()
    }
    openings = most_openings(vocab)
    needs = {node: max((cost for cost, _ in found), default=0) for node, found in ways.items()}
    alone = dict(needs)
    for _ in range(openings - 1):
        deeper = {}
        for node, found in ways.items():
            most = alone[node]
            for cost, children in found:
                for child, extra in children:
                    most = max(most, cost + extra + needs[child])
            deeper[node] = most
        if deeper == needs:
            break
        needs = deeper
    largest = needs[nodes.start]
    for found in ways.values():
        for _, children in found:
            for child, extra in children:
                largest = max(largest, extra + needs[child])
    return min(largest + SPARE, INFINITE)
