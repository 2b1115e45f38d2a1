"""Ids in, the logits of the last position out: what decoding needs of a model, whatever kind it is.

`open_model(model).read(ids)` reads the ids after all those read before and returns the logits of the next token, one
float32 row on the CPU that belongs to the caller. A transformers model keeps its key-value cache between the calls; a bare
callable gets all ids again each time. One `read` is one forward.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

KEEP_LOGITS = ("logits_to_keep", "num_logits_to_keep")  # the option's name from transformers 4.50 on, and before


class ModelSteps(Protocol):
    """A model that reads one text."""

    @property
    def width(self) -> int | None:
        """Of its logits; None where only a forward can tell."""

    def read(self, ids: Sequence[int]) -> torch.Tensor: ...


def open_model(model: Any) -> ModelSteps:
    """A fresh reader of one text; TypeError where the model cannot continue texts."""
    if hasattr(getattr(model, "config", None), "model_type"):
        return TransformersSteps(model)
    if callable(model):
        return CallableSteps(model)
    raise TypeError(
        f"model is {type(model).__name__}; pass a transformers causal model, or a callable from ids [B, T] to logits [B, T, V]"
    )


class TransformersSteps:
    """A transformers causal language model and the cache of what it has read."""

    def __init__(self, model: Any):
        name = type(model).__name__
        if getattr(model.config, "is_encoder_decoder", False):
            raise TypeError(f"{name} is an encoder-decoder model; generate() takes causal (decoder-only) models")
        if hasattr(model, "can_generate") and not model.can_generate():
            raise TypeError(f"{name} does not continue texts; load it with AutoModelForCausalLM")
        self.width: int | None = getattr(text_config(model), "vocab_size", None)
        self._model, self._device = model, device_of(model)
        accepted = inspect.signature(model.forward).parameters
        # Only the last position is asked for: on a long prompt the other rows of logits would take the most memory of all.
        self._options = {name: 1 for name in KEEP_LOGITS if name in accepted}
        self._ids: list[int] = []
        self._cache: Any = None

    def read(self, ids: Sequence[int]) -> torch.Tensor:
        self._ids += ids
        unread = self._ids if self._cache is None else list(ids)
        with torch.inference_mode():
            output = self._model(
                input_ids=torch.tensor([unread], device=self._device),
                past_key_values=self._cache,
                use_cache=True,
                return_dict=True,
                **self._options,
            )
        cache = getattr(output, "past_key_values", None)
        self._cache = cache if grows(cache) else None
        return last_row(output.logits)


def text_config(model: Any) -> Any:
    """The config of the part that writes text, where a model has several parts; None for a bare callable."""
    config = getattr(model, "config", None)
    of_text = getattr(config, "get_text_config", None)
    return of_text() if of_text else config


def grows(cache: Any) -> bool:
    """Can this cache be handed back with the next token?

    A cache of fixed length, such as Gemma 2's in transformers 4.45, is made as long as the prompt and would silently lose what
    comes after it; a model without attention has none. Such a model reads the whole text again at each step.
    """
    return isinstance(cache, tuple) or any("Dynamic" in kind.__name__ for kind in type(cache).__mro__)


class CallableSteps:
    """A callable from ids [B, T] to logits [B, T, V]."""

    width: int | None = None

    def __init__(self, model: Callable[[torch.Tensor], torch.Tensor]):
        self._model, self._device = model, device_of(model)
        self._ids: list[int] = []

    def read(self, ids: Sequence[int]) -> torch.Tensor:
        self._ids += ids
        with torch.no_grad():
            logits = self._model(torch.tensor([self._ids], device=self._device))
        if not isinstance(logits, torch.Tensor):
            raise TypeError(
                f"the model returned {type(logits).__name__}; a callable returns its logits as one tensor [B, T, V]"
            )
        expected = (1, len(self._ids))
        is_table = logits.ndim == 3 and tuple(logits.shape[:2]) == expected and logits.shape[2] > 0
        if not is_table or not logits.is_floating_point():
            raise ValueError(
                f"the model returned {logits.dtype} {list(logits.shape)} for ids {list(expected)}; "
                f"it must be a floating-point tensor [1, {len(self._ids)}, V], the logits after each id"
            )
        return last_row(logits)


def device_of(model: Any) -> torch.device:
    """Where the ids must be: with the first parameter, which is the embedding."""
    parameters = model.parameters() if isinstance(model, torch.nn.Module) else iter(())
    first = next(parameters, None)
    return torch.device("cpu") if first is None else first.device


def last_row(logits: torch.Tensor) -> torch.Tensor:
    """A copy, because masks are written into it: a callable may return a view of its own table.

    Made outside of inference mode, where tensors cannot be written later.
    """
    return logits[0, -1].detach().to("cpu", torch.float32, copy=True)
