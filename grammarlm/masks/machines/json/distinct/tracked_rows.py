"""What the rows of a program say about its items: which arrays are tracked, and what one more member of an item costs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from grammarlm.layout.json import ARRAY_BIT, ROW, Array, Object, Shape
from grammarlm.masks.machines.json.program import JsonProgram


class TrackedRows:
    """The tracked arrays of one program, by the numbers of their rows as frames have them: with ARRAY_BIT."""

    def __init__(self, program: JsonProgram):
        self._rows = memoryview(program.rows)
        self.rows = frozenset(row | ARRAY_BIT for row in program.tracked)

    def ways(self, array: int, position: int) -> Iterator[int]:
        """The nodes that an item of an array may have."""
        at = (array & ROW) + Array.PREFIX
        ways = self._rows[self._rows[(array & ROW) + Array.ITEMS] + min(position, self._rows[at])]
        yield from (self._rows[ways + 1 + 2 * i] for i in range(self._rows[ways]))

    @cached_property
    def fewest_items(self) -> int:
        """The most items that a tracked array must have before it may end."""
        return max(map(self._fewest, self.rows))

    def _fewest(self, array: int) -> int:
        rows, at = self._rows, array & ROW
        bounds = rows[at + Array.BOUNDS]
        return max(rows[at + Array.LEAST], *(rows[bounds + 2 * i] for i in range(rows[at + Array.CONTAINS])), 0)

    @cached_property
    def member_nodes(self) -> frozenset[int]:
        """The nodes of what items can always get more of: the values of keys without an entry, the items of arrays."""
        return frozenset(node for kind, row in self._items for node in self._more(kind, row))

    @cached_property
    def takes_any_key(self) -> bool:
        """Are all items that are not scalars objects that take any key?"""
        composite = [(kind, row) for kind, row in self._items if kind in (Shape.OBJECT, Shape.ARRAY)]
        return all(kind == Shape.OBJECT and self._takes_any_key(row) for kind, row in composite)

    @cached_property
    def _items(self) -> list[tuple[int, int]]:
        """Kind and row of what the items of tracked arrays can be."""
        positions = ((array, p) for array in self.rows for p in range(self._rows[(array & ROW) + Array.PREFIX] + 1))
        nodes = {node for array, position in positions for node in self.ways(array, position)}
        return [each for node in nodes for each in self._alternatives(node)]

    def _more(self, kind: int, row: int) -> Iterator[int]:
        if kind == Shape.ARRAY:
            yield from self.ways(row, self._rows[row + Array.PREFIX])
        elif kind == Shape.OBJECT and (others := self._rows[row + Object.OTHERS]) != -1:
            cases = self._rows[row + Object.CASES]
            count = self._rows[row + Object.CASE_COUNT] if others < 0 else 0
            yield from (node for node in (others, *self._rows[cases : cases + count]) if node >= 0)

    def _takes_any_key(self, row: int) -> bool:
        return self._rows[row + Object.OTHERS] >= 0 and self._rows[row + Object.LANGUAGE] == 0

    def _alternatives(self, node: int) -> Iterator[tuple[int, int]]:
        """Kind and row of each."""
        for i in range(self._rows[node]):
            yield self._rows[node + 2 + 2 * i], self._rows[node + 3 + 2 * i]
