"""The table machine: a deterministic automaton whose states are rows of a table of byte classes.

    next state = next[state * classes + class_of[byte]]

State 0 is dead. An entry MISS means that the row has not been made yet: the kernel says so and is called again when it has.
`Arena` names the places of one int64 array, the only argument that tells a kernel about automaton and vocabulary.
"""

import numpy as np
from numba import carray, uint64

from .constants import Constants
from .jit import inlined, pointer

DEAD = 0
MISS = -1


class Arena(Constants):
    """What is where in the arena: addresses of arrays, and how long they are."""

    NEXT = 0  # int32 [S, classes]
    CLASSES = 1
    STATES = 2
    CLASS_OF = 3  # uint8 [256]
    USABLE = 4  # uint8 [S]: 1 = tokens can finish from here, 2 = they cannot, 0 = not known yet
    NODES = 5  # the byte trie of the vocabulary, see vocab/byte_trie.py
    BYTE = 6
    DEPTH = 7
    END = 8
    TOKEN = 9
    TWINS = 10
    TWIN_COUNT = 11
    NOTHING = 12  # what `token` holds where a node stands for no token: the first bit behind a row
    VOCABULARY = 13  # how many ids have bytes
    OFFSETS = 14  # int64 [VOCABULARY + 1]
    DATA = 15  # uint8: all tokens' bytes
    DATA_LENGTH = 16
    IS_TEXT = 17  # uint8 [VOCABULARY]: may a mask allow this id for its bytes?
    SPELLS_ALL = 18  # 1: tokens can finish from every state, `usable` need not be asked
    LENGTH = 19


@inlined
def transitions(arena):
    return carray(pointer(arena[Arena.NEXT]), arena[Arena.STATES] * arena[Arena.CLASSES], np.int32)


@inlined
def byte_classes(arena):
    return carray(pointer(arena[Arena.CLASS_OF]), 256, np.uint8)


@inlined
def step(table, classes, class_of, state, byte):
    """The state after a byte, DEAD or MISS. Indices are unsigned: numba then leaves out its test for negative ones."""
    return table[uint64(state) * classes + uint64(class_of[byte])]
