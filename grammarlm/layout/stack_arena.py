"""Table of the growable arrays of a pushdown machine's arena, one line each; everything else about them is derived from it.

field    index of its address in the arena (see stack.py)
dtype    of an element
width    elements per row: a number, or COLUMNS (byte classes), WORDS (of a set of terminals), ROW (words of a mask row)
group    arrays of one group have equally many rows and grow together; its hash table indexes them
first    initial number of rows
size     index of their capacity in the arena; None where another array of the group has it
used     index of the number of rows in use
is_hash  a hash table: empty cells are -1; it is rehashed when it grows
"""

from typing import Any, NamedTuple

import numpy as np

from .stack import Field as F

COLUMNS, WORDS, TWICE_WORDS, ROW = "columns", "words", "twice words", "row words"
# Groups that only surveys use: small where a grammar has no surveys, larger where very many are expected.
OF_SURVEYS = (
    *("classes", "nodes", "entries", "tries", "surveys", "sparse rows", "dense rows", "exits"),
    *("signatures", "known signatures"),
)


class Array(NamedTuple):
    field: F
    dtype: Any
    width: int | str
    group: str
    first: int
    size: F | None = None
    used: F | None = None
    is_hash: bool = False

    @property
    def is_matrix(self) -> bool:
        return self.width != 1


def _hash(field: F, group: str, first: int, size: F) -> Array:
    return Array(field, np.int64, 1, group, first, size, is_hash=True)


ARRAYS = (
    # automaton states and their moves
    Array(F.Q_NEXT, np.int32, COLUMNS, "states", 64),
    Array(F.Q_STATUS, np.uint8, 1, "states", 64),
    Array(F.Q_MOVES, np.int32, 2, "states", 64),
    Array(F.Q_LIVE, np.uint64, WORDS, "states", 64),
    Array(F.MOVES, np.int32, 3, "moves", 512),
    # borders
    Array(F.B_NEXT, np.int32, COLUMNS, "borders", 16),
    Array(F.B_STATUS, np.uint8, 1, "borders", 16),
    # verdicts on threads, and what else Python has answered
    Array(F.VERDICTS, np.uint64, TWICE_WORDS, "verdicts", 16),
    Array(F.ANSWERS, np.int32, 4, "answers", 64, used=F.ANSWER_COUNT),
    _hash(F.ANSWER_HASH, "answers", 128, F.ANSWER_HASH_SIZE),
    # stacks
    Array(F.S_PARENT, np.int32, 1, "stacks", 512, F.S_CAPACITY, F.S_COUNT),
    Array(F.S_SYMBOL, np.int32, 1, "stacks", 512),
    Array(F.S_CLASS, np.int32, 1, "stacks", 512),
    _hash(F.S_HASH, "stacks", 1024, F.S_HASH_SIZE),
    Array(F.S_INDENT, np.int32, 1, "blocks", 512),
    Array(F.S_OPENER, np.int32, 1, "blocks", 512),
    Array(F.S_BRACKETS, np.int32, 1, "blocks", 512),
    # configs
    Array(F.C_OFFSET, np.int32, 1, "configs", 512, F.C_CAPACITY, F.C_COUNT),
    Array(F.C_LENGTH, np.int32, 1, "configs", 512),
    Array(F.C_ACCEPTS, np.uint8, 1, "configs", 512),
    Array(F.C_ROW, np.int32, 1, "configs", 512),
    Array(F.C_KIND, np.uint8, 1, "configs", 512),
    _hash(F.C_HASH, "configs", 1024, F.C_HASH_SIZE),
    Array(F.THREADS, np.int32, 3, "threads", 1024, F.T_CAPACITY, F.T_COUNT),
    Array(F.C_NEXT, np.int32, COLUMNS, "moves of configs", 64, F.R_CAPACITY, F.R_COUNT),
    # classes of stacks
    Array(F.K_LEXER, np.int32, 1, "classes", 64, F.K_CAPACITY, F.K_COUNT),
    Array(F.K_LIVE, np.uint64, WORDS, "classes", 64),
    _hash(F.K_HASH, "classes", 512, F.K_HASH_SIZE),
    # tries of remainders
    Array(F.X_BYTE, np.uint8, 1, "nodes", 4096, F.X_NODE_CAPACITY, F.X_NODES),
    Array(F.X_DEPTH, np.uint16, 1, "nodes", 4096),
    Array(F.X_END, np.int32, 1, "nodes", 4096),
    Array(F.X_FIRST, np.int32, 1, "nodes", 4096),
    Array(F.X_TOKEN, np.int32, 2, "entries", 4096, F.X_TOKEN_CAPACITY, F.X_TOKENS),
    Array(F.TRIES, np.int32, 4, "tries", 64, F.TRIE_CAPACITY, F.TRIE_COUNT),
    _hash(F.TRIE_HASH, "tries", 512, F.TRIE_HASH_SIZE),
    # surveys with their rows and exits
    Array(F.SURVEY, np.int32, 5, "surveys", 64, F.SURVEY_CAPACITY, F.SURVEY_COUNT),
    Array(F.SURVEY_KEY, np.int64, 2, "surveys", 64),
    _hash(F.SURVEY_HASH, "surveys", 512, F.SURVEY_HASH_SIZE),
    Array(F.SPARSE, np.int32, 1, "sparse rows", 1024, F.SPARSE_CAPACITY, F.SPARSE_COUNT),
    Array(F.DENSE, np.int32, ROW, "dense rows", 16, F.DENSE_CAPACITY, F.DENSE_COUNT),
    Array(F.EXITS, np.int32, 3, "exits", 512, F.EXIT_CAPACITY, F.EXIT_COUNT),
    # signatures of masks
    Array(F.SIGNATURES, np.int32, 2, "signatures", 64, F.SIGNATURE_CAPACITY, F.SIGNATURE_COUNT),
    _hash(F.SIGNATURE_HASH, "signatures", 512, F.SIGNATURE_HASH_SIZE),
    Array(F.KNOWN_SIGNATURE, np.int32, 1, "known signatures", 1024, F.KNOWN_CAPACITY, F.KNOWN_COUNT),
)
BY_FIELD = {array.field: array for array in ARRAYS}
USED_OF = {array.group: array.used for array in ARRAYS if array.used is not None}


def fields(*groups: str) -> tuple[F, ...]:
    """The arrays of these groups; within a group the hash table comes last."""
    return tuple(array.field for array in ARRAYS if array.group in groups)
