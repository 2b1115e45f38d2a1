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
    top, holder = along(model, way)
    holder._modules[way[-1]] = nn.ModuleList(layers[layer] for layer in kept)
    config = copy.copy(model.config)
    config.num_hidden_layers = len(kept)
    types = vars(config).get("layer_types")  # where it is no mere consequence of the number of layers
    if types:
        config.layer_types = [types[layer] for layer in kept]
    top.config = holder.config = config
    return top


def replaced(model: Any, module: nn.Module, by: nn.Module) -> Any:
    """A model that shares all modules with this one but has another one in this module's place."""
    way = next(name for name, each in model.named_modules() if each is module).split(".")
    top, holder = along(model, way)
    holder._modules[way[-1]] = by
    return top


def along(model: Any, way: Sequence[str]) -> tuple[Any, Any]:
    """A shallow copy of a model, of which the modules on the way are copies too; and the one that holds the last."""
    top = holder = shallow(model)
    for name in way[:-1]:
        inner = shallow(holder._modules[name])
        holder._modules[name] = inner
        holder = inner
    return top, holder


def shallow(module: Any) -> Any:
    other = copy.copy(module)
    other._modules = dict(module._modules)
    return other
