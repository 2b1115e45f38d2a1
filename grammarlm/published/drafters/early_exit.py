"""Kangaroo: the target's first layers draft while they are sure, and the target goes on from where they came to.

    gl.Draft("exit", layers=2, eta=0.6)
    gl.Draft("exit", layers=2, eta=0.6, adapter=adapter)     # states [.., hidden] -> states, before norm and output; trained

What the first layers have read for a draft is not read by them again when it is verified: the other layers go on from their states
(readers/split.py). `eta` is the least probability of the best token that may come, after the mask, for which it is drafted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.cached import CachedReader
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.readers.reader import Reader
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter, Target
from grammarlm.published.readers.model_layers import layers_of
from grammarlm.published.readers.recurrent import RecurrentReader
from grammarlm.published.readers.split import NEEDED, Adapter, SplitReader


class SharedExit(NodeDrafter):
    length, has_reader, drafts_by_reader = 6, True, True

    def __init__(self, layers: int | None = None, eta: float = 0.0, adapter: Adapter | None = None):
        check_integer("layers", layers, 1, optional=True)
        self.layers, self.eta, self.adapter = layers, eta, adapter
        self._model: Any = None
        self._at = 0
        self._reader: SplitReader | None = None
        self._rows: list[Row] = []  # whose texts the reader has, in its order
        self._logits: dict[tuple[Row, int], np.ndarray] = {}

    def begin(self, target: Target) -> None:
        found = layers_of(target.model)
        if found is None:
            raise ValueError("the drafter 'exit' needs a transformers model with a list of layers")
        count = len(found[1])
        self._at = max(1, count // 2) if self.layers is None else self.layers
        if not 0 < self._at < count:
            raise ValueError(f"layers={self.layers}: the model has {count}, and an exit comes before the last one")
        self._model, self._rows = target.model, []

    def reader(self, reader: Reader) -> Reader:
        if isinstance(reader, RecurrentReader):
            raise ValueError(NEEDED)
        if not isinstance(reader, CachedReader):
            raise ValueError("the drafter 'exit' with eta= needs to read the target alone: no other drafter around it")
        self._reader = SplitReader(self._model, reader.beginnings, self._at, self.adapter)
        return self._reader

    def reading(self, rows: Sequence[Row]) -> None:
        self._rows = list(rows)

    def drop(self, row: Row) -> None:
        self._rows = [each for each in self._rows if each is not row]

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        self._logits = {}

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        known = [(growth, node) for growth, node in asked if growth.row in self._rows]
        chains = {growth: node for growth, node in known if growth.tree.is_chain}
        if all(growth.tree.is_chain for growth, _ in known):
            self._read_on(chains)
        else:
            self._read_trees({growth for growth, _ in known})
        return [self._candidates(growth, node) for growth, node in asked]

    def _candidates(self, growth: DraftBuilder, node: int) -> Candidates:
        row = self._logits.get((growth.row, node))
        masked = None if row is None else growth.masked(row, node)
        if masked is None:
            return Candidates((), ())
        scaled = np.exp((masked - masked.max()) / growth.row.sampling.warmth)
        return Candidates((), (), masked) if 1 / scaled.sum() >= self.eta else Candidates((), ())

    def _since(self, growth: DraftBuilder) -> list[int]:
        """The ids that the target has not read."""
        return list(growth.row.unread.ids)

    def _read_on(self, ends: dict[DraftBuilder, int]) -> None:
        """Reads the chains up to these nodes."""
        assert self._reader is not None
        ways = [list(ids) for ids in self._reader.ids_ahead]
        for growth, node in ends.items():
            ways[self._rows.index(growth.row)] = [*self._since(growth), *growth.tree.tokens_to(node)]
        found = self._reader.ahead(ways)
        for growth, node in ends.items():
            logits = found.get(self._rows.index(growth.row))
            if logits is not None:
                self._logits[growth.row, node] = logits.numpy()

    def _read_trees(self, growths: set[DraftBuilder]) -> None:
        """Reads whole trees as they have grown; what comes before them stays read."""
        assert self._reader is not None
        ways = [list(ids) for ids in self._reader.ids_ahead]
        trees = [DraftTree() for _ in self._rows]
        for growth in growths:
            at = self._rows.index(growth.row)
            ways[at], trees[at] = self._since(growth), DraftTree(growth.tree.tokens, growth.tree.parents)
        for at, logits in self._reader.ahead(ways).items():
            self._logits[self._rows[at], ROOT] = logits.numpy()
        for row, rows in zip(self._rows, self._reader.ahead_trees(trees), strict=True):
            for node, logits in enumerate(rows.numpy()):
                self._logits[row, node] = logits
