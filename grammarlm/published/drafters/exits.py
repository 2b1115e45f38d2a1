"""DEL (Context-Aware Dynamic Exit Layer): the target's first layers as a draft model, as many, and drafts as long, as save most.

    gl.Draft("exit", layers="auto")

A shadow reading of what was drawn lately says of all exits at once how often their best token was drawn, where the grammar left a
choice (replay.py). Of these rates and the layers' share of a forward follow the exit and the length with the most tokens for their
time; they move as the rates do. It costs a cache of its own, its layers' share of a forward for each token, and for each 16 choices
one forward over 128 ids and an output for each exit. With `eta=` or `adapter=` an exit shares with the target what its layers have
read (early_exit.py). Of no use where the first layers decide little.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.model_layers import output_of
from grammarlm.decoding.speculative.drafters.drafter import Drafter
from grammarlm.decoding.speculative.replay import best_length

from .early_exit import SharedExit
from .layers import OwnLayers, Transform
from .replayed import Replayed

AUTO = "auto"
LATEST = 0.5  # weight of the latest shadow reading


class Exit(OwnLayers):
    """The first layers: half of them, or as many as given."""

    name = "exit"

    def __init__(self, layers: int | None = None, transform: Transform | None = None):
        check_integer("layers", layers, 1, optional=True)
        super().__init__(layers, transform)

    def kept(self, count: int) -> list[int]:
        used = self.layers or max(1, count // 2)
        if used >= count:
            raise ValueError(f"layers={used}: the model has {count}, and an exit comes before the last one")
        return list(range(used))


class DynamicExit(Replayed):
    name, length, every = "exit", 8, 16

    def start(self, count: int) -> None:
        self._rates = np.empty(0)  # of each exit

    def chosen(self, count: int, most: int) -> tuple[list[int], int]:
        if not len(self._rates):
            return list(range(max(1, count // 2))), most
        found = [best_length(rate, at / count, most) for at, rate in enumerate(self._rates, 1)]
        best = max(range(count - 1), key=lambda at: found[at][0])
        return list(range(best + 1)), found[best][1]

    @torch.no_grad()
    def look(self, row: Row) -> None:
        ids, places = self.replay.text(row)
        left: dict[int, torch.Tensor] = {}
        shadow = self.draft_of(self.target.model, range(self.count), lambda at, states: left.update({at: states}))
        self.read(shadow, ids)
        output = output_of(self.target.model)
        said = [output(left[at][0, places]).float().cpu().numpy() for at in range(self.count - 1)]
        rates = np.array([self.replay.rate(row, logits) for logits in said])
        self._rates = LATEST * rates + (1 - LATEST) * self._rates if len(self._rates) else rates


def early_exit(
    layers: int | str | None = None,
    eta: float | None = None,
    adapter: Callable[[torch.Tensor], torch.Tensor] | None = None,
    transform: Transform | None = None,
) -> Drafter:
    """What the name "exit" stands for."""
    if isinstance(layers, str) and layers != AUTO:
        raise ValueError(f"layers={layers!r}; it takes a number of layers, or {AUTO!r}")
    if eta is None and adapter is None:
        return DynamicExit(transform) if isinstance(layers, str) else Exit(layers, transform)
    if transform is not None or isinstance(layers, str):
        raise ValueError(
            "eta= and adapter= share layers with the target: no transform= of what they give, and a number of layers"
        )
    return SharedExit(layers, eta or 0.0, adapter)
