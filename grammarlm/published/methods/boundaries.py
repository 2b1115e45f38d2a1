"""CNTP's boundaries (Cautious Next Token Prediction): where a trial ends, after a token with one of some characters.

A character counts where it was chosen. Where the grammar has it written (the comma between two fields, a colon after a key) all
tokens that may come agree on it, however they cut the text: so it says nothing about the model's sentence. Costs two searches
among the tokens, sorted by their bytes; of no use where sentences do not end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict

import numpy as np

from grammarlm.errors import check_type
from grammarlm.vocab.vocabulary import Vocabulary

MOST_KEPT = 4


class Sorted:
    """The tokens of a vocabulary by their bytes."""

    def __init__(self, vocab: Vocabulary):
        self.ids = np.array(sorted(vocab.text_ids.tolist(), key=vocab.token_bytes), np.int64)
        self.data = [vocab.token_bytes(token) for token in self.ids.tolist()]

    def count(self, allowed: np.ndarray, beginning: bytes) -> int:
        """How many allowed tokens begin so."""
        end = bisect_left(self.data, beginning + b"\xff" * 256)
        ids = self.ids[bisect_left(self.data, beginning) : end]
        return int(allowed[ids[ids < len(allowed)]].sum())


_KEPT: OrderedDict[str, Sorted] = OrderedDict()  # by the vocabulary's fingerprint


def sorted_tokens(vocab: Vocabulary) -> Sorted:
    found = _KEPT.pop(vocab.fingerprint, None) or Sorted(vocab)
    _KEPT[vocab.fingerprint] = found
    while len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return found


class Boundaries:
    """Is a token that was drawn a boundary?"""

    def __init__(self, until: str, vocab: Vocabulary):
        check_type(until, str, "until takes the characters that end a trial, as one text")
        if not until or not until.isascii():
            raise ValueError(f"until={until!r:.60}; it takes one or more ASCII characters, such as '.!?'")
        self._bytes, self._vocab, self._sorted = until.encode(), vocab, sorted_tokens(vocab)

    def __call__(self, token: int, allowed: np.ndarray) -> bool:
        data = self._vocab.token_bytes(token)
        return any(byte in self._bytes and self._is_chosen(data, at, allowed) for at, byte in enumerate(data))

    def _is_chosen(self, data: bytes, at: int, allowed: np.ndarray) -> bool:
        """May another byte come here, after the token's bytes before it? A token that ends there says nothing of what comes."""
        begun, so = self._sorted.count(allowed, data[:at]), self._sorted.count(allowed, data[: at + 1])
        return begun - self._ended(data[:at], allowed) > so

    def _ended(self, data: bytes, allowed: np.ndarray) -> int:
        """How many allowed tokens are these bytes."""
        at, found = bisect_left(self._sorted.data, data), 0
        while data and at < len(self._sorted.data) and self._sorted.data[at] == data:
            token = int(self._sorted.ids[at])
            at, found = at + 1, found + (token < len(allowed) and bool(allowed[token]))
        return found
