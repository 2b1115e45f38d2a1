"""Weights of particles, given by their logs, and how often each particle is continued.

Resampling is systematic: N points at equal distances, one random offset. A particle is continued floor(N w) or ceil(N w) times,
once in its own slot if at all: what need not move is not moved, in the model's cache either.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np

Text = TypeVar("Text", bound=Hashable)


def log_mean(logs: np.ndarray) -> float:
    top = float(logs.max())
    return top + math.log(np.exp(logs - top).mean()) if top > -math.inf else top


def normalized(logs: np.ndarray) -> np.ndarray:
    """The weights, normalised to the sum 1; all 0 where none is above 0."""
    top = float(logs.max())
    if top == -math.inf:
        return np.zeros(len(logs))
    weights = np.exp(logs - top)
    return weights / weights.sum()


def law_of(texts: Sequence[Text], logs: np.ndarray) -> dict[Text, float]:
    """For each text its share of the weights, the largest first; empty where all weights are 0."""
    shares: Counter[Text] = Counter()
    for text, weight in zip(texts, normalized(logs).tolist(), strict=True):
        shares[text] += weight
    return {text: weight for text, weight in shares.most_common() if weight}


def effective_size(logs: np.ndarray) -> float:
    """Effective sample size (ESS): how many equal weights have the same variance of the mean. 1 to N; 0 where all weights are 0."""
    squares = float((normalized(logs) ** 2).sum())
    return 1 / squares if squares else 0.0


def systematic(weights: np.ndarray, offset: float) -> np.ndarray:
    """How often each is continued: how many of the points (offset + 0, 1, .. N-1) / N lie in its interval of [0, 1)."""
    points = (offset + np.arange(len(weights))) / len(weights)
    owners = np.searchsorted(np.cumsum(weights) / weights.sum(), points, side="right")
    last = np.flatnonzero(weights)[-1]  # rounding must leave no point beyond it
    return np.bincount(np.minimum(owners, last), minlength=len(weights))


def in_place(counts: np.ndarray) -> np.ndarray:
    """The parent of each slot: a continued particle keeps its own slot, its further copies take those of dropped ones."""
    parents = np.arange(len(counts))
    parents[counts == 0] = np.repeat(parents, np.maximum(counts - 1, 0))
    return parents
