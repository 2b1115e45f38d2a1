"""Whatever is random while a row is filled. A random number depends on (seed, position, purpose) alone: not on the step, on other
rows, or on how often the model was called. So a position where the same logits are looked at twice gives the same id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from grammarlm.decoding.logits.sampling import Sampling, draw
from grammarlm.masks.canvas.scores import SoftmaxDraw

DRAFT, ACCEPT, AGAIN, FILL = range(4)  # what a random number is for
Draw = Callable[[np.ndarray], int]  # from log weights to an index


@dataclass(frozen=True)
class Draws:
    """Draws with a seed; at temperature 0 nothing is drawn."""

    sampling: Sampling = field(default_factory=Sampling)

    @property
    def is_greedy(self) -> bool:
        return not self.sampling.temperature

    def token(self, ids: np.ndarray, logits: np.ndarray, position: int) -> int:
        """One of some ids by softmax(logits / temperature)."""
        row = np.full(int(ids[-1]) + 1, -np.inf, np.float32)
        row[ids] = logits
        return draw(row, self.sampling, position)[0]

    def index(self, masses: np.ndarray, position: int, purpose: int) -> int:
        """An index with a probability proportional to its mass."""
        sums = masses.cumsum()
        found = np.searchsorted(sums, self._random(position, purpose).random() * sums[-1], side="right")
        return min(int(found), len(masses) - 1)

    def happens(self, p: float, position: int, purpose: int) -> bool:
        """With probability min(1, p)."""
        return bool(self._random(position, purpose).random() < p)

    def law(self, logits: np.ndarray) -> np.ndarray:
        """float64 [V]: softmax(logits / temperature); at temperature 0 all of it is the best id's."""
        if self.is_greedy:
            one = np.zeros(len(logits))
            one[logits.argmax()] = 1
            return one
        p = np.exp((logits - logits.max()).astype(np.float64) / self.sampling.warmth)
        normalized: np.ndarray = p / p.sum()
        return normalized

    def joint(self) -> SoftmaxDraw:
        """Draws by the softmax of log weights, for the choices that make up a whole row."""
        return SoftmaxDraw(self._random(0, FILL))

    def _random(self, position: int, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.sampling.seed or 0, position, purpose])
