"""Several drafters: the one that has been right most often goes first, and in a tree all of them have their branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.decoding.readers.draft_tree import DraftTree

from .drafter import Drafter, Target

if TYPE_CHECKING:
    import torch

    from grammarlm.decoding.loop.row import Row

PRIOR = 2.0, 3.0  # accepted of so many that could be, before the first draft
FADES = 0.97  # of a draft's weight with each later one


class Combined(Drafter):
    def __init__(self, members: Sequence[Drafter]):
        self.members = list(members)
        self.length = max(member.length for member in members)
        self._accepted = [PRIOR[0]] * len(self.members)
        self._tried = [PRIOR[1]] * len(self.members)

    def begin(self, target: Target) -> None:
        for member in self.members:
            member.begin(target)

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        for member in self.members:
            member.observe(row, tree, before, logits)

    @property
    def needs_states(self) -> bool:  # type: ignore[override]
        return any(member.needs_states for member in self.members)

    def observe_states(self, row: Row, tree: DraftTree, states: torch.Tensor) -> None:
        for member in self.members:
            member.observe_states(row, tree, states)

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        for member in self.members:
            member.drawn(row, tree, nodes)

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        for member in self.members:
            member.learn(row, tokens)

    def drop(self, row: Row) -> None:
        for member in self.members:
            member.drop(row)

    def count(self, number: int, tried: int, accepted: int) -> None:
        """So many of a member's tokens stood where the next one was drawn, and so many of these were drawn."""
        self._tried[number] = FADES * self._tried[number] + tried
        self._accepted[number] = FADES * self._accepted[number] + accepted

    def rate(self, number: int) -> float:
        """How probable it is that a member's token is drawn, where those before it were."""
        return self._accepted[number] / self._tried[number]

    @property
    def by_merit(self) -> list[int]:
        """The members' numbers, the most trusted first; among equals in the order given."""
        return sorted(range(len(self.members)), key=lambda number: -self.rate(number))
