"""What ends an array: items that must come, must be contained, or must differ from one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....kernels.cpu.json_step import ROW
from ....layout.json import ARRAY_BIT, Array, Frame, Kind, Shape
from ...completion import LONGEST
from .lexemes import ENOUGH
from .machine import AFTER, COMMA
from .objects import MOST_EXTRA, EndingsOfObjects
from .texts import chained

LITERALS = {1: b"true", 2: b"false", 3: b"null"}


class EndingsOfArrays(EndingsOfObjects):
    def rest(self, f: int, where: int) -> bytes | None:
        """What ends a frame, its bracket included: see completion.py."""
        raise NotImplementedError

    def _ways(self, row: int, position: int) -> list[tuple[int, int]]:
        rows = self._rows
        at = rows[rows[row + Array.ITEMS] + min(position, rows[row + Array.PREFIX])]
        return [(rows[at + 1 + 2 * i], rows[at + 2 + 2 * i]) for i in range(rows[at])]

    def _array(self, row: int, words: list[int], where: int) -> bytes | None:
        rows = self._rows
        count, least, most, prefix = (
            words[Frame.COUNT],
            rows[row + Array.LEAST],
            rows[row + Array.MOST],
            rows[row + Array.PREFIX],
        )
        kinds, bounds = rows[row + Array.CONTAINS], rows[row + Array.BOUNDS]
        so_far = [words[Frame.LAST] >> 16 * k & 0xFFFF for k in range(kinds)]
        must = where == COMMA
        found: list[bytes] = []
        length, position = 0, count
        while must or position < least or any(so_far[k] < rows[bounds + 2 * k] for k in range(kinds)):
            must = False
            lacks = [so_far[k] < rows[bounds + 2 * k] for k in range(kinds)]
            fitting = []
            for node, counts in self._ways(row, position):
                full = any(counts >> k & 1 and 0 <= rows[bounds + 2 * k + 1] <= so_far[k] for k in range(kinds))
                value = None if full else self.value(node)
                if value is not None:
                    helps = sum(lacks[k] for k in range(kinds) if counts >> k & 1)
                    fitting.append((-helps, len(value), value, counts))
            if not fitting or 0 <= most <= position:
                return None
            useful, _, value, counts = min(fitting)
            if useful == 0 and position >= max(prefix, least):
                return None  # what must be contained has no text yet
            for k in range(kinds):
                so_far[k] += counts >> k & 1
            found.append(value)
            position += 1
            length += len(value) + 1
            if length > LONGEST:
                return None
            if not kinds and position >= prefix and position < least:  # all that follow are alike
                rest = self._cheapest([node for node, _ in self._ways(row, position)])
                if rest is None or (least - position) * (len(rest) + 1) > LONGEST:
                    return None
                found += [rest] * (least - position)
                position = least
        text = b",".join(found)
        return (b"," if where == AFTER and text else b"") + text + b"]"

    def _cheapest(self, nodes: list[int]) -> bytes | None:
        texts = [value for node in nodes if (value := self.value(node)) is not None]
        return min(texts, key=lambda t: (self.tokens(t), len(t)), default=None)

    def _array_by_machine(self, record: int, row: int, words: list[int], where: int) -> bytes | None:
        """Item by item: the first that is allowed."""
        text, first, position = b"", where != AFTER, words[Frame.COUNT]
        is_closed = where != COMMA
        supplies: dict[int, list[Any]] = {}
        for _ in range(MOST_EXTRA):
            if is_closed and (after := self.read(record, b"]")) and self._ends(after):
                return text + b"]"
            is_closed = True
            comma = b"" if first else b","
            first = False
            for node, _ in sorted(self._ways(row, position), key=lambda way: -way[1].bit_count()):
                supply = supplies.setdefault(node, [[], self._several(node)])
                made = self._next_item(record, comma, supply)
                if made is not None:
                    record, text = made[0], text + comma + made[1]
                    break
            else:
                return None
            position += 1
            if len(text) > LONGEST:
                return None
            self._program.clock.check()
        return None

    def _next_item(self, record: int, comma: bytes, supply: list[Any]) -> tuple[int, bytes] | None:
        """The first value that is allowed and can be followed by something; values that are refused are never tried again."""
        passed = supply[0]
        for value in [*passed, None]:
            if value is None:
                break
            after = self.read(record, comma + value)
            if after and (self.read(after, b",") or self.read(after, b"]")):
                return after, value
        for _ in range(ENOUGH):
            value = next(supply[1], None)
            if value is None:
                return None
            after = self.read(record, comma + value)
            if after and (self.read(after, b",") or self.read(after, b"]")):
                if not self._repeats(record, comma, value):
                    passed.append(value)
                return after, value
        return None

    def _repeats(self, record: int, comma: bytes, value: bytes) -> bool:
        """Is a second occurrence refused? Then it need not be tried again."""
        again = self.read(record, comma + value + b"," + value)
        return not (again and (self.read(again, b",") or self.read(again, b"]")))

    def is_unique(self, f: int) -> bool:
        row = self._frame(f)[Frame.ROW]
        return bool(row & ARRAY_BIT and self._rows[(row & ROW) + Array.UNIQUE])

    def _item_rest(self, c: int, x: int, y: int, f: int) -> bytes | None:
        """The rest of an item that must differ from others, and of its array."""
        words = self._frame(f)
        record = self.record(c, x, y, self._alone(words))
        kind = c & 31
        first = self._lexeme(c, x, y)
        tried = 0
        for text in chained([] if first is None else [first], self._lexemes(c, x, y), ENOUGH):
            tried += 1
            after = self.read(record, text)
            if not after:
                continue
            if kind == Kind.NUMBER:  # a number ends with what follows it
                closed = self.read(after, b"]") or self.read(after, b",")
                if not closed:
                    continue
                rest = self._rest_behind_number(after)
            else:
                _, _, _, g = self.threads(after)[0]
                rest = self.rest(g, AFTER)
            if rest is not None:
                return text + rest
        return None

    def _rest_behind_number(self, record: int) -> bytes | None:
        """The array's rest where its last item is a number that has not been closed."""
        f = self.threads(record)[0][3]
        words = self._frame(f)
        row = words[Frame.ROW] & ROW
        return self._array_by_machine(record, row, words, AFTER)

    def _several(self, node: int) -> Iterator[bytes]:
        """Different values of a node, short ones first."""
        rows = self._rows
        for i in range(rows[node]):
            kind, row = rows[node + 2 + 2 * i], rows[node + 3 + 2 * i]
            if kind == Shape.LITERAL:
                yield LITERALS[row]
            elif kind == Shape.NUMBER:
                yield from self._lexemes(int(Kind.NUMBER) | row << 11, 0, 0)
            elif kind == Shape.WORDS:
                x = rows[row + 1] | rows[row + 2] << 21
                yield from (b'"' + t for t in self._lexemes(int(Kind.WORD) | rows[row] << 11, x, 0))
            elif kind == Shape.STRING:
                yield from (b'"' + t for t in self._lexemes(int(Kind.STRING) | row << 11, rows[row + 2], 0))
            elif (value := self.value(node)) is not None:
                yield value
