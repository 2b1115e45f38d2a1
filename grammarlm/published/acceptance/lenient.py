"""Lenient acceptance (DistillSpec: Improving Speculative Decoding via Knowledge Distillation): nearly as good is good enough.

A drafted token that is at least a third as probable as the best one. Lossy. It costs nothing beside the target's distribution. Of
no use where answers must follow the model's law, or in greedy decoding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import by_probability


def lenient(p: np.ndarray, drafted: Sequence[int]) -> int | None:
    """A drafted token that is at least a third as probable as the best one."""
    return next((token for token in drafted if 3 * p[token] >= p.max()), None)


LENIENT = by_probability.ByTarget(lenient)
