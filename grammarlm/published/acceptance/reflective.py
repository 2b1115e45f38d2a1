"""Reflective Verification: a drafted token that the target would draw on second thoughts; the draft is read twice.

After the draft the target reads a prompt that asks it to look again, and the draft once more. The logits at the copy are its second
opinion on each token; mixed with the first opinion they decide about the drafted tokens. Prompt and copy are asides of the
draft: they are in no text, no cache and no matcher afterwards. Lossy. It costs twice the ids of each draft. Of no use for a model
that does not follow the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.logits.sampling import draw
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.speculative.acceptance import Rule
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Target


class Reflective(Rule):
    """`prompt`: a text, or ids; `weight`: of the second opinion, from 0 (none) to 1 (nothing else). Drafts that are chains."""

    name, needs_chain, adds_asides = "reflective", True, True

    def __init__(self, prompt: str | Sequence[int], weight: float = 0.5):
        check_number("weight", weight, lambda share: 0 <= share <= 1, "from 0 to 1")
        self.prompt, self.weight = prompt, weight
        self._ids: list[int] = []
        self._again = self.by_row()  # logits at the copy

    def begin(self, target: Target) -> None:
        is_text = isinstance(self.prompt, str)
        self._ids = list(target.vocab.encode(self.prompt)) if is_text else list(self.prompt)  # type: ignore[arg-type]
        if not self._ids:
            raise ValueError("the acceptance rule 'reflective' needs a prompt of one token at least")

    def finish(self, growth: DraftBuilder) -> None:
        tree = growth.tree
        if not self.weight or not tree or not tree.is_chain:
            return
        last = len(tree) - 1
        for token in [*self._ids, *tree.tokens[:-1]]:
            last = tree.add_aside(token, last)

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        self._again.pop(row, None)
        if len(logits) > len(
            before
        ):  # beginning with those after the last id of the prompt, which the copy comes after
            self._again[row] = logits[len(before) - 1 + len(self._ids) :].copy()

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        again, proposed = self._again.get(row), row.unread.proposed
        if again is None or not proposed:
            return None
        allowed = np.isfinite(logits)
        mixed = np.full_like(logits, -np.inf)
        mixed[allowed] = (1 - self.weight) * logits[allowed] + self.weight * again[row.unread.tip - ROOT][allowed]
        if not np.isfinite(mixed).any():
            return None
        token, _ = draw(mixed, row.sampling, row.position)
        return token if token == proposed[0][1] else None
