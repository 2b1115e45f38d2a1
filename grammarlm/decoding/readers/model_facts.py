"""What a model says about itself: its kind, its config, its device, the width of its logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

KEEP_LOGITS = ("logits_to_keep", "num_logits_to_keep")  # the option's name from transformers 4.50 on, and before


def check_model(model: Any) -> None:
    """TypeError where the model cannot generate text."""
    check_no_tokenizer("model", model, "the model comes first, then the prompt; its tokenizer is tokenizer=")
    if isinstance(model, type):
        raise TypeError(f"model is the class {model.__name__}; pass a model itself, such as from_pretrained() returns")
    if is_transformers_model(model):
        if hasattr(model, "can_generate") and not model.can_generate():
            fit = "AutoModelForSeq2SeqLM" if is_encoder_decoder(model) else "AutoModelForCausalLM"
            raise TypeError(f"{type(model).__name__} does not continue texts; load it with {fit}")
    elif not callable(model):
        raise TypeError(
            f"model is {type(model).__name__}; pass a transformers model that generates, or a callable from ids [B, T] to "
            "logits [B, T, V]"
        )


def check_no_tokenizer(name: str, value: Any, instead: str) -> None:
    """TypeError where something is a tokenizer: many can be called, as models can."""
    if hasattr(value, "convert_tokens_to_ids") or hasattr(value, "token_to_id"):
        raise TypeError(f"{name} is {type(value).__name__}, a tokenizer; {instead}")


def is_transformers_model(model: Any) -> bool:
    return hasattr(getattr(model, "config", None), "model_type")


def is_encoder_decoder(model: Any) -> bool:
    return is_transformers_model(model) and bool(getattr(model.config, "is_encoder_decoder", False))


def width_of(model: Any) -> int | None:
    """The width of its logits; None where known only after a forward."""
    if not is_transformers_model(model):
        return None
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    weight = getattr(head, "weight", None)
    if weight is not None and weight.ndim == 2:
        return int(weight.shape[0])
    return getattr(text_config(model), "vocab_size", None)


def text_config(model: Any) -> Any:
    """The config of the text part of a model with several parts; None for a bare callable."""
    config = getattr(model, "config", None)
    of_text = getattr(config, "get_text_config", None)
    return of_text() if of_text else config


def device_of(model: Any) -> torch.device:
    """The device of the ids: that of the first parameter, which is the embedding."""
    parameters = model.parameters() if isinstance(model, torch.nn.Module) else iter(())
    first = next(parameters, None)
    return torch.device("cpu") if first is None else first.device


def checked_logits(logits: Any, shape: Sequence[int]) -> torch.Tensor:
    """TypeError or ValueError where these are no logits of ids of this shape [B, T]."""
    if not isinstance(logits, torch.Tensor):
        raise TypeError(
            f"the model returned {type(logits).__name__}; it returns its logits as one tensor [B, T, V], the logits after each id"
        )
    is_table = logits.ndim == 3 and tuple(logits.shape[:2]) == tuple(shape) and logits.shape[2] > 0
    if not is_table or not logits.is_floating_point():
        raise ValueError(
            f"the model returned {logits.dtype} {list(logits.shape)} for ids {list(shape)}; "
            f"it must be a floating-point tensor [{shape[0]}, {shape[1]}, V], the logits after each id"
        )
    return logits
