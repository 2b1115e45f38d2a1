"""How uncertain a choice is."""

from __future__ import annotations

import math

import numpy as np


def entropy_of(log_p: np.ndarray) -> float:
    """Entropy in nats of softmax(log_p), float [V]; 0 where nothing is left."""
    left = log_p[log_p > -np.inf]
    if not len(left):
        return 0.0
    left -= left.max()
    p = np.exp(left)
    total = float(p.sum(dtype=np.float64))
    return max(0.0, math.log(total) - float((p * left).sum(dtype=np.float64)) / total)
