"""A token budget for JSON texts: the rows near its end, and how far it is.

Near the end of the budget every token is checked, but not one by one: a kernel groups the tokens by the state that they
lead to (kernels/cpu/json/ends.py; in a string nearly all lead to one), and for each such class completion.py bounds the
number of tokens that end the text from there. Far from the end none of this is needed: the number of safe steps is known
ahead, and until then masks are the ordinary ones. ceilings.py knows it at sight of the frames; where it does not, growth.py
bounds how much one token can lengthen the shortest completion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from grammarlm.masks.filters.budget import INFINITE, Costs
from grammarlm.masks.machines.json.endings.completion import endings_of
from grammarlm.masks.protocol import Epoch

from .ceilings import ceilings_of
from .growth import growth_of, must_differ
from .narrow_mask import NarrowMask
from .prices import Prices

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.epoch import JsonEpoch


class JsonCosts(Costs):
    """The costs of one epoch's states."""

    def __init__(self) -> None:
        super().__init__()
        self._prices: Prices | None = None
        self._known: dict[int, int] = {}  # prices of states

    def prices(self, epoch: JsonEpoch) -> Prices:
        if self._prices is None:
            self._prices = Prices(endings_of(epoch))
        return self._prices

    def row(self, epoch: Epoch, state: int, left: int) -> np.ndarray:
        """As Costs'."""
        machine = cast("JsonEpoch", epoch)
        row = NarrowMask(machine, self.prices(machine), left).fill(state)
        return row | epoch.program.facts.stop_row if epoch.accepting[state] else row

    def price(self, epoch: JsonEpoch, state: int) -> int:
        """As fewest, by sums of what is known: perhaps a few tokens more."""
        price = self._known.get(state)
        if price is None:
            prices, reader, price = self.prices(epoch), endings_of(epoch).reader, INFINITE
            for thread in reader.threads_of(state):
                with reader.scratch():
                    prices.begin()
                    price = min(price, prices.price(thread))
            self._known[state] = price
        return price

    def safe_steps(self, epoch: Epoch, state: int, left: int) -> int:
        """As Costs'."""
        machine = cast("JsonEpoch", epoch)
        growth = growth_of(machine) + 1
        return max((left - self.price(machine, state)) // growth, 0) if left > growth else 0

    def safe_at_sight(self, epoch: Epoch, state: int, left: int) -> int:
        """As Costs'."""
        machine = cast("JsonEpoch", epoch)
        return ceilings_of(machine).steps(machine, state, left)

    def rows_decide(self, epoch: Epoch) -> bool:
        """As Costs': where items or keys must differ, a class stands for threads that may end in other ways."""
        return not must_differ(cast("JsonEpoch", epoch))
