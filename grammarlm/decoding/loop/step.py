"""A step of the decoding loop: one token of one text. A text that fails ends alone, and the others go on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grammarlm.decoding.failures import Ending
from grammarlm.decoding.readers.draft_tree import DraftTree

from .row import DrawnToken, Row


@dataclass(frozen=True)
class Step:
    """A token, the row it belongs to, and the distribution it was drawn from."""

    row: int  # which text: n of the first prompt, n of the second, ...
    token: int
    data: bytes  # the bytes it appends to the text
    logprob: float
    model_logprob: float
    mass_removed: float
    is_forced: bool
    logits: np.ndarray  # float32 [V]: the model's, -inf where the constraint forbids the token
    model_logits: np.ndarray | None = None  # the logits before masking, if `keeps_model_logits` is set
    held: int = 0  # how many tokens, this one included, may be of a stop string
    draft: DraftTree | None = None  # what was drafted, for the first token that is drawn of it or instead of it


def chosen(row: Row, logits: np.ndarray, log_allowed: float | None = None) -> DrawnToken | None:
    """The token that the row draws; None where the row ends instead."""
    try:
        return row.choose(logits, log_allowed)
    except Exception as error:
        row.end(Ending.of(error))
        return None


def accepted(row: Row, choice: DrawnToken, log_total: float, removed: float) -> bool:
    """Was the token appended to the answer? False where the row ends with it, or fails."""
    try:
        return row.accept(choice, log_total, removed)
    except Exception as error:
        row.end(Ending.of(error))
        return False


def forced_step(row: Row, log_total: float, logits: np.ndarray) -> Step | None:
    """Scores the next forced token: its logit is the only one that its mask leaves. None: the row has failed."""
    try:
        token = row.score(log_total, logits)
    except Exception as error:
        row.end(Ending.of(error))
        return None
    own = logits[token]
    logits.fill(-np.inf)
    logits[token] = own
    return last_step(row, logits, is_forced=True)


def last_step(row: Row, logits: np.ndarray, is_forced: bool) -> Step:
    token = row.tokens[-1]
    return Step(
        row=row.number,
        token=token,
        data=row.pieces[-1],
        logprob=row.logprobs[-1],
        model_logprob=row.model_logprobs[-1],
        mass_removed=row.stats.mass_removed[-1],
        is_forced=is_forced,
        logits=logits,
        held=row.held,
    )
