"""Rows of a transformers cache taken out, and rows of two caches put together.

What a layer holds of each text is a row of its tensors: keys and values, or the states of a convolution and of a recurrence. All
else that a layer knows, such as how many ids it has read, is about all rows alike, so that only layers that agree in it can be put
together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import torch

TENSORS = ("keys", "values")
STATES = ("conv_states", "recurrent_states")  # dicts of tensors
OF_THE_BATCH = frozenset({"batch_size", "max_batch_size"})


def taken(cache: Any, texts: Sequence[int], device: torch.device) -> Any | None:
    """Another cache, of these texts; None where it is of an unknown kind."""
    places = torch.tensor(list(texts), dtype=torch.long, device=device)
    return rebuilt([cache], lambda held: held[0].index_select(0, places.to(held[0].device)))


def joined(first: Any, second: Any) -> Any | None:
    """The rows of both; None where the kind is unknown, or where they have not read equally much."""
    return rebuilt([first, second], lambda held: torch.cat([held[0], held[1].to(held[0].device)]))


def padded(cache: Any, slots: int) -> Any | None:
    """With so many slots of keys and values more on the left, which hold nothing."""
    return rebuilt([cache], lambda held: torch.nn.functional.pad(held[0], (0, 0, slots, 0)))


def empty_rows(cache: Any, count: int) -> Any | None:
    """As many slots, of `count` texts of which nothing has been read."""
    return rebuilt([cache], lambda held: held[0].new_zeros((count, *held[0].shape[1:])))


def rebuilt(caches: Sequence[Any], function: Callable[[Sequence[torch.Tensor]], torch.Tensor]) -> Any | None:
    """A cache like the first, of what the function makes of the tensors that all of them hold in the same place."""
    layers = [getattr(cache, "layers", None) for cache in caches]
    if not all(layers) or len({len(each) for each in layers if each}) != 1:
        return None
    made = []
    with torch.inference_mode():
        for own in zip(*(each for each in layers if each), strict=True):
            if not agree(own):
                return None
            layer = copy(own[0])
            for name, value in vars(own[0]).items():
                others = [getattr(each, name) for each in own]
                if name in TENSORS and isinstance(value, torch.Tensor):
                    setattr(layer, name, function(others))
                elif name in STATES:
                    found = {
                        at: None if state is None else function([each[at] for each in others])
                        for at, state in value.items()
                    }
                    setattr(layer, name, found)
                elif isinstance(value, torch.Tensor):  # some are written to in place
                    setattr(layer, name, value.clone())
                elif isinstance(value, dict):
                    setattr(layer, name, dict(value))
            rows = next((len(held) for held in tensors(layer)), 0)
            for name in OF_THE_BATCH & set(vars(layer)):
                setattr(layer, name, rows)
            made.append(layer)
    cache = copy(caches[0])
    cache.layers = made
    return cache


def agree(layers: Sequence[Any]) -> bool:
    """Are they of one known kind, and have they read equally much?"""
    first = layers[0]
    shapes = [[held.shape[1:] for held in tensors(layer)] for layer in layers]
    if not shapes[0] or any(
        type(layer) is not type(first) or own != shapes[0] for layer, own in zip(layers, shapes, strict=True)
    ):
        return False
    return all(
        bool(getattr(layer, name, None) == value)
        for layer in layers[1:]
        for name, value in vars(first).items()
        if name not in (*TENSORS, *STATES) and name not in OF_THE_BATCH
    )


def tensors(layer: Any) -> list[torch.Tensor]:
    """All that hold a row for each text."""
    held = [getattr(layer, name, None) for name in TENSORS]
    held += [state for name in STATES for state in (getattr(layer, name, None) or {}).values()]
    return [each for each in held if isinstance(each, torch.Tensor)]


def has_recurrence(layer: Any) -> bool:
    """Does it hold the state of a recurrence, beside or instead of keys and values?"""
    return any(state is not None for state in (getattr(layer, "recurrent_states", None) or {}).values())
