"""An exact sample of a machine with a stack.

A sum over derivations is the law of rows only where each row has one. Otherwise

1. the readings of a row are followed as one *set* of (control, stack), of which each row has exactly one (subsets.py), as long as
   these sets are few;
2. else by tries, of two kinds in turn, for rows of many derivations and for rows of which few are in the language:
   a row is drawn by what may stand behind its prefixes (prefixes.py); a derivation is drawn, the derivations m of its row are
   counted, and it is accepted with probability 1 / m.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.protocol import Draw
from grammarlm.masks.canvas.scores import SoftmaxDraw

from .paths import Paths
from .prefixes import Prefixes
from .subsets import Subsets, TooMany

if TYPE_CHECKING:
    from .passes import StackPasses

MOST_TRIES = 10_000
TRIES_A_DERIVATION = 8  # by prefixes: together they take as long as the tries of a derivation


def drawn_row(passes: StackPasses, scores: np.ndarray, draw: Draw) -> np.ndarray:
    """The classes of a completion, by the softmax of the sum of its scores."""
    is_single = passes.grid.table.is_deterministic and len(set(passes.grid.starts)) == 1  # each row has one derivation
    if isinstance(draw, SoftmaxDraw) and (tried := passes.tried(scores, draw, is_single)) is not None:
        return tried
    has_nodes = not passes.grid.table.operations
    is_single = is_single and has_nodes and not passes.grid.workshop.spells_room
    if not is_single:
        try:
            return Subsets(passes, scores).classes(draw)
        except TooMany:
            if not has_nodes:
                raise LimitExceeded(
                    "a sample of a large grammar: the completions of this row are too many to weigh; give more tokens"
                ) from None
    derivations = Paths(passes, scores, is_sum=True)
    if np.isneginf(derivations.total):
        raise ValueError("the logits give every completion of the row the probability 0")
    if is_single:
        return derivations.classes(draw)
    prefixes = Prefixes(passes, scores)
    for _ in range(MOST_TRIES):
        for _ in range(TRIES_A_DERIVATION):
            if (found := prefixes.tried(draw)) is not None:
                return found
        row = derivations.classes(draw)
        ways = Paths(type(passes)(passes.grid, row), np.zeros_like(scores), is_sum=True).total
        if ways < RARELY_MORE or draw(np.array([-ways, np.log1p(-np.exp(-ways))])) == 0:
            return row
    raise LimitExceeded(
        f"a sample of an ambiguous grammar: {MOST_TRIES} rows and derivations were drawn, none of which could be taken"
    )


RARELY_MORE = 1e-9  # the log of one derivation, but for rounding
