"""AdaDec's threshold (Towards Better Code Generation: Adaptive Decoding with Uncertainty Guidance), learned from choices.

    from grammarlm.decoding import fit_threshold

    entropy = fit_threshold(entropies, right)       # of choices whose best token is known to be right, or not
    gl.generate(model, prompt, schema=Query, method="lookahead", entropy=entropy)

Logistic regression of `right` on the entropy: the threshold is where right and wrong are equally likely. Costs a few passes over
the figures; of no use for another model, or another kind of text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

ROUNDS = 100
RIDGE = 1e-4  # of the slope: without it there is no best one where a threshold separates all


def fit_threshold(entropies: Sequence[float], right: Sequence[bool]) -> float:
    """The entropy, in nats, above which the best token is more often wrong than right. math.inf where it is not less often right
    at a high entropy than at a low one, or always; 0.0 where it never is.
    """
    nats, truth = np.asarray(entropies, np.float64), np.asarray(right, np.float64)
    if nats.ndim != 1 or nats.shape != truth.shape or not len(nats):
        raise ValueError(
            f"entropies is of shape {nats.shape} and right of {truth.shape}; give one of each for each choice"
        )
    if not np.isfinite(nats).all() or (nats < 0).any():
        raise ValueError("entropies has a value that is negative or not finite; it takes nats, 0 or more")
    if not np.isin(truth, (0.0, 1.0)).all():
        raise ValueError("right has a value that is neither True nor False")
    if truth.all() or not truth.any():
        return math.inf if truth.all() else 0.0
    scale = float(nats.std())
    if not scale:
        return math.inf if truth.mean() >= 0.5 else 0.0
    x = np.stack([np.ones_like(nats), (nats - nats.mean()) / scale])
    weights = np.zeros(2)
    penalty = np.diag([0.0, RIDGE])
    for _ in range(ROUNDS):  # Newton
        p = 1 / (1 + np.exp(-np.clip(weights @ x, -30, 30)))
        gradient = x @ (truth - p) - penalty @ weights
        step = np.linalg.solve((x * (p * (1 - p) + 1e-12)) @ x.T + penalty, gradient)
        weights += step * min(
            1.0, 5.0 / max(float(np.abs(step).max()), 1e-300)
        )  # no further than where it is like a parabola
        if np.abs(step).max() < 1e-9:
            break
    return max(0.0, float(nats.mean() - scale * weights[0] / weights[1])) if weights[1] < 0 else math.inf
