"""A causal transformers model and its key-value cache.

Texts of unequal length are padded on the left: with position ids of their own and an attention mask, pads are neither seen nor
counted. Later chunks may differ in length, too (a text whose grammar forces five tokens beside one that has a choice); then pads
are in the middle of the cache. That is exact where attention uses only position ids and the mask. A sliding window that counts
cache slots, or a recurrent state, would count the pads: for such models all later chunks have equal length (`in_step`).

    cache="dynamic"    grows with the text (the default)
    cache="static"     one allocation for the longest possible text; the default where the model's generation config asks for it
                       (from transformers 5.4 on: before, a batch of unequal prompts gets wrong logits from one)
    cache="off"        none: all texts are read again for each token; also used for models whose cache cannot be passed back in
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
import transformers

from grammarlm.errors import UnsupportedFeature

from .callable import CallableReader, rows_of
from .model_facts import KEEP_LOGITS, text_config

FIRST_STATIC = (5, 4)  # the version of transformers
PLAIN_LAYERS = frozenset({"DynamicLayer"})  # layers whose attention uses only position ids and the mask


class CachedReader(CallableReader):
    """Reads only new ids; all texts again where the model returns no cache that grows."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], room: int, cache: str | None):
        super().__init__(model, prompts)
        self._options = inspect.signature(model.forward).parameters
        self._masks: list[list[int]] = [[] for _ in prompts]  # for each cache slot, 1: an id, 0: a pad
        self._is_cached = cache != "off" and "past_key_values" in self._options
        self.in_step = self._is_cached and _wants_static(model, cache)  # a static cache has no slots for pads
        longest = max(map(len, prompts)) + room
        self._cache = _static_cache(model, longest) if self.in_step else None

    @property
    def can_forget(self) -> bool:
        """Where cache slots can be masked out; known after the first forward, which shows the kind of cache."""
        return not self._is_cached or (bool(self._masks[0]) and not self.in_step)

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        if not self._is_cached:
            return super().read(chunks, scored)
        is_first = not self._masks[0]
        for text, chunk in zip(self._texts, chunks, strict=True):
            text.extend(chunk)
        width = max(map(len, chunks))
        output = self._forward(chunks, width, max(scored))
        if is_first:
            self._look_at(getattr(output, "past_key_values", None))
        logits = output.logits
        return rows_of(logits, [logits.shape[1]] * len(chunks), scored)

    def _forward(self, chunks: Sequence[Sequence[int]], width: int, kept: int) -> Any:
        """One forward of the chunks, each padded on the left, with the logits of the last `kept` positions."""
        for mask, chunk in zip(self._masks, chunks, strict=True):
            mask.extend([0] * (width - len(chunk)) + [1] * len(chunk))
        ids = [[0] * (width - len(chunk)) + list(chunk) for chunk in chunks]
        options: dict[str, Any] = {name: kept for name in KEEP_LOGITS if name in self._options}
        if not all(map(all, self._masks)):
            options["attention_mask"] = torch.tensor(self._masks, device=self._device)
            if "position_ids" in self._options:
                places = [range(len(text) - width, len(text)) for text in self._texts]
                options["position_ids"] = torch.tensor(
                    [[max(i, 0) for i in row] for row in places], device=self._device
                )
        with torch.inference_mode():
            return self._model(
                input_ids=torch.tensor(ids, device=self._device),
                past_key_values=self._cache,
                use_cache=True,
                return_dict=True,
                **options,
            )

    def _look_at(self, cache: Any) -> None:
        """Decides how to go on, by the cache that the first forward returned."""
        self._cache = cache if cache is not None and grows(cache) else None
        self._is_cached = self._cache is not None
        layers = {type(layer).__name__ for layer in getattr(cache, "layers", ())}
        has_mask = {"attention_mask", "position_ids"} <= set(self._options)
        self.in_step = self._is_cached and not (has_mask and layers and layers <= PLAIN_LAYERS)

    def _call(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits of all texts, padded on the right, without a cache."""
        off = {"use_cache": False} if "use_cache" in self._options else {}
        logits: torch.Tensor = self._model(input_ids=ids, return_dict=True, **off).logits
        return logits

    def select(self, texts: Sequence[int]) -> None:
        super().select(texts)
        if self._is_cached and list(texts) != list(range(len(self._masks))):
            reorder(self._cache, texts, self._device)
        self._masks = [list(self._masks[i]) for i in texts]

    def forget(self, counts: Sequence[int]) -> None:
        """Rollback: the ids become pads, which keep their cache slots but are masked."""
        super().forget(counts)
        for mask, count in zip(self._masks, counts, strict=True):
            seen = [at for at, is_seen in enumerate(mask) if is_seen]
            for at in seen[len(seen) - count :]:
                mask[at] = 0


def reorder(cache: Any, texts: Sequence[int], device: torch.device) -> None:
    """Keeps the texts of a cache, in the order given; one may occur several times."""
    with torch.inference_mode():
        cache.reorder_cache(torch.tensor(list(texts), dtype=torch.long, device=device))


def grows(cache: Any) -> bool:
    """Can this cache be passed back in with the next token?

    A model without attention may have none. A cache of fixed length that the model made by itself, such as Gemma 2's in
    transformers 4.45, is as long as the prompt and would silently drop what comes after it; a static one made here is long enough.
    """
    kinds = {kind.__name__ for kind in type(cache).__mro__}
    return hasattr(cache, "reorder_cache") and ("StaticCache" in kinds or any("Dynamic" in kind for kind in kinds))


def _wants_static(model: Any, cache: str | None) -> bool:
    if cache == "static":
        if not static_caches_are_right():
            raise UnsupportedFeature(
                f"cache='static' needs transformers 5.4 or newer, this is {transformers.__version__}; leave cache= out"
            )
        return True
    asked = getattr(getattr(model, "generation_config", None), "cache_implementation", None)
    return cache is None and asked == "static" and static_caches_are_right()


def static_caches_are_right() -> bool:
    major, minor = transformers.__version__.split(".")[:2]
    return (int(major), int(minor)) >= FIRST_STATIC


def _static_cache(model: Any, longest: int) -> Any:
    from transformers import StaticCache

    return StaticCache(config=text_config(model), max_cache_len=longest)
