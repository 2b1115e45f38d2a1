"""What narrow passes (narrow.py) come to where masked tokens are of some tens of classes: in a tenth of the time.

What a row allowed is the most that it allows with one more token, and that it still does is easily seen where it is: nearly all
of it stands within a comment or the like, and the classes that lead there and back are few. What these do not show needs other
classes at single positions. So what was found out otherwise is looked at: by which classes at other positions may it stand (a
**way**)? Passes made from then on take these there, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.narrow import Narrow as At

from .few import bits, packed
from .narrow_states import States, with_plain
from .ways import Ways

if TYPE_CHECKING:
    from .grid import StackGrid
    from .live_spots import LiveWay
    from .narrow_table import NarrowTable

MORES = 64  # classes besides, a position
FREE_STEPS = 2  # so many masked tokens beside given ones may change the stack
MOST_NARROW_WAYS = 6  # the same of narrow passes
MOST_WAYS = 64  # looked for at one position


class ThinPasses:
    """Of one row; the lock of the table's sets is held while it is made, and in each call."""

    def __init__(
        self,
        grid: StackGrid,
        table: NarrowTable,
        row: np.ndarray,
        ends: tuple[list[tuple[int, int]], ...],
        wide: States,
        like: ThinPasses | None,
    ):
        """`wide`: its wide states; `like`: of a row like this one."""
        self._grid, self._table, self._row, self._wide = grid, table, row, wide
        more: np.ndarray = np.full((len(row), MORES), -1, np.int32) if like is None else like.more_behind
        self._words = table.thin.copy()
        self._words[At.MORE], self._words[At.MORES] = address_of(more), MORES
        states = None if like is None else like.states
        plain = with_plain(row, FREE_STEPS)
        self.states: States = States(grid, self._words, ends, plain, wide.sides, states, more)
        self.more_behind: np.ndarray = more  # for the rows that follow
        # By position, how many ways have been looked for: where there is no end of them, each step would look again.
        self._learned: dict[int, int] = {} if like is None else like._learned
        self._rows: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        sets = grid.table.sets
        self.leads_through = any(self.states.meet(sets, at) for at in (0, len(row)))

    @property
    def knows_more(self) -> bool:
        """Would passes that are made anew know more?"""
        return self.more_behind is not self.states.more

    def classes_at(self, position: int, most: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """bool [K] twice: the classes that surely may stand there, and others that perhaps may. `most`: only these are asked
        about."""
        table = self._grid.table
        words = np.zeros((2, table.kind_classes.shape[1]), np.uint64)
        asked = packed(np.flatnonzero(most), words.shape[1]) if most is not None else words
        self._words[At.MOST] = 0 if most is None else address_of(asked)
        wide = self._wide.left[position], self._wide.right[position + 1]
        beside = np.stack([self.states.left[position], self.states.right[position + 1], *wide])
        given = address_of(self._words), address_of(beside), address_of(words), address_of(words[1])
        table.sets.asked(lambda address: entries.narrow_classes(address, *given), self._grid.check)
        self._grid.check()
        surely, perhaps = bits(words, table.classes)
        self._rows[position] = surely, perhaps
        return surely, perhaps

    def learn(self, position: int, known: np.ndarray, narrow: States) -> None:
        """Looks at what may stand at a position (bool [K]) for ways by which thin passes would have known it."""
        surely = self._rows[position][0] if position in self._rows else self.classes_at(position, known)[0]
        unknown = np.flatnonzero(known & ~surely)
        if len(unknown) and self._learned.get(position, 0) <= MOST_WAYS:
            self._learned[position] = self._learned.get(position, 0) + MOST_WAYS
            ways = Ways(self._grid, self._table, self._row, self.states, narrow)
            for way in ways.of(position, unknown, MOST_NARROW_WAYS):
                self._take(way)

    def learn_along(self, live: LiveWay) -> None:
        """A way that live spots have found."""
        self._learned[live.position] = times = self._learned.get(live.position, 0) + 1
        if times > MOST_WAYS:
            return
        way = Ways(self._grid, self._table, self._row, self.states).along(live)
        if way is not None:
            self._take(way)

    def learns_through(self, narrow: States) -> bool:
        """The same of the row; False where nothing is found."""
        way = Ways(self._grid, self._table, self._row, self.states, narrow).through()
        if way is not None:
            self._take(way)
        return way is not None

    def _take(self, way: dict[int, int]) -> None:
        """Classes besides, by position."""
        new = [
            (at, token_class)
            for at, token_class in way.items()
            if token_class not in self.more_behind[at] and token_class not in self._table.thin_classes
        ]
        if not any((self.more_behind[at] < 0).any() for at, _ in new):
            return
        more = self.more_behind = self.more_behind.copy()
        for at, token_class in new:
            free = np.flatnonzero(more[at] < 0)
            if len(free) and token_class not in more[at]:
                more[at, free[0]] = token_class
