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

from grammarlm.masks.filters.budget import Costs
from grammarlm.masks.protocol import Epoch

from .ceilings import ceilings_of
from .growth import growth_of
from .narrow_mask import NarrowMask

if TYPE_CHECKING:
    from grammarlm.masks.machines.json.epoch import JsonEpoch


class JsonCosts(Costs):
    """The costs of one epoch's states."""

    def row(self, epoch: Epoch, state: int, left: int) -> np.ndarray:
        """As Costs'."""
        row = NarrowMask(cast("JsonEpoch", epoch), left).fill(state)
        return row | epoch.program.facts.stop_row if epoch.accepting[state] else row

    def safe_steps(self, epoch: Epoch, state: int, left: int) -> int:
        """As Costs'."""
        return max((left - self.fewest(epoch, state)) // (growth_of(cast("JsonEpoch", epoch)) + 1), 0)

    def safe_at_sight(self, epoch: Epoch, state: int, left: int) -> int:
        """As Costs'."""
        machine = cast("JsonEpoch", epoch)
        return ceilings_of(machine).steps(machine, state, left)
