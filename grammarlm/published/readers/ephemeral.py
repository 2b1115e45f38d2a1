"""Positions that a model reads beside its texts and that are no part of them: ephemeral ones.

They are asides of draft trees: after the text and after each node come `count` positions, of which each sees the text up to there
and those before it; no text sees them, and they are never kept, so that texts, matchers and caches do not change. What they hold is
ids (ConFu), or states of one's own that enter a layer in their place: at the first layer embeddings that were trained (PPD), at a
later one a function of the state there of the id that they come after (Hidden Transfer).

    reader = open_positions(model, prompts, Ephemeral(ids=[7, 8]))

Only readers that read trees by a mask can do this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from grammarlm.decoding.readers.cached import CachedReader
from grammarlm.decoding.readers.model_facts import width_of

from .model_layers import before_layer, layers_of, replaced, with_layers

NEEDED = "ephemeral positions need a model whose attention reads trees by a mask, and no other reader around it"
Enter = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Ephemeral:
    """Ids to be read beside a text; or `count` positions of which `enter(states [n, hidden])` gives what enters `layer`.

    The result is [n, count, hidden], a row for each id that positions come after; `states` are of these ids, before that layer.
    """

    ids: Sequence[int] = ()
    enter: Enter | None = None
    count: int = 0
    layer: int = 0

    def tokens(self, model: Any) -> list[int]:
        """The ids that stand for them in a tree."""
        return list(self.ids) or [width_of(model) or 0] * self.count


def open_positions(model: Any, prompts: Sequence[Sequence[int]], ephemeral: Ephemeral) -> CachedReader:
    """A reader of these prompts, whose trees may have such asides."""
    return PositionsReader(entered(model, ephemeral), prompts, 0, "dynamic")


class PositionsReader(CachedReader):
    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        logits = super().read(chunks, scored)
        if not self.reads_trees:  # which its first forward shows
            raise ValueError(NEEDED)
        return logits


def entered(model: Any, ephemeral: Ephemeral) -> Any:
    """A model that shares all weights with this one, and knows an id more: what enters the layer in its place is another's."""
    found, enter, count = layers_of(model), ephemeral.enter, ephemeral.count
    if found is None:
        raise ValueError("ephemeral positions need a transformers model with a list of layers")
    if enter is None:
        return model
    way, layers = found
    known = model.get_input_embeddings()
    places = Places(known, width_of(model) or 0)

    # A row ends with the last id of its text, the nodes of its tree, and the positions that come after each of these.
    def entering(states: torch.Tensor) -> torch.Tensor:
        states = states.clone()
        for row, is_one in zip(states, places.are_ephemeral, strict=True):
            first, own = int(is_one.int().argmax()), int(is_one.sum()) // count
            if own:
                row[first:] = enter(row[first - own : first]).reshape(own * count, -1).to(states.dtype)
        return states

    changed = {**dict(enumerate(layers)), ephemeral.layer: before_layer(layers[ephemeral.layer], entering)}
    return replaced(with_layers(model, way, changed, range(len(layers))), known, places)


class Places(nn.Module):
    """A model's input that knows an id more, and where it has come."""

    def __init__(self, known: nn.Module, extra: int):
        super().__init__()
        self.known, self.extra = known, extra
        self.are_ephemeral = torch.empty(0, dtype=torch.bool)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        self.are_ephemeral = ids == self.extra
        states: torch.Tensor = self.known(ids.masked_fill(self.are_ephemeral, 0))
        return states
