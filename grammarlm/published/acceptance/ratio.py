"""Speculative sampling (Fast Inference from Transformers via Speculative Decoding): the law of the answers, not the answers.

Each drafted token with probability min(1, p / q), else a draw from what p has more than q. It accepts more than the exact rule
does at high temperatures, and costs the draft's distribution at each node. Of no use in greedy decoding, or for drafts that draw
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import by_probability


def ratio(p: np.ndarray, drafted: Sequence[int], q: np.ndarray, uniform: by_probability.Uniform) -> int:
    for token in drafted:
        if uniform() * q[token] < p[token]:
            return token
        p = by_probability.left_over(p, q)
    return by_probability.drawn_from(p, uniform)


RATIO = by_probability.ByProbability(ratio)
