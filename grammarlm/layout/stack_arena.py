"""Table of the growable arrays of a pushdown machine's arena, one line each; everything else about them is derived from it.

place    index of its address in the arena (see stack.py)
dtype    of an element
width    elements per row: a number, or COLUMNS (byte classes), WORDS (of a set of terminals), ROW (words of a mask row)
group    arrays of one group have equally many rows and grow together; its hash table indexes them
first    initial number of rows
size     index of their capacity in the arena; None where another array of the group has it
used     index of the number of rows in use
is_hash  a hash table: empty cells are -1; it is rehashed when it grows
saved    stored on disk for later processes (masks/machines/stack/survey_store.py)
"""

from typing import Any, NamedTuple

import numpy as np

from .stack import Place as P

COLUMNS, WORDS, TWICE_WORDS, ROW = "columns", "words", "twice words", "row words"
# Groups whose arrays are private to each seat (masks/machines/stack/seat.py); the others are shared, in the epoch.
OF_SEATS = ("stacks", "blocks", "classes", "configs", "threads", "moves of configs")
# Groups that only surveys use: small where a grammar has no surveys, larger where very many are expected.
OF_SURVEYS = (
    *("classes", "nodes", "entries", "tries", "surveys", "sparse rows", "dense rows", "exits"),
    *("signatures", "known signatures"),
)


class Array(NamedTuple):
    place: P
    dtype: Any
    width: int | str
    group: str
    first: int
    size: P | None = None
    used: P | None = None
    is_hash: bool = False
    saved: bool = False

    @property
    def is_matrix(self) -> bool:
        return self.width != 1


def _hash(place: P, group: str, first: int, size: P, dtype: Any = np.int32, width: int = 1) -> Array:
    return Array(place, dtype, width, group, first, size, is_hash=True)


ARRAYS = (
    # automaton states and their moves
    Array(P.Q_NEXT, np.int32, COLUMNS, "states", 64, saved=True),
    Array(P.Q_STATUS, np.uint8, 1, "states", 64, saved=True),
    Array(P.Q_MOVES, np.int32, 2, "states", 64, saved=True),
    Array(P.Q_LIVE, np.uint64, WORDS, "states", 64, saved=True),
    Array(P.MOVES, np.int32, 3, "moves", 512),
    # borders
    Array(P.B_NEXT, np.int32, COLUMNS, "borders", 16, saved=True),
    Array(P.B_STATUS, np.uint8, 1, "borders", 16, saved=True),
    _hash(P.B_AND, "conjunctions", 64, P.B_AND_SIZE, np.int64, 2),
    # verdicts on threads
    Array(P.VERDICTS, np.uint64, TWICE_WORDS, "verdicts", 16),
    _hash(P.JUDGED, "judged", 64, P.JUDGED_SIZE, width=4),
    # stacks
    Array(P.S_PARENT, np.int32, 1, "stacks", 512, P.S_CAPACITY, P.S_COUNT),
    Array(P.S_SYMBOL, np.int32, 1, "stacks", 512),
    Array(P.S_CLASS, np.int32, 1, "stacks", 512),
    _hash(P.S_HASH, "stacks", 1024, P.S_HASH_SIZE),
    Array(P.S_INDENT, np.int32, 1, "blocks", 512),
    Array(P.S_OPENER, np.int32, 1, "blocks", 512),
    Array(P.S_BRACKETS, np.int32, 1, "blocks", 512),
    # configs
    Array(P.C_OFFSET, np.int32, 1, "configs", 512, P.C_CAPACITY, P.C_COUNT),
    Array(P.C_LENGTH, np.int32, 1, "configs", 512),
    Array(P.C_ACCEPTS, np.uint8, 1, "configs", 512),
    Array(P.C_ROW, np.int32, 1, "configs", 512),
    Array(P.C_KIND, np.uint8, 1, "configs", 512),
    _hash(P.C_HASH, "configs", 1024, P.C_HASH_SIZE),
    Array(P.THREADS, np.int32, 3, "threads", 1024, P.T_CAPACITY, P.T_COUNT),
    Array(P.C_NEXT, np.int32, COLUMNS, "moves of configs", 64, P.R_CAPACITY, P.R_COUNT),
    # classes of stacks
    Array(P.K_LEXER, np.int32, 1, "classes", 64, P.K_CAPACITY, P.K_COUNT, saved=True),
    Array(P.K_LIVE, np.uint64, WORDS, "classes", 64, saved=True),
    _hash(P.K_HASH, "classes", 512, P.K_HASH_SIZE),
    # tries of remainders
    Array(P.X_BYTE, np.uint8, 1, "nodes", 4096, P.X_NODE_CAPACITY, P.X_NODES, saved=True),
    Array(P.X_DEPTH, np.uint16, 1, "nodes", 4096, saved=True),
    Array(P.X_END, np.int32, 1, "nodes", 4096, saved=True),
    Array(P.X_FIRST, np.int32, 1, "nodes", 4096, saved=True),
    Array(P.X_COUNT, np.int32, 1, "nodes", 4096, saved=True),
    Array(P.X_TOKEN, np.int32, 2, "entries", 4096, P.X_TOKEN_CAPACITY, P.X_TOKENS, saved=True),
    Array(P.TRIES, np.int32, 5, "tries", 64, P.TRIE_CAPACITY, P.TRIE_COUNT, saved=True),
    Array(P.TRIE_KEY, np.uint64, 1, "tries", 64, saved=True),
    _hash(P.TRIE_HASH, "tries", 512, P.TRIE_HASH_SIZE),
    # surveys with their rows and exits
    Array(P.SURVEY, np.int32, 5, "surveys", 64, P.SURVEY_CAPACITY, P.SURVEY_COUNT, saved=True),
    Array(P.SURVEY_KEY, np.int64, 2, "surveys", 64, saved=True),
    _hash(P.SURVEY_HASH, "surveys", 512, P.SURVEY_HASH_SIZE),
    Array(P.SPARSE, np.int32, 1, "sparse rows", 1024, P.SPARSE_CAPACITY, P.SPARSE_COUNT, saved=True),
    Array(P.DENSE, np.int32, ROW, "dense rows", 16, P.DENSE_CAPACITY, P.DENSE_COUNT, saved=True),
    Array(P.EXITS, np.int32, 3, "exits", 512, P.EXIT_CAPACITY, P.EXIT_COUNT, saved=True),
    # signatures of masks
    Array(P.SIGNATURES, np.int32, 2, "signatures", 64, P.SIGNATURE_CAPACITY, P.SIGNATURE_COUNT, saved=True),
    _hash(P.SIGNATURE_HASH, "signatures", 512, P.SIGNATURE_HASH_SIZE),
    Array(P.KNOWN_SIGNATURE, np.int32, 1, "known signatures", 1024, P.KNOWN_CAPACITY, P.KNOWN_COUNT, saved=True),
)
BY_PLACE = {array.place: array for array in ARRAYS}
USED_OF = {array.group: array.used for array in ARRAYS if array.used is not None}


def places(*groups: str) -> tuple[P, ...]:
    """The arrays of these groups; within a group the hash table comes last."""
    return tuple(array.place for array in ARRAYS if array.group in groups)
