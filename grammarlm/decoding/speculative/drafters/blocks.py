"""Draft models that say several places at once, each without knowing what the others will hold.

    Draft(Blocks(propose, block=4), tree="fixed")      a block in one forward (Falcon), the next one after each of its ends
    Draft(Fill(diffusion_model, mask_id))              a diffusion model fills in the places after the text (DiffuSpec, DEER)

In a block every node at a place has that place's candidates; the grammar keeps those that may come there. What comes after the
block is proposed anew, with the tokens of the block before it. `Fill` takes the best paths through the candidates instead
(lattice.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from grammarlm.decoding.arguments import check_integer
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.readers.model_facts import device_of

from .contexts import Context, Contexts
from .drafter import Candidates, NodeDrafter, RunDrafter
from .lattice import Causal, Lattice, best_paths

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row
    from grammarlm.decoding.speculative.growth import Growth

Ids = list[int]
Propose = Callable[[list[Ids], int], Sequence[torch.Tensor]]
WEIGHT = 0.5  # of the latest round in the mean by which lengths are chosen


class Blocks(NodeDrafter):
    """`propose(texts, block)` gives for each text [block, V]: the logits of the places after it.

    context   of a prompt: what the draft model gets instead (fewer embeddings of an image, say)
    """

    length = 8

    def __init__(self, propose: Propose, block: int = 4, context: Context | None = None):
        check_integer("block", block, 1)
        self.propose, self.block, self._contexts = propose, block, Contexts(context)
        self._logits: dict[tuple[Growth, int], np.ndarray] = {}

    def drop(self, row: Row) -> None:
        self._contexts.drop(row)

    def open(self, growths: Sequence[Growth]) -> None:
        self._logits = {}

    def after(self, asked: Sequence[tuple[Growth, int]], width: int) -> list[Candidates]:
        starts = [(growth, self._start(growth, node)) for growth, node in asked]
        new = [start for start in dict.fromkeys(starts) if start not in self._logits]
        if new:
            texts = [
                self._contexts.text(growth.row, [*growth.ids, *growth.tree.tokens_to(node)]) for growth, node in new
            ]
            with torch.no_grad():
                found = self.propose(texts, self.block)
            self._logits.update(zip(new, (rows.float().cpu().numpy() for rows in found), strict=True))
        candidates = []
        for (growth, node), start in zip(asked, starts, strict=True):
            masked = growth.masked(self._logits[start][growth.depth(node) % self.block], node)
            candidates.append(Candidates((), ()) if masked is None else Candidates((), (), masked))
        return candidates

    def _start(self, growth: Growth, node: int) -> int:
        """The node that the block of what follows a node comes after."""
        path = [ROOT, *growth.tree.path(node)]
        return path[growth.depth(node) // self.block * self.block]


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
        self.length, self.least, self.causal, self._contexts = length, least, causal, Contexts(context)
        self._accepted: dict[Row, float] = {}  # what a round has accepted on average, the latest counting most
        self._lattices: dict[Growth, Lattice] = {}

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        """A draft that was accepted as a whole might have been twice as long."""
        if tree:
            is_whole = nodes and nodes[-1] in tree.leaves
            count = 2 * len(nodes) if is_whole else len(nodes)
            before = self._accepted.get(row, float(self.length) / 2)
            self._accepted[row] = (1 - WEIGHT) * before + WEIGHT * count

    def drop(self, row: Row) -> None:
        self._accepted.pop(row, None)
        self._contexts.drop(row)

    def places(self, growth: Growth) -> int:
        """How many places to draft: one more than was accepted of late."""
        mean = self._accepted.get(growth.row, float(self.length) / 2)
        return min(growth.room, self.length, max(self.least, math.ceil(mean) + 1))

    def open(self, growths: Sequence[Growth]) -> None:
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

    def runs(self, growth: Growth, length: int, count: int) -> list[list[int]]:
        matcher = growth.row.grammar.matcher
        return best_paths(self._lattices[growth], matcher, count, self.causal, growth.ids[-1])
