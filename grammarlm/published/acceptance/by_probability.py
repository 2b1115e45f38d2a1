"""What rules share that compare how probable a drafted token is for the target with how probable it was for the draft.

Each gets p, the target's distribution after mask, temperature and filters, and the drafted tokens in order. The lossless ones also
get q, from which these were drawn, and return a token, which follows p; the lossy ones return a drafted token or none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grammarlm.decoding.logits.sampling import distribution
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.acceptance import Rule

Uniform = Callable[[], float]


class ByProbability(Rule):
    """Greedy decoding has no probabilities to compare: there, and where tokens were not drawn, the row draws by itself.

    A token that was not drawn (a copy, a choice of the best ones) is one with q = 1, of which these rules take as much as the own
    draw does: p.
    """

    lossless = True

    def __init__(self, function: Callable[[np.ndarray, Sequence[int], np.ndarray, Uniform], int], draws: str = "iid"):
        self.name, self.function, self.draws = function.__name__, function, draws

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        drawn = row.unread.drawn
        if drawn is None or not row.sampling.temperature:
            return None
        tokens, q = drawn
        p = distribution(logits, row.sampling)
        aligned = np.zeros_like(p)
        aligned[: len(q)] = q[: len(p)]
        return self.function(p, tokens, aligned, uniform_of(row))


class ByTarget(Rule):
    """What the target finds probable enough. Where nothing is, and in greedy decoding, the row draws by itself."""

    draws, needs_probabilities = "iid", True

    def __init__(self, function: Callable[[np.ndarray, Sequence[int]], int | None]):
        self.name, self.function = function.__name__, function

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        proposed = row.unread.proposed
        if not proposed or not row.sampling.temperature:
            return None
        return self.function(distribution(logits, row.sampling), [token for _, token in proposed])


def uniform_of(row: Row) -> Uniform:
    """Noise that neither the draft nor the target's own draw has."""
    seed: Any = row.sampling.seed
    return np.random.default_rng([seed, row.position]).random


def drawn_from(p: np.ndarray, uniform: Uniform) -> int:
    """A draw from p, up to its sum."""
    sums = p.cumsum()
    return int(min(np.searchsorted(sums, uniform() * sums[-1], side="right"), np.flatnonzero(p)[-1]))


def left_over(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """What p has more than q, as a distribution; p where that is nothing but rounding."""
    more = np.maximum(p - q, 0.0)
    total = more.sum()
    return more / total if total > 1e-12 else p
