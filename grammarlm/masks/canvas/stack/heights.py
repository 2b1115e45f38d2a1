"""How high stacks get where one token may pop any number of symbols (circles.py), and which of them the room completes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.stack_sets import Record
from grammarlm.masks.protocol import FINISHED

from .bits import members, numbers
from .closings import END, Closings, Costs, offer_costs
from .symbols import ROOT

if TYPE_CHECKING:
    from .sets import StackSets

HEIGHTS = 4, 8, 16, 32  # few, so that rows share what is known of one


def height_of(sets: StackSets, begin: int, row: np.ndarray, check: Callable[[], None]) -> int:
    """The least of HEIGHTS that all stacks have which a row leads to from a state on."""
    states = sets.forward(begin, row, check)
    for height in HEIGHTS:
        if (sets.forward(begin, row, check, height) == states).all() and sets.has_height(begin, height):
            return height
    raise LimitExceeded(
        f"a canvas: more than {HEIGHTS[-1]} rules may be open in this row, and one token may end any number of them; give more "
        "tokens, or let a rule that ends with itself end with something else"
    )


class Ends:
    """The stacks that up to `room` tokens complete, of at most so many symbols, by what it costs to close each symbol."""

    def __init__(self, sets: StackSets, room: int, check: Callable[[], None]):
        self._sets, self._table, self._room, self._check = sets, sets.table, room, check
        self._closings = Closings(sets.table, room, check)
        self._below = numbers(sets.belows)
        self._known: dict[tuple[tuple[tuple[int, int], ...], int, int], int] = {}

    def state(self, height: int) -> int:
        """By control."""
        tops = numbers(self._sets.tops)
        found = {}
        for control in range(FINISHED, self._table.controls):
            if stacks := self._ending(((control, 0),), tops[control], height):
                found[control] = stacks
        return self._sets.state_of(found)

    def _ending(self, costs: tuple[tuple[int, int], ...], symbols: int, height: int) -> int:
        """The set of the stacks with one of some symbols (as bits) on top that are completed from some points, which were reached
        after some tokens; 0: none."""
        key = costs, symbols, height
        known = self._known.get(key)
        if known is None:
            self._check()
            words: list[int] = [Record.SET]
            for symbol in members(symbols):
                after = Costs()
                for point, tokens in costs:
                    offer_costs(after, self._closings.of(point, symbol), tokens, self._room)
                if symbol == ROOT:
                    words += [ROOT, 0] if END in after else []
                elif height and after:
                    rest = self._ending(tuple(sorted(after.items())), self._below[symbol], height - 1)
                    words += [symbol, rest] if rest else []
            known = self._known[key] = self._sets.record(words) if len(words) > 1 else 0
        return known
