"""A token budget for JSON texts: the rows near its end, and how far it is.

Near the end of the budget every token is checked, but not one by one: a kernel groups the tokens by the state that they
lead to (kernels/cpu/json/ends.py; in a string nearly all lead to one), and for each such class completion.py bounds the
number of tokens that end the text from there. Far from the end none of this is needed: the number of safe steps is known
ahead, and until then masks are the ordinary ones. ceilings.py knows it at sight of the frames, or by
how much one token can lengthen the shortest completion.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from grammarlm.masks.filters.budget import CompletionCosts
from grammarlm.masks.machines.json.endings.completion import Endings
from grammarlm.masks.machines.json.epoch import JsonEpoch
from grammarlm.masks.protocol import Epoch

from .ceilings import Ceilings
from .narrow_mask import NarrowMask, Near


class SchemaBounds:
    """What a schema says of the budgets of all its texts: made on first use, for all epochs."""

    def __init__(self) -> None:
        self._ceilings: Ceilings | None = None

    def of(self, endings: Endings) -> Ceilings:
        if self._ceilings is None:
            self._ceilings = Ceilings(endings)
        return self._ceilings


class JsonCosts(CompletionCosts):
    """The costs of one epoch's states."""

    def __init__(self, bounds: SchemaBounds) -> None:
        super().__init__()
        self._bounds = bounds
        self._near: Near | None = None

    def near(self, epoch: JsonEpoch) -> Near:
        if self._near is None:
            self._near = Near(epoch.endings)
        return self._near

    def growth(self, epoch: JsonEpoch) -> int:
        """How much one token can lengthen the shortest completion of a text, at most."""
        return self._bounds.of(epoch.endings).growth

    def row(self, epoch: Epoch, state: int, left: int) -> np.ndarray:
        """As CompletionCosts'."""
        row = NarrowMask(self.near(cast(JsonEpoch, epoch)), left).fill(state)
        return row | epoch.program.facts.stop_row if epoch.accepting[state] else row

    def safe_steps(self, epoch: Epoch, state: int, left: int) -> int:
        """As CompletionCosts': at sight, without a completion, or by that of the text."""
        machine = cast(JsonEpoch, epoch)
        bounds = self._bounds.of(machine.endings)
        steps, growth = bounds.steps(machine, state, left), bounds.growth + 1
        return steps or (max((left - self.fewest(epoch, state)) // growth, 0) if left > growth else 0)

    def rows_decide(self, epoch: Epoch) -> bool:
        """As CompletionCosts': where items or keys must differ, a class stands for threads that may end in other ways."""
        return not self._bounds.of(cast(JsonEpoch, epoch).endings).must_differ
