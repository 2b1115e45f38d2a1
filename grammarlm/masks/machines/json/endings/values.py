"""The shortest values of nodes. Nodes contain each other, so a worklist of all those met runs until none gets shorter
(a fixpoint)."""

from __future__ import annotations

from collections import deque

from grammarlm.layout.json import ARRAY_BIT, Array, Kind, Object, Shape
from grammarlm.masks.machines.regular.completion import LONGEST

from .arrays import LITERALS, ArrayEndings
from .lexemes import LEXEMES, LexemeEndings
from .objects import MOST_EXTRA, ObjectEndings
from .reader import OPEN, Reader
from .texts import joined


class Values:
    """The shortest values of one program's nodes."""

    def __init__(self, reader: Reader, lexemes: LexemeEndings):
        self._reader, self._lexemes = reader, lexemes
        self.objects = ObjectEndings(reader, lexemes.languages, self.value)
        self.arrays = ArrayEndings(reader, lexemes, self.value, self.of_shape)
        self._values: dict[int, bytes] = {}  # the shortest known, by node
        self._settled: set[int] = set()
        self._solving: int | None = None
        self._users: dict[int, set[int]] = {}
        self._queue: deque[int] = deque()
        self._pending: set[int] = set()
        self._met: set[int] = set()

    def value(self, node: int) -> bytes | None:
        """The shortest text known of a node's values."""
        if self._solving is not None:
            self._users.setdefault(node, set()).add(self._solving)
            if node not in self._settled and node not in self._met:
                self._met.add(node)
                self._pending.add(node)
                self._queue.append(node)
            return self._values.get(node)
        if node not in self._settled:
            self._solve(node)
        return self._values.get(node)

    def _solve(self, root: int) -> None:
        self._queue, self._users = deque([root]), {}
        self._pending, self._met = {root}, {root}
        try:
            while self._queue:
                self._reader.program.clock.check()
                node = self._queue.pop()
                self._pending.discard(node)
                if node in self._settled:
                    continue
                self._solving = node
                found = self._shortest(node)
                self._solving = None
                known = self._values.get(node)
                if found is None or (known is not None and self._reader.measure(known) <= self._reader.measure(found)):
                    continue
                self._values[node] = found
                for user in self._users.get(node, ()):
                    if user not in self._pending:
                        self._pending.add(user)
                        self._queue.appendleft(user)  # after all that waits: it may use much of that, too
        finally:
            self._solving = None
        self._settled |= self._met

    def _shortest(self, node: int) -> bytes | None:
        rows = self._reader.rows
        found = [self.of_shape(rows[node + 2 + 2 * i], rows[node + 3 + 2 * i]) for i in range(rows[node])]
        texts = [text for text in found if text is not None and len(text) <= LONGEST]
        return min(texts, key=self._reader.measure, default=None)

    def of_shape(self, kind: int, row: int) -> bytes | None:
        if kind == Shape.LITERAL:
            return LITERALS[row]
        if kind in LEXEMES:
            prefix, c, x = self._lexemes.begun(kind, row)
            return joined(prefix, self._lexemes.lexeme(c, x, 0))
        rows = self._reader.rows
        if kind == Shape.OBJECT:
            words = [0, row, 0, 0, 0, 0, rows[row + Object.NEEDED], 0]
            return joined(b"{", self.objects.text(row, words, OPEN))
        words = [0, row | ARRAY_BIT, 0, 0, 0, 0, 0, 0]
        if rows[row + Array.UNIQUE] and rows[row + Array.LEAST] > 1:
            return self._unique_array(row, words)
        return joined(b"[", self.arrays.text(row, words, OPEN))

    def _unique_array(self, row: int, words: list[int]) -> bytes | None:
        """An array whose items must differ. They contain no other nodes: strings, numbers and literals."""
        solving, self._solving = self._solving, None
        known = ("unique", row)
        try:
            if known not in self._reader.rests:
                if self._reader.rows[row + Array.LEAST] > MOST_EXTRA:
                    return None
                with self._reader.scratch():
                    start = self._reader.record(int(Kind.ENTRY) | row << 11, 0, 0, self._reader.alone(words))
                    self._reader.rests[known] = joined(b"[", self.arrays.text_by_reading(start, row, words, OPEN))
            return self._reader.rests[known]
        finally:
            self._solving = solving
