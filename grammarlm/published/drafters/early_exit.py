"""Kangaroo: the target's first layers draft while they are sure, and the target goes on from where they came to.

    gl.Draft("exit", layers=2, eta=0.6)
    gl.Draft("exit", layers=2, eta=0.6, adapter=adapter)     # states [.., hidden] -> states, before norm and output; trained

What the first layers have read for a draft is not read by them again when it is verified: the other layers go on from their states
(readers/split.py). `eta` is the least probability of the best token that may come, after the mask, for which it is drafted. It
costs the share of these layers in a forward for each token. Of no use where they decide little, or for trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import check_function, check_integer, check_number
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.cached import CachedReader
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.model_layers import layers_of
from grammarlm.decoding.readers.reader import Reader
from grammarlm.decoding.readers.recurrent import RecurrentReader
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter, Target
from grammarlm.decoding.speculative.draws import NOTHING, best_chance
from grammarlm.published.readers.split import NEEDED, Adapter, SplitReader


class SharedExit(NodeDrafter):
    length, has_reader, needs_chain = 6, True, True

    def __init__(self, layers: int | None = None, eta: float = 0.0, adapter: Adapter | None = None):
        check_integer("layers", layers, 1, optional=True)
        check_number("eta", eta, lambda least: 0 <= least <= 1, "from 0 to 1")
        check_function("adapter", adapter)
        self.layers, self.eta, self.adapter = layers, eta, adapter or (lambda states: states)
        self._model: Any = None
        self._at = 0
        self._reader: SplitReader | None = None
        self._rows: list[Row] = []  # whose texts the reader has, in its order

    def begin(self, target: Target) -> None:
        count = len(layers_of(target.model, "the drafter 'exit' needs")[1])
        self._at = max(1, count // 2) if self.layers is None else self.layers
        if not 0 < self._at < count:
            raise ValueError(f"layers={self.layers}: the model has {count}, and an exit comes before the last one")
        self._model, self._rows = target.model, []

    def reader(self, reader: Reader) -> Reader:
        if isinstance(reader, RecurrentReader):
            raise ValueError(NEEDED)
        if type(reader) is not CachedReader:
            raise ValueError("the drafter 'exit' with eta= needs to read the target alone: no other drafter around it")
        self._reader = SplitReader(self._model, reader.beginnings, self._at, self.adapter)
        return self._reader

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        """Rows are shown in the order of the reader's texts."""
        self.drop(row)
        self._rows.append(row)

    def drop(self, row: Row) -> None:
        self._rows = [each for each in self._rows if each is not row]

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        """Reads the chains up to these nodes."""
        assert self._reader is not None
        places = [self._rows.index(growth.row) if growth.row in self._rows else None for growth, _ in asked]
        ways = {
            at: [*growth.row.unread.ids, *growth.tree.tokens_to(node)]
            for at, (growth, node) in zip(places, asked, strict=True)
            if at is not None
        }
        read = self._reader.ahead(ways)
        found = []
        for at, (growth, node) in zip(places, asked, strict=True):
            candidates = NOTHING if at not in read else Candidates.of(growth, node, read[at].numpy())
            found.append(candidates if best_chance(growth, candidates) >= self.eta else NOTHING)
        return found
