"""Rows of one length of a machine with a stack, with what precedes and what may follow them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.protocol import Passes

from .arena import TableArrays, Workshop
from .passes import StackPasses
from .table import ROOT, StackTable
from .tail import Closings

Sets = dict[int, int]  # control -> set of nodes, bit n = node n
Stack = tuple[int, ...]  # symbols, the top last, without ROOT


class StackGrid:
    """Rows of one length from some (control, stack)."""

    def __init__(
        self,
        table: StackTable,
        classes: TokenClasses,
        length: int,
        starts: list[tuple[int, Stack]],
        room: int,
        check: Callable[[], None],
        arrays: TableArrays | None = None,
        begins_with_few: bool = False,
        others: Sequence[tuple[int, Stack]] = (),
    ):
        """`begins_with_few`: are first rows asked of few open brackets (few_open.py)? Those of JSON are by themselves.
        `others`: where else rows over the table begin: where one adds stacks all numbers are forgotten, so they come together."""
        self.table, self.classes, self.length, self.check = table, classes, length, check
        self.closings = Closings(table, room, check)
        self._arrays, self.begins_with_few = arrays, begins_with_few
        self.room, self.starts, self._others = room, starts, others
        self._begin(starts)
        kinds = len(table.pushes)
        self.symbols = [*self.first_symbols, *(table.pushes[kinds - 1 - k][0] for k in range(kinds))]  # by kind
        self._left_border: tuple[object, int] | None = None
        # By position and row, which has no token there: what it allows.
        self.known_rows: dict[tuple[int, bytes], np.ndarray] = {}

    @cached_property
    def arrays(self) -> TableArrays:
        return self._arrays or TableArrays(self.table)

    @cached_property
    def workshop(self) -> Workshop:
        return Workshop(self)

    def left_border(self) -> int:
        """The state at the left edge of a row, among the table's sets, whose lock is held."""
        sets = self.table.sets
        sets.admit([*self._others, *self.starts])
        if self._left_border is None or self._left_border[0] is not sets.generation:
            begin: dict[int, set[Stack]] = {}
            for control, stack in self.starts:
                begin.setdefault(control, set()).add(stack)
            self._left_border = sets.generation, sets.state(begin)
        return self._left_border[1]

    def borders(self) -> tuple[int, int]:
        """The states at both edges of a row; the lock is held."""
        return self.left_border(), self.table.sets.end(self.room, self.check)

    def _begin(self, starts: list[tuple[int, Stack]]) -> None:
        """The nodes of the stacks at the left edge. Node 0 is the empty stack."""
        self.first_symbols, self.first_parents = [ROOT], [1]
        numbers: dict[tuple[int, int], int] = {}
        self.begin: Sets = {}
        for control, stack in starts:
            node = 0
            for symbol in stack:
                if (node, symbol) not in numbers:
                    numbers[node, symbol] = len(self.first_symbols)
                    self.first_symbols.append(symbol)
                    self.first_parents.append(1 << node)
                node = numbers[node, symbol]
            self.begin[control] = self.begin.get(control, 0) | 1 << node
        self.first = len(self.first_symbols)

    @cached_property
    def with_symbol(self) -> list[int]:
        """By symbol, all nodes that have it."""
        found = [0] * self.table.symbols
        for node in range(self.first + self.length * len(self.table.pushes)):
            found[self.symbol_of(node)] |= 1 << node
        return found

    def symbol_of(self, node: int) -> int:
        if node < self.first:
            return self.first_symbols[node]
        return self.symbols[self.first + (node - self.first) % len(self.table.pushes)]

    def node(self, boundary: int, push: int) -> int:
        """The node that a push point (its index among the pushes) makes before a boundary: of one token the lowest first."""
        kinds = len(self.table.pushes)
        return self.first + (boundary - 1) * kinds + kinds - 1 - push

    def passes(self, classes: np.ndarray, before: Passes | None) -> StackPasses:
        like = before if isinstance(before, StackPasses) and before.grid is self else None
        if like is not None and (like.row == classes).all():
            return like
        return StackPasses(self, classes, like)
