"""Several drafters: the one that has been right most often goes first, and in a tree all of them have their branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.decoding.readers.draft_tree import DraftTree

from .drafter import Drafter, Target

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row

TRUST = 4.0  # as many accepted of as many drafted before the first draft
FADES = 0.97  # of a draft's weight with each later one


class Combined(Drafter):
    def __init__(self, members: Sequence[Drafter]):
        self.members = list(members)
        self.length = max(member.length for member in members)
        self._accepted = [TRUST] * len(self.members)
        self._drafted = [TRUST] * len(self.members)

    def begin(self, target: Target) -> None:
        for member in self.members:
            member.begin(target)

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        for member in self.members:
            member.observe(row, tree, before, logits)

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        for member in self.members:
            member.learn(row, tokens)

    def drop(self, row: Row) -> None:
        for member in self.members:
            member.drop(row)

    def count(self, number: int, drafted: int, accepted: int) -> None:
        """So many of a member's tokens have been drawn."""
        self._drafted[number] = FADES * self._drafted[number] + drafted
        self._accepted[number] = FADES * self._accepted[number] + accepted

    @property
    def by_merit(self) -> list[int]:
        """The members' numbers, the most trusted first; among equals in the order given."""
        merits = [accepted / drafted for accepted, drafted in zip(self._accepted, self._drafted, strict=True)]
        return sorted(range(len(merits)), key=lambda number: -merits[number])
