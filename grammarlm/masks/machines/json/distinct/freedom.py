"""What the rows of a program say about its items: which arrays are tracked, and which containers can always become another value.

A container is **free** where something more can always come, of which there is no end: another key without an entry, another item.
An item with a free container around the point where it is read can differ from any finite number of others, so only the bracket
that closes an equal one needs to be refused. All others are searched (search.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from grammarlm.layout.json import ARRAY_BIT, INLINE, ROW, Array, Frame, Key, Object, Shape
from grammarlm.layout.numbers import Flag, Number

from .number_ends import FewValues

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.compile.program import JsonProgram

MOST_NESTED = 4  # levels that are asked whether a value is endless; those below count as not


class Freedom:
    """The containers of one program, by the numbers of their rows as frames have them: arrays with ARRAY_BIT."""

    def __init__(self, program: JsonProgram, is_ordered: bool):
        self._rows = memoryview(program.rows)
        self._endless_strings = program.endless_strings
        self.is_ordered = is_ordered  # come the keys of objects in the schema's order?
        self._open: dict[int, list[int]] = {}  # by row of an object: its keys whose values have no end
        self.tracked = frozenset(
            row | ARRAY_BIT for row in program.tracked
        )  # arrays whose objects and arrays must differ
        self.numbers = FewValues(program.numbers)
        self._free: dict[int, bool] = {}
        self._endless: dict[int, bool] = {}

    def is_free(self, row: int) -> bool:
        """Can a container of this row, wherever it stands, always become another value?"""
        known = self._free.get(row)
        if known is None:
            known = self._free[row] = (
                self._has_endless_items(row & ROW, 0) if row & ARRAY_BIT else self._takes_any_key(row)
            )
        return known

    def is_open(self, words: list[int], low: int, high: int) -> bool:
        """Can an object, given by its frame, get a key whose value has no end? A key that is being read is one of low to high - 1:
        that one counts, or one that may follow it."""
        rows, row = self._rows, words[Frame.ROW]
        if rows[row + Object.MOST] >= 0 or rows[row + Object.IMPLIED] or rows[row + Object.COUNT] > INLINE:
            return False
        keys, seen = rows[row + Object.KEYS], words[Frame.SEEN]
        first = 0
        if self.is_ordered:
            first = max([words[Frame.LAST], *(1 + rows[keys + i * Key.LENGTH + Key.RANK] for i in range(low, high))])
        for i in self._endless_keys(row):
            if not seen >> i & 1 and (rows[keys + i * Key.LENGTH + Key.RANK] >= first or (low, high) == (i, i + 1)):
                return True
        return False

    def _endless_keys(self, row: int) -> list[int]:
        known = self._open.get(row)
        if known is None:
            keys = self._rows[row + Object.KEYS]
            nodes = [self._rows[keys + i * Key.LENGTH + Key.NODE] for i in range(self._rows[row + Object.COUNT])]
            usable = self._rows[row + Object.USABLE]
            known = [i for i, node in enumerate(nodes) if usable >> i & 1 and self.is_endless(node)]
            self._open[row] = known
        return known

    def is_endless(self, node: int) -> bool:
        """Has a node certainly no last value?"""
        return self._is_endless(node, 0)

    def number_is_endless(self, row: int) -> bool:
        """Can any digits of a number go on to a value? A row of zero alone has no other digits."""
        return bool(self._rows[row + Number.FLAGS] & Flag.OPEN) and self.numbers.of(row) is None

    def string_is_endless(self, row: int) -> bool:
        """Can a string of no language always go on?"""
        return self._rows[row + 1] < 0

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
        for kind, row in self.alternatives(node):
            if kind == Shape.OBJECT and self._takes_any_key(row):
                return True
            if kind == Shape.ARRAY and self._has_endless_items(row, depth):
                return True
            if kind == Shape.STRING and (
                row in self._endless_strings or self._rows[row + 1 : row + 3].tolist() == [-1, 0]
            ):
                return True
            if kind == Shape.NUMBER and self.number_is_endless(row):
                return True
            if kind == Shape.OBJECT and depth < MOST_NESTED and self._has_endless_value(row, depth):
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

    def _has_endless_value(self, row: int, depth: int) -> bool:
        rows = self._rows
        if rows[row + Object.MOST] >= 0 or rows[row + Object.IMPLIED] or rows[row + Object.COUNT] > INLINE:
            return False
        keys, usable = rows[row + Object.KEYS], rows[row + Object.USABLE]
        nodes = (rows[keys + i * Key.LENGTH + Key.NODE] for i in range(rows[row + Object.COUNT]) if usable >> i & 1)
        return any(self._is_endless(node, depth + 1) for node in nodes)

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
        """The nodes of the values of keys without an entry, where the items of tracked arrays that are objects take any key, and no
        item is an array; None elsewhere."""
        found = set()
        for array in self.tracked:
            for kind, row in self._item_kinds(array & ROW):
                if kind == Shape.ARRAY or (kind == Shape.OBJECT and self._rows[row + Object.OTHERS] < 0):
                    return None
                if kind == Shape.OBJECT:
                    found.add(self._rows[row + Object.OTHERS])
        return frozenset(found)
