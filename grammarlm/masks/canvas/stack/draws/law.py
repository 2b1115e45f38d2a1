"""An exact sample of a machine with a stack.

A sum over derivations is the law of rows only where each row has one. Otherwise

1. a row is drawn by tries that are led by bounds (guided.py, spots.py), as long as few of them fail; else
2. the readings of a row are followed as one *set* of (control, stack), of which each row has exactly one (subsets.py), as long as
   these sets are few; else
3. rows are drawn by what may stand behind their prefixes (prefixes.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.protocol import Draw
from grammarlm.masks.canvas.scores import SoftmaxDraw

from .prefixes import Prefixes
from .subsets import Subsets, TooMany

if TYPE_CHECKING:
    from .completions import Completions

MOST_TRIES = 80_000


def drawn_row(passes: Completions, scores: np.ndarray, draw: Draw) -> np.ndarray:
    """The classes of a completion, by the softmax of the sum of its scores."""
    is_single = passes.grid.table.is_deterministic and len(set(passes.grid.starts)) == 1  # each row has one derivation
    if isinstance(draw, SoftmaxDraw) and (tried := passes.tried(scores, draw, is_single)) is not None:
        return tried
    try:
        return Subsets(passes, scores).classes(draw)
    except TooMany:
        if passes.grid.table.operations:
            raise LimitExceeded(
                "a sample of a large grammar: the completions of this row are too many to weigh; give more tokens"
            ) from None
    prefixes = Prefixes(passes, scores)
    for _ in range(MOST_TRIES):
        if (found := prefixes.tried(draw)) is not None:
            return found
        if prefixes.is_empty:
            raise ValueError("the logits give every completion of the row the probability 0")
    raise LimitExceeded(f"a sample: {MOST_TRIES} rows were begun, none of which could be taken; give more tokens")
