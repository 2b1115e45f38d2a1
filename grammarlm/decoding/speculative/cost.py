"""What a forward costs by how many ids it reads, and how many draft tokens are worth theirs.

A forward over N ids takes about a + b N seconds; both are fitted to what has been seen, the latest counting most. A draft token
that is drawn with probability p saves p of what a token costs now, and costs b: it pays where p is above b times the tokens a
second that there are without it. On a CPU b is some 17 % of a forward of one row, so that eight rows need drafts that are right
in more than 60 %; on a device that waits for its memory nearly everything pays.
"""

from __future__ import annotations

from dataclasses import dataclass

MARGIN = 1.1  # a draft must promise so much
FADES = 0.95  # of a forward's weight with each later one
SLOPE = 0.17  # b, in forwards of one id, before anything is known
EXPLORES = 32  # once in so many rounds a draft of one token that would not pay, to see whether it does


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

    def least(self, rows: int) -> float:
        """The probability from which a draft token pays, where each of so many rows writes one token a forward."""
        a, b = self.fit
        return MARGIN * b * rows / (a + b * rows) if a + b * rows > 0 else 0.0
