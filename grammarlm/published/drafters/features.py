"""EAGLE, FSPAD: a layer that predicts the target's next last hidden state from the last one and the token drawn there.

    drafter, _ = gl.load_tiny(features=True)
    gl.Draft(drafters.Features(drafter))

`drafter(states [1, n, hidden], embedded [1, n, hidden])` gives predicted states: the i-th is that of the token which `embedded[i]`
embeds, the one after `states[i]`. Its logits come from the target's output.
It costs a layer and an output for each token drafted. Of no use untrained, or for models whose states are not to be had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, Target
from grammarlm.decoding.speculative.drafters.state_drafter import StateDrafter
from grammarlm.decoding.speculative.draws import NOTHING

Predict = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Features(StateDrafter):
    def __init__(self, predict: Predict):
        super().__init__()
        self.predict = predict
        self._embed: Any = None
        self._predicted: dict[tuple[Row, int], torch.Tensor] = {}

    def begin(self, target: Target) -> None:
        super().begin(target)
        self._embed = target.model.get_input_embeddings()

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        self._predicted = {}

    def after_node(self, growth: DraftBuilder, node: int) -> Candidates:
        known = self.known.get(growth.row)
        if known is None or known.first or not 0 < known.end < len(growth.ids):
            return NOTHING
        return Candidates.of(growth, node, self._logits(growth, node, known.states))

    @torch.no_grad()
    def _logits(self, growth: DraftBuilder, node: int, states: torch.Tensor) -> np.ndarray:
        """Predicts the states of the ids that the target has not read, and of those on the way to the node."""
        path = growth.tree.path(node)
        known = [self._predicted[growth.row, each] for each in [ROOT, *path][:-1]]
        ids = [*growth.ids, *(growth.tree.tokens[each] for each in path)]
        states = torch.cat((states, *known))
        embedded, first = self._embed(torch.tensor(ids[1:], device=states.device)), len(states)
        while len(states) < len(ids):
            predicted = self.predict(states[None], embedded[None, : len(states)])[0, -1:]
            states = torch.cat((states, predicted))
        self._predicted[growth.row, node] = states[first:]
        return self.logits(states[-1])
