"""Judge Decoding (Faster Speculative Sampling Requires Going Beyond Model Alignment): a head says which tokens are right.

A trained head on the target's states calls a drafted token right, though the target would have drawn another one. Lossy. It costs
the head, over the states of the draft. Of no use untrained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from grammarlm.decoding.arguments import check_function, check_number
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.readers.draft_tree import DraftTree
from grammarlm.decoding.readers.model_facts import is_encoder_decoder, is_transformers_model
from grammarlm.decoding.speculative.acceptance import Rule
from grammarlm.decoding.speculative.drafters.drafter import Target


class Judge(Rule):
    """`head(states [n, hidden])` gives the probability, for each of n drafted tokens, that the text may go on with it.

    The states are the target's last ones at these tokens. Where the head is not sure enough the row draws by itself.
    """

    name, needs_states = "judge", True

    def __init__(self, head: Callable[[torch.Tensor], Any], threshold: float = 0.5):
        check_function("head", head, optional=False)
        check_number("threshold", threshold, lambda p: 0 <= p <= 1, "from 0 to 1")
        self.head, self.threshold = head, threshold
        self._is_right = self.by_row()  # of each drafted token

    def begin(self, target: Target) -> None:
        if not is_transformers_model(target.model) or is_encoder_decoder(target.model):
            raise ValueError(
                "the acceptance rule 'judge' needs a causal transformers model, whose states its head reads"
            )

    def observe_states(
        self, row: Row, tree: DraftTree, text: torch.Tensor, nodes: torch.Tensor, asides: torch.Tensor
    ) -> None:
        if tree:
            self._is_right[row] = np.asarray(self.head(nodes).detach().cpu()).reshape(-1) > self.threshold

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        is_right = self._is_right.get(row)
        if is_right is None:
            return None
        proposed = row.unread.proposed
        return next((token for node, token in proposed if is_right[node] and np.isfinite(logits[token])), None)
