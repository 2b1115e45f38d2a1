"""The states of a row of classes from both sides: a set of stacks for each boundary and control."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.row_states import ends_alike

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.rows import StackRows
    from grammarlm.masks.canvas.stack.sets import StackSets

STEPS = 8  # of a row between two looks at the clock
PLAIN = MASKED - 1  # in place of a masked token: one that leaves the stack as it is


class Sides(NamedTuple):
    """int32 [boundaries, controls]: states from the left, and from the right."""

    left: np.ndarray
    right: np.ndarray


class States:
    """The states of a row from both sides: narrow, of controls that wide ones have stacks at from the other side; or wide."""

    def __init__(
        self,
        grid: StackRows,
        words: np.ndarray,
        ends: tuple[list[tuple[int, int]], ...],
        row: np.ndarray,
        facing: Sides | None,
        like: States | None,
    ):
        """`words`: which classes masked tokens have (layout/narrow.py); `facing`: the wide states, None: these are; `like`: of a
        row that may be equal in parts."""
        self._grid, self._words, self._facing = grid, words, facing
        self.row, size = row, len(row)
        self.left, self.right = self.sides = Sides(*np.zeros((2, size + 1, grid.table.controls), np.int32))
        for side, at, end in ((self.left, 0, ends[0]), (self.right, size, ends[1])):
            for control, number in end:
                side[at, control] = number
        like = like if like is not None and len(like.row) == size else None
        # Controls without stacks from the other side are left out; wide states are made from the left first.
        self._others = (None, self.left) if facing is None else (facing.right, facing.left)
        self._pass(True, self.left, like)
        self._pass(False, self.right, like)

    def _pass(self, is_right: bool, states: np.ndarray, like: States | None) -> None:
        """From where the row differs from the other; as soon as it is as there, it is taken from there."""
        size, first = len(self.row), 0 if is_right else len(self.row)
        known, same_before, same_behind = None, 0, 0
        if like is not None and self._knows_as_much(like, is_right):
            same_before, same_behind = ends_alike(self.row, like.row)
            known = like.left if is_right else like.right
            if (known[first] == states[first]).all():
                first = same_before if is_right else size - same_behind
                kept = slice(None, first + 1) if is_right else slice(first, None)
                states[kept] = known[kept]
            else:
                known = None
        last = size if is_right else 0
        place = np.array([first, last], np.int64)
        facing = self._others[0 if is_right else 1]
        others = np.ones_like(states) if facing is None else facing
        given = (
            address_of(self._words), address_of(self.row), size, address_of(states), address_of(others), address_of(place),
            int(is_right), int(self._facing is None),
        )  # fmt: skip
        while place[0] != last:
            place[1] = min(size, place[0] + STEPS) if is_right else max(0, place[0] - STEPS)
            self._grid.table.sets.asked(lambda address: entries.narrow_pass(address, *given), self._grid.check)
            self._grid.check()
            here = int(place[0])
            is_beyond = here >= size - same_behind if is_right else here <= same_before
            if known is not None and is_beyond and (known[here] == states[here]).all():
                rest = slice(here, None) if is_right else slice(None, here + 1)
                states[rest] = known[rest]
                break

    def _knows_as_much(self, like: States, is_right: bool) -> bool:
        """Has the other row left out no control that may matter here?"""
        here, there = (of._others[0 if is_right else 1] for of in (self, like))
        if here is None or there is None:
            return here is there
        return not ((here > 0) & (there == 0)).any()

    def meet(self, sets: StackSets, at: int) -> bool:
        """Has some control the same stack from both sides?"""
        return sets.rows_meet(self.left[at], self.right[at])


def with_plain(row: np.ndarray, steps: int) -> np.ndarray:
    """The row with PLAIN for masked tokens that have so many others on both sides before one that is given."""
    found = row.copy()
    given = np.flatnonzero(np.concatenate([[True], row != MASKED, [True]])) - 1
    for before, behind in itertools.pairwise(given.tolist()):
        found[before + 1 + steps : max(0, behind - steps)] = PLAIN
    return found
