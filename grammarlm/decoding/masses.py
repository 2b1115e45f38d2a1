"""What a constraint takes away: the mass of all tokens, and of those that it leaves, out of one pass of exponentials.

The exponential of -inf is the slowest of all: to ask torch for the log-sum-exp of masked logits takes three times as long as for
the model's own. The exponentials of a turn lie in memory that the next turn uses again.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from ..kernels.cpu.allowed_sum import allowed_sum

LEAST = 1e-20  # a sum below this is made of numbers near the end of float32, or of none


class Masses:
    """Logarithms of sums of exp(logits), for the rows of one turn after another."""

    def __init__(self) -> None:
        self._exps = torch.empty(0, 0)
        self._tops: list[float] = []
        self._all: list[float] = []

    def of(self, logits: torch.Tensor) -> list[float]:
        """Of each row; no finite number where its logits are no distribution. What `left` is asked about later."""
        if self._exps.shape != logits.shape:
            self._exps = torch.empty_like(logits, memory_format=torch.contiguous_format)
        tops = logits.amax(dim=1, keepdim=True)
        torch.sub(logits, tops, out=self._exps)
        self._exps.exp_()
        self._tops = tops[:, 0].tolist()
        self._all = [
            top + math.log(self._sum(row, None, logits.shape[1])) if math.isfinite(top) else top
            for row, top in enumerate(self._tops)
        ]
        return self._all

    def left(self, row: int, mask: np.ndarray | None, masked: np.ndarray) -> float:
        """Of the tokens that the mask allows (None: all) up to the length of `masked`, which is the row with -inf elsewhere."""
        if mask is None and len(masked) == self._exps.shape[1]:
            return self._all[row]
        found = self._sum(row, mask, len(masked))
        if found > LEAST:
            return self._tops[row] + math.log(found)
        rest = masked[masked > -np.inf].astype(np.float64)
        return float(rest.max() + np.log(np.exp(rest - rest.max()).sum())) if len(rest) else -math.inf

    def _sum(self, row: int, mask: np.ndarray | None, width: int) -> float:
        values = self._exps.data_ptr() + 4 * row * self._exps.shape[1]
        found: float = allowed_sum(values, 0 if mask is None else mask.ctypes.data, width)
        return found
