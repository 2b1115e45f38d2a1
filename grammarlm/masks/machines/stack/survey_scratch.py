"""Scratch arrays of the kernels that make surveys: large, empty in between, lent to one survey at a time."""

from __future__ import annotations

import functools

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout import stack_calls as codes
from grammarlm.layout.stack import Field
from grammarlm.vocab.vocabulary import Vocabulary

DRAFT_NODES = (Field.DRAFT_BYTE, Field.DRAFT_DEPTH, Field.DRAFT_END, Field.DRAFT_FIRST)
GROWING = {
    codes.FULL_DRAFT_NODES: DRAFT_NODES,
    codes.FULL_DRAFT_ENTRIES: (Field.DRAFT_TOKEN,),
    codes.FULL_POOL: (Field.POOL,),
    codes.FULL_LEAVES: (Field.LEAVES, Field.BY_GROUP),
}
SIZES = {
    Field.LEAVES: Field.LEAVES_CAPACITY,
    Field.POOL: Field.POOL_CAPACITY,
    Field.DRAFT_BYTE: Field.DRAFT_NODE_CAPACITY,
    Field.DRAFT_TOKEN: Field.DRAFT_TOKEN_CAPACITY,
}


class SurveyScratch:
    """One set of these arrays, for one survey at a time."""

    IS_SHARED = True  # not counted as a constraint's (object_sizes.py)

    moved = 0  # how often arrays have moved to a new address

    def __init__(self, vocab: Vocabulary):
        nodes = len(vocab.trie.byte) + 1024
        self.arrays: dict[Field, np.ndarray] = {
            Field.LEAVES: np.zeros((nodes, 2), np.int32),
            Field.BY_GROUP: np.zeros(nodes, np.int32),
            Field.DRAFT_ROW: np.zeros(vocab.words, np.int32),
            Field.DRAFT_TOKENS: np.zeros(codes.FEW + 1, np.int32),
            Field.POOL: np.zeros((2 * nodes, 2), np.int32),
            Field.DRAFT_BYTE: np.zeros(nodes, np.uint8),
            Field.DRAFT_DEPTH: np.zeros(nodes, np.uint16),
            Field.DRAFT_END: np.zeros(nodes, np.int32),
            Field.DRAFT_FIRST: np.zeros(nodes, np.int32),
            Field.DRAFT_TOKEN: np.zeros((nodes, 2), np.int32),
            Field.AGENDA: np.zeros((codes.AGENDA_LENGTH, 4), np.int32),
            Field.SIGNATURE: np.zeros(codes.SIGNATURE_LENGTH, np.int32),
            Field.SUSPENDED: np.zeros(codes.SUSPENDED_LENGTH, np.int64),
            Field.TALLY: np.zeros(codes.TALLY, np.int64),
            Field.ADMITS: np.zeros(codes.GROUPS * codes.MOST_CLASSES, np.uint8),
            Field.ENDS: np.zeros((2, 3 + codes.GROUPS), np.int64),
        }
        self._note_addresses()

    def lend(self, words: np.ndarray) -> None:
        """Writes the current addresses of the arrays into an arena's words; they may differ when the scratch is lent again."""
        words[self._where] = self._contents

    def grow(self, index: int, most: int, words: np.ndarray) -> None:
        """Grows what a kernel reported as full, up to `most` bytes."""
        for field in GROWING[index]:
            old = self.arrays[field]
            if 2 * old.nbytes > most:
                raise LimitExceeded(
                    f"what remains of tokens after one end takes more than limits.max_bytes = {most:,}; "
                    "make the grammar less ambiguous or raise the limit"
                )
            self.arrays[field] = np.concatenate([old, np.zeros_like(old)])
        self._note_addresses()
        self.lend(words)

    def _note_addresses(self) -> None:
        contents = {field: array.ctypes.data for field, array in self.arrays.items()}
        contents |= {size: len(self.arrays[field]) for field, size in SIZES.items()}
        self.moved += 1
        self._where = np.array(list(contents))
        self._contents = np.array(list(contents.values()), np.int64)


@functools.lru_cache(maxsize=4)
def idle_scratch(vocab: Vocabulary) -> list[SurveyScratch]:
    """Free list: pop one from the end, or make one; append it again after use."""
    return []
