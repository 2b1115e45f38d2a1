"""Positions that a model reads beside its texts and that are no part of them: ephemeral ones.

They are asides of draft trees: after the text and after each node come `count` positions, of which each sees the text up to there
and those before it; no text sees them, and they are never kept, so that texts, matchers and caches do not change. What they hold is
ids (ConFu), or states of one's own that enter a layer in their place: at the first layer embeddings that were trained (PPD), at a
later one a function of the state there of the id that they come after (Hidden Transfer).

Only readers that read trees by a mask can do this.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from grammarlm.decoding.readers.cached import CachedReader
from grammarlm.decoding.readers.model_facts import width_of
from grammarlm.decoding.readers.model_layers import entered, layers_of
from grammarlm.decoding.readers.reader import Reader

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

    def known_to(self, model: Any) -> Any:
        """A model that shares all weights with this one, and knows an id more: what enters the layer in its place is another's."""
        (_, layers), enter, extra = layers_of(model, "ephemeral positions need"), self.enter, width_of(model) or 0
        if enter is None:
            return model

        # A row ends with the last id of its text, the nodes of its tree, and the positions that come after each of these.
        def enters(ids: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
            states = states.clone()
            for row, is_one in zip(states, ids == extra, strict=True):
                first, own = int(is_one.int().argmax()), int(is_one.sum()) // self.count
                if own:
                    row[first:] = enter(row[first - own : first]).reshape(own * self.count, -1).to(states.dtype)
            return states

        return entered(model, range(len(layers)), self.layer, enters, extra)


class PositionsReader(CachedReader):
    """Of texts whose trees may have such asides."""

    @classmethod
    def around(cls, reader: Reader, model: Any, ephemeral: Ephemeral) -> PositionsReader:
        """In place of another one, of the same prompts."""
        if type(reader) is not CachedReader:
            raise ValueError(NEEDED)
        return cls(ephemeral.known_to(model), reader.beginnings, 0, "dynamic")

    def read(self, chunks: Sequence[Sequence[int]], scored: Sequence[int]) -> torch.Tensor:
        logits = super().read(chunks, scored)
        if not self.reads_trees:  # which its first forward shows
            raise ValueError(NEEDED)
        return logits
