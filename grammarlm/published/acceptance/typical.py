"""Medusa's typical acceptance (Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads).

The first drafted token that is not improbable for how uncertain the target is. Lossy, and right where any good answer will do. It
costs an entropy a node. Of no use where answers must follow the model's law, or in greedy decoding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import by_probability


def typical(p: np.ndarray, drafted: Sequence[int]) -> int | None:
    """The first drafted token that is not improbable for how uncertain the target is (Medusa)."""
    logs = np.log(p, where=p > 0, out=np.zeros_like(p))
    least = min(0.09, 0.3 * float(np.exp((p * logs).sum())))
    return next((token for token in drafted if p[token] > least), None)


TYPICAL = by_probability.ByTarget(typical)
