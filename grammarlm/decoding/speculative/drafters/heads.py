"""Heads on the target's last hidden state, each for a token further on (Medusa).

    heads, _ = gl.load_tiny(heads=True)
    gl.Draft(drafters.Heads(heads), tree="fixed")

`heads(state [.., hidden])` gives a list of states, of which the target's output makes logits: head k is for the token k + 2 places
after the state, as the target itself is for the next one. Heads that look back get the states of the whole text [1, n, hidden]. In
a tree each node at one depth has the same candidates (a Cartesian product), of which the grammar keeps what may follow that node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder

from .drafter import Candidates
from .state_drafter import StateDrafter


class Heads(StateDrafter):
    """`heads`: a function of states; `output`: from states to logits, the target's own where it is left out; `attends`: whether the
    heads look back, where `heads.attends` doesn't say so."""

    def __init__(
        self,
        heads: Callable[[torch.Tensor], Sequence[torch.Tensor]],
        output: Any = None,
        attends: bool | None = None,
    ):
        super().__init__(output)
        self.heads = heads
        self.attends = getattr(heads, "attends", False) if attends is None else attends
        self._logits = self.by_row()  # (the last id with a state, what the heads make of it)

    @torch.no_grad()
    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        super().drawn(row, tree, nodes)
        known = self.known.get(row)
        if known is None or self._logits.get(row, (-1, []))[0] == known.end - 1:
            return
        if self.attends:
            made = [each[0, -1] for each in self.heads(known.states[None])]
        else:
            made = list(self.heads(known.states[-1]))
            known.keep_last()
        self._logits[row] = known.end - 1, [self.logits(each) for each in made]

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        found = []
        for growth, node in asked:
            place, logits = self._logits.get(growth.row, (0, []))
            # Head 0 is for the second token after the state; the first is in the text, and so may be others that were forced.
            head = len(growth.ids) - place - 2 + growth.depth(node)
            found.append(Candidates.of(growth, node, logits[head] if 0 <= head < len(logits) else None))
        return found
