"""SpecTr (Fast Speculative Decoding via Optimal Transport): k independent drafts of a token at once.

Each is accepted with probability min(1, p / (r q)), where r is the least number for which what is left is a distribution: at least
1 - 1/e of the best coupling. It costs a search for r at each node. Of no use for one draft a node, where it is `ratio`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import by_probability


def kseq(p: np.ndarray, drafted: Sequence[int], q: np.ndarray, uniform: by_probability.Uniform) -> int:
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
    return by_probability.drawn_from(rest if rest.sum() > 1e-12 else p, uniform)


KSEQ = by_probability.ByProbability(kseq)
