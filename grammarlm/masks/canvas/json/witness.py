"""Some completion of a row, of tokens that a machine can be asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.vocab.vocabulary import Vocabulary

SHORT_TOKEN = 4  # bytes


def witness(
    tokens: Sequence[int], token_classes: TokenClasses, vocab: Vocabulary, chosen: Callable[[np.ndarray], np.ndarray]
) -> list[int]:
    """Some completion, as the lattice has it: of few blanks and short tokens, since caps are not among its states."""
    rng, blanks, lengths = np.random.default_rng(0), *costs_of(vocab)
    order, starts = token_classes.order, token_classes.starts
    filled = np.flatnonzero(np.diff(starts))
    least = np.zeros(token_classes.count)
    least[filled] = np.minimum.reduceat(blanks[order], starts[filled])
    scores = rng.random((len(tokens), token_classes.count)) - 10 * least
    classes = chosen(scores.astype(np.float32))
    row = list(tokens)
    for i in np.flatnonzero(np.array(tokens) == MASKED).tolist():
        members = token_classes.members(int(classes[i]))
        members = members[blanks[members] == blanks[members].min()]
        short = members[lengths[members] <= max(SHORT_TOKEN, lengths[members].min())]
        row[i] = int(short[rng.integers(len(short))])
    return row


@lru_cache(maxsize=4)
def costs_of(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """int64 [V]: the blanks and tabs of each token, and its bytes."""
    before = np.concatenate([[0], np.cumsum(np.isin(vocab.data, [9, 32]))])
    found = np.zeros((2, vocab.size), np.int64)
    count = min(vocab.size, len(vocab.offsets) - 1)
    found[0, :count] = np.diff(before[vocab.offsets])[:count]
    found[1, :count] = np.diff(vocab.offsets)[:count]
    return found[0], found[1]
