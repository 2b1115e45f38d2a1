"""DiffuSpec, DEER: a diffusion model fills in the places after the text, and the best path that the grammar allows is drafted.

    Draft(Fill(diffusion_model, mask_id))

It costs one forward of the diffusion model a draft, over the whole text, and the search of trees/lattice.py. Of no use where
texts are long and drafts are refused: nothing of that forward is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.model_facts import device_of
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.contexts import Context, Contexts
from grammarlm.decoding.speculative.drafters.drafter import RunDrafter
from grammarlm.published.trees.lattice import Causal, Lattice, best_path

WEIGHT = 0.5  # of the latest round in the mean by which lengths are chosen


class Fill(RunDrafter):
    """`model`: ids [B, L] -> logits [B, L, V] of what each position holds; what is asked for holds `mask_id`.

    candidates   of each place
    length       the most places; fewer where fewer have been accepted of late, at least `least`
    causal       the log-probability of a token after another one, added to those of a path: a small model that reads left to right
    context      as that of Blocks
    """

    def __init__(
        self,
        model: Any,
        mask_id: int,
        *,
        candidates: int = 8,
        length: int = 16,
        least: int = 2,
        causal: Causal | None = None,
        context: Context | None = None,
    ):
        for name, value in (("candidates", candidates), ("length", length), ("least", least)):
            check_integer(name, value, 1)
        self.model, self.mask_id, self.candidates = model, mask_id, candidates
        self.length, self.least, self.causal, self._contexts = length, least, causal, Contexts(context, self.by_row())
        self._accepted = self.by_row()  # what a round has accepted on average, the latest counting most
        self._lattices: dict[DraftBuilder, Lattice] = {}

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        """A draft that was accepted as a whole might have been twice as long."""
        if tree:
            is_whole = nodes and nodes[-1] in tree.leaves
            count = 2 * len(nodes) if is_whole else len(nodes)
            before = self._accepted.get(row, float(self.length) / 2)
            self._accepted[row] = (1 - WEIGHT) * before + WEIGHT * count

    def places(self, growth: DraftBuilder) -> int:
        """How many places to draft: one more than was accepted of late."""
        mean = self._accepted.get(growth.row, float(self.length) / 2)
        return min(growth.room, self.length, max(self.least, math.ceil(mean) + 1))

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        """One forward for all texts of a length: rows that differ would need pads, which a model that looks both ways would see."""
        texts = [
            [*self._contexts.text(growth.row, growth.ids), *[self.mask_id] * self.places(growth)] for growth in growths
        ]
        self._lattices = {}
        for length in dict.fromkeys(map(len, texts)):
            own = [at for at, text in enumerate(texts) if len(text) == length]
            with torch.no_grad():
                logits = self.model(torch.tensor([texts[at] for at in own], device=device_of(self.model)))
            logits = getattr(logits, "logits", logits).float().cpu().numpy()
            for at, rows in zip(own, logits, strict=True):
                growth = growths[at]
                vocab = growth.row.spec.vocab
                ahead = rows[length - self.places(growth) :, : vocab.size]
                self._lattices[growth] = Lattice.of(ahead, self.candidates, vocab.stop_ids)

    def runs(self, growth: DraftBuilder, length: int, count: int) -> list[list[int]]:
        matcher = growth.row.grammar.matcher
        return [best_path(self._lattices[growth], matcher, self.causal, growth.ids[-1])]
