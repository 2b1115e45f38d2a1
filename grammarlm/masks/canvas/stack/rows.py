"""What the rows of one length share: the table, what precedes and what may follow them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses

from .closings import Closings
from .heights import Ends
from .symbols import Stack
from .table import StackTable


class StackRows:
    """Rows of one length from some (control, stack)."""

    def __init__(
        self,
        table: StackTable,
        classes: TokenClasses,
        length: int,
        starts: list[tuple[int, Stack]],
        room: int,
        check: Callable[[], None],
        others: Sequence[tuple[int, Stack]] = (),
    ):
        """`others`: where else rows over the table begin: where one adds stacks all numbers are forgotten, so they come
        together."""
        self.table, self.classes, self.length, self.check = table, classes, length, check
        self.closings = Closings(table, room, check)
        self.room, self.starts, self._others = room, starts, others
        self._left_border: tuple[object, int] | None = None
        self._deep_borders: dict[tuple[object, int], int] = {}
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
        return self.left_border(), self.right_border()

    def right_border(self, height: int = 0) -> int:
        """The state at the right edge; `height`: that of the row, where one token may pop any number of symbols."""
        sets = self.table.sets
        if not height:
            return sets.end(self.room, self.check)
        key = sets.generation, height
        if key not in self._deep_borders:
            self._deep_borders = {key: Ends(sets, self.room, self.check).state(height)}
        return self._deep_borders[key]
