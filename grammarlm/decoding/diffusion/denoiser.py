"""A model that fills in masks: rows of ids with -1 where one is missing in, logits of every position out."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.readers.mask_facts import CAUSAL, MASKED
from grammarlm.decoding.readers.model_facts import device_of


class Denoiser:
    """A model behind a prompt, which it sees and nobody fills in."""

    def __init__(self, model: Any, width: int, mask_id: int, prompt: Sequence[int] = (), kind: str = MASKED):
        self.model, self.width, self.mask_id, self.prompt, self.kind = model, width, mask_id, list(prompt), kind
        self.calls: int = 0
        self.seconds: float = 0.0
        self._device = device_of(model)

    def read(self, rows: np.ndarray) -> np.ndarray:
        """float32 [rows, length, width] of int64 [rows, length], in one call; what the vocabulary has beyond the logits is -inf."""
        start = perf_counter()
        count, length = rows.shape
        if self.kind == CAUSAL and not self.prompt and length and (rows[:, 0] < 0).any():
            raise ValueError(
                "a causal model predicts an id from those before, and the first one has none; begin with a piece of text, or give "
                "a prompt"
            )
        ids = np.where(rows < 0, self.mask_id, rows)
        prompt = np.broadcast_to(np.array(self.prompt, np.int64), (count, len(self.prompt)))
        given = torch.from_numpy(np.concatenate([prompt, ids], 1)).to(self._device)
        with torch.no_grad():
            answer = self.model(given)
        logits = checked(getattr(answer, "logits", answer), given.shape)
        if self.kind != MASKED:
            logits = torch.cat([logits[:, :1], logits[:, :-1]], 1)
        logits = logits[:, len(self.prompt) :, : self.width].detach().to("cpu", torch.float32)
        found = logits.numpy()
        if found.shape[2] < self.width:
            found = np.concatenate(
                [found, np.full((count, length, self.width - found.shape[2]), -np.inf, np.float32)], 2
            )
        highest = found.max(2, initial=-np.inf)  # NaN where there is one
        if not (highest < np.inf).all():
            raise ValueError("the model's logits hold NaN or inf; check its weights and dtype")
        self.calls, self.seconds = self.calls + 1, self.seconds + perf_counter() - start
        return found


def checked(logits: Any, shape: torch.Size) -> torch.Tensor:
    if not isinstance(logits, torch.Tensor):
        raise TypeError(
            f"the model returned {type(logits).__name__}; it returns its logits as one tensor [B, L, V], or as .logits"
        )
    if logits.ndim != 3 or tuple(logits.shape[:2]) != tuple(shape) or not logits.is_floating_point():
        raise ValueError(
            f"the model returned {logits.dtype} {list(logits.shape)} for ids {list(shape)}; "
            f"it must be a floating-point tensor [{shape[0]}, {shape[1]}, V]"
        )
    return logits
