"""TriForce, SpecMQuant: a draft model that has drafts of its own, and these may have some, too.

What the model alone would have drafted, in fewer of its forwards. It costs a draft of the draft. Of no use where the draft model
is so small that reading four ids costs it four times as much as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder, Shape
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.decoding.speculative.drafters.several import SeveralOfNodes
from grammarlm.decoding.speculative.shapes import children


class Cascade(SeveralOfNodes):
    """What `model` says after the nodes of a tree, of which `first` foresees `ahead`: these are read in one forward.

    `first` may be a cascade: its nodes are foreseen by what is first in it.
    """

    def __init__(self, first: NodeDrafter, model: Any, ahead: int = 3):
        check_integer("ahead", ahead, 1)
        self.first, self.model = first, model if isinstance(model, ModelDrafter) else ModelDrafter(model)
        super().__init__([first, self.model])
        self.ahead, self.length = ahead, self.model.length
        self._read: dict[tuple[Row, tuple[int, ...]], Candidates] = {}  # by the tokens that lead to a node

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        super().open(growths)
        self._read = {}

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        ways = [(growth.row, tuple(growth.tree.tokens_to(node))) for growth, node in asked]
        copies: dict[Row, DraftBuilder] = {}
        wanted: list[tuple[DraftBuilder, int]] = []
        for (growth, _), (row, tokens) in zip(asked, ways, strict=True):
            if (row, tokens) in self._read:
                continue
            if row not in copies:
                copies[row] = DraftBuilder(row, growth.room, Shape(draws=growth.shape.draws))
                copies[row].most = growth.most + self.ahead * len(asked)
            copy = copies[row]
            wanted += [(copy, node) for node in self._foreseen(copy, copy.add_run(tokens))]
        for (copy, node), candidates in zip(wanted, self.model.after(wanted, width), strict=True):
            self._read[copy.row, tuple(copy.tree.tokens_to(node))] = candidates
        return [self._read[way] for way in ways]

    def _foreseen(self, growth: DraftBuilder, tip: int) -> list[int]:
        """The node, and what the first tier foresees after it."""
        nodes = [tip]
        while len(nodes) <= self.ahead and growth.depth(nodes[-1]) < growth.room - 1:
            (candidates,) = self.first.after([(growth, nodes[-1])], 1)
            further = children(growth, nodes[-1], candidates, 1)
            if not further:
                break
            nodes += further
        return nodes
