"""What ends an array: items that must come, must be contained, or must differ from one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from grammarlm.layout.json import ARRAY_BIT, ROW, Array, Frame, Shape
from grammarlm.masks.machines.regular.completion import LONGEST

from .lexemes import ENOUGH, LEXEMES, LexemeEndings
from .objects import MOST_EXTRA
from .reader import AFTER, COMMA, Reader, Step
from .texts import chained

LITERALS = {1: b"true", 2: b"false", 3: b"null"}


class ArrayEndings:
    """What ends arrays of one program. `value`: the shortest text known of a node's values; `of_shape`: of one alternative."""

    def __init__(
        self,
        reader: Reader,
        lexemes: LexemeEndings,
        value: Callable[[int], bytes | None],
        of_shape: Callable[[int, int], bytes | None],
    ):
        self._reader, self._lexemes, self._value, self._of_shape = reader, lexemes, value, of_shape

    def _ways(self, row: int, position: int) -> list[tuple[int, int]]:
        rows = self._reader.rows
        at = rows[rows[row + Array.ITEMS] + min(position, rows[row + Array.PREFIX])]
        return [(rows[at + 1 + 2 * i], rows[at + 2 + 2 * i]) for i in range(rows[at])]

    def text(self, row: int, words: list[int], where: int) -> bytes | None:
        rows = self._reader.rows
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
            too_few = [so_far[k] < rows[bounds + 2 * k] for k in range(kinds)]
            fitting = []
            for node, counts in self._ways(row, position):
                full = any(counts >> k & 1 and 0 <= rows[bounds + 2 * k + 1] <= so_far[k] for k in range(kinds))
                value = None if full else self._value(node)
                if value is not None:
                    helps = sum(too_few[k] for k in range(kinds) if counts >> k & 1)
                    fitting.append((-helps, len(value), value, counts))
            if not fitting or 0 <= most <= position:
                return None
            useful, _, value, counts = min(fitting)
            if useful == 0 and any(too_few) and position >= max(prefix, least):
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
        texts = [value for node in nodes if (value := self._value(node)) is not None]
        return min(texts, key=lambda t: (self._reader.tokens(t), len(t)), default=None)

    def text_by_reading(self, record: int, row: int, words: list[int], where: int) -> bytes | None:
        """Item by item: the first that is allowed."""
        supplies: dict[int, tuple[list[bytes], Iterator[bytes]]] = {}
        length = 0

        def following(record: int, comma: bytes, number: int) -> Step | None:
            nonlocal length
            for node, _ in sorted(self._ways(row, words[Frame.COUNT] + number), key=lambda way: -way[1].bit_count()):
                supply = supplies.setdefault(node, ([], self._several(node)))
                made = self._next_item(record, comma, supply)
                if made is not None:
                    length += len(comma) + len(made[1])
                    return made if length <= LONGEST else None
            return None

        return self._reader.text_by_reading(record, where, b"]", MOST_EXTRA, following)

    def _next_item(self, record: int, comma: bytes, supply: tuple[list[bytes], Iterator[bytes]]) -> Step | None:
        """The first value that is allowed and can be followed by something; values that are refused are never tried again."""
        passed, more = supply
        for number, value in enumerate(chained(passed.copy(), more, ENOUGH)):
            self._reader.program.clock.check()
            after = self._reader.read(record, comma + value)
            if after and self._goes_on(after):
                if number >= len(passed) and not self._repeats(record, comma, value):
                    passed.append(value)
                return after, value
        return None

    def _goes_on(self, record: int) -> bool:
        return bool(self._reader.read(record, b",") or self._reader.read(record, b"]"))

    def _repeats(self, record: int, comma: bytes, value: bytes) -> bool:
        """Is a second occurrence refused? Then it need not be tried again."""
        again = self._reader.read(record, comma + value + b"," + value)
        return not (again and self._goes_on(again))

    def is_unique(self, f: int) -> bool:
        row = self._reader.frame(f)[Frame.ROW]
        return bool(row & ARRAY_BIT and self._reader.rows[(row & ROW) + Array.UNIQUE])

    def _several(self, node: int) -> Iterator[bytes]:
        """Different values of a node, short ones first."""
        rows = self._reader.rows
        for i in range(rows[node]):
            kind, row = rows[node + 2 + 2 * i], rows[node + 3 + 2 * i]
            if kind == Shape.LITERAL:
                yield LITERALS[row]
            elif kind in LEXEMES:
                prefix, c, x = self._lexemes.begun(kind, row)
                yield from (prefix + text for text in self._lexemes.lexemes(c, x, 0))
            elif (value := self._of_shape(kind, row)) is not None:
                yield value
