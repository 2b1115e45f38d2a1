"""The rows of Superposed Decoding (Multiple Generations from a Single Autoregressive Inference Pass): several drafts are read as
one text, whose last id is a mixture of their last tokens' embeddings, each weighed by its draft's share.

A forward is of one row, whatever the number of drafts, and its logits are those of all of them. Of no use for models that take ids
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.logits.sampling import Sampling
from grammarlm.decoding.methods.searches.search import Searched
from grammarlm.decoding.readers.callable import rows_of
from grammarlm.decoding.readers.model_cache import cache_name, grows, returned_cache, taken_by
from grammarlm.decoding.readers.model_facts import KEEP_LOGITS, is_encoder_decoder, is_transformers_model
from grammarlm.decoding.request import Request
from grammarlm.decoding.tree.text_logits import TextLogits
from grammarlm.decoding.tree.text_node import TextNode
from grammarlm.decoding.tree.tree import Tree


class SuperposedRows(TextLogits):
    """The logits after drafts of one prompt; each call is of drafts with one token more."""

    def __init__(self, request: Request):
        super().__init__(request)
        self._model: Any = request.model
        is_fine = is_transformers_model(self._model) and not is_encoder_decoder(self._model)
        self._options = taken_by(self._model) if is_fine else {}
        if "inputs_embeds" not in self._options:
            raise TypeError(
                f'method="superposed" mixes embeddings, and {type(self._model).__name__} takes none: it takes a causal model of '
                "transformers with inputs_embeds"
            )
        self.shares: dict[TextNode, float] = {}  # of the drafts that are read next; they sum to 1
        self._embedded: torch.Tensor | None = None  # [ids, hidden], where there is no cache
        self._cache: Any = None

    def after(self, texts: list[TextNode]) -> np.ndarray:
        """float32 [texts, V], the caller's: the same row for each text."""
        self.forwards += 1
        embed = self._model.get_input_embeddings()
        prompt = self._request.prompts[0]
        ids = [text.token for text in texts] if texts[0].length else prompt
        rows = embed(torch.tensor(ids, device=embed.weight.device)).detach()
        if texts[0].length:
            shares = torch.tensor([self.shares[text] for text in texts], dtype=rows.dtype, device=rows.device)
            rows = (shares @ rows)[None]
        return np.repeat(self._forward(rows).numpy(), len(texts), axis=0)

    def _forward(self, rows: torch.Tensor) -> torch.Tensor:
        name = cache_name(self._options)
        self._embedded = rows if self._embedded is None else torch.cat([self._embedded, rows])
        is_off = name is None or self._request.specs[0].settings.cache == "off"
        unread = rows if self._cache is not None else self._embedded
        own: dict[str, Any] = {} if is_off else {str(name): self._cache}
        own |= {each: 1 for each in KEEP_LOGITS if each in self._options}
        with torch.inference_mode():
            output = self._model(inputs_embeds=unread[None], use_cache=not is_off, return_dict=True, **own)
        found = None if is_off else returned_cache(output)
        self._cache = found if found is not None and grows(found) else None
        return rows_of(output.logits, [output.logits.shape[1]], [1])


class SuperposedTree(Tree):
    """The texts of drafts; `share` says how much of each is in the next row."""

    def __init__(self, request: Request, sampling: Sampling):
        super().__init__(request, sampling)
        self._logits = self._superposed = SuperposedRows(request)

    def share(self, texts: Sequence[TextNode], scores: Sequence[float]) -> None:
        shares = np.exp(np.array(scores) - max(scores))
        self._superposed.shares = dict(zip(texts, (shares / shares.sum()).tolist(), strict=True))


class SuperposedSearch(Searched):
    tree = SuperposedTree
