"""The tokens of a completion that the machine is to read: of few blanks, and short, since caps are not among states."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.vocab.vocabulary import Vocabulary

SHORT_TOKEN = 4  # bytes


class PlainTokens:
    """Of each class those with the fewest blanks, and the shortest of these."""

    def __init__(self, vocab: Vocabulary, classes: TokenClasses, length: int):
        self.classes = classes
        self._blanks, self._lengths = costs_of(vocab)
        self._known: dict[int, np.ndarray] = {}
        starts = classes.starts
        filled = np.flatnonzero(np.diff(starts))
        least = np.zeros(classes.count)
        least[filled] = np.minimum.reduceat(self._blanks[classes.order], starts[filled])
        text = np.log1p(classes.sizes) / np.log1p(vocab.size)  # the largest class: keys of it are hardly ever equal
        scores = np.random.default_rng(0).random((length, classes.count)) + text - 10 * least
        self.scores = scores.astype(np.float32)  # [length, K]: at random, less by ten for each blank
        self._weights = (np.log(np.maximum(classes.sizes, 1)) - 10 * least).astype(np.float32)

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """Scores of which the best are any tokens, all alike, but for blanks: of strings mostly, so that keys are long."""
        times = np.maximum(rng.standard_exponential(self.scores.shape, np.float32), np.finfo(np.float32).tiny)
        found: np.ndarray = self._weights - np.log(times)  # a weight and Gumbel noise
        return found

    def of(self, token_class: int) -> np.ndarray:
        if token_class not in self._known:
            members = self.classes.members(token_class)
            members = members[self._blanks[members] == self._blanks[members].min()]
            self._known[token_class] = members[self._lengths[members] <= max(SHORT_TOKEN, self._lengths[members].min())]
        return self._known[token_class]


@lru_cache(maxsize=4)
def costs_of(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """int64 [V]: the blanks and tabs of each token, and its bytes."""
    before = np.concatenate([[0], np.cumsum(np.isin(vocab.data, [9, 32]))])
    found = np.zeros((2, vocab.size), np.int64)
    count = min(vocab.size, len(vocab.offsets) - 1)
    found[0, :count] = np.diff(before[vocab.offsets])[:count]
    found[1, :count] = np.diff(vocab.offsets)[:count]
    return found[0], found[1]
