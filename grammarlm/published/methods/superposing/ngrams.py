"""Superposed Decoding's n-grams: what a function of the caller's says of tokens that may come next. It costs a call for each draft
of each step; of no use without counts of texts like those that are wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from grammarlm.decoding.failures import answer_of

Ngrams = Callable[
    [list[int], list[int]], Sequence[float]
]  # of the ids so far and of those that may come: log-probabilities


def said(ngrams: Ngrams, ids: list[int], tokens: list[int], text: str) -> list[float]:
    """Its figures; RowFailure where it raises, or gives others."""

    def checked(scores: Sequence[float]) -> list[float]:
        found = list(map(float, scores))
        if len(found) != len(tokens) or not all(np.isfinite(found)):
            raise ValueError(
                f"it gave {len(found)} figures for {len(tokens)} tokens; it returns a finite log-probability for each"
            )
        return found

    found: list[float] = answer_of("ngrams", lambda _: ngrams(ids, tokens), text, checked)
    return found
