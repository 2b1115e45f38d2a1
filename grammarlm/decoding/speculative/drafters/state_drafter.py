"""What drafters share that read the target's last hidden states: those of each answer, and the map from states to logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree

from .drafter import NodeDrafter, Target


@dataclass
class Known:
    """States of the ids from number `first` of a text on: 0, but where the prompt was read for several answers at once."""

    first: int
    states: torch.Tensor  # [ids, hidden]
    nodes: torch.Tensor | None = None  # of the last tree, until it is known which of them are drawn

    @property
    def end(self) -> int:
        """The number of the first id that has no state."""
        return self.first + len(self.states)

    def keep_last(self) -> None:
        """Forgets all states but that of the last id."""
        self.first, self.states = self.end - 1, self.states[-1:]


class StateDrafter(NodeDrafter):
    """`output`: from states to logits; the target's own where it is left out."""

    needs_states = True

    def __init__(self, output: Any = None) -> None:
        self._given = self._output = output
        self.known = self.by_row()  # Known of each answer that the target has read

    def begin(self, target: Target) -> None:
        self._output = self._given or getattr(target.model, "get_output_embeddings", lambda: None)()
        if self._output is None:
            raise ValueError(f"the drafter {type(self).__name__} needs a transformers model with output embeddings")

    def logits(self, states: torch.Tensor) -> np.ndarray:
        found: np.ndarray = self._output(states).float().cpu().numpy()
        return found

    def observe_states(
        self, row: Row, tree: DraftTree, text: torch.Tensor, nodes: torch.Tensor, asides: torch.Tensor
    ) -> None:
        known: Known | None = self.known.get(row)
        if known is None:
            self.known[row] = Known(len(row.ids) - len(row.unread.ids) - len(text), text, nodes)
        else:
            known.states, known.nodes = torch.cat((known.states, text)), nodes

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        known: Known | None = self.known.get(row)
        if known is not None and known.nodes is not None:
            if nodes:
                known.states = torch.cat((known.states, known.nodes[list(nodes)]))
            known.nodes = None
