"""Falcon, FLASH: a draft model that says a block of places in one forward, each without knowing what the others will hold.

    Draft(Blocks(propose, block=4), tree="fixed")

Every node at a place of the block has that place's candidates; the grammar keeps those that may come there. What comes after the
block is proposed anew, with the tokens of the block before it. It costs a forward a block. Of no use for models trained on single
tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.contexts import Context, Contexts
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter

Propose = Callable[[list[list[int]], int], Sequence[torch.Tensor]]


class Blocks(NodeDrafter):
    """`propose(texts, block)` gives for each text [block, V]: the logits of the places after it.

    context   of a prompt: what the draft model gets instead (fewer embeddings of an image, say)
    """

    length = 8

    def __init__(self, propose: Propose, block: int = 4, context: Context | None = None):
        check_integer("block", block, 1)
        self.propose, self.block, self._contexts = propose, block, Contexts(context, self.by_row())
        self._logits: dict[tuple[DraftBuilder, int], np.ndarray] = {}

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        self._logits = {}

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        starts = [(growth, self._start(growth, node)) for growth, node in asked]
        new = [start for start in dict.fromkeys(starts) if start not in self._logits]
        if new:
            texts = [
                self._contexts.text(growth.row, [*growth.ids, *growth.tree.tokens_to(node)]) for growth, node in new
            ]
            with torch.no_grad():
                found = self.propose(texts, self.block)
            self._logits.update(zip(new, (rows.float().cpu().numpy() for rows in found), strict=True))
        return [
            Candidates.of(growth, node, self._logits[start][growth.depth(node) % self.block])
            for (growth, node), start in zip(asked, starts, strict=True)
        ]

    def _start(self, growth: DraftBuilder, node: int) -> int:
        """The node that the block of what follows a node comes after."""
        path = [ROOT, *growth.tree.path(node)]
        return path[growth.depth(node) // self.block * self.block]
