"""Rows of one length of a machine with a stack, with what precedes and what may follow them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.protocol import Passes

from .closings import Closings
from .passes import StackPasses
from .table import StackTable

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
        begins_with_few: bool = False,
        others: Sequence[tuple[int, Stack]] = (),
    ):
        """`begins_with_few`: are first rows asked of few open brackets (few_open.py)? Those of JSON are by themselves.
        `others`: where else rows over the table begin: where one adds stacks all numbers are forgotten, so they come together."""
        self.table, self.classes, self.length, self.check = table, classes, length, check
        self.closings = Closings(table, room, check)
        self.begins_with_few = begins_with_few
        self.room, self.starts, self._others = room, starts, others
        self._left_border: tuple[object, int] | None = None
        # By position and row, which has no token there: what it allows.
        self.known_rows: dict[tuple[int, bytes], np.ndarray] = {}

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

    def passes(self, classes: np.ndarray, before: Passes | None) -> StackPasses:
        like = before if isinstance(before, StackPasses) and before.grid is self else None
        if like is not None and (like.row == classes).all():
            return like
        return StackPasses(self, classes, like)
