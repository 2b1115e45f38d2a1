"""Rules that compare how probable a drafted token is for the target with how probable it was for the draft.

    ratio      each drafted token with probability min(1, p / q), else a draw from what p has more than q
    recursive  the same for tokens that were drawn without replacement
    kseq       the same for k independent draws at once, which accepts more of them
    typical, lenient     lossy: what is drawn follows another law, within the grammar

Each gets p, the target's distribution after mask, temperature and filters, and the drafted tokens in order. The lossless ones also
get q, from which these were drawn, and return a token, which follows p; the lossy ones return a drafted token or none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grammarlm.decoding.logits.sampling import distribution

from .rule import Rule

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row

Uniform = Callable[[], float]


class ByProbability(Rule):
    """Greedy decoding has no probabilities to compare: there, and where tokens were not drawn, the row draws by itself.

    A token that was not drawn (a copy, a choice of the best ones) is one with q = 1, of which these rules take as much as the own
    draw does: p.
    """

    lossless = True

    def __init__(self, function: Callable[[np.ndarray, Sequence[int], np.ndarray, Uniform], int], draws: str = "iid"):
        self.function, self.draws = function, draws

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
        self.function = function

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


def ratio(p: np.ndarray, drafted: Sequence[int], q: np.ndarray, uniform: Uniform) -> int:
    for token in drafted:
        if uniform() * q[token] < p[token]:
            return token
        p = left_over(p, q)
    return drawn_from(p, uniform)


def recursive(p: np.ndarray, drafted: Sequence[int], q: np.ndarray, uniform: Uniform) -> int:
    for token in drafted:
        if uniform() * q[token] < p[token]:
            return token
        p, q = left_over(p, q), q.copy()
        q[token] = 0.0
        total = q.sum()
        if total <= 0:
            break
        q /= total
    return drawn_from(p, uniform)


def kseq(p: np.ndarray, drafted: Sequence[int], q: np.ndarray, uniform: Uniform) -> int:
    """Accepts each of k tokens with probability min(1, p / (r q)); r is the least for which the rest is a distribution."""
    k = len(drafted)
    low, high = 1.0, float(k)
    for _ in range(60 if k > 1 else 0):
        middle = (low + high) / 2
        covered = float(np.minimum(p / middle, q).sum())
        if 1 - (1 - covered) ** k <= middle * covered:
            high = middle
        else:
            low = middle
    shared = np.minimum(p / high, q)
    covered = float(shared.sum())
    for token in drafted:
        if uniform() * q[token] * high < p[token]:
            return token
    some = 1 - (1 - covered) ** k
    rest = np.maximum(p - shared * (some / covered if covered > 0 else 0.0), 0.0)
    return drawn_from(rest if rest.sum() > 1e-12 else p, uniform)


def typical(p: np.ndarray, drafted: Sequence[int]) -> int | None:
    """The first drafted token that is not improbable for how uncertain the target is (Medusa)."""
    logs = np.log(p, where=p > 0, out=np.zeros_like(p))
    least = min(0.09, 0.3 * float(np.exp((p * logs).sum())))
    return next((token for token in drafted if p[token] > least), None)


def lenient(p: np.ndarray, drafted: Sequence[int]) -> int | None:
    """A drafted token that is at least a third as probable as the best one."""
    return next((token for token in drafted if 3 * p[token] >= p.max()), None)
