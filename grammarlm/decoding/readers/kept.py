"""Texts that a model has read, kept for the next call: what their prompts have in common with them is not read again.

    kept = KeptTexts(model, most=4)
    reader = open_reader(model, prompts, room, kept)      # begins behind what a kept text has in common with each prompt
    kept.add(reader, [0])                                 # its first text has ended

Of causal transformers models with a cache that grows; all others are read as without. A cache that cannot be cut (a sliding window
that counts its slots, a state) helps where the whole kept text begins the prompt. Weights that were changed in between are seen by
the versions of the model's parameters: what was kept is dropped. A kept text is never written to, so several threads may use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .callable import CallableReader

LEAST = 16  # ids in common: fewer cost as much to copy as to read


@dataclass(frozen=True)
class KeptText:
    """One text, in a reader of its own."""

    ids: list[int]
    reader: CallableReader
    weights: int  # those it was read with: see `weights_of`

    def shared(self, prompt: Sequence[int]) -> int:
        """How many ids of the prompt need not be read; its last one is read in any case, for its logits."""
        pairs = zip(self.ids, prompt, strict=False)
        count = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(self.ids), len(prompt)))
        count = min(count, len(prompt) - 1)
        if count < LEAST or (count < len(self.ids) and not self.reader.rollback_is_cheap):
            return 0
        return count


class KeptTexts:
    """The last texts of one model, at most `most`."""

    def __init__(self, model: Any, most: int, cache: str | None = None):
        """`cache`: what is asked of the model's cache beside."""
        self.model, self.most, self.cache = model, most, cache
        self._texts: list[KeptText] = []  # the last one at the end

    def __len__(self) -> int:
        return len(self._texts)

    def clear(self) -> None:
        self._texts = []

    def open(self, prompts: Sequence[Sequence[int]], room: int) -> CallableReader:
        """A reader of these prompts. Its beginnings are what has not been read of them."""
        from .cached import CachedReader

        weights = weights_of(self.model)
        self._texts = [text for text in self._texts if text.weights == weights]
        known = [self._longest(prompt) for prompt in prompts]
        new = [at for at, text in enumerate(known) if text is None]
        readers: list[CallableReader] = []
        if new:
            readers.append(CachedReader(self.model, [prompts[at] for at in new], room, self.cache))
        order = list(new)
        for at, text in enumerate(known):
            if text is not None:
                reader = text.reader.taken([0])
                reader.rollback([len(text.ids) - text.shared(prompts[at])])
                readers.append(reader)
                order.append(at)
        whole = readers[0]
        for reader in readers[1:]:
            whole.join(reader)
        whole.select([order.index(at) for at in range(len(prompts))])
        whole.beginnings = [
            list(prompt[0 if text is None else text.shared(prompt) :])
            for prompt, text in zip(prompts, known, strict=True)
        ]
        return whole

    def _longest(self, prompt: Sequence[int]) -> KeptText | None:
        """The text that has most in common with a prompt."""
        best = max(self._texts, key=lambda text: text.shared(prompt), default=None)
        return best if best is not None and best.shared(prompt) else None

    def add(self, reader: Any, numbers: Sequence[int]) -> None:
        """Some texts of a reader that have ended; those that they went on from are dropped."""
        if not isinstance(reader, CallableReader) or not reader.can_be_kept:
            return
        weights = weights_of(self.model)
        for at in numbers:
            ids = reader.ids(at)
            if len(ids) > LEAST:
                kept = [text for text in self._texts if text.ids != ids[: len(text.ids)]]
                self._texts = [*kept, KeptText(ids, reader.taken([at]), weights)][-self.most :]


def weights_of(model: Any) -> int:
    """Another number where a parameter has been written to, moved or replaced."""
    known = ((each.data_ptr(), 0 if torch.is_inference(each) else each._version) for each in model.parameters())
    return hash(tuple(known))
