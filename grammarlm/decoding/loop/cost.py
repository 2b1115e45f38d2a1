"""What a forward costs by how many ids it reads, and how many draft tokens are worth theirs.

The time of a forward is no line: on a CPU the second id of a row may cost a fifth of the first one's forward and the tenth a
twentieth, and on a device that waits for its memory hundreds cost nothing. So the times of forwards of about as many ids are
averaged, the latest counting most, and between those averages it is a line. Forwards over prompts are among them: they are what is
known of long ones before any draft has been read. What is done for each token besides, masks and draws, no draft saves.

What is read with a draft must promise as many tokens a second as without it, and a tenth more. Where it does not even if every
drafter were as good as the best one has been, or where finding drafts has taken longer than what they saved, nobody looks for any
but once in a while.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import Any

MARGIN = 1.1  # a draft must promise so much
FLAT = 0.97  # the longest draft is read that is worth so much of the best one
FADES = 0.95  # of a forward's weight with each later one
SLOPE = 0.17  # an id more, in forwards of one id, before anything is known
PAUSE = 16  # rounds without a look for drafts, where finding them has taken longer than what they saved
BETTER = 0.1  # in the rate of the best drafter, and drafts are looked for at once
RECENT = 0.8  # of the weight of a round's gain with each later one
CHEAP = 0.02  # of a forward: a look that takes less need not save anything


@dataclass(frozen=True)
class Mean:
    """Of forwards of about as many ids: sums of weights, ids and seconds."""

    weight: float = 0.0
    ids: float = 0.0
    seconds: float = 0.0

    def with_one(self, ids: float, seconds: float) -> Mean:
        """And one more."""
        return Mean(FADES * self.weight + 1, FADES * self.ids + ids, FADES * self.seconds + seconds)


@dataclass
class Cost:
    """Of one model, for all threads that use it: nothing that another one reads is ever half made."""

    token: float = 0.0  # seconds of a token besides forwards
    _means: dict[int, Mean] = field(default_factory=dict)
    _tokens: Mean = field(default_factory=Mean)
    _curve: tuple[list[float], list[float]] | None = None  # ids and seconds, both rising

    def note(self, ids: int, seconds: float) -> None:
        """A forward over so many ids (rows times the widest) has taken so long."""
        known = self._means.get(size_class(ids))
        if known is not None:
            usual = known.seconds / known.weight
            if known.weight > 1 and seconds > 20 * usual:
                return  # something else happened
            if known.weight == 1 and seconds < usual / 3:
                known = None  # the first one made things ready
        self._means[size_class(ids)] = (known or Mean()).with_one(ids, seconds)
        self._curve = None

    def note_tokens(self, tokens: int, seconds: float) -> None:
        """So many tokens have been chosen and masked in so long."""
        self._tokens = after = self._tokens.with_one(tokens, seconds)
        self.token = after.seconds / after.ids if after.ids else 0.0

    def of(self, ids: int) -> float:
        curve = self._curve
        if curve is None:
            means = [mean for _, mean in sorted(self._means.items(), key=itemgetter(0))]
            known = [each.ids / each.weight for each in means]
            self._curve = curve = known, list(accumulate((each.seconds / each.weight for each in means), max))
        known, seconds = curve
        if not known:
            return assumed(ids)
        at = bisect_left(known, ids)
        if at == 0 or len(known) == 1:
            return seconds[0] * assumed(ids) / assumed(known[0])
        below, above = min(at, len(known) - 1) - 1, min(at, len(known) - 1)
        slope = (seconds[above] - seconds[below]) / (known[above] - known[below])
        return seconds[below] + min(slope, seconds[below] / known[below]) * (ids - known[below])

    def width(self, chains: Sequence[tuple[int, float]]) -> tuple[int, float]:
        """How many tokens of each row's chain to read, and the seconds that this should save.

        `chains`: their lengths, and how probable each of their tokens is to be drawn where those before it were. All rows are as
        wide as the widest, so that one long chain costs its length in every row.
        """
        rows, before = len(chains), self.of(len(chains)) / len(chains) + self.token
        expected, chances, best, saved, gains = float(rows), [1.0] * rows, 0, 0.0, 1.0
        for width in range(1, max(length for length, _ in chains) + 1):
            for at, (length, rate) in enumerate(chains):
                if width <= length:
                    chances[at] *= rate
                    expected += chances[at]
            seconds, without = self.of(rows * (1 + width)) + self.token * expected, before * expected
            gain = without / seconds
            if gain > MARGIN and gain > FLAT * gains:
                best, saved, gains = width, without - seconds, max(gain, gains)
        return best, saved

    def can_pay(self, rows: int, length: int, rate: float) -> bool:
        """Would chains of so many tokens pay, in all of the rows, each token drawn with this probability?"""
        before = self.of(rows) / rows + self.token
        expected = float(rows)
        for width in range(1, length + 1):
            expected += rows * rate**width
            if before * expected > MARGIN * (self.of(rows * (1 + width)) + self.token * expected):
                return True
        return False


def size_class(ids: int) -> int:
    """Of about as many ids: 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ..."""
    bits = ids.bit_length()
    return 2 * bits + (ids >> max(bits - 2, 0) & 1)


def assumed(ids: float) -> float:
    """In forwards of one id."""
    return 1 + SLOPE * (ids - 1)


@dataclass
class DraftPauses:
    """When drafts are looked for, over the rounds of one batch."""

    gain: float = 0.0  # seconds that a round has saved of late
    pause: int = 0  # rounds until drafts are looked for again
    longest: int = PAUSE  # how long the next pause is
    rate: float = 0.0  # of the best drafter when the pause began

    def is_pause(self) -> bool:
        """A round begins: is it one without a look?"""
        self.pause = max(0, self.pause - 1)
        return self.pause > 0

    def may_end_pause(self, rate: float) -> None:
        """The best drafter is right so often now; it may have become better during the pause."""
        if rate > self.rate + BETTER:
            self.pause = 0

    def found(self, saved: float, seconds: float, forward: float, rate: float = 0.0) -> None:
        """A look beside a `forward` has taken `seconds` and promises to save so many.

        Pauses get longer while looks save too little.
        """
        self.gain = RECENT * self.gain + (1 - RECENT) * (saved - max(0.0, seconds - CHEAP * forward))
        if self.gain < 0:
            self.pause, self.rate, self.longest = self.longest + 1, rate, min(2 * self.longest, 16 * PAUSE)
        else:
            self.pause, self.longest = 0, PAUSE


COSTS: weakref.WeakKeyDictionary[Any, Cost] = weakref.WeakKeyDictionary()


def cost_of(model: Any) -> Cost:
    """What its forwards have cost in this process: times alone, nothing of what was read."""
    try:
        return COSTS.setdefault(model, Cost())
    except TypeError:  # no weak reference, or no hash
        return Cost()
