"""Logits that stay on a GPU: what a look asks of them is computed there, and a few numbers a position come to the host.

A row of 256 positions over 128,000 ids is 131 MB, each step of a model. A sampler that wants logits themselves indexes them like an
array, and gets the rows that it asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.logits.apply_mask import apply_mask_

from .draws import Draws
from .reading import LOWEST, Reading

ROWS = 64  # at once: 32 MB of float32 where there are 128,000 ids


class DeviceLogits:
    """Logits [length, width] of one row of ids; what they have no column for is -inf."""

    def __init__(self, logits: torch.Tensor, width: int):
        """`logits` [length, at most width], of any floating-point type."""
        self.logits, self.shape = logits, (len(logits), width)

    def __getitem__(self, index: Any) -> np.ndarray:
        """float32, on the host."""
        rows, *columns = index if isinstance(index, tuple) else (index,)
        found: np.ndarray = self.logits[rows].to("cpu", torch.float32).numpy()
        missing = self.shape[1] - found.shape[-1]
        if missing:
            found = np.concatenate([found, np.full((*found.shape[:-1], missing), -np.inf, np.float32)], -1)
        return found[(..., *columns)] if columns else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self[:] if dtype is None else self[:].astype(dtype)

    def at(self, position: int, token: int) -> float:
        return float(self.logits[position, token]) if token < self.logits.shape[1] else -np.inf


class DeviceReading(Reading):
    """What Reading says, of the same logits."""

    def __init__(
        self,
        positions: np.ndarray,
        rows: Sequence[np.ndarray],
        ids: Callable[[], list[np.ndarray]],
        table: DeviceLogits,
        draws: Draws,
    ):
        """rows: the mask words of each position; ids(): the same as ids, for what wants logits on the host."""
        self.positions, self.draws = positions, draws
        self._rows, self._ids, self._table = rows, ids, table

    @property
    def ids(self) -> list[np.ndarray]:  # type: ignore[override]
        return self._ids()

    def _values(self, index: int) -> np.ndarray:
        found: np.ndarray = self._table[int(self.positions[index])][self.ids[index]]
        return found

    def _parts(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """float32 [some positions, V], -inf where an id is not allowed."""
        for first in range(0, len(self.positions), ROWS):
            part = slice(first, first + ROWS)
            places = torch.from_numpy(self.positions[part]).to(self._table.logits.device)
            logits = self._table.logits[places].float()
            yield part, apply_mask_(logits, np.stack(self._rows[part]))

    @cached_property
    def _masses(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each position the best id, its logit, the sum of exp(logit - best logit)."""
        count = len(self.positions)
        best, tops, masses = np.empty(count, np.int64), np.empty(count), np.empty(count)
        for part, logits in self._parts():
            top = logits.amax(1, keepdim=True)
            ids = torch.arange(logits.shape[1], device=logits.device)
            best[part] = torch.where(logits == top, ids, logits.shape[1]).amin(1).cpu().numpy()  # of equals the first
            masses[part] = (logits - top).exp_().sum(1, dtype=torch.float64).cpu().numpy()
            tops[part] = top[:, 0].cpu().numpy()
        for index in np.flatnonzero(tops == -np.inf).tolist():
            best[index], tops[index], masses[index] = self.ids[index][0], LOWEST, 1
        return best, tops, masses

    @cached_property
    def best(self) -> np.ndarray:
        return self._masses[0]

    @cached_property
    def margin(self) -> np.ndarray:
        found = np.empty(len(self.positions))
        for part, logits in self._parts():
            two = logits.topk(min(2, logits.shape[1]), 1).values.double()
            found[part] = (two[:, 0] - two[:, 1]).cpu().numpy() if two.shape[1] > 1 else np.inf
        found[self._masses[1] == LOWEST] = np.inf
        return found

    @cached_property
    def entropy(self) -> np.ndarray:
        tops, masses = self._masses[1:]
        weighed = np.empty(len(self.positions))
        for part, logits in self._parts():
            below = logits - torch.from_numpy(tops[part, None].astype(np.float32)).to(logits.device)
            p = below.exp()
            weighed[part] = (p * below.masked_fill_(p == 0, 0)).sum(1, dtype=torch.float64).cpu().numpy()
        found: np.ndarray = np.log(masses) - weighed / masses
        return found

    def log_p(self, index: int, token: int) -> float:
        _, tops, masses = self._masses
        if self.draws.sampling.warmth != 1 or tops[index] == LOWEST:
            return super().log_p(index, token)
        value = self._table.at(int(self.positions[index]), token)
        return min(0.0, float(value - tops[index] - np.log(masses[index])))
