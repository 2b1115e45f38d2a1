"""A model that reads no row twice: samplers often go the same way, and all begin with a row of masks."""

from __future__ import annotations

from collections import OrderedDict
from time import perf_counter
from typing import Any

import torch

MOST_BYTES = 512 << 20


class Remembered:
    """Ids [B, L] to logits [B, L, V]. What it counts are the rows that the model itself has read."""

    def __init__(self, model: Any):
        self.model, self.rows, self.seconds = model, 0, 0.0
        self._known: OrderedDict[bytes, torch.Tensor] = OrderedDict()
        self._bytes = 0

    @property
    def ms_a_row(self) -> float:
        """Of one row in one call, whatever was read with it."""
        return 1000 * self.seconds / max(self.rows, 1)

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        keys = [row.numpy().tobytes() for row in ids]
        new = {key: index for index, key in enumerate(keys) if key not in self._known}
        logits = {key: self._known[key] for key in keys if key in self._known}
        if new:
            start = perf_counter()
            with torch.inference_mode():
                answer = self.model(ids[list(new.values())])
            self.seconds, self.rows = self.seconds + perf_counter() - start, self.rows + len(new)
            logits |= zip(new, answer, strict=True)
        for key in keys:
            self._keep(key, logits[key])
        return torch.stack([logits[key] for key in keys])

    def _keep(self, key: bytes, logits: torch.Tensor) -> None:
        """The latest rows are kept."""
        if key in self._known:
            self._known.move_to_end(key)
            return
        self._known[key] = logits.clone()
        self._bytes += logits.nbytes
        while self._bytes > MOST_BYTES:
            _, oldest = self._known.popitem(last=False)
            self._bytes -= oldest.nbytes
