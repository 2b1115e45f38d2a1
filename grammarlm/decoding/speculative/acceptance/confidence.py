"""Rules by which the draft's own confidence decides, and the target's little or not at all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.decoding.arguments import check_number

from .rule import Rule, first_allowed

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row


class Confident(Rule):
    """Tokens to which the draft gives more than the probability `threshold` are taken together, unread (LUD).

    With a threshold of 1 there is one token a forward: the target's own.
    """

    needs_probabilities = True

    def __init__(self, threshold: float = 0.9):
        check_number("threshold", threshold, lambda p: p >= 0, "0 or more")
        self.above = threshold

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        return first_allowed(row, logits)


class BigLittle(Rule):
    """A small model writes as long as it is sure; the target goes back to the first token that it finds too improbable (BiLD).

    fallback    the small model hands over where its token has no more than this probability; above 1: always
    rollback    the target takes over again at a token with a negative log-probability above this
    """

    needs_probabilities = True

    def __init__(self, fallback: float = 0.5, rollback: float = 3.0):
        check_number("fallback", fallback, lambda p: p >= 0, "0 or more")
        check_number("rollback", rollback, lambda surprise: not math.isnan(surprise), "which may be infinite")
        self.above, self.rollback = fallback, rollback

    def choose(self, row: Row, logits: np.ndarray) -> int | None:
        token = first_allowed(row, logits)
        if token is None:
            return None
        best = logits.max()
        surprise = float(best - logits[token]) + float(np.log(np.exp(logits - best).sum()))
        return token if surprise <= self.rollback else None
