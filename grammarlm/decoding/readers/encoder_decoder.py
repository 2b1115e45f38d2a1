"""Reader of an encoder-decoder transformers model: prompts go through the encoder once, answers through the decoder.

Prompts are padded on the right, with an attention mask, which suits relative and learned positions alike. The decoder starts each
answer with the same id. Some decoders (T5's) take positions from cache slots, so answers of unequal length have no cache: they are
read again, padded on the right, until their lengths are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

import torch

from .cached import reorder
from .callable import TreeRows, picked, rows_of
from .draft_tree import DraftTree
from .model_cache import cache_name, go_without, grows, returned_cache, taken_by, why_not
from .model_facts import device_of, width_of


class EncoderDecoderReader:
    """The first read runs the encoder, too."""

    keeps_states = False
    states: list[torch.Tensor] | None = None
    unequal_is_cheap = False
    rollback_is_cheap = False

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], cache: str | None = None):
        self._asked, self._name = cache, cache_name(taken_by(model))
        self._is_cached = cache != "off" and self._name is not None
        if cache == "static":
            go_without(model, cache, "answers of an encoder-decoder model have a dynamic one")
        if self._name is None:
            go_without(model, cache, "its forward takes none")
        self._model, self._device, self.width = model, device_of(model), width_of(model)
        self.beginnings = [[first_id(model)] for _ in prompts]
        self._texts: list[list[int]] = [[] for _ in prompts]
        longest = max(map(len, prompts))
        padded = [list(prompt) + [0] * (longest - len(prompt)) for prompt in prompts]
        seen = [[1] * len(prompt) + [0] * (longest - len(prompt)) for prompt in prompts]
        self._prompts = torch.tensor(padded, device=self._device)
        self._seen = torch.tensor(seen, device=self._device)
        self._encoded: torch.Tensor | None = None
        self._cache: Any = None
        self._trees: list[DraftTree] = []

    @property
    def reads_trees(self) -> bool:
        return False

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        is_kept = self._is_cached and len({len(text) for text in self._texts}) == 1
        unread = self._texts if self._cache is None else chunks
        width = max(map(len, unread))
        padded = [[*ids, *[0] * (width - len(ids))] for ids in unread]
        with torch.inference_mode():
            output = self._model(
                **self._source(),
                attention_mask=self._seen,
                decoder_input_ids=torch.tensor(padded, device=self._device),
                **({self._name: self._cache} if self._name is not None else {}),
                use_cache=is_kept,
                return_dict=True,
            )
        if self._encoded is None:
            self._encoded = output.encoder_last_hidden_state
        self._cache = self._grown(returned_cache(output)) if is_kept else None
        return rows_of(output.logits, [len(ids) for ids in unread], scored)

    def _grown(self, cache: Any) -> Any | None:
        """A cache to go on with, of what a forward has returned."""
        own = getattr(cache, "self_attention_cache", cache)
        if grows(own):
            return cache
        self._is_cached = False
        go_without(self._model, self._asked, why_not(own))
        return None

    def read_trees(
        self, chunks: Sequence[Sequence[int]], scored: Sequence[int], trees: Sequence[DraftTree]
    ) -> torch.Tensor:
        """All texts again, each as often as its tree has leaves, over one encoding of the prompts."""
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        self._trees, branches = list(trees), TreeRows(self._texts, trees)
        width = max(map(len, branches.rows))
        padded = [[*ids, *[0] * (width - len(ids))] for ids in branches.rows]
        chosen = torch.tensor(branches.texts, dtype=torch.long, device=self._device)
        with torch.inference_mode():
            output = self._model(
                **self._source(chosen),
                attention_mask=self._seen[chosen],
                decoder_input_ids=torch.tensor(padded, device=self._device),
                use_cache=False,
                return_dict=True,
            )
        self._cache = None
        return picked(output.logits, branches.places(scored))

    def keep(self, paths: Sequence[Sequence[int]]) -> None:
        for text, tree, path in zip(self._texts, self._trees, paths, strict=True):
            text.extend(tree.tokens[node] for node in path)

    def rollback(self, counts: Sequence[int]) -> None:
        for text, count in zip(self._texts, counts, strict=True):
            del text[len(text) - count :]
        if any(counts):
            self._cache = None

    def _source(self, chosen: torch.Tensor | None = None) -> dict[str, Any]:
        """The prompts, or their cached encoding; of these texts, in this order."""
        if self._encoded is None:
            return {"input_ids": self._prompts if chosen is None else self._prompts[chosen]}
        from transformers.modeling_outputs import BaseModelOutput

        encoded = self._encoded if chosen is None else self._encoded[chosen]
        return {"encoder_outputs": BaseModelOutput(last_hidden_state=encoded)}

    def select(self, texts: Sequence[int]) -> None:
        if list(texts) == list(range(len(self._texts))):
            return
        self._texts = [list(self._texts[i]) for i in texts]
        chosen = torch.tensor(list(texts), dtype=torch.long, device=self._device)
        with torch.inference_mode():
            self._seen, self._prompts = self._seen[chosen], self._prompts[chosen]
            self._encoded = None if self._encoded is None else self._encoded[chosen.to(self._encoded.device)]
        if self._cache is not None:
            reorder(self._cache, texts, self._device)

    def taken(self, texts: Sequence[int]) -> EncoderDecoderReader:
        other = copy(self)
        other._cache, other._trees = None, []
        other.select(texts)
        if self._cache is not None:
            other._cache = deepcopy(self._cache)
            reorder(other._cache, texts, self._device)
        return other

    def join(self, other: EncoderDecoderReader) -> None:
        """What has been encoded stays so; the answers are read again."""
        if (self._encoded is None) != (other._encoded is None):
            for each in (self, other):
                each._encode()
        longest = max(self._prompts.shape[1], other._prompts.shape[1])

        def both(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
            with torch.inference_mode():
                return torch.cat([widened(first, longest), widened(second, longest)])

        self._prompts, self._seen = both(self._prompts, other._prompts), both(self._seen, other._seen)
        if self._encoded is not None and other._encoded is not None:
            self._encoded = both(self._encoded, other._encoded)
        self._texts += other._texts
        self._cache = None

    def _encode(self) -> None:
        if self._encoded is None:
            with torch.inference_mode():
                encoder = self._model.get_encoder()
                self._encoded = encoder(input_ids=self._prompts, attention_mask=self._seen).last_hidden_state


def widened(rows: torch.Tensor, width: int) -> torch.Tensor:
    """[B, width, ..]: with zeros behind."""
    more = rows.new_zeros((rows.shape[0], width - rows.shape[1], *rows.shape[2:]))
    return torch.cat([rows, more], 1)


def first_id(model: Any) -> int:
    """The id that the decoder starts with."""
    sources = (getattr(model, "generation_config", None), getattr(model, "config", None))
    for name in ("decoder_start_token_id", "bos_token_id"):
        for source in sources:
            found = getattr(source, name, None)
            if isinstance(found, int):
                return found
    raise ValueError(
        f"{type(model).__name__} does not say which id its decoder starts with: "
        "set model.generation_config.decoder_start_token_id"
    )
