"""Rows taken over from states that nearly agree.

After a byte that leads two states to the same one they read the same. A text that must not hold a word stands, within the word,
as at its start but for the byte that comes next in it: nearly all of its row is the start's. So the last rows that allow most
tokens are models for later ones, of which only the trees below the other bytes are walked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.layout.table import DEAD
from grammarlm.masks.token_facts import tokens_at

if TYPE_CHECKING:
    from .program import RegularProgram

MOST_MODELS = 4
FEW_NODES = 1 << 14  # trie nodes; so few are walked as fast as a row is compared
SHARE = 4  # a row is taken over only if at most one node in so many must be walked again
Tree = tuple[int, int]  # of the trie: its first node, one past its last


class DenseRows:
    """The last states of an epoch whose rows allow most tokens. Read without the lock: what it holds is replaced, never changed."""

    def __init__(self, program: RegularProgram) -> None:
        self._program = program
        self._models: tuple[tuple[int, np.ndarray], ...] = ()
        sizes, byte_sets = np.diff(program.facts.trees, axis=1)[:, 0], program.byte_sets
        self._nodes_below = np.bincount(byte_sets.class_of, sizes, len(byte_sets.samples))  # after a byte of each class

    def note(self, state: int, row: np.ndarray) -> None:
        if 2 * np.count_nonzero(row) > len(row):
            self._models = ((state, row), *self._models)[:MOST_MODELS]

    def take_over(self, table: np.ndarray, class_of: np.ndarray, state: int, row: np.ndarray) -> list[Tree] | None:
        """Copies what a model's row has in common with this state's, by their rows of the transition table; the trees that are
        left to be walked. None: all."""
        if not self._models:
            return None
        after = table[state]
        most = self._nodes_below @ (after > DEAD)  # nodes that a walk may visit
        if most <= FEW_NODES:
            return None
        differs = table[[model for model, _ in self._models]] != after
        left = differs @ self._nodes_below
        best = int(left.argmin())
        if SHARE * left[best] >= most:
            return None
        facts = self._program.facts
        trees = [(first, end) for first, end in facts.trees[differs[best, class_of]].tolist() if first < end]
        left_over = np.zeros(len(self._program.vocab.trie.byte), bool)
        for first, end in trees:
            left_over[first:end] = True
        row[:-1] = self._models[best][1] & ~facts.stop_row & ~tokens_at(self._program.vocab, left_over)
        return trees
