"""What SWIFT and DEL share: which of the target's layers draft, and how far, is chosen anew by what was drawn lately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.model_facts import device_of
from grammarlm.decoding.readers.model_layers import layers_of
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Target
from grammarlm.decoding.speculative.replay import Replay

from .layers import OwnLayers, Transform

LEAST = 8  # choices of an answer that say something


class Replayed(OwnLayers):
    """`every`: choices from one look at them to the next."""

    every = 8
    target: Target  # once a call has begun

    def __init__(self, transform: Transform | None = None):
        super().__init__(None, transform)
        self.replay, self.count = Replay(), 0
        self._used: list[int] = []
        self._new = 0  # choices since the last look
        self._model: Any = None

    def start(self, count: int) -> None:
        """A model of so many layers is new."""
        raise NotImplementedError

    def chosen(self, count: int, most: int) -> tuple[list[int], int]:
        """The layers of the draft from now on, and how many tokens it drafts, of at most so many."""
        raise NotImplementedError

    def look(self, row: Row) -> None:
        """At the last choices of an answer."""
        raise NotImplementedError

    @staticmethod
    def read(model: Any, ids: Sequence[int]) -> torch.Tensor:
        """The last hidden states of a model of some of the layers, after each id."""
        read = model.base_model(input_ids=torch.tensor([list(ids)], device=device_of(model)), use_cache=False)
        states: torch.Tensor = read.last_hidden_state[0]
        return states

    def kept(self, count: int) -> list[int]:
        self._used, _ = self.chosen(count, self.length)
        return self._used

    def begin(self, target: Target) -> None:
        count = len(layers_of(target.model, f"the drafter {self.name!r} needs")[1])
        if self._model is not target.model or self.count != count:
            self._model, self.count = target.model, count
            self.start(count)
        self.target = target
        self.replay.forget_drafts()
        super().begin(target)

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        layers, length = self.chosen(self.count, growths[0].shape.length)
        if layers != self._used:
            super().begin(self.target)
        for growth in growths:
            growth.room = min(growth.room, length)
        super().open(growths)

    def finish(self, growth: DraftBuilder) -> None:
        self.replay.drafted(growth)

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        self._new += self.replay.drawn(row, nodes)
        if self._new >= self.every and self.replay.known(row) >= LEAST:
            self._new = 0
            self.look(row)

    def drop(self, row: Row) -> None:
        super().drop(row)
        self.replay.drop(row)
