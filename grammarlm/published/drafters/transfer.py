"""RAPID (Long-Context Inference with Retrieval-Augmented Speculative Decoding): a draft with its own prompt moves the target's law.

    gl.Draft(large, context=retrieve, transfer=0.5)

The draft model reads a short prompt with what was retrieved, and at every token, drafted or not, the target's logits z become z +
transfer T (q - p), p and q both laws at temperature T. Lossy. It costs a forward of the draft at each token. Of no use for a
draft that knows no more than the target.
"""

from __future__ import annotations

from typing import Any

import torch

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.readers.blended import BlendedReader
from grammarlm.decoding.readers.reader import Reader, open_reader
from grammarlm.decoding.speculative.drafters.contexts import Context
from grammarlm.decoding.speculative.drafters.drafter import Target
from grammarlm.decoding.speculative.drafters.follower import ROOM
from grammarlm.decoding.speculative.drafters.model import ModelDrafter


class Transfer(ModelDrafter):
    """`transfer`: how far the draft's law moves the target's."""

    is_lossless, has_reader = False, True

    def __init__(self, model: Any, cache: str | None = None, *, context: Context | None = None, transfer: float = 0.5):
        check_number("transfer", transfer, lambda rate: rate >= 0, "0 or more")
        super().__init__(model, cache, context=context)
        self.transfer, self._warmth = transfer, 1.0

    def begin(self, target: Target) -> None:
        super().begin(target)
        self._warmth = target.temperature or 1.0

    def reader(self, reader: Reader) -> Reader:
        """Both models read the answers, each after its own prompt."""
        own = open_reader(self.model, [self._contexts.prompt(ids) for ids in reader.beginnings], ROOM, self.cache)
        return BlendedReader([reader, own], self._transferred, "transfer")

    def _transferred(self, target: torch.Tensor, draft: torch.Tensor) -> torch.Tensor:
        return transferred(target, draft, self.transfer, self._warmth)


def transferred(target: torch.Tensor, draft: torch.Tensor, rate: float, warmth: float) -> torch.Tensor:
    """Logits whose law is the target's after a step towards the draft's."""
    p, q = torch.softmax(target / warmth, -1), torch.softmax(draft / warmth, -1)
    return target + rate * warmth * (q - p)
