"""Scores of a canvas whose logits are on a GPU: what the host asks of them, as numpy arrays of K numbers a row, or one.

The logits stay where they are. `masks/canvas/scores.py` asks, and does the same on the host for logits that are there.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch

from grammarlm.kernels.gpu.class_scores import Pieces, class_best, drawn_members

DTYPES = torch.float32, torch.float16, torch.bfloat16


class DeviceRows:
    """Some rows of logits [L, at least V]."""

    def __init__(self, logits: torch.Tensor, pieces: Pieces, rows: Sequence[int]):
        logits = logits.detach()
        self._logits = logits if logits.dtype in DTYPES else logits.float()
        self._pieces, self._rows = pieces, torch.tensor(rows, dtype=torch.int64, device=logits.device)
        self._best = class_best(self._logits, pieces, self._rows)

    @cached_property
    def highest(self) -> np.ndarray:
        """float32 [rows, K]: the highest logit of each class; NaN where one is NaN or +inf."""
        found: np.ndarray = self._best.highest.cpu().numpy()
        return found

    @cached_property
    def log_sums(self) -> np.ndarray:
        """float64 [rows, K]: the log of the sum of exp(logit) over each class, to some 1e-6."""
        with np.errstate(divide="ignore"):
            found: np.ndarray = self.highest + np.log(self._best.sums.cpu().numpy().astype(np.float64))
        return found

    def best_tokens(self, classes: Sequence[int]) -> list[int]:
        """Of each row the best token of one class."""
        found: list[int] = self._best.tokens.gather(1, self._there(classes, torch.int64)[:, None])[:, 0].tolist()
        return found

    def drawn_tokens(self, classes: Sequence[int], shares: Sequence[float]) -> list[int]:
        """Of each row a token of one class, by its softmax and a number from 0 to 1."""
        kinds, parts = self._there(classes, torch.int64), self._there(shares, torch.float32)
        found: list[int] = drawn_members(self._logits, self._pieces, self._best, kinds, parts, self._rows).tolist()
        return found

    def logits_of(self, index: int, tokens: np.ndarray) -> np.ndarray:
        """float32: the logits of some tokens in a row."""
        place = self._rows[index]
        found: np.ndarray = self._logits[place][self._there(tokens, torch.int64)].float().cpu().numpy()
        return found

    def _there(self, numbers: Sequence[int] | Sequence[float] | np.ndarray, dtype: torch.dtype) -> torch.Tensor:
        return torch.as_tensor(np.asarray(numbers)).to(self._logits.device, dtype)
