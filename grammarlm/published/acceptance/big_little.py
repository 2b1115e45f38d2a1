"""BiLD (Speculative Decoding with Big Little Decoder): a small model writes as long as it is sure.

It hands over where it is not; the target goes back to the first token that it finds too improbable. Lossy: what it tolerates stays.
It costs the target's forwards over what the small model wrote. Of no use where both must agree: "exact" does that.
"""

from __future__ import annotations

import math

import numpy as np

from grammarlm.decoding.arguments import check_number
from grammarlm.decoding.loop.row import Row
from grammarlm.decoding.speculative.acceptance import Rule, first_allowed


class BigLittle(Rule):
    """fallback    the small model hands over where its token has no more than this probability; above 1: always
    rollback    the target takes over again at a token with a negative log-probability above this
    """

    name, needs_probabilities = "big_little", True

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
