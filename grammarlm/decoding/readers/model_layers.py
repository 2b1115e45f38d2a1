"""The layers of a transformers model: found, and made into models that share them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from .model_facts import is_encoder_decoder

# What models call the one before their output
NORMS = ("norm", "ln_f", "norm_f", "final_layernorm", "final_layer_norm")


def layers_of(model: Any, who_needs: str) -> tuple[list[str], nn.ModuleList]:
    """The names on the way to a model's list of layers, and the list; ValueError where there is none, or several."""
    found = []
    if isinstance(model, nn.Module) and not is_encoder_decoder(model):
        count = getattr(model.config, "num_hidden_layers", None)
        found = [
            (name.split("."), module)
            for name, module in model.named_modules()
            if isinstance(module, nn.ModuleList) and len(module) == count and count > 1
        ]
    if len(found) != 1:
        raise ValueError(f"{who_needs} a transformers model with a list of layers")
    return found[0]


def output_of(model: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    """What makes logits of the states that a layer leaves, as if it were the last: the model's last norm, and its output."""
    way, _ = layers_of(model, "logits of earlier layers need")
    holder, output = model.get_submodule(".".join(way[:-1])), model.get_output_embeddings()
    norm = next((getattr(holder, name) for name in NORMS if hasattr(holder, name)), nn.Identity())
    return lambda states: output(norm(states))


def with_layers(model: Any, kept: Sequence[int], changed: Mapping[int, Any]) -> Any:
    """A model that shares all weights with this one but has fewer layers, some of them changed."""
    way, layers = layers_of(model, "fewer layers need")
    own = {**dict(enumerate(layers)), **changed}
    top, holder = along(model, way)
    holder._modules[way[-1]] = nn.ModuleList(renumbered(own[layer], at) for at, layer in enumerate(kept))
    config = copy.copy(model.config)
    config.num_hidden_layers = len(kept)
    types = vars(config).get("layer_types")  # where it is no mere consequence of the number of layers
    if types:
        config.layer_types = [types[layer] for layer in kept]
    top.config = holder.config = config
    return top


def renumbered(layer: Any, number: int) -> Any:
    """The layer, or a copy with the same weights whose place in a cache is that of layer `number`."""
    if all(vars(each).get("layer_idx", number) == number for each in layer.modules()):
        return layer
    other = shallow(layer)
    if "layer_idx" in vars(layer):
        other.layer_idx = number
    for name, child in layer._modules.items():
        if child is not None:
            other._modules[name] = renumbered(child, number)
    return other


def after_layer(layer: Any, does: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A copy with the same weights, whose output is what the function makes of it."""
    other = shallow(layer)
    other._forward_hooks = copy.copy(layer._forward_hooks)

    def hook(module: Any, given: Any, output: Any) -> Any:
        return (does(output[0]), *output[1:]) if isinstance(output, tuple) else does(output)

    other.register_forward_hook(hook)
    return other


def before_layer(layer: Any, does: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A copy with the same weights, which gets what the function makes of the states that enter it: of its first argument, by
    whatever name."""
    other = shallow(layer)
    other._forward_pre_hooks = copy.copy(layer._forward_pre_hooks)
    other._forward_pre_hooks_with_kwargs = copy.copy(layer._forward_pre_hooks_with_kwargs)

    def hook(module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        if given:
            return (does(given[0]), *given[1:]), named
        return given, {**named, "hidden_states": does(named["hidden_states"])}

    other.register_forward_pre_hook(hook, with_kwargs=True)
    return other


class FurtherIds(nn.Module):
    """A model's input that takes ids beyond its own, as id 0, and remembers which ids came last."""

    def __init__(self, known: nn.Module, width: int):
        super().__init__()
        self.known, self.width = known, width
        self.ids = torch.empty(0, dtype=torch.long)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.ids = ids
        states: torch.Tensor = self.known(ids.masked_fill(ids >= self.width, 0))
        return states


def entered(
    model: Any,
    kept: Sequence[int],
    layer: int,
    enters: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    own: int,
) -> Any:
    """A model of these layers that takes ids from `own` on, too: `enters(ids, states)` enters one of the layers."""
    taking = FurtherIds(model.get_input_embeddings(), own)
    whole = layers_of(model, "ids of one's own need")[1][layer]
    changed = {layer: before_layer(whole, lambda states: enters(taking.ids, states))}
    return replaced(with_layers(model, kept, changed), taking.known, taking)


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
