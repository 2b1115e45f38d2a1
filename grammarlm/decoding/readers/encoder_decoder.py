"""Reader of an encoder-decoder transformers model: prompts go through the encoder once, answers through the decoder.

Prompts are padded on the right, with an attention mask, which suits relative and learned positions alike. The decoder starts each
answer with the same id. Some decoders (T5's) take positions from cache slots, so answers of unequal length have no cache: they are
read again, padded on the right, until their lengths are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch

from .cached import reorder
from .callable import CallableReader, rows_of
from .model_cache import cache_name, go_without, grows, returned_cache, taken_by, why_not


class EncoderDecoderReader(CallableReader):
    """The first read runs the encoder, too. Without a cache, or for trees, answers are read as those of a callable are."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], cache: str | None = None):
        super().__init__(model, [[first_id(model)] for _ in prompts])
        self._asked, self._name = cache, cache_name(taken_by(model))
        self._is_cached = cache != "off" and self._name is not None
        if cache == "static":
            go_without(model, cache, "answers of an encoder-decoder model have a dynamic one")
        if self._name is None:
            go_without(model, cache, "its forward takes none")
        longest = max(map(len, prompts))
        padded = [list(prompt) + [0] * (longest - len(prompt)) for prompt in prompts]
        seen = [[1] * len(prompt) + [0] * (longest - len(prompt)) for prompt in prompts]
        self._prompts = torch.tensor(padded, device=self._device)
        self._seen = torch.tensor(seen, device=self._device)
        self._encoded: torch.Tensor | None = None
        self._cache: Any = None

    @property
    def unequal_is_cheap(self) -> bool:
        return False

    @property
    def rollback_is_cheap(self) -> bool:
        return False

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        lengths = {len(text) + len(chunk) for text, chunk in zip(self._texts, chunks, strict=True)}
        if not self._is_cached or len(lengths) > 1:
            self._cache = None
            return super().read(chunks, scored)
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        unread = [list(ids) for ids in (self._texts if self._cache is None else chunks)]
        assert self._name is not None
        output = self._forward(unread, list(range(len(unread))), **{self._name: self._cache, "use_cache": True})
        self._cache = self._grown(returned_cache(output))
        return rows_of(output.logits, [len(ids) for ids in unread], scored)

    def _logits(self, rows: list[list[int]], texts: list[int]) -> torch.Tensor:
        self._cache = None
        width = max(map(len, rows))
        logits: torch.Tensor = self._forward([[*ids, *[0] * (width - len(ids))] for ids in rows], texts).logits
        return logits

    def _forward(self, rows: list[list[int]], texts: list[int], **cache: Any) -> Any:
        """Row i goes on from prompt `texts[i]`."""
        from transformers.modeling_outputs import BaseModelOutput

        encoded, chosen = self._encode(), torch.tensor(texts, dtype=torch.long, device=self._device)
        with torch.inference_mode():
            return self._model(
                encoder_outputs=BaseModelOutput(last_hidden_state=encoded[chosen.to(encoded.device)]),
                attention_mask=self._seen[chosen],
                decoder_input_ids=torch.tensor(rows, device=self._device),
                return_dict=True,
                **{"use_cache": False, **cache},
            )

    def _encode(self) -> torch.Tensor:
        if self._encoded is None:
            with torch.inference_mode():
                encoder = self._model.get_encoder()
                self._encoded = encoder(input_ids=self._prompts, attention_mask=self._seen).last_hidden_state
        return self._encoded

    def _grown(self, cache: Any) -> Any | None:
        """A cache to go on with, of what a forward has returned."""
        own = getattr(cache, "self_attention_cache", cache)
        if grows(own):
            return cache
        self._is_cached = False
        go_without(self._model, self._asked, why_not(own))
        return None

    def rollback(self, counts: Sequence[int]) -> None:
        super().rollback(counts)
        if any(counts):
            self._cache = None

    def select(self, texts: Sequence[int]) -> None:
        if list(texts) != list(range(len(self._texts))):
            super().select(texts)
            self._choose(texts)

    def taken(self, texts: Sequence[int]) -> CallableReader:
        other = super().taken(texts)
        assert isinstance(other, EncoderDecoderReader)
        other._cache = deepcopy(self._cache)
        other._choose(texts)
        return other

    def _choose(self, texts: Sequence[int]) -> None:
        encoded, chosen = self._encode(), torch.tensor(list(texts), dtype=torch.long, device=self._device)
        with torch.inference_mode():
            self._seen, self._encoded = self._seen[chosen], encoded[chosen.to(encoded.device)]
        if self._cache is not None:
            reorder(self._cache, texts, self._device)

    def join(self, other: CallableReader) -> None:
        """What has been encoded stays so; the answers are read again."""
        assert isinstance(other, EncoderDecoderReader)
        own, its = self._encode(), other._encode()
        longest = max(own.shape[1], its.shape[1])
        with torch.inference_mode():
            self._encoded = torch.cat([widened(own, longest), widened(its, longest)])
            self._seen = torch.cat([widened(self._seen, longest), widened(other._seen, longest)])
        super().join(other)
        self._cache = None


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
