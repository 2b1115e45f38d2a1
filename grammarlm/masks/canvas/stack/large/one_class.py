"""Whether one class may stand at a masked position, where the bounds of a row (narrow.py) leave it open.

    one = OneClass(grid, row, wide)
    one.leads(position, token_class, narrow)          # None: not known

A class leads to few controls, so from these on all tokens are followed, a few positions far. What narrow states come to and some
narrow state from the right goes on with, may stand; if nothing is left of what wide states come to, it may not. Stop ids are asked
of otherwise: may the text end here, with so many masked tokens behind all that is given?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.canvas.protocol import MASKED

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.rows import StackRows

    from .narrow_states import States

ANY = MASKED - 2  # in place of a masked token: one of any class (kernels/cpu/canvas/large/narrow.py)
STEPS = 3  # so many positions behind the class
MOST_TO_END = 16  # of the tokens before a stop id so many are followed exactly


class OneClass:
    """Of one row of classes; the lock of the table's sets is held in each call."""

    def __init__(self, grid: StackRows, row: np.ndarray, wide: States):
        self._grid, self._row, self._wide, self._sets = grid, row, wide, grid.table.sets
        assert grid.table.narrow is not None
        self._table = grid.table.narrow
        self._known: dict[tuple[int, int], bool] = {}
        self._ends: dict[tuple[int, int], bool] = {}  # by where a gap begins: may the text end so many tokens later?

    def leads(self, position: int, token_class: int, narrow: States) -> bool | None:
        """Has the row a completion with the class there? `narrow`: any narrow states of the row."""
        if token_class == STOP:
            return self._ends_at(position, narrow)
        known = self._known.get((position, token_class))
        if known is None:
            if self._reaches(position, token_class, narrow, is_enough=True):
                known = True
            elif not self._reaches(position, token_class, self._wide, is_enough=False):
                known = False
            else:
                return None
            self._known[position, token_class] = known
        return known

    def _reaches(self, position: int, token_class: int, states: States, is_enough: bool) -> bool:
        """Is something left of what states come to, after each step? `is_enough`: after any one."""
        last = min(len(self._row), position + 1 + STEPS)
        row = np.where(self._row == MASKED, ANY, self._row)[position:last].astype(np.int32)
        row[0] = token_class
        found = np.zeros((len(row) + 1, self._grid.table.controls), np.int32)
        found[0] = states.left[position]
        others = np.ascontiguousarray(self._wide.right[position : last + 1])
        place = np.zeros(2, np.int64)
        given = (
            address_of(self._table.words), address_of(row), len(row), address_of(found), address_of(others), address_of(place),
            1, 0,
        )  # fmt: skip
        for step in range(1, len(row) + 1):
            place[1] = step
            self._sets.asked(lambda address: entries.narrow_pass(address, *given), self._grid.check)
            self._grid.check()
            if self._sets.rows_meet(found[step], states.right[position + step]) == is_enough:
                return is_enough
        return not is_enough

    def _ends_at(self, position: int, narrow: States) -> bool | None:
        """May a text end before the position?"""
        if not np.isin(self._row[position + 1 :], (MASKED, STOP)).all():
            return False
        first = position - int(np.argmin(np.append(self._row[position::-1] == MASKED, False))) + 1
        verdict: bool | None = False
        for behind in range(min(position - first, MOST_TO_END) + 1):
            verdict = self._ends.get((first, behind))
            if verdict is None:
                end = self._sets.end(behind, self._grid.check)
                if self._leads_to(narrow.left[first], end):
                    verdict = True
                elif not self._leads_to(self._wide.left[first], end):
                    verdict = False
                if verdict is not None:
                    self._ends[first, behind] = verdict
            if verdict:
                return True
        return verdict if position - first <= MOST_TO_END else None

    def _leads_to(self, states: np.ndarray, state: int) -> bool:
        numbers = {control: int(states[control]) for control in np.flatnonzero(states).tolist()}
        return self._sets.meet(self._sets.state_of(numbers), state)
