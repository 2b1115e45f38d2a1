"""What a model says of some positions, of the ids that are allowed there: the best id, its confidence, margin and entropy.

They are those of the distribution that the constraint leaves, renormalised. So a position where only one id is allowed is certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from .draws import Draws

LOWEST = float(np.finfo(np.float32).min)


class Reading:
    """What a model says of some positions, of the ids that are allowed there: everything else is as if it did not exist.

    Where all that is allowed is impossible to the model, the first of it is certain.
    """

    def __init__(
        self, positions: np.ndarray, ids: Sequence[np.ndarray], values: Callable[[int], np.ndarray], draws: Draws
    ):
        """ids: of each position, ascending; values(index): float logits of these ids."""
        self.positions, self.ids, self.draws = positions, ids, draws
        self._values = values

    def values(self, index: int) -> np.ndarray:
        """The logits of `ids[index]`, at least one of them finite."""
        found = self._values(index)
        if found.max() == -np.inf:
            found = found.copy()
            found[0] = LOWEST
        return found

    @cached_property
    def _masses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each position the place of the best id, its logit, the sum of exp(logit - best logit)."""
        count = len(self.positions)
        places, tops, masses = np.empty(count, np.int64), np.empty(count), np.empty(count)
        for index in range(count):
            values = self.values(index)
            places[index] = place = values.argmax()
            tops[index] = values[place]
            masses[index] = np.exp(values - values[place]).sum(dtype=np.float64)
        return places, tops, masses

    @cached_property
    def best(self) -> np.ndarray:
        """The most probable id at each position; of equals the first."""
        return np.array([ids[place] for ids, place in zip(self.ids, self._masses[0], strict=True)], np.int64)

    @property
    def confidence(self) -> np.ndarray:
        """The probability of the best id."""
        found: np.ndarray = 1 / self._masses[2]
        return found

    @cached_property
    def margin(self) -> np.ndarray:
        """How far the second best logit is below the best one; inf where there is only one."""
        found = np.empty(len(self.positions))
        for index, place in enumerate(self._masses[0]):
            values = self.values(index)
            others = max(values[:place].max(initial=-np.inf), values[place + 1 :].max(initial=-np.inf))
            found[index] = values[place] - others
        return found

    @property
    def mean_margin(self) -> float:
        """Over the positions where more than one id is possible; inf where there are none."""
        open_ones = self.margin[np.isfinite(self.margin)]
        return float(open_ones.mean()) if len(open_ones) else np.inf

    @cached_property
    def entropy(self) -> np.ndarray:
        """In nats."""
        found = np.empty(len(self.positions))
        for index, (top, mass) in enumerate(zip(*self._masses[1:], strict=True)):
            below = self.values(index) - np.float32(top)
            p = np.exp(below)
            found[index] = np.log(mass) - (p * np.where(p > 0, below, 0)).sum(dtype=np.float64) / mass
        return found

    def id_at(self, index: int) -> int:
        """The best id at a position; at a temperature above 0 a draw, which depends on (seed, position) and the logits there.

        Which positions are committed never depends on what would be drawn there: so a position that is committed alone has the law
        that the model gives it.
        """
        if self.draws.is_greedy:
            return int(self.best[index])
        return self.draws.token(self.ids[index], self.values(index), int(self.positions[index]))

    def log_p(self, index: int, token: int) -> float:
        """Of an allowed id, at the temperature at which ids are drawn; at temperature 1 where the best ones are taken."""
        _, tops, masses = self._masses
        values, warmth = self.values(index), self.draws.sampling.warmth
        mass = masses[index]
        if warmth != 1:
            mass = np.exp((values - np.float32(tops[index])) / np.float32(warmth)).sum(dtype=np.float64)
        value = float(values[np.searchsorted(self.ids[index], token)]) - tops[index]
        return min(0.0, float(value / warmth - np.log(mass)))
