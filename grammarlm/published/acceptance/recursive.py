"""RSD (Recursive Speculative Decoding): the ratio rule for tokens that were drawn without replacement, with tree="distinct".

After a refusal p is what is left of it, and q the rest of the draft's. No two children of a node are the same token, so that wide
trees pay. It costs what `ratio` does. Of no use for chains, where it is `ratio`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import by_probability


def recursive(p: np.ndarray, drafted: Sequence[int], q: np.ndarray, uniform: by_probability.Uniform) -> int:
    for token in drafted:
        if uniform() * q[token] < p[token]:
            return token
        p, q = by_probability.left_over(p, q), q.copy()
        q[token] = 0.0
        total = q.sum()
        if total <= 0:
            break
        q /= total
    return by_probability.drawn_from(p, uniform)


RECURSIVE = by_probability.ByProbability(recursive, draws="distinct")
