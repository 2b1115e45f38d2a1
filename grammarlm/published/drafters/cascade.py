"""TriForce, SpecMQuant: a draft model that has drafts of its own, and these may have some, too.

    gl.Draft(Cascade(Cascade(tiny, small), middle))             # three tiers; as many as one likes (TriForce)
    gl.Draft(Cascade(Features(layer), middle, widths=(3, 2)))   # the middle model reads trees, the target chains (SpecMQuant)

What the model alone would have drafted, in fewer of its forwards. It costs a draft of the draft. Of no use where the draft model
is so small that reading four ids costs it four times as much as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.draft_builder import DraftBuilder, Shape
from grammarlm.decoding.speculative.drafters.drafter import Candidates, Drafter, NodeDrafter
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.decoding.speculative.drafters.several import SeveralOfNodes
from grammarlm.decoding.speculative.shapes import children


class Cascade(SeveralOfNodes):
    """What `model` says after the nodes of a tree, of which `first` foresees some: these are read in one forward.

    ahead    how many tokens further are foreseen
    widths   how many children each node has at each depth of what is foreseen; 1 below: a chain

    `first` is a drafter of nodes, or a model. It may be a cascade: its nodes are foreseen by what is first in it.
    """

    def __init__(self, first: Any, model: Any, ahead: int = 3, widths: Sequence[int] = ()):
        check_integer("ahead", ahead, 1)
        for width in widths:
            check_integer("widths", width, 1)
        self.first, self.model = tier(first), tier(model)
        super().__init__([self.first, self.model])
        self.widths, self.length = [*widths, *[1] * ahead][:ahead], self.model.length
        self._most = sum(accumulate(self.widths, mul))  # nodes that are foreseen after one
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
                copies[row].most = growth.most + self._most * len(asked)
            copy = copies[row]
            wanted += [(copy, node) for node in self._foreseen(copy, copy.add_run(tokens))]
        for (copy, node), candidates in zip(wanted, self.model.after(wanted, width), strict=True):
            self._read[copy.row, tuple(copy.tree.tokens_to(node))] = candidates
        return [self._read[way] for way in ways]

    def _foreseen(self, growth: DraftBuilder, tip: int) -> list[int]:
        """The node, and what the first tier foresees after it."""
        nodes, tips = [tip], [tip]
        for width in self.widths:
            tips = [node for node in tips if growth.depth(node) < growth.room - 1]
            found = self.first.after([(growth, node) for node in tips], width) if tips else []
            tips = [
                child
                for node, candidates in zip(tips, found, strict=True)
                for child in children(growth, node, candidates, width)
            ]
            nodes += tips
        return nodes


def tier(drafter: Any) -> NodeDrafter:
    if isinstance(drafter, Drafter) and not isinstance(drafter, NodeDrafter):
        raise ValueError(
            f"a cascade needs drafters that go on token by token; {type(drafter).__name__} finds whole texts"
        )
    return drafter if isinstance(drafter, NodeDrafter) else ModelDrafter(drafter)
