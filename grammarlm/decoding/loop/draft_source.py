"""What proposes drafts while a batch is decoded, as the loop sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from grammarlm.decoding.readers.draft_tree import DraftTree

from .row import Row


class DraftSource(Protocol):
    """Of speculative/drafting.py."""

    def propose(self, rows: Sequence[Row]) -> Sequence[DraftTree]:
        """A draft tree for each row, empty where none pays."""

    @property
    def needs_states(self) -> bool:
        """Does it take the model's last hidden states?"""

    def observe(
        self,
        rows: Sequence[Row],
        logits: torch.Tensor,
        scored: Sequence[int],
        states: Sequence[torch.Tensor] | None,
    ) -> None:
        """A forward: the logits before they are masked, of each row those of `scored` ids, then those of its tree's nodes.

        states   of each row the last hidden states of all ids that were read, and of the nodes
        """

    def drop(self, row: Row) -> None:
        """The row has ended."""
