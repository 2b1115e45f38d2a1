"""The shortest values of nodes. Nodes contain each other, so a worklist of all those met runs until none gets shorter
(a fixpoint)."""

from __future__ import annotations

from ....layout.json import ARRAY_BIT, Array, Kind, Object, Shape
from ...completion import LONGEST
from .arrays import LITERALS, EndingsOfArrays
from .machine import OPEN, Scratch
from .objects import MOST_EXTRA
from .texts import joined


class EndingsOfValues(EndingsOfArrays):
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
        self._queue, self._users = [root], {}
        self._pending, self._met = {root}, {root}
        try:
            while self._queue:
                self._program.clock.check()
                node = self._queue.pop()
                self._pending.discard(node)
                if node in self._settled:
                    continue
                self._solving = node
                found = self._shortest(node)
                self._solving = None
                known = self._values.get(node)
                if found is None or (known is not None and self._measure(known) <= self._measure(found)):
                    continue
                self._values[node] = found
                for user in self._users.get(node, ()):
                    if user not in self._pending:
                        self._pending.add(user)
                        self._queue.append(user)
        finally:
            self._solving = None
        self._settled |= self._met

    def _shortest(self, node: int) -> bytes | None:
        rows = self._rows
        found = [self._of_shape(rows[node + 2 + 2 * i], rows[node + 3 + 2 * i]) for i in range(rows[node])]
        texts = [text for text in found if text is not None and len(text) <= LONGEST]
        return min(texts, key=self._measure, default=None)

    def _of_shape(self, kind: int, row: int) -> bytes | None:
        if kind == Shape.LITERAL:
            return LITERALS[row]
        if kind in (Shape.STRING, Shape.WORDS, Shape.NUMBER):
            return self._lexeme_of(kind, row)
        rows = self._rows
        if kind == Shape.OBJECT:
            words = [0, row, 0, 0, 0, 0, rows[row + Object.NEEDED], 0]
            return joined(b"{", self._object(row, words, OPEN))
        words = [0, row | ARRAY_BIT, 0, 0, 0, 0, 0, 0]
        if rows[row + Array.UNIQUE] and rows[row + Array.LEAST] > 1:
            return self._unique_array(row, words)
        return joined(b"[", self._array(row, words, OPEN))

    def _unique_array(self, row: int, words: list[int]) -> bytes | None:
        """An array whose items must differ. They contain no other nodes: strings, numbers and literals."""
        solving, self._solving = self._solving, None
        known = ("unique", row)
        try:
            if known not in self._rests:
                if self._rows[row + Array.LEAST] > MOST_EXTRA:
                    return None
                with Scratch(self):
                    start = self.record(int(Kind.ENTRY) | row << 11, 0, 0, self._alone(words))
                    self._rests[known] = joined(b"[", self._array_by_machine(start, row, words, OPEN))
            return self._rests[known]
        finally:
            self._solving = solving

    def _lexeme_of(self, kind: int, row: int) -> bytes | None:
        """A string or number, from its beginning."""
        rows = self._rows
        if kind == Shape.NUMBER:
            return self._lexeme(int(Kind.NUMBER) | row << 11, 0, 0)
        if kind == Shape.WORDS:
            x = rows[row + 1] | rows[row + 2] << 21
            return joined(b'"', self._lexeme(int(Kind.WORD) | rows[row] << 11, x, 0))
        return joined(b'"', self._lexeme(int(Kind.STRING) | row << 11, rows[row + 2], 0))
