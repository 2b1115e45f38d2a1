"""Tables whose micro points go round in a circle: after `if (a) if (b) if (c) x` one token may end any number of statements.

The passes repeat what such a token does until nothing changes (kernels/cpu/canvas/steps.py). That ends by itself where no stack
that something leads to lets a token pop so often. Where one does, the stacks on which a row can be completed have no end: they are
cut to the height of the highest one that the row leads to from the left. No row has higher ones, within a token neither, since
pops come before pushes; so nothing that is left out matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.stack_sets import Record
from grammarlm.masks.protocol import FINISHED

from .bits import members
from .closings import END, Closings, Costs, offer_costs
from .symbols import ROOT, on_top, stays

if TYPE_CHECKING:
    from .sets import StackSets
    from .table import StackTable

HEIGHTS = 4, 8, 16, 32  # few, so that rows share what is known of one


def rounds_of(table: StackTable, tops: np.ndarray, belows: np.ndarray) -> int:
    """How many micro points a token may go through, one after another, on stacks that something leads to (as StackSets has them);
    0 where there is no end of them."""
    can_be, below = (_sets(words) for words in (tops, belows))
    longest: dict[tuple[int, int], int] = {}  # by micro point and symbol on top; 0: not known yet
    waiting = [(point, on_top(symbol)) for point, symbol, _ in table.rules if can_be[point] >> on_top(symbol) & 1]
    while waiting:
        here = point, top = waiting[-1]
        after = [
            (other, symbol)
            for popped, other in table.rules_of[point]
            if on_top(popped) == top and other >= table.first_micro
            for symbol in ([top] if stays(popped) else members(below[top]))
            if any(on_top(asked) == symbol for asked, _ in table.rules_of.get(other, ()))
        ]
        if here not in longest:
            longest[here] = 0
            waiting += [place for place in after if place not in longest]
            if any(longest.get(place) == 0 for place in after):
                return 0
        else:
            waiting.pop()
            longest[here] = 1 + max((longest[place] for place in after), default=0)
    return max(1, *longest.values()) if longest else 1


def _sets(words: np.ndarray) -> list[int]:
    """Rows of bits as integers."""
    return [int.from_bytes(row.tobytes(), "little") for row in words]


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
        self._below = _sets(sets.belows)
        self._known: dict[tuple[tuple[tuple[int, int], ...], int, int], int] = {}

    def state(self, height: int) -> int:
        """By control."""
        tops = _sets(self._sets.tops)
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
