"""What drafters that are made of others share: all members are told everything."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.reader import Reader
from grammarlm.decoding.speculative.draft_builder import DraftBuilder

from .drafter import Drafter, NodeDrafter, Target


class Several(Drafter):
    def __init__(self, members: Sequence[Drafter]):
        self.members = list(members)
        self.is_lossless = all(member.is_lossless for member in self.members)

    def each(self, tell: Callable[[Drafter], None]) -> None:
        """Tells all members."""
        for member in self.members:
            tell(member)

    def begin(self, target: Target) -> None:
        for member in self.members:
            member.begin(target)

    @property
    def has_reader(self) -> bool:  # type: ignore[override]
        return any(member.has_reader for member in self.members)

    def reader(self, reader: Reader) -> Reader:
        for member in self.members:
            reader = member.reader(reader)
        return reader

    @property
    def observes(self) -> bool:
        return any(member.observes for member in self.members)

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        self.each(lambda member: member.observe(row, tree, before, logits))

    def finish(self, growth: DraftBuilder) -> None:
        self.each(lambda member: member.finish(growth))

    @property
    def needs_states(self) -> bool:  # type: ignore[override]
        return any(member.needs_states for member in self.members)

    def observe_states(
        self, row: Row, tree: DraftTree, text: torch.Tensor, nodes: torch.Tensor, asides: torch.Tensor
    ) -> None:
        self.each(lambda member: member.observe_states(row, tree, text, nodes, asides))

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        self.each(lambda member: member.drawn(row, tree, nodes))

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        self.each(lambda member: member.learn(row, tokens))

    def drop(self, row: Row) -> None:
        self.each(lambda member: member.drop(row))


class SeveralOfNodes(Several, NodeDrafter):
    """Made of drafters of nodes, which all draft for the same trees."""

    def __init__(self, members: Sequence[NodeDrafter]):
        super().__init__(members)
        self._drafters = list(members)

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        for member in self._drafters:
            member.open(growths)
