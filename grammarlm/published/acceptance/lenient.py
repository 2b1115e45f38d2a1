"""Lenient acceptance (DistillSpec: Improving Speculative Decoding via Knowledge Distillation): the ratio test, relaxed.

    gl.Draft(small, acceptance=Lenient(lenience=0.2))

Each drafted token with probability min(1, p / (q f)): the less the lenience f, the more is taken of what the draft likes better
than the target does. Lossy, but for f = 1, where it is `ratio`. It costs what `ratio` does; `out.stats` has how much of the drafts
was taken, by which draft models are compared that were distilled. Of no use where answers must follow the model's law, or in greedy
decoding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.logits.sampling import distribution
from grammarlm.decoding.loop.row import Row

from . import by_probability
from .ratio import ratio


class Lenient(by_probability.ByProbability):
    """`lenience`: above 0, at most 1. A token that was not drawn is one with q = 1."""

    lossless, needs_probabilities = False, True

    def __init__(self, lenience: float = 1 / 3):
        check_number("lenience", lenience, lambda f: 0 < f <= 1, "above 0, at most 1")
        self.lenience = lenience
        super().__init__(self.lenient)

    def lenient(self, p: np.ndarray, drafted: Sequence[int], q: np.ndarray, uniform: by_probability.Uniform) -> int:
        return ratio(p, drafted, self.lenience * q, uniform)

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        if row.unread.drawn is not None or not row.sampling.temperature:
            return super().choose(row, logits)
        p, uniform = distribution(logits, row.sampling), by_probability.uniform_of(row)
        return next((token for _, token in row.unread.proposed if uniform() * self.lenience < p[token]), None)
