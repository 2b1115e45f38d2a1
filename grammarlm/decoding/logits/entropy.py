"""How uncertain a choice is."""

from __future__ import annotations

import numpy as np


def entropy_of(log_p: np.ndarray) -> float:
    """Entropy in nats of softmax(log_p), float [V]; 0 where nothing is left."""
    left = log_p[log_p > -np.inf].astype(np.float64)
    if not len(left):
        return 0.0
    left -= left.max()
    p = np.exp(left)
    total = p.sum()
    return max(0.0, float(np.log(total) - (p * left).sum() / total))
