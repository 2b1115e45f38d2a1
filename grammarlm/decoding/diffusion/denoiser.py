"""A model that fills in masks: rows of ids with -1 where one is missing in, logits of every position out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.arguments import MOST_IDS, check_integer
from grammarlm.decoding.fit import warn_of_width
from grammarlm.decoding.readers.mask_facts import CAUSAL, MASKED, mask_id_of
from grammarlm.decoding.readers.model_facts import checked_logits, device_of, width_of
from grammarlm.masks.canvas.device_scores import is_on_device
from grammarlm.models.network import Network

from .device_logits import DeviceLogits
from .look import Logits


class Denoiser:
    """A model behind a prompt, which it sees and nobody fills in."""

    def __init__(self, model: Any, width: int, mask_id: int, prompt: Sequence[int] = (), kind: str = MASKED):
        self.model, self.width, self.mask_id, self.prompt, self.kind = model, width, mask_id, list(prompt), kind
        self.calls: int = 0

    def read(self, rows: np.ndarray) -> Sequence[Logits]:
        """float32 [length, width] of each row of int64 [rows, length], in one call; what the vocabulary has beyond the logits is
        -inf. Those of a GPU stay there."""
        return read_together([(self, rows)])[0]

    def group(self, rows: np.ndarray) -> Hashable:
        """Equal for what can be read in one call."""
        return id(self.model), self.kind, len(self.prompt) + rows.shape[1]

    def numbers(self, rows: np.ndarray) -> int:
        """How many logits a call has for these rows."""
        return len(rows) * (len(self.prompt) + rows.shape[1]) * self.width

    def ids(self, rows: np.ndarray) -> np.ndarray:
        """What the model sees."""
        if self.kind == CAUSAL and not self.prompt and rows.shape[1] and (rows[:, 0] < 0).any():
            raise ValueError(
                "a causal model predicts an id from those before, and the first one has none; begin with a piece of text, or give "
                "a prompt"
            )
        prompt = np.broadcast_to(np.array(self.prompt, np.int64), (len(rows), len(self.prompt)))
        return np.concatenate([prompt, np.where(rows < 0, self.mask_id, rows)], 1)

    def answers(self, logits: torch.Tensor) -> Sequence[Logits]:
        """Of the model's logits those of the rows, as wide as the vocabulary."""
        if self.calls == 1 and width_of(self.model) is None:  # of a bare callable it is known only now
            warn_of_width(self.width, logits.shape[2])
        kept = logits[:, len(self.prompt) :, : self.width].detach()
        if kept.numel() and not bool((kept.amax(2) < np.inf).all()):  # NaN where there is one
            raise ValueError("the model's logits hold NaN or inf; check its weights and dtype")
        rows = [DeviceLogits(row, self.width) for row in kept]
        return rows if is_on_device(kept) else [row[:] for row in rows]


def read_together(asked: Sequence[tuple[Denoiser, np.ndarray]]) -> list[Sequence[Logits]]:
    """The logits of rows of one group, of one denoiser each, by one call of the model."""
    first = asked[0][0]
    given = torch.from_numpy(np.concatenate([reader.ids(rows) for reader, rows in asked])).to(device_of(first.model))
    with torch.no_grad():
        answer = first.model(given)
    logits = checked_logits(getattr(answer, "logits", answer), given.shape)
    if first.kind != MASKED:
        logits = torch.cat([logits[:, :1], logits[:, :-1]], 1)
    each = logits.split([len(rows) for _, rows in asked])
    for reader, _ in asked:
        reader.calls += 1
    return [reader.answers(own) for (reader, _), own in zip(asked, each, strict=True)]


def checked_mask(given: int | None, model: Any, tokenizer: Any, kind: str) -> int:
    """The id that the model sees where one is missing: the one given, or what the tokenizer or the model calls so."""
    found = mask_id_of(model, tokenizer) if given is None else given
    if found is None and kind == CAUSAL:
        found = 0  # it never sees one
    if found is None:
        raise ValueError("nothing says which id the model sees where one is missing; pass mask_id=")
    width = model.shape.vocabulary if isinstance(model, Network) else width_of(model)
    check_integer("mask_id", found, 0, MOST_IDS if width is None else width - 1)
    return int(found)
