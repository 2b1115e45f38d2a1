"""A model whose prompts may hold embeddings: of an image, a sound, or whatever another network has made.

    model = with_embeddings(model, image)                      # image [m, hidden]
    image_ids = range(model.config.vocab_size - m, model.config.vocab_size)
    gl.generate(model, [*before, *image_ids, *after], vocab=vocab, ...)

The model knows m ids more, one for each embedding. It can read them and never writes them: their logits are -inf, and no
vocabulary has them. So a text of ids is still all that readers, caches, batches and drafters see, and positions are counted as
for any other ids; several images are several ranges of ids. The weights are shared with the model given, not copied.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from grammarlm.decoding.readers.model_facts import is_transformers_model, width_of
from grammarlm.decoding.readers.model_layers import replaced


def with_embeddings(model: Any, embedded: torch.Tensor) -> Any:
    """The model with `embedded` [m, hidden] as its ids from the width of its logits on."""
    if not is_transformers_model(model) or getattr(model, "get_input_embeddings", lambda: None)() is None:
        raise ValueError("embeddings in a prompt need a transformers model with input embeddings")
    width, more = width_of(model), len(embedded)
    assert width is not None
    known, output = model.get_input_embeddings(), model.get_output_embeddings()
    wider = replaced(model, known, WiderInput(known, embedded, width))
    wider = replaced(wider, output, WiderOutput(output, more))
    wider.config = copy.copy(model.config)
    wider.config.vocab_size = width + more
    return wider


class WiderInput(nn.Module):
    def __init__(self, known: nn.Module, embedded: torch.Tensor, width: int):
        super().__init__()
        self.known, self.width = known, width
        self.embedded: torch.Tensor
        self.register_buffer("embedded", embedded.detach(), persistent=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.known(ids.clamp(max=self.width - 1))
        is_more = ids >= self.width
        if not is_more.any():
            return states
        more = self.embedded[(ids - self.width).clamp(min=0)].to(states.dtype)
        return torch.where(is_more[..., None], more, states)


class WiderOutput(nn.Module):
    def __init__(self, known: nn.Module, more: int):
        super().__init__()
        self.known, self.more = known, more

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return F.pad(self.known(states), (0, self.more), value=-torch.inf)
