"""What drafters and rules are told of a call, and what they, and schedules, remember of its answers."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.vocab.vocabulary import Vocabulary

from .draft_builder import DraftBuilder


@dataclass(frozen=True)
class Target:
    """What is drafted for: the model, and what its ids mean."""

    model: Any
    vocab: Vocabulary
    temperature: float


class OfRows:
    """An owner of tables by row, from which an answer goes when it has ended."""

    _tables: tuple[MutableMapping[Row, Any], ...] = ()

    def by_row(self) -> MutableMapping[Row, Any]:
        """A new table; it forgets the rows of a call that came to no end, too."""
        table: MutableMapping[Row, Any] = WeakKeyDictionary()
        self._tables = (*self._tables, table)
        return table

    def drop(self, row: Row) -> None:
        """The answer has ended."""
        for table in self._tables:
            table.pop(row, None)


class Observer(OfRows):
    """What drafters and rules share. A tree that they are told is without its asides."""

    needs_chain = False
    needs_states = False  # the target's last hidden states
    adds_asides = False

    def begin(self, target: Target) -> None:
        """A call begins. ValueError ("needs ...") where the target does not offer what is needed."""

    def finish(self, growth: DraftBuilder) -> None:
        """The tree is made, and may get asides: ids that the target reads beside it. A rule may cut it first."""

    @property
    def observes(self) -> bool:
        """Does it look at logits?"""
        return type(self).observe is not Observer.observe

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        """The model has read ids and a tree: `logits[i]`, not masked, follows `before[i]`, the last ids of the text, then the
        nodes; what comes behind these are logits after the tree's asides, in their order. Rows come in the order of the reader's
        texts."""

    def observe_states(
        self, row: Row, tree: DraftTree, text: torch.Tensor, nodes: torch.Tensor, asides: torch.Tensor
    ) -> None:
        """The last hidden states [.., hidden] of all ids of the text that were read, of the tree's nodes, and of its asides."""
