"""A smaller model as a drafter, with a cache of its own that follows the answers.

gl.Draft(small)
gl.Draft(small, context=retrieve)     # it gets a prompt of its own: shorter, or what was found for it
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.readers.model_facts import is_encoder_decoder, is_transformers_model, width_of
from grammarlm.decoding.speculative.draft_builder import DraftBuilder

from .contexts import Context
from .drafter import Candidates, NodeDrafter, Target
from .follower import Following

After = tuple[
    np.ndarray, torch.Tensor | None
]  # logits, and the last hidden state that they are made of, where it is kept


class ModelDrafter(Following, NodeDrafter):
    """`model`: a causal transformers model, or a callable from ids [B, T] to logits [B, T, V].

    context    of a prompt: the ids that it gets instead
    transfer   0, which is lossless; more is another drafter's (decoding/systems.py), which `gl.Draft` makes
    """

    def __init__(self, model: Any, cache: str | None = None, *, context: Context | None = None, transfer: float = 0.0):
        if is_transformers_model(model) and is_encoder_decoder(model):
            raise ValueError("a draft model needs to go on with a text; an encoder-decoder model answers a prompt")
        if transfer:
            raise ValueError(
                f"transfer={transfer!r:.30} moves the target's law: pass the model and transfer= to gl.Draft"
            )
        super().__init__(model, cache, context)
        self._roots = self.by_row()  # the logits after each text, and the state there

    def begin(self, target: Target) -> None:
        super().begin(target)
        width = width_of(self.model)
        known = target.vocab.size
        if width is not None and width < max(target.vocab.text_ids, default=0) + 1 and self.model is not target.model:
            raise ValueError(
                f"the draft model has {width} ids, the target {known}: it needs the same vocabulary, or a "
                "gl.Draft(model, tokenizer=...) that says what the ids mean"
            )

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        """Reads the answers up to their ends; the logits there are those of the roots."""
        rows = [growth.row for growth in growths]
        texts = [self._contexts.text(growth.row, growth.ids) for growth in growths]
        self._follower.keeps_states = growths[0].shape.accepts is not None
        logits = self._follower.read(rows, texts).numpy()
        self._roots.update({row: (logits[at], self._state(at, -1)) for at, row in enumerate(rows)})

    def _state(self, text: int, at: int) -> torch.Tensor | None:
        """Of the last read."""
        return None if self._follower.states is None else self._follower.states[text][at]

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        below = [(growth, node) for growth, node in asked if node != ROOT]
        logits = self._logits_below(below) if below else {}
        found = []
        for growth, node in asked:
            row, state = self._roots[growth.row] if node == ROOT else logits[growth, node]
            found.append(Candidates.of(growth, node, row, state))
        return found

    def _logits_below(self, asked: list[tuple[DraftBuilder, int]]) -> dict[tuple[DraftBuilder, int], After]:
        """Reads the trees as they have grown; the texts stay what they are."""
        growths = {growth.row: growth for growth, _ in asked}
        wanted: dict[Row, list[int]] = {row: [] for row in growths}
        for growth, node in asked:
            wanted[growth.row].append(node)
        trees = [
            DraftTree(growths[row].tree.tokens, growths[row].tree.parents) if row in growths else DraftTree()
            for row in self._follower.rows
        ]
        logits = self._follower.read_trees(trees).numpy()
        found, first = {}, 0
        for at, (row, tree) in enumerate(zip(self._follower.rows, trees, strict=True)):
            for node in wanted.get(row, ()):
                found[growths[row], node] = logits[first + 1 + node], self._state(at, 1 + node)
            first += 1 + len(tree)
        return found
