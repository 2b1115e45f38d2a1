"""LUD (Decoding at the Speed of Thought: Parallel Decoding of Lexical Units): what the draft is sure of is written unread.

Trained rows say several tokens at once, and those to which they give more than a threshold are one unit. Lossy: the target is not
asked. It costs nothing. Of no use for drafts that are sure of what is wrong, as copies are.
"""

from __future__ import annotations

import numpy as np

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.acceptance import Rule, first_allowed


class Confident(Rule):
    """Tokens to which the draft gives more than the probability `threshold` are taken together.

    With a threshold of 1 there is one token a forward: the target's own.
    """

    name, needs_probabilities = "confident", True

    def __init__(self, threshold: float = 0.9):
        check_number("threshold", threshold, lambda p: p >= 0, "0 or more")
        self.above = threshold

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        return first_allowed(row, logits)
