"""How a model fills in masks, and which id it knows as a mask.

Three kinds of models are read alike:

    a masked model     logits at a position are those of the id that belongs there: masked LMs, LLaDA, bare callables
    a shifted one      logits at a position are those of the next one's id: Dream
    a causal one       shifted, and sees only what stands before: any autoregressive model. It fills in from left to right
"""

from __future__ import annotations

from typing import Any

from grammarlm.models.network import Network

from .model_facts import is_encoder_decoder, is_transformers_model, text_config

MASKED, SHIFTED, CAUSAL = "masked", "shifted", "causal"
SHIFTED_MODELS = ("dream",)  # model_type, in lower case
DIFFUSION_MODELS = ("llada", "dream")
UNIFORM_MODELS = ("diffusion_gemma",)  # they replace random ids, not masks


def kind_of(model: Any) -> str:
    """How the model's logits are to be read."""
    if not is_transformers_model(model):
        return CAUSAL if isinstance(model, Network) and model.shape.causal else MASKED
    name = str(model.config.model_type).lower()
    if name.startswith(UNIFORM_MODELS):
        raise TypeError(
            f"{type(model).__name__} refines random ids and knows no mask; infill takes models that fill in a mask, and "
            "autoregressive ones"
        )
    if name.startswith(SHIFTED_MODELS):
        return SHIFTED
    if name.startswith(DIFFUSION_MODELS) or type(model).__name__.endswith("ForMaskedLM"):
        return MASKED
    if is_encoder_decoder(model) or not getattr(model, "can_generate", lambda: True)():
        raise TypeError(
            f"{type(model).__name__} neither fills in masks nor continues texts; load it with AutoModelForMaskedLM"
        )
    return CAUSAL


def fills_masks(model: Any) -> bool:
    """Is it known to? A bare callable may do either."""
    if not is_transformers_model(model):
        return isinstance(model, Network) and not model.shape.causal
    try:
        return kind_of(model) != CAUSAL
    except TypeError:
        return False


def mask_id_of(model: Any, tokenizer: Any) -> int | None:
    """The id that stands for a missing one, as the tokenizer or the model's configs have it."""
    for source in (
        tokenizer,
        getattr(model, "config", None),
        text_config(model),
        getattr(model, "generation_config", None),
    ):
        found = getattr(source, "mask_token_id", None)
        if isinstance(found, int):
            return found
    return None
