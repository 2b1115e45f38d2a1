"""What the rows of a program say about its items: which arrays are tracked, and which containers can always become another value.

A container is **free** where something more can always come, of which there is no end: another key without an entry, another item.
An item with a free container around the point where it is read can differ from any finite number of others, so only the bracket
that closes an equal one needs to be refused. All others are searched (search.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from grammarlm.layout.json import ARRAY_BIT, ROW, Array, Object, Shape

from .number_ends import FewValues

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.compile.program import JsonProgram

MOST_NESTED = 8  # levels of arrays that are asked whether their items are endless; those below count as not


class Freedom:
    """The containers of one program, by the numbers of their rows as frames have them: arrays with ARRAY_BIT."""

    def __init__(self, program: JsonProgram):
        self._rows = memoryview(program.rows)
        self.tracked = frozenset(row | ARRAY_BIT for row in program.tracked)  # arrays whose objects and arrays must differ
        self.numbers = FewValues(program.numbers)
        self._free: dict[int, bool] = {}
        self._endless: dict[int, bool] = {}

    def is_free(self, row: int) -> bool:
        """Can a container of this row, wherever it stands, always become another value?"""
        known = self._free.get(row)
        if known is None:
            known = self._free[row] = self._has_endless_items(row & ROW, 0) if row & ARRAY_BIT else self._takes_any_key(row)
        return known

    def _takes_any_key(self, row: int) -> bool:
        rows = self._rows
        others = rows[row + Object.OTHERS]
        return rows[row + Object.MOST] < 0 and (others >= 0 or (others == -2 and rows[row + Object.DEFAULT] > 0))

    def _has_endless_items(self, row: int, depth: int) -> bool:
        rows = self._rows
        if rows[row + Array.MOST] >= 0 or rows[row + Array.CONTAINS] or depth > MOST_NESTED:
            return False
        nodes = list(self._ways(row, rows[row + Array.PREFIX]))
        must_differ = rows[row + Array.UNIQUE] or (row | ARRAY_BIT) in self.tracked
        return any(self._is_endless(node, depth + 1) for node in nodes) if must_differ else bool(nodes)

    def _ways(self, row: int, position: int) -> Iterator[int]:
        """The nodes that an item of an array may have."""
        ways = self._rows[self._rows[row + Array.ITEMS] + position]
        yield from (self._rows[ways + 1 + 2 * i] for i in range(self._rows[ways]))

    def alternatives(self, node: int) -> Iterator[tuple[int, int]]:
        """Kind and row of each."""
        for i in range(self._rows[node]):
            yield self._rows[node + 2 + 2 * i], self._rows[node + 3 + 2 * i]

    def _is_endless(self, node: int, depth: int) -> bool:
        """Has a node certainly no last value?"""
        for kind, row in self.alternatives(node):
            if kind == Shape.OBJECT and self._takes_any_key(row):
                return True
            if kind == Shape.ARRAY and self._has_endless_items(row, depth):
                return True
            if kind == Shape.STRING and self._rows[row + 1] < 0 and self._rows[row + 2] == 0:
                return True
        return False

    def has_endless_items(self, row: int) -> bool:
        """Is there always another item for a tracked array, at each of its positions?"""
        known = self._endless.get(row)
        if known is None:
            at = row & ROW
            known = self._endless[row] = all(
                any(self._is_endless(node, 0) for node in self._ways(at, position))
                for position in range(self._rows[at + Array.PREFIX] + 1)
                if any(True for _ in self._ways(at, position))
            )
        return known

    @cached_property
    def all_items_are_free(self) -> bool:
        """Are the objects and arrays that are items of tracked arrays all free objects? Then how much an end that repeats none
        of them is longer has a bound."""
        return all(
            kind not in (Shape.OBJECT, Shape.ARRAY) or (kind == Shape.OBJECT and self._takes_any_key(row))
            for array in self.tracked
            for kind, row in self._item_kinds(array & ROW)
        )

    @cached_property
    def fewest_items(self) -> int:
        """The most items that a tracked array must have before it may end."""
        return max(map(self._fewest, self.tracked))

    def _fewest(self, array: int) -> int:
        rows, at = self._rows, array & ROW
        bounds = rows[at + Array.BOUNDS]
        return max(rows[at + Array.LEAST], *(rows[bounds + 2 * i] for i in range(rows[at + Array.CONTAINS])), 0)

    def _item_kinds(self, array: int) -> Iterator[tuple[int, int]]:
        for position in range(self._rows[array + Array.PREFIX] + 1):
            for node in self._ways(array, position):
                yield from self.alternatives(node)

    @cached_property
    def other_nodes(self) -> frozenset[int] | None:
        """The nodes of the values of keys without an entry, where the items of tracked arrays that are objects take any key, and none
        is an array; None elsewhere."""
        found = set()
        for array in self.tracked:
            for kind, row in self._item_kinds(array & ROW):
                if kind == Shape.ARRAY or (kind == Shape.OBJECT and self._rows[row + Object.OTHERS] < 0):
                    return None
                if kind == Shape.OBJECT:
                    found.add(self._rows[row + Object.OTHERS])
        return frozenset(found)
