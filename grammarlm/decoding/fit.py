"""Do the vocabulary, the prompts and the model belong together? Told before the first forward, where it is known then.

A model's logits are often a little wider than its vocabulary, padded to a round number; a tokenizer often has a few tokens more
than the model. Beyond that the tokenizer is another model's, and what it makes of the ids is not what the model means.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch

from grammarlm.decoding.readers.model_facts import is_encoder_decoder, text_config
from grammarlm.vocab.vocabulary import Vocabulary

PADDING, SHARE = 512, 20  # tokens and logits of one model differ by so many, or by a 20th of them


def count_of(tokenizer: Any, vocab: Vocabulary) -> int:
    """The number of tokens; a vocabulary made as wide as the logits knows only those that the logits have."""
    if hasattr(tokenizer, "get_vocab_size"):
        return int(tokenizer.get_vocab_size())
    if hasattr(tokenizer, "__len__") and not isinstance(tokenizer, str):
        return len(tokenizer)
    return len(vocab.offsets) - 1


def warn_of_width(tokens: int, width: int, stacklevel: int = 2) -> None:
    """A warning where so many tokens and logits of this width cannot be one model's."""
    if abs(tokens - width) <= max(PADDING, max(tokens, width) // SHARE):
        return
    lost = (
        f"the ids from {tokens:,} on can never be written"
        if tokens < width
        else f"the tokens from {width:,} on can never be written, and a grammar that needs them has a dead end"
    )
    warnings.warn(
        f"the vocabulary has {tokens:,} tokens, and the model's logits are {width:,} wide: is its tokenizer this model's? "
        f"If so, {lost}",
        stacklevel=stacklevel + 1,
    )


def check_positions(
    model: Any, prompts: Sequence[Sequence[int]], room: int, or_else: str = "pass max_tokens={most}"
) -> None:
    """ValueError where a prompt and `room` ids after it have more positions than the model's table. A model that computes them goes
    on; where a prompt alone is longer than what it was made for, a warning."""
    positions = positions_of(model)
    if positions is None or not prompts:
        return
    longest = max(map(len, prompts))
    apart = is_encoder_decoder(model)
    if longest > positions and not has_position_table(model):
        warnings.warn(
            f"the prompt has {longest:,} ids, and the model is made for {positions:,} (max_position_embeddings of its config): "
            "what it answers may make no sense; shorten the prompt",
            stacklevel=4,
        )
    elif longest > positions:
        raise ValueError(
            f"the prompt has {longest:,} ids, and the model has {positions:,} positions; shorten the prompt"
        )
    elif (room if apart else longest + room - 1) > positions and has_position_table(model):
        most = positions if apart else positions - longest + 1
        raise ValueError(
            f"the prompt has {longest:,} ids, and the model has {positions:,} positions, too few for {room:,} more; shorten the "
            f"prompt, or {or_else.format(most=most)}"
        )


def warn_of_dropout(model: Any, stacklevel: int = 4) -> None:
    """A warning where a model of torch drops at random a part of what it computes: a greedy answer differs from call to call."""
    if not isinstance(model, torch.nn.Module) or not model.training:
        return
    parts = [one for one in model.modules() if one.training]
    rates = [one.p if isinstance(one, torch.nn.Dropout) else getattr(one, "attention_dropout", 0) for one in parts]
    if any(isinstance(rate, float) and rate > 0 for rate in rates):
        warnings.warn(
            "the model is in training mode and has dropout, so equal calls have other answers; call model.eval()",
            stacklevel=stacklevel,
        )


def positions_of(model: Any) -> int | None:
    """How many ids of a text a model is made for; None where its config says nothing."""
    positions = getattr(text_config(model), "max_position_embeddings", None)
    return positions if isinstance(positions, int) and positions > 0 else None


def has_position_table(model: Any) -> bool:
    """Are positions looked up in a table that ends, and not computed?"""
    return isinstance(model, torch.nn.Module) and any(
        isinstance(module, torch.nn.Embedding) and ("position" in name or name.endswith("wpe"))
        for name, module in model.named_modules()
    )
