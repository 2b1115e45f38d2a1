"""REST, RASD (Retrieval-Augmented Speculative Decoding): what followed the last tokens in texts that are given beforehand.

    gl.Draft(Datastore(texts), tree="fixed")                            # REST
    gl.Draft(Fused(Datastore(texts), small, least=0.05), tree="fixed")  # RASD

Fused with the tree of a draft model, branches stay that begin with a token which the model finds probable enough, and no node is
there twice. It costs the memory of "suffix" for the texts. Of no use for texts unlike the answers: "suffix" learns from these by
itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter, RunDrafter, Target
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.decoding.speculative.drafters.several import SeveralOfNodes
from grammarlm.decoding.speculative.drafters.suffix import Suffix
from grammarlm.decoding.speculative.draws import log_softmax
from grammarlm.decoding.speculative.shapes import BRANCHES


class Datastore(Suffix):
    """`texts`: ids, or texts that the target's vocabulary can encode. Answers are looked up, and not added."""

    def __init__(self, texts: Iterable[str | Sequence[int]]):
        super().__init__()
        self._texts: list[str | Sequence[int]] = list(texts)

    def begin(self, target: Target) -> None:
        for text in self._texts:
            self.add(target.vocab.encode(text) if isinstance(text, str) else text)
        self._texts = []

    def drop(self, row: Row) -> None:
        self.forget(row)


class Fused(SeveralOfNodes):
    """The tree of a draft model, and the branches of what finds whole texts whose first token it gives at least `least`.

    A third of a tree's nodes is kept for what is found; a chain is the model's, or where it has none, one that was found.
    """

    def __init__(self, found: RunDrafter, model: Any, least: float = 0.05):
        check_number("least", least, lambda chance: 0 <= chance <= 1, "from 0 to 1")
        self.found, self.model = found, model if isinstance(model, NodeDrafter) else ModelDrafter(model)
        super().__init__([self.found, self.model])  # type: ignore[list-item]
        self.least, self.length = least, self.model.length
        self._kept = self.by_row()  # nodes of a tree that is being drafted

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        for growth in growths:
            self._kept[growth.row] = 0 if growth.shape.tree == "chain" else growth.most // 3
            growth.most -= self._kept[growth.row]
        super().open(growths)

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        return self.model.after(asked, width)

    def finish(self, growth: DraftBuilder) -> None:
        growth.most += self._kept.pop(growth.row, 0)
        if growth.shape.tree != "chain" or not growth.tree:
            for run in self.found.runs(growth, min(growth.shape.length, growth.room), BRANCHES):
                if self._is_probable(growth, run[0]):
                    growth.add_run(run)
        super().finish(growth)

    def _is_probable(self, growth: DraftBuilder, token: int) -> bool:
        (candidates,) = self.model.after([(growth, ROOT)], 1)
        if candidates.row is None or not 0 <= token < len(candidates.row):
            return False
        return float(np.exp(log_softmax(candidates.row, growth)[token])) >= self.least
