"""I-DLM (Introspective Diffusion Language Models): one model verifies a stride of tokens and proposes the next in one forward.

The model is one that predicts behind masks, too. After each token of the stride, and after the text, it reads `stride - 1` masks
beside the draft: the first stands for the token that is drawn there, and the logits after the i-th are those of the i-th token
after that. So wherever the stride ends, the next one is there. With acceptance="ratio" the law is that of one token after another.
It costs `stride - 1` ids more for each token read. Of no use for a model that was not trained to predict behind masks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter


class Strided(NodeDrafter):
    """`mask`: its id; `stride`: tokens of a step at most, 1: one after another."""

    adds_asides = True

    def __init__(self, mask: int, stride: int = 3):
        check_integer("mask", mask, 0)
        check_integer("stride", stride, 1)
        self.mask, self.length = mask, stride - 1
        self._read = self.by_row()  # (ids of the text, logits after all masks)
        self._next = self.by_row()  # (ids before the first place, logits of the places)

    def finish(self, growth: DraftBuilder) -> None:
        growth.tree.add_asides([self.mask] * self.length)

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        if len(logits) > len(before):
            self._read[row] = len(row.ids), logits[len(before) :].copy()

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        self._next.pop(row, None)
        if row in self._read:
            length, logits = self._read.pop(row)
            first = (nodes[-1] + 1 if nodes else 0) * self.length
            self._next[row] = length + len(nodes) + 1, logits[first : first + self.length]

    def after_node(self, growth: DraftBuilder, node: int) -> Candidates:
        place, logits = self._next.get(growth.row, (0, None))
        at = len(growth.ids) + growth.depth(node) - place
        is_known = logits is not None and 0 <= at < len(logits)
        return Candidates.of(growth, node, logits[at] if is_known else None)
