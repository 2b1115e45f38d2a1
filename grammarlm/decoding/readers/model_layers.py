"""The layers of a transformers model: found, and made into models that share them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from torch import nn


def layers_of(model: Any) -> tuple[list[str], nn.ModuleList] | None:
    """The names on the way to a model's list of layers, and the list; None where there is none, or several."""
    if not isinstance(model, nn.Module) or getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        return None
    count = getattr(model.config, "num_hidden_layers", None)
    found = [
        (name.split("."), module)
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == count and count > 1
    ]
    return found[0] if len(found) == 1 else None


def with_layers(model: Any, way: list[str], layers: nn.ModuleList, kept: Sequence[int]) -> Any:
    """A model that shares all modules with this one but has fewer layers."""
    top = other = shallow(model)
    for name in way[:-1]:
        inner = shallow(other._modules[name])
        other._modules[name] = inner
        other = inner
    other._modules[way[-1]] = nn.ModuleList(layers[layer] for layer in kept)
    config = copy.copy(model.config)
    config.num_hidden_layers = len(kept)
    types = vars(config).get("layer_types")  # where it is no mere consequence of the number of layers
    if types:
        config.layer_types = [types[layer] for layer in kept]
    top.config = other.config = config
    return top


def shallow(module: Any) -> Any:
    other = copy.copy(module)
    other._modules = dict(module._modules)
    return other
