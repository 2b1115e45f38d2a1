"""TriForce, SpecMQuant: a draft model that has drafts of its own, and these may have some, too.

What the model alone would have drafted, in fewer of its forwards. It costs a draft of the draft. Of no use where the draft model
is so small that reading four ids costs it four times as much as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.decoding.speculative.drafters.several import SeveralOfNodes
from grammarlm.decoding.speculative.draws import Shape, goes_on, taken


class Cascade(SeveralOfNodes):
    """A chain of `model` whose tokens `first` drafts: what the model alone would have drafted, in fewer of its forwards.

    `first` may be a cascade: its chains are drafted by what is first in it.
    """

    own_shape = "chain"

    def __init__(self, first: NodeDrafter, model: Any, ahead: int = 3):
        check_integer("ahead", ahead, 1)
        self.model = model if isinstance(model, ModelDrafter) else ModelDrafter(model)
        super().__init__([first, self.model])
        self.ahead = ahead
        self.length = self.model.length

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        return self.model.after(asked, width)

    def in_own_shape(self, shape: Shape, growths: Sequence[DraftBuilder]) -> None:
        tips = {growth: growth.tip for growth in growths}
        while tips:
            for growth, tip in tips.items():
                self._draft(shape, growth, tip, min(self.ahead, shape.length - growth.depth(tip) - 1))
            asked = [
                (growth, node) for growth, tip in tips.items() for node in [tip, *range(tip + 1, len(growth.tree))]
            ]
            found = dict(zip(asked, self.model.after(asked, 1), strict=True))
            tips = {
                growth: end
                for growth, tip in tips.items()
                if (end := self._verify(shape, growth, tip, found)) is not None and growth.depth(end) < shape.length
            }

    def _draft(self, shape: Shape, growth: DraftBuilder, tip: int, count: int) -> None:
        """So many tokens of the first tier."""
        first, free = self._drafters[0], replace(shape, above=0.0, stop=None)
        if isinstance(first, Cascade) and count > 0:
            first.in_own_shape(replace(free, length=growth.depth(tip) + count), [growth])
            return
        for _ in range(count):
            (candidates,) = first.after([(growth, tip)], 1)
            node = growth.best_allowed(taken(free, growth, tip, candidates, 1), tip)
            if node is None:
                return
            tip = node

    def _verify(
        self, shape: Shape, growth: DraftBuilder, tip: int, found: dict[tuple[DraftBuilder, int], Candidates]
    ) -> int | None:
        """Takes what the model itself draws; its last node, or None where nothing may follow."""
        while True:
            candidates = found[growth, tip]
            token = next(iter(taken(shape, growth, tip, candidates, 1)), None)
            node = None if token is None else growth.tree.child(tip, token)
            if node is None:  # the model goes another way
                growth.cut(tip + 1)
                node = None if token is None else growth.add(token, tip)
                return None if node is None or not goes_on(shape, growth, node, candidates) else node
            if not goes_on(shape, growth, node, candidates):
                growth.cut(node + 1)
                growth.tree.drawn.pop(node, None)  # by the first tier
                return None
            tip = node
