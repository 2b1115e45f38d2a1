"""Tokens in the order of a draw without replacement, without sorting the vocabulary.

Each token arrives after noise / p, where the noise is exponential: who comes first is a draw from p, who comes next a draw
from what is left, and so on. (These are the Gumbel keys log p - log(-log U), read as times.) Rejection sampling visits tokens
in this order, and mostly takes one of the first.

By the time K / (mass of those who run) at most K arrivals are expected. So one comparison of all lower bounds, uniform / p,
with that time finds the few tokens that can have come until then; only they need logarithms and a heap. Where they are used
up the next window begins, as wide as the mass that is left asks for.

Masses are sums of what remains, never 1 - (sum of what is gone), which would be nothing but rounding once the remainder is
small: what leaves is subtracted only until half is gone, then all that is left is added up again.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

FIRST_WINDOW = 32  # arrivals expected at most in the first window; each later one expects four times as many
SMALLEST_MASS = 1e-12  # in units of the most probable token of the last measure: below it there is another measure


@dataclass(frozen=True)
class Arrival:
    """A token that came, log p of it, and the log of the mass that it was drawn from, itself included."""

    token: int
    log_p: float
    log_mass: float


class Arrivals(Protocol):
    """What rejection sampling needs: each arrival is drawn from p among those who run, and runs no longer."""

    def next(self) -> Arrival | None:
        """Who comes next; None where nobody is left."""

    def put_back(self, token: int) -> None:
        """The token runs again: when it comes once more hangs on nothing that has been."""

    def log_mass(self) -> float:
        """The log of the sum of p over those who run."""

    def misses(self, at_most: float) -> float:
        """How often in a row a draw from all who ever ran hits one who runs no longer, before it hits one who does."""


class Race:
    """The arrivals of one row of log-probabilities; the noise of token i is -log(1 - uniform[i])."""

    def __init__(self, log_p: np.ndarray, uniform: np.ndarray, generator: Callable[[], np.random.Generator]):
        """log_p: float [V], -inf where a token does not run. uniform: [V], in (0, 1). Neither is written to.

        generator: called once, where something is needed that the noise does not decide: misses and second arrivals.
        """
        self._log_p, self._uniform, self._make_generator = log_p, uniform, generator
        self._generator: np.random.Generator | None = None
        self._runs = log_p > -np.inf
        self._unlisted = self._runs.copy()
        self._listed: list[tuple[float, int]] = []  # a heap of (log of the arrival's time, token)
        self._now = self._until = -math.inf  # log times: of the last arrival, and of the end of the window
        self._window = FIRST_WINDOW
        self._measure()
        self._log_start = self.log_mass()

    # ------------------------------------------------------------------ masses

    def log_mass(self) -> float:
        return self._log_unit + math.log(self._mass) if self._mass > 0 else -math.inf

    def _measure(self) -> None:
        """Probabilities in units of the most probable token that still runs, so that no tail underflows."""
        left = np.where(self._runs, self._log_p, -np.inf)
        best = float(left.max(initial=-np.inf))
        self._log_unit = best if best > -math.inf else 0.0
        self._p = np.exp(left - left.dtype.type(self._log_unit))
        with np.errstate(divide="ignore"):
            self._not_before = np.where(self._unlisted, self._uniform / self._p, np.inf)
        self._add_up()

    def _add_up(self) -> None:
        self._mass = self._largest_mass = float(self._p.sum(dtype=np.float64))

    def _leave(self, token: int) -> None:
        self._runs[token] = False
        self._mass -= float(self._p[token])
        self._p[token] = 0
        if self._mass < self._largest_mass / 2:
            self._add_up()
            if self._mass < SMALLEST_MASS:
                self._measure()

    # ------------------------------------------------------------------ arrivals

    def next(self) -> Arrival | None:
        while not self._listed or self._listed[0][0] > self._until:
            if self._until == math.inf:
                return None
            self._list_more()
        self._now, token = heapq.heappop(self._listed)
        arrival = Arrival(token, float(self._log_p[token]), self.log_mass())
        self._leave(token)
        return arrival

    def _list_more(self) -> None:
        """The next window: lists all who can come in it."""
        behind = math.exp(self._now + self._log_unit) + self._window / self._mass if self._mass else math.inf
        self._window *= 4
        found = np.flatnonzero(self._not_before <= behind)
        self._unlisted[found] = False
        self._not_before[found] = np.inf
        if self._unlisted.any():
            self._until = math.log(behind) - self._log_unit
        else:
            self._until = math.inf
        log_noise = np.log(-np.log1p(-self._uniform[found].astype(np.float64)))
        for item in zip((log_noise - self._log_p[found]).tolist(), found.tolist(), strict=True):
            heapq.heappush(self._listed, item)

    def put_back(self, token: int) -> None:
        self._runs[token] = True
        log_p = float(self._log_p[token])
        wait = math.log(self._random().standard_exponential()) - log_p
        heapq.heappush(self._listed, (float(np.logaddexp(self._now, wait)), token))
        if log_p > self._log_unit:
            self._measure()
            return
        self._p[token] = math.exp(log_p - self._log_unit)
        self._mass += float(self._p[token])
        # What leaves later may be most of this: then it must not be subtracted but all be added up again.
        self._largest_mass = max(self._largest_mass, self._mass)

    def misses(self, at_most: float) -> float:
        hit = math.exp(min(self.log_mass() - self._log_start, 0.0))
        if hit == 1:
            return 0
        never = math.log1p(-hit)  # -0.0 where hits are so rare that 1 - hit rounds to 1
        return min(math.floor(math.log(1 - self._random().random()) / never), at_most) if never else at_most

    def _random(self) -> np.random.Generator:
        if self._generator is None:
            self._generator = self._make_generator()
        return self._generator
