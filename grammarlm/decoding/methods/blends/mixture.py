"""The geometric mixture of two laws, p ~ s^(1 - x) r^x, and how far it is from s.

With d = log r - log s it is p ~ s e^(xd), and KL(p, s) = x E_p[d] - log E_s[e^(xd)]. Its derivative by x is x Var_p(d), so it
only grows, and near 0 like x^2: its root is nearly a line, and what is granted is found in a few looks. Each costs an
exponential a token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grammarlm.decoding.tree.steps import log_sum

LOOKS = 60  # more than halving a float64 needs to get within SLACK
SLACK = 1e-3  # of what is granted; what is left over is granted to later tokens


@dataclass(frozen=True)
class Mixture:
    """Two laws over the tokens that both can draw; arrays float64, of these tokens."""

    tokens: np.ndarray  # int64
    log_safe: np.ndarray  # log s, normalised over all tokens that s can draw
    difference: np.ndarray  # log r - log s
    is_within: bool  # can s draw all that r can?
    width: int

    @classmethod
    def of(cls, safe: np.ndarray, risky: np.ndarray, warmth: float) -> Mixture:
        """Of two rows of logits, each with a finite number, -inf where nothing is drawn; both divided by a temperature first."""
        tokens = np.flatnonzero((safe > -np.inf) & (risky > -np.inf))
        own, other = log_law(safe, warmth), log_law(risky, warmth)
        is_within = not ((safe == -np.inf) & (risky > -np.inf)).any()
        return cls(tokens, own[tokens], other[tokens] - own[tokens], is_within, len(safe))

    def largest(self, granted: float) -> tuple[float, float]:
        """The largest x from 0 to 1 with KL(p, s) <= granted, nearly, and that divergence. x = 0 is s itself."""
        if granted <= 0 or not len(self.tokens):
            return (1.0, math.inf) if granted == math.inf else (0.0, 0.0)
        high, above = 1.0, self.divergence(1.0)
        if above <= granted:
            return 1.0, math.inf if granted == math.inf and not self.is_within else above
        low, below = 0.0, 0.0
        for look in range(LOOKS):
            if below >= granted * (1 - SLACK) or high - low < 1e-12:
                break
            rise = math.sqrt(above) - math.sqrt(below)
            is_line = look % 2 == 0 and 0 < rise < math.inf
            part = (math.sqrt(granted * (1 - SLACK / 2)) - math.sqrt(below)) / rise if is_line else 0.5
            x = low + (high - low) * min(max(part, 0.01), 0.99)
            found = self.divergence(x)
            if found <= granted:
                low, below = x, found
            else:
                high, above = x, found
        return low, below

    def divergence(self, x: float) -> float:
        """KL(p, s) in nats."""
        log_p = self.log_safe + x * self.difference
        log_total = log_sum(log_p)
        mean = float(np.exp(log_p - log_total) @ self.difference)
        return max(0.0, x * mean - log_total)

    def row(self, x: float) -> np.ndarray:
        """float64 [V]: log p, for x above 0."""
        log_p = self.log_safe + x * self.difference
        whole = np.full(self.width, -np.inf)
        whole[self.tokens] = log_p - log_sum(log_p)
        return whole


def log_law(logits: np.ndarray, warmth: float) -> np.ndarray:
    """float64 [V]: the logarithm of softmax(logits / temperature)."""
    scaled = (logits.astype(np.float64) - float(logits.max())) / warmth
    return scaled - log_sum(scaled)
