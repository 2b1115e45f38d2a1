"""What a forward costs by how many ids it reads, and how many draft tokens are worth theirs.

A forward over N ids takes about a + b N seconds; both are fitted to what has been seen, the latest counting most. What is read with
a draft must promise as many tokens a second as without it, and a tenth more. On a CPU b is some 17 % of a forward of one row, so
that eight rows need drafts that are right in more than 60 %; on a device that waits for its memory nearly everything pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MARGIN = 1.1  # a draft must promise so much
FADES = 0.95  # of a forward's weight with each later one
SLOPE = 0.17  # b, in forwards of one id, before anything is known
EXPLORES = 32  # once in so many rounds a draft of one token that would not pay, to see whether it does
PAUSE = 16  # rounds without a look for drafts, where finding them has taken longer than what they saved
RECENT = 0.8  # of the weight of a round's gain with each later one


@dataclass
class Cost:
    weight: float = 0.0
    ids: float = 0.0
    seconds: float = 0.0
    ids_squared: float = 0.0
    product: float = 0.0

    def note(self, ids: int, seconds: float) -> None:
        """A forward over so many ids (rows times the widest) has taken so long."""
        if self.weight > 1 and seconds > 20 * self.of(ids):
            return  # something else happened
        self.weight = FADES * self.weight + 1
        self.ids = FADES * self.ids + ids
        self.seconds = FADES * self.seconds + seconds
        self.ids_squared = FADES * self.ids_squared + ids * ids
        self.product = FADES * self.product + ids * seconds

    @property
    def fit(self) -> tuple[float, float]:
        """(a, b): never negative. Where all forwards read alike, by the assumed slope."""
        if not self.weight:
            return 1.0 - SLOPE, SLOPE
        mean, average = self.ids / self.weight, self.seconds / self.weight
        spread = self.ids_squared / self.weight - mean * mean
        if spread < 0.05 * mean * mean + 1e-9:
            unit = average / (1 + SLOPE * (mean - 1))
            return unit * (1 - SLOPE), unit * SLOPE
        b = max((self.product / self.weight - mean * average) / spread, 0.0)
        b = min(b, average / mean)
        return average - b * mean, b

    def of(self, ids: int) -> float:
        a, b = self.fit
        return a + b * ids

    def width(self, chains: Sequence[tuple[int, float]]) -> tuple[int, float]:
        """How many tokens of each row's chain to read, and the seconds that this should save.

        `chains`: their lengths, and how probable each of their tokens is to be drawn where those before it were. All rows are as
        wide as the widest, so that one long chain costs its length in every row.
        """
        rows, before = len(chains), self.of(len(chains))
        expected, chances, best, gain, saved = float(rows), [1.0] * rows, 0, MARGIN, 0.0
        for width in range(1, max(length for length, _ in chains) + 1):
            for at, (length, rate) in enumerate(chains):
                if width <= length:
                    chances[at] *= rate
                    expected += chances[at]
            seconds, without = self.of(rows * (1 + width)), before * expected / rows
            if without > gain * seconds:
                best, gain, saved = width, without / seconds, without - seconds
        return best, saved
