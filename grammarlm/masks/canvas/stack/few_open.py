"""Rows of stacks of few symbols, before all stacks are followed from the right.

Nearly everything that may stand somewhere may stand there with few open brackets, and states that leave out deeper stacks are made
in a fraction of the time: a first row of 256 masks over `json.lark` takes 11 ms of 64. What they allow is allowed. What they do not
allow is often no continuation of what precedes, deep or not, which is seen from the left alone. Where that is not so all stacks are
followed, and where a row is asked for more than a few positions: what is found out then is shared by all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .row_states import StatesOfRow

if TYPE_CHECKING:
    from .rows import StackRows
    from .table import StackTable

HEIGHT = 8  # symbols
FEW_ASKED = 4  # positions of a row: with more, all stacks are followed once and for all rows
MOST_DOUBTED = 512  # classes


def may_help(table: StackTable) -> bool:
    """Not where nothing is pushed, and no longer where all stacks of a row have been followed: later rows take from these."""
    if table.has_circles or table.given_edges or not len(table.push_pairs):
        return False
    return not table.sets.knows_rows


class FewOpen:
    """One row."""

    def __init__(self, grid: StackRows, row: np.ndarray):
        self._grid, self._sets, self._asked = grid, grid.table.sets, set[int]()
        with self._sets.lock:
            self._sets.begin_row()
            begin, end = grid.left_border(), self._sets.end(grid.room, grid.check, HEIGHT)
            self._left = StatesOfRow(self._sets, row, begin, end, grid.check, None)
            self._few = StatesOfRow(self._sets, row, begin, end, grid.check, None, HEIGHT)
            self.is_completable = self._few.leads()  # False: that is not known

    def classes_at(self, position: int) -> np.ndarray | None:
        """bool [K] (read only): what may stand there in a row that can be completed; None where that is not known."""
        self._asked.add(position)
        with self._sets.lock:
            if len(self._asked) > FEW_ASKED or self._few.generation is not self._sets.generation:
                return None
            before = self._left.forward(position)
            found = self._sets.classes(before, self._few.inner(position))
            doubted = np.flatnonzero(self._sets.perhaps(before) & ~found).tolist()
            if len(doubted) > MOST_DOUBTED or any(self._leads_on(before, one) for one in doubted):
                return None
            return found

    def _leads_on(self, before: int, token_class: int) -> bool:
        after = self._sets.forward(before, np.array([token_class], np.int32), self._grid.check)
        return self._sets.has_stacks(int(after[1]))
