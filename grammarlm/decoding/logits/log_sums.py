"""Log-sum-exp of all logits and of the allowed ones, out of one pass of exponentials: how much mass a constraint removes.

The exponential of -inf is the slowest of all: torch's log-sum-exp of masked logits takes three times as long as that of the
model's own. The buffer of exponentials is reused from one forward to the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from grammarlm.kernels import entries

LEAST = 1e-20  # a sum below this consists of values near float32's underflow, or of none, and is recomputed in float64


class LogSums:
    """Logarithms of sums of exp(logits), for the rows of one forward after another."""

    def __init__(self) -> None:
        self._exps = torch.empty(0, 0)
        self._tops: list[float] = []
        self._all: list[float] = []

    def of(self, logits: torch.Tensor) -> list[float]:
        """The log-sum-exp of each row; not finite where its logits are no distribution. Keeps the exponentials for `of_allowed`."""
        if self._exps.shape != logits.shape:
            self._exps = torch.empty_like(logits, memory_format=torch.contiguous_format)
        tops = logits.amax(dim=1, keepdim=True)
        torch.sub(logits, tops, out=self._exps)
        self._exps.exp_()
        self._tops = tops[:, 0].tolist()
        every = np.arange(len(self._tops))
        sums = self._sums(every, None, np.full(len(every), -1), logits.shape[1])
        self._all = [
            top + math.log(found) if math.isfinite(top) else top for top, found in zip(self._tops, sums, strict=True)
        ]
        return self._all

    def of_allowed(
        self, rows: Sequence[int], masks: np.ndarray | None, mask_rows: np.ndarray, masked: np.ndarray
    ) -> list[float]:
        """The log-sum-exp of the allowed tokens of each of these rows; mask_rows[i] is the mask of row i (-1: all tokens).

        `masked` are the rows with -inf elsewhere, cut off at the end of the vocabulary.
        """
        chosen, width = np.asarray(rows, np.int64), masked.shape[1]
        sums = self._sums(chosen, masks, mask_rows, width)
        is_whole = width == self._exps.shape[1]
        return [
            self._all[row] if mask_row < 0 and is_whole else self._log(row, found, masked[i])
            for i, (row, mask_row, found) in enumerate(zip(rows, mask_rows.tolist(), sums, strict=True))
        ]

    def _log(self, row: int, found: float, masked: np.ndarray) -> float:
        if found > LEAST:
            return self._tops[row] + math.log(found)
        rest = masked[masked > -np.inf].astype(np.float64)
        return float(rest.max() + np.log(np.exp(rest - rest.max()).sum())) if len(rest) else -math.inf

    def _sums(self, rows: np.ndarray, masks: np.ndarray | None, mask_rows: np.ndarray, width: int) -> list[float]:
        found = np.empty(len(rows))
        address, words = (0, 0) if masks is None else (masks.ctypes.data, masks.shape[1])
        stride = self._exps.shape[1]
        entries.allowed_sums(
            self._exps.data_ptr(), stride, width, address, words,
            rows.ctypes.data, mask_rows.ctypes.data, len(rows), found.ctypes.data,
        )  # fmt: skip
        return found.tolist()
