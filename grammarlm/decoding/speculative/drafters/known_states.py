"""The target's last hidden states of the ids that it has read, for each answer of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree


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


class KnownStates:
    def __init__(self) -> None:
        self._of: dict[Row, Known] = {}

    def observe(self, row: Row, tree: DraftTree, states: torch.Tensor) -> None:
        asides = row.unread.tree.asides
        text, nodes, _ = states.split([len(states) - len(tree) - asides, len(tree), asides])
        known = self._of.get(row)
        if known is None:
            self._of[row] = Known(len(row.ids) - len(row.unread.ids) - len(text), text, nodes)
        else:
            known.states, known.nodes = torch.cat((known.states, text)), nodes

    def drawn(self, row: Row, nodes: Sequence[int]) -> None:
        known = self._of.get(row)
        if known is not None and known.nodes is not None:
            if nodes:
                known.states = torch.cat((known.states, known.nodes[list(nodes)]))
            known.nodes = None

    def keep_last(self, row: Row) -> None:
        """Forgets all states of a row but that of the last id."""
        known = self._of[row]
        known.first, known.states = known.end - 1, known.states[-1:]

    def drop(self, row: Row) -> None:
        self._of.pop(row, None)

    def of(self, row: Row) -> Known | None:
        return self._of.get(row)
