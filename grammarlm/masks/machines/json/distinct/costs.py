"""Token budgets of texts in which no item may come twice.

The end of a text is the machine's own where it repeats no item, and then costs what it costs there. How much longer it can get
has a bound: where items are objects that take any key, each open array may need one more member; elsewhere a way that leads away
from an earlier item is no longer than what is left of it. While the budget is beyond that, masks need no check. Below it tokens
after which an item may still become an earlier one are checked one by one, and of many some are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from grammarlm.masks.filters.budget import INFINITE, Costs
from grammarlm.masks.machines.json.budgets.costs import JsonCosts
from grammarlm.masks.machines.json.budgets.growth import growth_of, most_openings
from grammarlm.masks.machines.json.budgets.narrow_mask import NarrowMask
from grammarlm.masks.machines.json.endings.completion import endings_of
from grammarlm.masks.mask_array import ids_of
from grammarlm.masks.protocol import Epoch
from grammarlm.masks.token_facts import pack_ids

from .tracker import Place, Tracker
from .values import NUMBER, OBJECT, Value

if TYPE_CHECKING:
    from .epoch import DistinctEpoch

MOST_CHECKED = 512  # tokens that are checked one by one
FEW_CHECKED = 64  # where all would have to be
PREFERRED = b'"}],:{[0123456789-aeiostnrlkx. '  # bytes that are checked first
MEMBER = 24  # bytes of a comma, a key that no item has, and a colon, with tokens to spare
SPARE = 64  # bytes: escapes and zeros by which a way may be longer than what it leads away from
MOST_STEPS = 1 << 16


class DistinctCosts(Costs):
    """The costs of one epoch's states."""

    def __init__(self) -> None:
        super().__init__()
        self._machine_costs = JsonCosts()

    def row(self, epoch: Epoch, state: int, left: int) -> np.ndarray:
        """As Costs'."""
        here = cast("DistinctEpoch", epoch)
        record, tracker = here.place(state)
        row = here.row(state)
        if left > self._enough(here, state, 1):
            return row
        stops = here.program.facts.stop_row
        may_end = here.accepting[state]
        row = row & ~stops
        if (
            here.program.freedom.fewest_items > 1
        ):  # whatever follows, items that must come may be longer than the machine knows
            tokens = self._preferred(here, row)
            row = np.zeros_like(row)
        else:
            risky = here.masks.risky(record, tracker, row)
            tokens, checked = risky[:MOST_CHECKED], pack_ids(risky, len(row))
            if left <= self._machine_costs.fewest(here.machine, record) + growth_of(here.machine):
                row &= NarrowMask(here.machine, left).fill(record)
            row = row & ~checked
        fitting = [t for t in tokens if self.fewest(epoch, epoch.after_token(state, t)) < left]
        row |= pack_ids(fitting, len(row))
        return row | stops if may_end else row

    def _preferred(self, epoch: DistinctEpoch, row: np.ndarray) -> list[int]:
        """The tokens of a row that are checked where all would have to be: a few bytes, then those that come first."""
        bytes_ = [token for byte in PREFERRED if (token := epoch.program.facts.byte_tokens[byte]) >= 0]
        few = [token for token in bytes_ if row[token >> 5] >> (token & 31) & 1]
        return list(dict.fromkeys([*few, *ids_of(row)[:FEW_CHECKED].tolist()]))[:FEW_CHECKED]

    def safe_steps(self, epoch: Epoch, state: int, left: int) -> int:
        """As Costs'."""
        here, steps = cast("DistinctEpoch", epoch), 0
        while steps < MOST_STEPS and left >= self._enough(here, state, max(2 * steps, 1)):
            steps = max(2 * steps, 1)
        return steps

    def _enough(self, epoch: DistinctEpoch, state: int, steps: int) -> int:
        """So many tokens are enough to end the text after `steps` more, these included."""
        record, tracker = epoch.place(state)
        growth = growth_of(epoch.machine)
        levels = _levels(tracker) + steps * most_openings(epoch.program.vocab)
        own = self._machine_costs.fewest(epoch.machine, record) + steps * (growth + 1)
        member = _member(epoch)
        if member is None:
            if steps > 1:
                return INFINITE
            longest = max(_longest(tracker), _fewest_bytes(epoch)) + epoch.program.facts.deepest + SPARE
            member = longest * (growth + 1) * max(epoch.program.freedom.fewest_items, 1)
        elif epoch.program.freedom.fewest_items > 1:
            levels += _brackets(epoch.machine.completion(record)) + 2 * steps * growth
        return min(own + levels * member, INFINITE)


def _member(epoch: DistinctEpoch) -> int | None:
    """Tokens by which one more member makes an item another; None where that is not how items are made to differ."""
    freedom, endings = epoch.program.freedom, endings_of(epoch.machine)
    if freedom.other_nodes is None:
        return None
    values = [endings.values.value(node) for node in freedom.other_nodes]
    if any(value and b"[" in value for value in values):  # it may have items that must differ itself
        return None
    return (
        None if None in values else MEMBER + max((endings.reader.tokens(value) for value in values if value), default=0)
    )


def _brackets(end: list[bytes] | None) -> int:
    """How many objects and arrays an end begins, at most."""
    return INFINITE if end is None else sum(piece.count(b"{") + piece.count(b"[") for piece in end)


def _fewest_bytes(epoch: DistinctEpoch) -> int:
    """Bytes of the items that a tracked array begins with, where it must have several."""
    if epoch.program.freedom.fewest_items < 2:
        return 0
    text = endings_of(epoch.machine).values.value(epoch.program.machine.json.start)
    return len(text or b"") + SPARE


def _levels(tracker: Tracker | None) -> int:
    return tracker.place.depth if tracker is not None else 0


def _longest(tracker: Tracker | None) -> int:
    """Bytes of the longest item, or of all that is open."""
    if tracker is None:
        return 0
    open_, longest, place = 6 * len(tracker.lexeme), 0, cast("Place | None", tracker.place)
    while place is not None:
        sizes = [_size_of_member(each) if place.is_object else _size(each) for each in place.done]
        longest = max(longest, *sizes, 0)
        open_ += sum(sizes) + 6 * len(place.key or "") + 8
        place = place.above
    return max(open_, longest)


def _size(value: Value) -> int:
    """Bytes of a value, at most."""
    if value.__class__ is str:
        return 6 * len(value) + 3
    if value.__class__ is not tuple:
        return 6
    if value[0] == NUMBER:
        return len(value[2]) + 10
    return 2 + sum(map(_size_of_member if value[0] == OBJECT else _size, value[1]))


def _size_of_member(member: tuple[str, Value]) -> int:
    return _size(member[0]) + 1 + _size(member[1])
