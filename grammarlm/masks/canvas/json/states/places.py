"""Which objects and arrays of a program can contain themselves: those are read with a stack. All others are part of the state,
unless that makes too many states."""

from __future__ import annotations

from collections.abc import Sequence

from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.cfg.components import components
from grammarlm.layout.json import INLINE, Array, Key, Object, Shape

FEW_COUNTS = 4  # of items, that multiply states without need for a stack


class Places:
    """The objects and arrays that a program's start leads to, each with those directly inside it."""

    def __init__(self, rows: Sequence[int], start: int):
        self._rows = rows
        self.inside: dict[int, list[int]] = {}
        self.copies: dict[int, list[int]] = {}  # of each those directly inside it, once for each of its keys or items
        self.kinds: dict[int, int] = {}
        self.unique: list[int] = []  # arrays whose items must differ
        self.languages: set[int] = set()  # of free keys, 0: any
        self.strings: set[int] = set()
        waiting = list(self._of_node(start))
        while waiting:
            row = waiting.pop()
            if row not in self.inside:
                nodes = self._object_nodes(row) if self.kinds[row] == Shape.OBJECT else self._array_nodes(row)
                self.copies[row] = [found for node in nodes for found in self._of_node(node)]
                self.inside[row] = [found for node in sorted(set(nodes)) for found in self._of_node(node)]
                waiting += self.inside[row]

    @property
    def has_free_keys(self) -> bool:
        return bool(self.languages)

    def _of_node(self, node: int) -> list[int]:
        """The objects and arrays among a node's alternatives."""
        rows, found = self._rows, list[int]()
        if node < 0:
            return found
        for i in range(rows[node]):
            kind, row = rows[node + 2 + 2 * i], rows[node + 3 + 2 * i]
            if kind == Shape.STRING:
                self.strings.add(row)
            if kind in (Shape.OBJECT, Shape.ARRAY):
                self.kinds[row] = kind
                found.append(row)
        return found

    def _object_nodes(self, row: int) -> list[int]:
        rows = self._rows
        count, keys = rows[row + Object.COUNT], rows[row + Object.KEYS]
        if count > INLINE:
            raise UnsupportedFeature(f"a canvas over an object of more than {INLINE} declared properties")
        nodes = [rows[keys + i * Key.LENGTH + Key.NODE] for i in range(count)]
        others = rows[row + Object.OTHERS]
        if others != -1:
            self.languages.add(rows[row + Object.LANGUAGE])
        if others == -2:
            cases = rows[row + Object.CASES]
            nodes += [rows[cases + i] for i in range(rows[row + Object.CASE_COUNT])]
        else:
            nodes.append(others)
        if obligations := rows[row + Object.OBLIGATIONS]:
            for i in range(rows[obligations]):
                nodes += rows[obligations + 2 + 3 * i : obligations + 4 + 3 * i]
        return nodes

    def _array_nodes(self, row: int) -> list[int]:
        rows = self._rows
        if rows[row + Array.UNIQUE]:
            self.unique.append(row)
        nodes = []
        for position in range(rows[row + Array.PREFIX] + 1):
            ways = rows[rows[row + Array.ITEMS] + position]
            nodes += [rows[ways + 1 + 2 * i] for i in range(rows[ways])]
        return nodes

    def counted(self) -> set[int]:
        """The objects and arrays inside arrays whose items are counted: part of the state, they are there once for each count."""
        found = set[int]()
        for row, inside in self.inside.items():
            if self.kinds[row] == Shape.ARRAY:
                most, least = self._rows[row + Array.MOST], self._rows[row + Array.LEAST]
                found.update(inside if max(most, least) > FEW_COUNTS else ())
        return found

    def recursive(self) -> set[int]:
        """Those that can contain themselves."""
        groups = components(self.inside, lambda: None)
        return {row for group in groups if len(group) > 1 or group[0] in self.inside[group[0]] for row in group}
