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

import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter, Target
from grammarlm.decoding.speculative.drafters.heads import output_of
from grammarlm.decoding.speculative.drafters.known_states import KnownStates
from grammarlm.decoding.speculative.draws import NOTHING

Predict = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Features(NodeDrafter):
    needs_states = True

    def __init__(self, predict: Predict):
        self.predict = predict
        self._embed: Any = None
        self._output: Any = None
        self._known = KnownStates()
        self._predicted: dict[tuple[Row, int], torch.Tensor] = {}

    def begin(self, target: Target) -> None:
        self._output = output_of(target, "features")
        self._embed = target.model.get_input_embeddings()

    def observe_states(self, row: Row, tree: DraftTree, states: torch.Tensor) -> None:
        self._known.observe(row, tree, states)

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        self._known.drawn(row, nodes)

    def drop(self, row: Row) -> None:
        self._known.drop(row)

    def open(self, growths: Sequence[DraftBuilder]) -> None:
        self._predicted = {}

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        found = []
        for growth, node in asked:
            known = self._known.of(growth.row)
            if known is None or known.first or not 0 < known.end < len(growth.ids):
                found.append(NOTHING)
                continue
            found.append(Candidates.of(growth, node, self._logits(growth, node, known.states)))
        return found

    @torch.no_grad()
    def _logits(self, growth: DraftBuilder, node: int, states: torch.Tensor) -> Any:
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
        return self._output(states[-1]).float().cpu().numpy()
