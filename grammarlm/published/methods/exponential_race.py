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
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

NEAR = 32  # arrivals expected, at most, of the tokens that get their times at first
SMALLEST_MASS = 1e-12  # in units of the most probable token at the last rescaling: below it, rescale again


@dataclass(frozen=True)
class Arrival:
    """A token, its log p, and the log of the mass that it was drawn from, itself included."""

    token: int
    log_p: float
    log_mass: float


def arrivals(log_p: np.ndarray, uniform: np.ndarray) -> Iterator[Arrival]:
    """All tokens that can be drawn, in the order of a race whose noise is -log(1 - uniform[token]).

    log_p: float [V], -inf where a token cannot be drawn. uniform: [V], in (0, 1). Neither is written to.
    """
    left = log_p.copy()
    if not np.isfinite(left).any():
        return
    unit, p = rescaled(left)
    until = NEAR / float(p.sum(dtype=np.float64))
    is_near = uniform <= until * p
    times = arrival_times(log_p, uniform, is_near)
    later, latest = ~is_near, math.log(until) - unit  # the others' times are after this one
    while True:
        token = int(times.argmin())
        if times[token] > latest:
            times, latest = np.minimum(times, arrival_times(left, uniform, later)), math.inf
            token = int(times.argmin())
        if times[token] == math.inf:
            return
        mass = float(p.sum(dtype=np.float64))
        if mass < SMALLEST_MASS:
            unit, p = rescaled(left)
            mass = float(p.sum(dtype=np.float64))
        yield Arrival(token, float(log_p[token]), unit + math.log(mass))
        times[token], p[token], left[token] = math.inf, 0, -math.inf


def arrival_times(log_p: np.ndarray, uniform: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Logs of the times at which some tokens arrive, bool [V]; inf for the others."""
    times = np.full(len(log_p), np.inf)
    at = np.flatnonzero(tokens & (log_p > -np.inf))
    times[at] = np.log(-np.log1p(-uniform[at].astype(np.float64))) - log_p[at]
    return times


def rescaled(left: np.ndarray) -> tuple[float, np.ndarray]:
    """The log probability of the most probable token, and probabilities in units of it, so that no tail underflows."""
    best = left.max()
    return float(best), np.exp(left - best)
