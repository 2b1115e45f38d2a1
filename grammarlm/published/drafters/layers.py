"""SWIFT (On-the-Fly Self-Speculative Decoding): the target's own layers as a draft model, without some of them.

M2R2: with `transform=` the draft's residual is another one; `transform(layer, states)` is what leaves each of its layers. It
costs a cache of its own, and its layers' share of a forward for each token. Of no use for small models: half of their layers
guess little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch

from grammarlm.decoding.arguments import check_function, check_integer
from grammarlm.decoding.speculative.drafters.drafter import Target
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.errors import brief
from grammarlm.published.readers.model_layers import after_layer, layers_of, with_layers

Transform = Callable[[int, torch.Tensor], torch.Tensor]


class OwnLayers(ModelDrafter):
    """Which layers are left is chosen when a call begins."""

    name = ""

    def __init__(self, layers: Sequence[int] | int | None = None, transform: Transform | None = None):
        check_function("transform", transform)
        self.layers, self.transform = layers, transform

    def kept(self, count: int) -> list[int]:
        raise NotImplementedError

    def begin(self, target: Target) -> None:
        found = layers_of(target.model)
        if found is None:
            raise ValueError(f"the drafter {self.name!r} needs a transformers model with a list of layers")
        way, layers = found
        own = dict(enumerate(layers))
        if self.transform is not None:
            own = {number: after_layer(layer, partial(self.transform, number)) for number, layer in own.items()}
        super().__init__(with_layers(target.model, way, own, self.kept(len(layers))))
        super().begin(target)


class Skip(OwnLayers):
    """Every other layer, the first and the last kept; or those given."""

    name = "skip"

    def __init__(self, layers: Sequence[int] | None = None, transform: Transform | None = None):
        if layers is not None and not isinstance(layers, (list, tuple, range)):
            raise TypeError(f"layers is {brief(layers)}; skip takes a list of the layers that are left out, from 0")
        for layer in layers or ():
            check_integer("layers", layer, 0)
        super().__init__(layers, transform)

    def kept(self, count: int) -> list[int]:
        if isinstance(self.layers, Sequence):
            for layer in self.layers:
                if layer >= count:
                    raise ValueError(
                        f"layers={self.layers}: skip needs a model with a layer {layer}; this one has {count}"
                    )
            return [layer for layer in range(count) if layer not in self.layers]
        return sorted({0, count - 1, *range(1, count, 2)}) if count > 2 else [0]
