"""Draws tokens without replacement, in order of arrival.

Each token arrives at time noise / p, where the noise is exponential: the first to arrive is a draw from p, the next a draw from the
rest, and so on. (These are the Gumbel keys log p - log(-log U), read as times.) Rejection sampling visits tokens in this order, and
mostly takes one of the first. Until time K / (mass of all tokens) at most K arrivals are expected, and no token arrives before
uniform / p: so only the few tokens that can come by then get logarithms, the others once these are used up. Nothing is sorted: each
arrival is one pass over the times.

Masses are sums of what remains, never 1 - (sum of what is gone), which would be mere rounding error once the remainder is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

NEAR = 32  # arrivals expected, at most, of the tokens that get their times at first
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
        self._times = np.full(len(log_p), np.inf)  # logs of the times at which tokens arrive, of those that are known
        self._now = -math.inf  # of the last arrival
        self._rescale()
        self._log_start = self.log_mass()
        until = NEAR * math.exp(self._log_unit - self._log_start) if self._runs.any() else 0.0
        is_near = uniform <= until * self._p
        self._later = self._runs & ~is_near
        self._until = math.log(until) - self._log_unit if until else math.inf  # the others' times are after this one
        self._set_times(self._runs & is_near)

    def _set_times(self, tokens: np.ndarray) -> None:
        """Of some tokens: bool [V]."""
        at = np.flatnonzero(tokens)
        self._times[at] = np.log(-np.log1p(-self._uniform[at].astype(np.float64))) - self._log_p[at]

    def _rescale(self) -> None:
        """Probabilities in units of the most probable running token, so that no tail underflows."""
        left = np.where(self._runs, self._log_p, -np.inf)
        best = float(left.max(initial=-np.inf))
        self._log_unit = best if best > -math.inf else 0.0
        self._p = np.exp(left - left.dtype.type(self._log_unit))

    def log_mass(self) -> float:
        mass = float(self._p.sum(dtype=np.float64))
        if mass < SMALLEST_MASS:
            self._rescale()
            mass = float(self._p.sum(dtype=np.float64))
        return self._log_unit + math.log(mass) if mass > 0 else -math.inf

    def next(self) -> Arrival | None:
        token = int(self._times.argmin())
        if self._times[token] > self._until:
            self._set_times(self._later)
            self._until = math.inf
            token = int(self._times.argmin())
        if self._times[token] == np.inf:
            return None
        arrival = Arrival(token, float(self._log_p[token]), self.log_mass())
        self._now = float(self._times[token])
        self._times[token], self._p[token], self._runs[token] = np.inf, 0, False
        return arrival

    def put_back(self, token: int) -> None:
        log_p = float(self._log_p[token])
        wait = math.log(self._random().standard_exponential()) - log_p
        self._times[token], self._runs[token] = np.logaddexp(self._now, wait), True
        if log_p > self._log_unit:
            self._rescale()
        else:
            self._p[token] = math.exp(log_p - self._log_unit)

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
