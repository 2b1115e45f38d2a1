"""Heads on the target's last hidden state, each for a token further on (Medusa).

    heads, _ = gl.load_tiny(heads=True)
    gl.Draft(drafters.Heads(heads), tree="fixed")

`heads(state [.., hidden])` gives a list of states, of which the target's output makes logits: head k is for the token k + 2 places
after the state, as the target itself is for the next one. Heads that look back get the states of the whole text [1, n, hidden]. In
a tree each node at one depth has the same candidates (a Cartesian product), of which the grammar keeps what may follow that node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.speculative.draft_builder import DraftBuilder

from .drafter import Candidates, NodeDrafter, Target
from .known_states import KnownStates


class Heads(NodeDrafter):
    """`heads`: a function of states; `output`: from states to logits, the target's own where it is left out; `attends`: whether the
    heads look back, where `heads.attends` doesn't say so."""

    needs_states = True

    def __init__(
        self,
        heads: Callable[[torch.Tensor], Sequence[torch.Tensor]],
        output: Any = None,
        attends: bool | None = None,
    ):
        self.heads, self._given = heads, output
        self.attends = getattr(heads, "attends", False) if attends is None else attends
        self._output: Any = output
        self._known = KnownStates()
        self._logits: dict[
            Row, tuple[int, list[np.ndarray]]
        ] = {}  # (the last id with a state, what the heads make of it)

    def begin(self, target: Target) -> None:
        self._output = self._given or output_of(target, "heads")

    def observe_states(self, row: Row, tree: DraftTree, states: torch.Tensor) -> None:
        self._known.observe(row, tree, states)

    def drawn(self, row: Row, tree: DraftTree, nodes: Sequence[int]) -> None:
        self._known.drawn(row, nodes)
        known = self._known.of(row)
        if known is None or self._logits.get(row, (-1, []))[0] == known.end - 1:
            return
        with torch.no_grad():
            if self.attends:
                made = [each[0, -1] for each in self.heads(known.states[None])]
            else:
                made = list(self.heads(known.states[-1]))
                self._known.keep_last(row)
            self._logits[row] = known.end - 1, [self._output(each).float().cpu().numpy() for each in made]

    def drop(self, row: Row) -> None:
        self._known.drop(row)
        self._logits.pop(row, None)

    def after(self, asked: Sequence[tuple[DraftBuilder, int]], width: int) -> list[Candidates]:
        found = []
        for growth, node in asked:
            place, logits = self._logits.get(growth.row, (0, []))
            # Head 0 is for the second token after the state; the first is in the text, and so may be others that were forced.
            head = len(growth.ids) - place - 2 + growth.depth(node)
            found.append(Candidates.of(growth, node, logits[head] if 0 <= head < len(logits) else None))
        return found


def output_of(target: Target, name: str) -> Any:
    """The target's map from last hidden states to logits."""
    output = getattr(target.model, "get_output_embeddings", lambda: None)()
    if output is None:
        raise ValueError(f"the drafter {name!r} needs a transformers model with output embeddings")
    return output
