"""What tokens of a large table lead to from the symbol on top of a stack alone.

Where what is below it may be anything, a token leads from a control and that symbol, a **spot**, to a few others: which those are
is found once a table (kernels/cpu/canvas/large/spots.py).
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.spots import Spots as At
from grammarlm.masks.canvas.stack.bits import bits
from grammarlm.masks.kernel_words import KernelWords

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.pushdown import PushdownTable
    from grammarlm.masks.canvas.stack.sets import StackSets

FIRST_GOALS, FIRST_MEMBERS = 1 << 15, 1 << 17  # behind the spots themselves


class Spots(KernelWords):
    """The spots of a table, and what its tokens lead to from each; the lock of its sets is held."""

    def __init__(self, table: PushdownTable, sets: StackSets):
        super().__init__(At.LENGTH)
        entries.load("spots")
        self._table: PushdownTable = weakref.proxy(table)  # which keeps its spots
        self._sets = sets
        self.tops, self.belows = sets.tops.copy(), sets.belows.copy()
        is_spot = bits(self.tops[: table.controls], table.symbols)
        numbers = np.where(is_spot, np.cumsum(is_spot).reshape(is_spot.shape) - 1, -1).astype(np.int32)
        self.count = int(is_spot.sum())
        self.words[At.SPOTS] = self.count
        self.put(At.SPOT_OF, numbers)
        self._find_goals(numbers)
        self._find_terms()

    @property
    def is_current(self) -> bool:
        """May on each symbol stand what might before?"""
        return bool((self._sets.tops == self.tops).all() and (self._sets.belows == self.belows).all())

    def _find_goals(self, numbers: np.ndarray) -> None:
        table, more = self._table, 1
        while True:
            goals, members = self.count + more * FIRST_GOALS, more * FIRST_MEMBERS
            slots = 1 << (2 * goals).bit_length()
            self.words[At.GOALS], self.words[At.GOAL_CAPACITY] = self.count, goals
            self.words[At.MEMBER_CAPACITY], self.words[At.GOAL_SLOTS] = members, slots
            goal_of = np.full((table.points, table.symbols), -1, np.int32)
            goal_of[: table.controls] = numbers
            for place, size in ((At.MEMBER_START, goals + 1), (At.MEMBER, members), (At.GOAL_SLOT, slots)):
                self.put(place, np.zeros(size, np.int32))
            self.put(At.GOAL_OF, goal_of)
            if entries.find_goals(self._sets.address, self.address) == 0:
                self.arrays.pop(At.GOAL_SLOT)
                return
            more *= 4

    def _find_terms(self) -> None:
        given = self._sets.address, self.address
        self.put(At.TERM_START, np.zeros(self.count + 1, np.int32))
        terms = entries.find_terms(*given, 0)
        for place in (At.TERM_KIND, At.TERM_GOAL):
            self.put(place, np.zeros(terms, np.int32))
        entries.find_terms(*given, 1)
