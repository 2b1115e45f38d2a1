"""Scratch arrays of the kernels that make surveys: large, empty in between, lent to one survey at a time."""

from __future__ import annotations

import functools

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels.cpu.surveys import masks as survey_masks
from grammarlm.kernels.cpu.surveys import remainders
from grammarlm.kernels.cpu.surveys import walk as survey_walk
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import Place
from grammarlm.masks.token_facts import token_facts
from grammarlm.vocab.vocabulary import Vocabulary

DRAFT_NODES = (Place.DRAFT_BYTE, Place.DRAFT_DEPTH, Place.DRAFT_END, Place.DRAFT_FIRST, Place.DRAFT_COUNT)
PLACES = (
    *(Place.LEAVES, Place.BY_GROUP, Place.DRAFT_ROW, Place.DRAFT_TOKENS, Place.POOL, *DRAFT_NODES, Place.DRAFT_TOKEN),
    *(Place.DRAFT, Place.DRAFTS, Place.AGENDA, Place.SIGNATURE),
    *(Place.SUSPENDED, Place.SUSPENDED_PATH, Place.TAKEN, Place.SLOTS, Place.LETS_ON, Place.ENDS, Place.STAYING),
)
GROWING = {
    remainders.FULL_DRAFT_NODES: DRAFT_NODES,
    remainders.FULL_DRAFT_ENTRIES: (Place.DRAFT_TOKEN,),
    remainders.FULL_POOL: (Place.POOL,),
    survey_walk.FULL_LEAVES: (Place.LEAVES, Place.BY_GROUP),
}
SIZES = {
    Place.LEAVES: Place.LEAVES_CAPACITY,
    Place.POOL: Place.POOL_CAPACITY,
    Place.DRAFT_BYTE: Place.DRAFT_NODE_CAPACITY,
    Place.DRAFT_TOKEN: Place.DRAFT_TOKEN_CAPACITY,
}


class SurveyScratch:
    """One set of these arrays, for one survey at a time."""

    moved = 0  # how often arrays have moved to a new address

    def __init__(self, vocab: Vocabulary):
        nodes = len(vocab.trie.byte) + 1024
        self.arrays: dict[Place, np.ndarray] = {
            Place.LEAVES: np.zeros((nodes, 2), np.int32),
            Place.BY_GROUP: np.zeros(nodes, np.int32),
            Place.DRAFT_ROW: np.zeros(vocab.words + 1, np.int32),
            Place.DRAFT_TOKENS: np.zeros(survey_walk.FEW + 1, np.int32),
            Place.POOL: np.zeros((2 * nodes, 2), np.int32),
            Place.DRAFT_BYTE: np.zeros(nodes, np.uint8),
            Place.DRAFT_DEPTH: np.zeros(nodes, np.uint16),
            Place.DRAFT_END: np.zeros(nodes, np.int32),
            Place.DRAFT_FIRST: np.zeros(nodes, np.int32),
            Place.DRAFT_COUNT: np.zeros(nodes, np.int32),
            Place.DRAFT_TOKEN: np.zeros((nodes, 2), np.int32),
            Place.DRAFT: np.zeros(5, np.int64),
            Place.DRAFTS: np.zeros((survey_walk.GROUPS, 9), np.int64),
            Place.AGENDA: np.zeros((survey_masks.AGENDA_LENGTH, 4), np.int32),
            Place.SIGNATURE: np.zeros(survey_masks.SIGNATURE_LENGTH, np.int32),
            Place.SUSPENDED: np.zeros(survey_walk.SUSPENDED_LENGTH, np.int64),
            Place.SUSPENDED_PATH: np.zeros(token_facts(vocab).deepest + 2, np.int32),
            Place.TAKEN: np.zeros(survey_walk.TAKEN, np.int64),
            Place.SLOTS: np.zeros(survey_walk.SLOTS, np.int16),
            Place.LETS_ON: np.zeros(survey_walk.GROUPS * survey_walk.MOST_CLASSES, np.uint8),
            Place.ENDS: np.zeros((2, 3 + survey_walk.GROUPS), np.int64),
            Place.STAYING: np.zeros((layout.STAYING, 2), np.int64),
        }
        assert set(self.arrays) == set(PLACES)
        self._note_addresses()

    def lend(self, arena: np.ndarray) -> None:
        """Writes the current addresses of the arrays into an arena; they may differ when the scratch is lent again."""
        arena[self._where] = self._contents

    def grow(self, index: int, most: int, arena: np.ndarray) -> None:
        """Grows what a kernel reported as full, up to `most` bytes."""
        for place in GROWING[index]:
            old = self.arrays[place]
            if 2 * old.nbytes > most:
                raise LimitExceeded(
                    f"what remains of tokens behind one end takes more than limits.max_bytes = {most:,}; "
                    "make the grammar less ambiguous or raise the limit"
                )
            self.arrays[place] = np.concatenate([old, np.zeros_like(old)])
        self._note_addresses()
        self.lend(arena)

    def _note_addresses(self) -> None:
        contents = {place: array.ctypes.data for place, array in self.arrays.items()}
        contents |= {size: len(self.arrays[place]) for place, size in SIZES.items()}
        self.moved += 1
        self._where = np.array(list(contents))
        self._contents = np.array(list(contents.values()), np.int64)


@functools.lru_cache(maxsize=4)
def idle_scratch(vocab: Vocabulary) -> list[SurveyScratch]:
    """Free list: pop one from the end, or make one; append it again after use."""
    return []
