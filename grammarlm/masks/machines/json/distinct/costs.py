"""Token budgets of texts in which no item may come twice.

The end of a text is the machine's own where it repeats no item, and then costs what it costs there. Elsewhere an item gets one more
member (completion.py), whose tokens have a bound: where items are objects that take any key, a short key and its value; otherwise
an item that is longer than all before. So near the end of a budget a row has the tokens after which the machine's own end fits with
one more member for each item that may repeat an earlier one, and the next token of the known end (filters/matcher.py).
"""

from __future__ import annotations

import functools
import re
from typing import cast

import numpy as np

from grammarlm.masks.filters.budget import INFINITE, CompletionCosts
from grammarlm.masks.machines.json.budgets.ceilings import most_openings
from grammarlm.masks.machines.json.budgets.costs import JsonCosts, SchemaBounds
from grammarlm.masks.machines.json.budgets.narrow_mask import NarrowMask
from grammarlm.masks.protocol import Epoch
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary

from .epoch import DistinctEpoch
from .tracker import Tracker

MEMBER = 12  # tokens of a comma, a key of at most eight letters that no item has, its quotes and a colon
SPARE = 32  # bytes: escapes, and a key or item that is longer than those before
MOST_STEPS = 1 << 16
FEW = 2  # members or items that most tokens begin at most
OPENING = re.compile(rb"[{\[,]")


class DistinctCosts(CompletionCosts):
    """The costs of one epoch's states."""

    def __init__(self, bounds: SchemaBounds) -> None:
        super().__init__()
        self._machine_costs = JsonCosts(bounds)

    def row(self, epoch: Epoch, state: int, left: int) -> np.ndarray:
        """As Costs'."""
        here = cast("DistinctEpoch", epoch)
        record, tracker = here.pair(state)
        row = here.row(state)
        if left > self._enough(here, state, 1):
            return row
        stops = here.program.facts.stop_row
        ends = row & stops
        if here.program.tracked.fewest_items > 1:  # items that must come may repeat others: only the known end is sure
            return ends
        member, repeated = _member(here, tracker), here.masks.risks(record, tracker)
        narrow, near = np.zeros_like(row), self._machine_costs.near(here.machine)
        for count, tokens in openers_of(here.program.vocab):
            # An item that a token begins, or the machine's own end after its comma, may repeat others, too.
            if (row & tokens).any():
                spare = (repeated + count) * member
                narrow |= NarrowMask(near, left - spare).fill(record) & tokens
        return (row & narrow & ~stops) | ends

    def safe_steps(self, epoch: Epoch, state: int, left: int) -> int:
        """As Costs'."""
        here, steps = cast("DistinctEpoch", epoch), 0
        while steps < MOST_STEPS and left >= self._enough(here, state, max(2 * steps, 1)):
            steps = max(2 * steps, 1)
        return steps

    def _enough(self, epoch: DistinctEpoch, state: int, steps: int) -> int:
        """So many tokens are enough to end the text after `steps` more, these included."""
        record, tracker = epoch.pair(state)
        growth, tracked = self._machine_costs.growth(epoch.machine), epoch.program.tracked
        levels = (tracker.place.depth if tracker.place else 0) + steps * most_openings(epoch.program.vocab)
        if tracked.fewest_items > 1:
            levels += _brackets(epoch.machine.completion(record)) + 2 * steps * growth
        own = self._machine_costs.fewest(epoch.machine, record) + steps * (growth + 1)
        return min(own + levels * _member(epoch, tracker, steps), INFINITE)


@functools.lru_cache(maxsize=8)
def openers_of(vocab: Vocabulary) -> list[tuple[int, np.ndarray]]:
    """The tokens that begin no member or item, at most two, and any number, by their bytes: that number, and the row."""
    data, offsets = vocab.data.tobytes(), vocab.offsets.tolist()
    ids = vocab.text_ids
    counts = np.array([len(OPENING.findall(data[offsets[token] : offsets[token + 1]])) for token in ids.tolist()])
    bounds = sorted({0, FEW, max(int(counts.max(initial=0)), FEW)})
    return [
        (most, pack_ids(ids[(counts > least) & (counts <= most)], vocab.words))
        for least, most in zip([-1, *bounds], bounds, strict=False)
    ]


def _member(epoch: DistinctEpoch, tracker: Tracker, steps: int = 1) -> int:
    """Tokens by which one more member, or item, makes an item another, after so many steps."""
    endings, tracked = epoch.machine.endings, epoch.program.tracked
    values = [endings.values.value(node) for node in tracked.member_nodes]
    dearest = max((endings.reader.tokens(value) for value in values if value is not None), default=INFINITE)
    if tracked.takes_any_key:
        return dearest + MEMBER
    return dearest + _longest(tracker) + steps * epoch.program.facts.deepest + SPARE


def _brackets(end: list[bytes] | None) -> int:
    """How many objects and arrays an end begins, at most."""
    return INFINITE if end is None else sum(piece.count(b"{") + piece.count(b"[") for piece in end)


def _longest(tracker: Tracker) -> int:
    """Bytes of the longest item, or of the one that is open."""
    longest, place = 0, tracker.place
    while place is not None:
        begun = tracker.text.length - place.begin if place.above is not None and not place.above.is_object else 0
        longest, place = max(longest, place.longest, begun), place.above
    return longest
