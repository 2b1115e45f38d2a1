"""The target's own layers as a draft model, without some of them: of SWIFT (searched.py), DEL (exits.py) and M2R2.

    gl.Draft("skip", layers=[2, 4])                     # these are left out; every other one where none are named
    gl.Draft("skip", transform=residual)                # M2R2: what leaves each of the draft's layers is changed

`transform(layer, states)` is what leaves each layer in the draft. It costs a cache of its own, and its layers' share of a forward
for each token. Of no use for small models: half of their layers guess little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from grammarlm.decoding.arguments import check_function, check_integer
from grammarlm.decoding.readers.model_layers import after_layer, layers_of, with_layers
from grammarlm.decoding.speculative.drafters.drafter import Target
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.errors import brief

Transform = Callable[[int, torch.Tensor], torch.Tensor]
Sees = Callable[[int, torch.Tensor], None]


class OwnLayers(ModelDrafter):
    """Which layers are left is chosen when a call begins."""

    name = ""

    def __init__(self, layers: Any = None, transform: Transform | None = None):
        check_function("transform", transform)
        super().__init__(None)  # until a call begins
        self.layers, self.transform = layers, transform

    def kept(self, count: int) -> list[int]:
        raise NotImplementedError

    def begin(self, target: Target) -> None:
        _, layers = layers_of(target.model, f"the drafter {self.name!r} needs")
        self.model = self.draft_of(target.model, self.kept(len(layers)))
        super().begin(target)

    def draft_of(self, model: Any, kept: Sequence[int], sees: Sees | None = None) -> Any:
        """The draft of these layers; `sees(layer, states)` is told what leaves each."""

        def leaves(at: int, states: torch.Tensor) -> torch.Tensor:
            states = states if self.transform is None else self.transform(at, states)
            if sees is not None:
                sees(at, states)
            return states

        changed = {}
        if self.transform is not None or sees is not None:
            layers = layers_of(model, "fewer layers need")[1]
            changed = {at: after_layer(layer, partial(leaves, at)) for at, layer in enumerate(layers)}
        return with_layers(model, kept, changed)


class Skip(OwnLayers):
    """Every other layer, the first and the last kept; or those given."""

    name = "skip"

    def __init__(self, layers: Any = None, transform: Transform | None = None):
        if layers is not None and not isinstance(layers, (list, tuple, range)):
            raise TypeError(
                f"layers is {brief(layers)}; skip takes a list of the layers that are left out, from 0, or 'search'"
            )
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
        return every_other(count)


def every_other(count: int) -> list[int]:
    """The first and the last layer are kept."""
    return sorted({0, count - 1, *range(1, count, 2)}) if count > 2 else [0]
