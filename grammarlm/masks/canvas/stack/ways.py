"""By which classes at other masked positions a class may stand at one, where narrow states know that it may.

    ways = Ways(grid, table, row, thin, narrow)
    ways.of(position, classes, most)         # of each {position: class}
    ways.through()                           # of the row

A way begins where thin states from the left have come to, and ends where those from the right begin: nothing else is new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.narrow import Narrow as At
from grammarlm.masks.canvas.protocol import MASKED

from .few import bits, packed
from .one_class import ANY, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .grid import StackGrid
    from .live_spots import LiveWay
    from .narrow_states import States
    from .narrow_table import NarrowTable

LONGEST = 48  # positions of a way


class Ways:
    """Of one row; the lock of the table's sets is held in each call."""

    def __init__(
        self, grid: StackGrid, table: NarrowTable, row: np.ndarray, thin: States, narrow: States | None = None
    ):
        """`narrow`: None where none are known; only `along` needs none."""
        self._grid, self._sets, self._table, self._row = grid, grid.table.sets, table, row
        self._thin, self._narrow = thin, thin if narrow is None else narrow
        self._words = table.words.copy()
        self._words[At.MOST_EDGES] = table.thin[At.MOST_EDGES]

    def of(self, position: int, classes: np.ndarray, most: int) -> Iterator[dict[int, int]]:
        found = set[bytes]()
        for token_class in classes.tolist():
            after = self._right(token_class, self._narrow.left[position])
            if not after.any() or after.tobytes() in found:
                continue
            if len(found) == most:
                return
            found.add(after.tobytes())
            self._grid.check()
            way: dict[int, int] = {}
            behind = self._behind(position + 1, after, way)
            if behind is not None and self._before(position, self._left(token_class, behind), way):
                yield way

    def through(self) -> dict[int, int] | None:
        size, way = len(self._row), dict[int, int]()
        if self._meet(self._narrow.left[0], self._narrow.right[0]):
            return way if self._behind(0, self._narrow.left[0], way, size) is not None else None
        if self._meet(self._narrow.left[size], self._narrow.right[size]):
            return way if self._before(size, self._narrow.right[size], way, size) else None
        return None

    def along(self, live: LiveWay) -> dict[int, int] | None:
        """The classes at masked positions by which live spots come from thin states to thin states."""
        way, target = dict[int, int](), live.target
        for place in range(len(live.row) - 1, -1, -1):
            token_class = int(live.row[place])
            if token_class == MASKED:
                led = self._led(live.first + place, live.states[place], target)
                if led is None:
                    return None
                token_class = way[live.first + place] = led
            target = self._left(token_class, target)
        return way

    def leads(self, row: np.ndarray, states: States, first: int) -> bool:
        """Do classes of some positions lead from states at a boundary to those from the right behind them?"""
        here = np.zeros((len(row) + 1, self._grid.table.controls), np.int32)
        here[0] = states.left[first]
        return self._meet(self._steps(row, here, is_right=True)[-1], states.right[first + len(row)])

    # ------------------------------------------------------------------ inside

    def _behind(self, at: int, here: np.ndarray, way: dict[int, int], most: int = LONGEST) -> np.ndarray | None:
        """What leads on at a boundary, of what is there, by a way to thin states from the right; None where none is found."""
        first, states = at, [here]
        while not self._meet(here, self._thin.right[at]):
            if at == len(self._row) or at - first == most or not here.any():
                return None
            if self._row[at] != MASKED:
                here = self._right(int(self._row[at]), here)
            elif self._meet(here, self._narrow.right[at]):
                token_class = self._led(at, here, self._narrow.right[at + 1])
                if token_class is None:
                    return None
                way[at] = token_class
                here = self._right(token_class, here)
            elif at - first < STEPS:
                here = self._right(ANY, here)
            else:
                return None
            at += 1
            states.append(here)
        target = self._thin.right[at]
        for place in range(at - 1, first - 1, -1):
            token_class = int(self._row[place])
            if token_class == MASKED:
                if place not in way:
                    led = self._led(place, states[place - first], target)
                    if led is None:
                        return None
                    way[place] = led
                token_class = way[place]
            target = self._left(token_class, target)
        return target

    def _before(self, at: int, target: np.ndarray, way: dict[int, int], most: int = LONGEST) -> bool:
        """A way from thin states from the left."""
        first = at
        while not self._meet(self._thin.left[at], target):
            if at == 0 or first - at == most:
                return False
            at -= 1
            token_class = int(self._row[at])
            if token_class == MASKED:
                led = self._led(at, self._narrow.left[at], target)
                if led is None:
                    return False
                token_class = way[at] = led
            target = self._left(token_class, target)
        return True

    def _led(self, at: int, here: np.ndarray, target: np.ndarray) -> int | None:
        """A class that leads on from the one to the other; rather one that thin passes follow anyway."""
        more = self._thin.more
        thin = [*self._table.thin_classes, *([] if more is None else more[at][more[at] >= 0].tolist())]
        for among in (thin, [*self._table.few_classes], None):
            found = self._asked(here, target, among)
            if len(found):
                return int(found[0])
        return None

    def _asked(self, here: np.ndarray, target: np.ndarray, among: list[int] | None) -> np.ndarray:
        """The classes that lead on, of some or of all."""
        table = self._grid.table
        words, most = (
            np.zeros((2, table.kind_classes.shape[1]), np.uint64),
            np.zeros(table.kind_classes.shape[1], np.uint64),
        )
        if among is not None:
            most = packed(np.array(among, np.int64), len(most))
        self._words[At.MOST] = 0 if among is None else address_of(most)
        beside = np.stack([here, target, here, np.zeros_like(here)])
        given = address_of(self._words), address_of(beside), address_of(words), address_of(words[1])
        self._sets.asked(lambda address: entries.narrow_classes(address, *given), self._grid.check)
        return np.flatnonzero(bits(words, table.classes)[0])

    def _right(self, token_class: int, here: np.ndarray) -> np.ndarray:
        return self._step(token_class, np.stack([here, np.zeros_like(here)]), is_right=True)[1]

    def _left(self, token_class: int, target: np.ndarray) -> np.ndarray:
        return self._step(token_class, np.stack([np.zeros_like(target), target]), is_right=False)[0]

    def _step(self, token_class: int, states: np.ndarray, is_right: bool) -> np.ndarray:
        return self._steps(np.array([token_class], np.int32), states, is_right)

    def _steps(self, row: np.ndarray, states: np.ndarray, is_right: bool) -> np.ndarray:
        others = np.ones_like(states)
        place = np.array([0, len(row)] if is_right else [len(row), 0], np.int64)
        given = (
            address_of(self._words), address_of(row), len(row), address_of(states), address_of(others), address_of(place),
            int(is_right), 0,
        )  # fmt: skip
        self._sets.asked(lambda address: entries.narrow_pass(address, *given), self._grid.check)
        return states

    def _meet(self, here: np.ndarray, target: np.ndarray) -> bool:
        return self._sets.rows_meet(np.ascontiguousarray(here), np.ascontiguousarray(target))
