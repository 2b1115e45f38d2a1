"""Draws tokens without replacement, in order of arrival, without sorting the vocabulary.

Each token arrives at time noise / p, where the noise is exponential: the first to arrive is a draw from p, the next a draw from the
rest, and so on. (These are the Gumbel keys log p - log(-log U), read as times.) Rejection sampling visits tokens in this order, and
mostly takes one of the first.

Until time K / (mass of the tokens still running) at most K arrivals are expected. So comparing all lower bounds, uniform / p, with
that time finds the few tokens that can arrive until then; only they need logarithms and a heap. When they are used up the next
window begins, sized by the mass that is left.

Masses are sums of what remains, never 1 - (sum of what is gone), which would be mere rounding error once the remainder is small: a
token that leaves is subtracted only until half of the mass is gone, then the rest is summed again.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

FIRST_WINDOW = 32  # upper bound on the arrivals expected in the first window; each later one has four times as many
SMALLEST_MASS = 1e-12  # in units of the most probable token at the last rescaling: below it, rescale again


@dataclass(frozen=True)
class Arrival:
    """A token, its log p, and the log of the mass that it was drawn from, itself included."""

    token: int
    log_p: float
    log_mass: float


class Arrivals(Protocol):
    """What rejection sampling needs: each arrival is drawn from p among the running tokens, and then stops running."""

    def next(self) -> Arrival | None:
        """The next arrival; None where no token is left."""

    def put_back(self, token: int) -> None:
        """The token runs again: its next arrival is independent of all before."""

    def log_mass(self) -> float:
        """The log of the sum of p over the running tokens."""

    def misses(self, at_most: float) -> float:
        """With draws from all tokens that ever ran: how many in a row hit a stopped token before one hits a running token."""


class ExponentialRace:
    """The arrivals of one row of log-probabilities; the noise of token i is -log(1 - uniform[i])."""

    def __init__(self, log_p: np.ndarray, uniform: np.ndarray, generator: Callable[[], np.random.Generator]):
        """log_p: float [V], -inf where a token does not run. uniform: [V], in (0, 1). Neither is written to.

        generator: called once, when more random numbers are needed than the noise: for misses and second arrivals.
        """
        self._log_p, self._uniform, self._make_generator = log_p, uniform, generator
        self._generator: np.random.Generator | None = None
        self._runs = log_p > -np.inf
        self._unlisted = self._runs.copy()
        self._listed: list[tuple[float, int]] = []  # a heap of (log of the arrival's time, token)
        self._now = self._until = -math.inf  # log times: the last arrival, and the end of the window
        self._window = FIRST_WINDOW
        self._measure()
        self._log_start = self.log_mass()

    # ------------------------------------------------------------------ masses

    def log_mass(self) -> float:
        return self._log_unit + math.log(self._mass) if self._mass > 0 else -math.inf

    def _measure(self) -> None:
        """Rescales probabilities to units of the most probable running token, so that no tail underflows."""
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
        """The next window: puts all tokens that can arrive in it on the heap."""
        horizon = math.exp(self._now + self._log_unit) + self._window / self._mass if self._mass else math.inf
        self._window *= 4
        found = np.flatnonzero(self._not_before <= horizon)
        self._unlisted[found] = False
        self._not_before[found] = np.inf
        if self._unlisted.any():
            self._until = math.log(horizon) - self._log_unit
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
        # Most of this mass may leave later: it must then be summed again, not subtracted.
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
