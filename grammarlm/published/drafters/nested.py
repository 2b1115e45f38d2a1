"""S2D (Sorted Speculative Decoding for More Than One Target): several draft models, of which the smallest that is sure drafts.

It costs the small model's forward where it is not sure. Of no use where one size of drafts suits all of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.decoding.speculative.drafters.several import SeveralOfNodes
from grammarlm.decoding.speculative.draws import best_chance


class Nested(SeveralOfNodes):
    """The smallest model that is sure: one whose best token has at least the probability `confidence`, else the last one."""

    def __init__(self, models: Sequence[Any], confidence: float = 0.7):
        check_number("confidence", confidence, lambda p: 0 <= p <= 1, "from 0 to 1")
        super().__init__([each if isinstance(each, ModelDrafter) else ModelDrafter(each) for each in models])
        self.confidence = confidence

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        found: list[Candidates] = []
        left = list(range(len(asked)))
        for member in self._drafters:
            drafted = member.after([asked[at] for at in left], width)
            found = found or list(drafted)
            for at, candidates in zip(left, drafted, strict=True):
                found[at] = candidates
            left = [at for at in left if best_chance(asked[at][0], found[at]) < self.confidence]
            if not left:
                break
        return found
