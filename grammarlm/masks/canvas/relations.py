"""What each token does to all controls at once, found by one walk of the vocabulary's trie.

A token's bytes lead each control to another or nowhere: a vector with one entry a control. Tokens with equal vectors are one
class, and vectors are interned, so a node of the trie is a number; the vector of a node is that of its parent, moved on by one
byte. Numbers of (vector, byte class) are remembered: a vocabulary of 128,000 tokens has 275,000 nodes, but only some
thousand such pairs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.table import DEAD
from grammarlm.masks.canvas.trie_walk import vectors_of_tokens
from grammarlm.vocab.vocabulary import Vocabulary

NOWHERE, IDENTITY = 0, 1
UNKNOWN = -1


class Relations:
    """The vectors that tokens of a vocabulary have over a table of bytes."""

    def __init__(self, table: np.ndarray, class_of: np.ndarray, max_bytes: int, check: Callable[[], None]):
        """`table` int32 [S, C]: the control after a byte of each class; `class_of` uint8 [256]."""
        self._table, self._class_of = np.ascontiguousarray(table.T), class_of
        self._check, self._most = check, max(1, max_bytes // max(1, 4 * len(table)))
        identity = np.arange(len(table), dtype=np.int32)
        self.vectors = [np.full(len(table), DEAD, np.int32), identity]
        self._numbers = {vector.tobytes(): number for number, vector in enumerate(self.vectors)}
        self._after = np.full((64, table.shape[1]), UNKNOWN, np.int32)  # by vector and class of byte
        self._after[NOWHERE] = NOWHERE

    def of_tokens(self, vocab: Vocabulary) -> np.ndarray:
        """int32 [V]: the number of each text token's vector, NOWHERE where no control reads it."""

        def after(before: np.ndarray, data: np.ndarray) -> np.ndarray:
            return self._moved(before, self._class_of[data])

        return vectors_of_tokens(vocab, after, IDENTITY, NOWHERE, self._check)

    def _moved(self, before: np.ndarray, column: np.ndarray) -> np.ndarray:
        after = self._after[before, column]
        missing = after == UNKNOWN
        if missing.any():
            columns = self._after.shape[1]
            for pair in np.unique(before[missing].astype(np.int64) * columns + column[missing]).tolist():
                self._make(*divmod(pair, columns))
            after = self._after[before, column]
        return after

    def _make(self, vector: int, column: int) -> None:
        moved = self._table[column][self.vectors[vector]]
        key = moved.tobytes()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.vectors)
            if number >= self._most:
                raise LimitExceeded(
                    f"a canvas over {len(moved):,} states needs more than limits.max_bytes for what tokens do to them"
                )
            self.vectors.append(moved)
            self._check()
            if number >= len(self._after):
                self._after = np.concatenate([self._after, np.full_like(self._after, UNKNOWN)])
        self._after[vector, column] = number
