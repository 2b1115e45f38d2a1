"""Reader of a bare callable, without a cache: all texts are read again for each token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .model_facts import device_of, width_of


class CallableReader:
    """Reader of a callable from ids [B, T] to logits [B, T, V], or of a model without a usable cache."""

    @property
    def unequal_is_cheap(self) -> bool:
        return True

    @property
    def rollback_is_cheap(self) -> bool:
        return True

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]):
        self._model, self._device, self.width = model, device_of(model), width_of(model)
        self.beginnings = [list(prompt) for prompt in prompts]
        self._texts: list[list[int]] = [[] for _ in prompts]

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        length = max(map(len, self._texts))
        padded = [text + [text[-1]] * (length - len(text)) for text in self._texts]
        with torch.no_grad():
            logits = self._call(torch.tensor(padded, device=self._device))
        self._check(logits, (len(padded), length))
        return rows_of(logits, [len(text) for text in self._texts], scored)

    def _call(self, ids: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._model(ids)
        return logits

    def _check(self, logits: Any, expected: tuple[int, int]) -> None:
        if not isinstance(logits, torch.Tensor):
            raise TypeError(
                f"the model returned {type(logits).__name__}; a callable returns its logits as one tensor [B, T, V]"
            )
        is_table = logits.ndim == 3 and tuple(logits.shape[:2]) == expected and logits.shape[2] > 0
        if not is_table or not logits.is_floating_point():
            raise ValueError(
                f"the model returned {logits.dtype} {list(logits.shape)} for ids {list(expected)}; "
                f"it must be a floating-point tensor [{expected[0]}, {expected[1]}, V], the logits after each id"
            )

    def select(self, texts: Sequence[int]) -> None:
        self._texts = [list(self._texts[i]) for i in texts]

    def rollback(self, counts: Sequence[int]) -> None:
        for text, count in zip(self._texts, counts, strict=True):
            del text[len(text) - count :]


def rows_of(logits: torch.Tensor, ends: Sequence[int], scored: Sequence[int]) -> torch.Tensor:
    """float32 [sum of scored, V]: for each text the `scored` rows before its end.

    Always a copy, because masks are written into it: a callable may return a view of its own table. Made outside of inference
    mode, whose tensors cannot be written to later.
    """
    count, length, width = logits.shape
    flat = logits.detach().reshape(count * length, width)
    indices = [
        text * length + at
        for text, (end, last) in enumerate(zip(ends, scored, strict=True))
        for at in range(end - last, end)
    ]
    if len(indices) == len(flat):  # every row, in order
        return flat.to("cpu", torch.float32, copy=True)
    chosen = flat[torch.tensor(indices, dtype=torch.long, device=flat.device)]
    return chosen.to("cpu", torch.float32)
