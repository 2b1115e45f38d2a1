"""Draft models that have drafts of their own: a cascade (TriForce), and models of which the surer one drafts (S2D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grammarlm.decoding.arguments import check_integer, check_number
from grammarlm.decoding.speculative.draws import Shape, goes_on, taken

from .drafter import Candidates, NodeDrafter
from .model import ModelDrafter
from .several import Several

if TYPE_CHECKING:
    from grammarlm.decoding.speculative.growth import Growth


class Nodes(Several, NodeDrafter):
    """Made of drafters of nodes, which all draft for the same trees."""

    def __init__(self, members: Sequence[NodeDrafter]):
        super().__init__(members)
        self._drafters = list(members)

    def open(self, growths: Sequence[Growth]) -> None:
        for member in self._drafters:
            member.open(growths)

    def close(self, growths: Sequence[Growth]) -> None:
        for member in self._drafters:
            member.close(growths)


class Cascade(Nodes):
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

    def after(self, asked: Sequence[tuple[Growth, int]], width: int) -> list[Candidates]:
        return self.model.after(asked, width)

    def in_own_shape(self, shape: Shape, growths: Sequence[Growth]) -> None:
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

    def _draft(self, shape: Shape, growth: Growth, tip: int, count: int) -> None:
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
        self, shape: Shape, growth: Growth, tip: int, found: dict[tuple[Growth, int], Candidates]
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


class Nested(Nodes):
    """The smallest model that is sure: one whose best token has at least the probability `confidence`, else the last one."""

    def __init__(self, models: Sequence[Any], confidence: float = 0.7):
        check_number("confidence", confidence, lambda p: 0 <= p <= 1, "from 0 to 1")
        super().__init__([each if isinstance(each, ModelDrafter) else ModelDrafter(each) for each in models])
        self.confidence = confidence

    def after(self, asked: Sequence[tuple[Growth, int]], width: int) -> list[Candidates]:
        found: list[Candidates] = []
        left = list(range(len(asked)))
        for member in self._drafters:
            drafted = member.after([asked[at] for at in left], width)
            found = found or list(drafted)
            for at, candidates in zip(left, drafted, strict=True):
                found[at] = candidates
            left = [at for at in left if not self._is_sure(found[at])]
            if not left:
                break
        return found

    def _is_sure(self, candidates: Candidates) -> bool:
        if candidates.row is None:
            return False
        scaled = np.exp(candidates.row - candidates.row.max())
        return float(1 / scaled.sum()) >= self.confidence
