"""Draft models that have drafts of their own: a cascade (TriForce), and models of which the surer one drafts (S2D)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.speculative.draws import Shape, picked

from .drafter import Candidates, NodeDrafter, Target
from .model import ModelDrafter

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row
    from grammarlm.decoding.speculative.growth import Growth


class Several(NodeDrafter):
    """What drafters made of others share: all of them are told everything."""

    def __init__(self, members: Sequence[NodeDrafter]):
        self.members = list(members)

    @property
    def needs_states(self) -> bool:  # type: ignore[override]
        return any(member.needs_states for member in self.members)

    def begin(self, target: Target) -> None:
        for member in self.members:
            member.begin(target)

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        for member in self.members:
            member.observe(row, tree, before, logits)

    def observe_states(self, row: Row, tree: DraftTree, states: torch.Tensor) -> None:
        for member in self.members:
            member.observe_states(row, tree, states)

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        for member in self.members:
            member.drawn(row, tree, nodes)

    def learn(self, row: Row, tokens: Sequence[int]) -> None:
        for member in self.members:
            member.learn(row, tokens)

    def drop(self, row: Row) -> None:
        for member in self.members:
            member.drop(row)

    def open(self, growths: Sequence[Growth]) -> None:
        for member in self.members:
            member.open(growths)

    def close(self, growths: Sequence[Growth]) -> None:
        for member in self.members:
            member.close(growths)


class Cascade(Several):
    """A chain of `model` whose tokens `first` drafts: what the model alone would have drafted, in fewer of its forwards.

    Trees are the model's own.
    """

    def __init__(self, first: NodeDrafter, model: Any, ahead: int = 3):
        self.model = model if isinstance(model, ModelDrafter) else ModelDrafter(model)
        super().__init__([first, self.model])
        self.ahead = ahead
        self.length = self.model.length

    def after(self, asked: Sequence[tuple[Growth, int]], width: int) -> list[Candidates]:
        return self.model.after(asked, width)

    def chains(self, shape: Shape, growths: Sequence[Growth]) -> bool:
        tips = dict.fromkeys(growths, ROOT)
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
        return True

    def _draft(self, shape: Shape, growth: Growth, tip: int, count: int) -> None:
        for _ in range(count):
            (candidates,) = self.members[0].after([(growth, tip)], 1)
            row = candidates.row
            tokens = candidates.tokens if row is None else picked(shape, growth, tip, row, 1)
            node = growth.best_allowed(tokens, tip)
            if node is None:
                return
            tip = node

    def _verify(
        self, shape: Shape, growth: Growth, tip: int, found: dict[tuple[Growth, int], Candidates]
    ) -> int | None:
        """Takes what the model itself draws; its last node, or None where nothing may follow."""
        while True:
            row = found[growth, tip].row
            token = None if row is None else next(iter(picked(shape, growth, tip, row, 1)), None)
            known = None if token is None else growth.tree.child(tip, token)
            if known is not None and (growth, known) in found:
                tip = known
                continue
            growth.cut(tip + 1)
            return None if token is None else growth.add(token, tip)


class Nested(Several):
    """The smallest model that is sure: one whose best token has at least the probability `confidence`, else the last one."""

    def __init__(self, models: Sequence[Any], confidence: float = 0.7):
        super().__init__([each if isinstance(each, ModelDrafter) else ModelDrafter(each) for each in models])
        self.confidence = confidence

    def after(self, asked: Sequence[tuple[Growth, int]], width: int) -> list[Candidates]:
        found: list[Candidates] = []
        left = list(range(len(asked)))
        for member in self.members:
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
