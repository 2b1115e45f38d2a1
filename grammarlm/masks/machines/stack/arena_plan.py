"""Where the first arrays of an arena lie, and what every arena over a vocabulary has."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout import stack as layout
from grammarlm.layout import utf8
from grammarlm.layout.stack import Field
from grammarlm.layout.stack_arena import ARRAYS, COLUMNS, OF_SURVEYS, ROW, TWICE_WORDS, WORDS, fields
from grammarlm.layout.stack_calls import STEPS_KEPT
from grammarlm.masks.token_facts import pack_ids, token_facts
from grammarlm.vocab.byte_trie import ByteTrie
from grammarlm.vocab.vocabulary import Vocabulary

from .program import StackProgram

MORE = 8  # factor of the room for surveys where many are expected
LEAF_NUMBERS = 1 << 19  # room for leaf_lists.py there; memory is taken only as it is written
MUCH_MEMORY = 64 << 20
SURVEYS_ONLY = fields(*OF_SURVEYS)
HASHES = {array.field for array in ARRAYS if array.is_hash}
SIZES = {array.field: array.size for array in ARRAYS if array.size is not None} | {Field.LEAF_NUMBERS: Field.LEAF_ROOM}


@dataclass(frozen=True)
class Plan:
    """Where the first arrays of an arena lie in one buffer. Hash tables are at its end: they are filled with -1."""

    arrays: tuple[tuple[Field, np.dtype, tuple[int, ...], int, int], ...]  # (field, dtype, shape, begin, end in bytes)
    widths: dict[Field, int]
    length: int
    tables: int  # where the hash tables begin, in bytes
    addresses: np.ndarray  # the fields of the arrays, as numbers
    begins: np.ndarray
    sizes: np.ndarray  # the fields that hold the number of rows
    rows: np.ndarray


def plan_for(program: StackProgram, words: int, deepest: int) -> Plan:
    """The plan of an arena; `words`: of a set of terminals; `deepest`: the length of a path through the vocabulary's trie."""
    lr = program.lr
    is_roomy = lr is not None and program.limits.max_bytes >= MUCH_MEMORY
    has_blocks = bool(lr is not None and lr.blocks)
    return plan_of(program.columns, max(1, words), program.vocab.words, deepest, is_roomy, has_blocks)


@functools.lru_cache(maxsize=64)
def plan_of(columns: int, words: int, row_words: int, deepest: int, is_roomy: bool, has_blocks: bool) -> Plan:
    """The plan of an arena's first buffer. `is_roomy`: many surveys are expected."""
    named = {COLUMNS: columns, WORDS: words, TWICE_WORDS: 2 * words, ROW: row_words}
    widths = {array.field: array.width if isinstance(array.width, int) else named[array.width] for array in ARRAYS}
    scratch: dict[Field, tuple[type, tuple[int, ...]]] = {  # these never grow
        Field.PENDING: (np.int32, (layout.WIDEST, 3)),
        Field.CLOSURE: (np.int32, (layout.WIDEST, 3)),
        Field.QUESTION: (np.int64, (5,)),
        Field.UNITING: (np.int32, (layout.UNITING, 5)),
        Field.UNITED: (np.int32, (layout.UNITED,)),
        Field.STEPS: (np.int64, (STEPS_KEPT, 2)),
        Field.PATH: (np.int32, (deepest,)),
        Field.CHAIN: (np.int32, (layout.STATES,)),
        Field.UNITS: (np.int32, (layout.UNITS,)),
        Field.UNITS_ON: (np.uint64, (layout.UNITS, words)),
        Field.LEAF_LISTS: (np.int64, (layout.LEAF_LISTS, 4)),
        Field.LEAF_NUMBERS: (np.int32, (LEAF_NUMBERS if is_roomy else LEAF_NUMBERS // 32,)),
    }
    shapes: list[tuple[Field, type, tuple[int, ...]]] = []
    for array in ARRAYS:
        field, rows = array.field, 1 if array.group == "blocks" and not has_blocks else array.first
        if field in SURVEYS_ONLY and is_roomy:
            rows *= 2 if field == Field.DENSE else MORE
        elif field in SURVEYS_ONLY:
            rows = 1 if field == Field.DENSE else 32 if array.is_hash else 16
        shapes.append((field, array.dtype, (rows, widths[field]) if array.is_matrix else (rows,)))
    shapes += [(field, *what) for field, what in scratch.items()]
    shapes.sort(key=lambda one: one[0] in HASHES)
    arrays, at, tables = [], 0, 0
    for field, kind, shape in shapes:
        if field in HASHES and not tables:
            tables = at
        size = np.dtype(kind).itemsize * math.prod(shape)
        arrays.append((field, np.dtype(kind), shape, at, at + size))
        at += -(-size // 64) * 64
    sized = [(SIZES[field], shape[0]) for field, _, shape in shapes if field in SIZES]
    return Plan(
        tuple(arrays),
        widths,
        at,
        tables,
        np.array([one[0] for one in arrays]),
        np.array([one[3] for one in arrays]),
        np.array([field for field, _ in sized]),
        np.array([rows for _, rows in sized]),
    )


@functools.lru_cache(maxsize=8)
def of_vocabulary(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray, dict[Field, np.ndarray]]:
    """What every arena over a vocabulary has: fields, their contents, the arrays."""
    trie, facts = vocab.trie, token_facts(vocab)
    has_token = trie.token != vocab.words * 32
    carried = trie.token[has_token]
    first = np.zeros(len(has_token) + 1, np.int32)
    np.cumsum(has_token, out=first[1:])
    arrays = {
        Field.BYTE: trie.byte,
        Field.DEPTH: trie.depth,
        Field.END: trie.end,
        Field.TOKEN: trie.token,
        Field.FIRST: first,
        Field.ENTRY: np.stack([carried.astype(np.int32), np.zeros(len(carried), np.int32)], axis=1),
        Field.TWINS: trie.twins,
        Field.OFFSETS: vocab.offsets,
        Field.DATA: vocab.data,
        Field.IS_TEXT: facts.is_text,
        Field.KINDS: utf8.KINDS,
        Field.KINDS_BELOW: kinds_below(trie),
        Field.TEXT_ROW: pack_ids(carried, vocab.words),
    }
    arrays = {field: np.ascontiguousarray(array) for field, array in arrays.items()}
    contents = {field: array.ctypes.data for field, array in arrays.items()}
    contents |= {Field.NODES: len(trie.byte), Field.TWIN_COUNT: len(trie.twins), Field.NOTHING: vocab.words * 32}
    contents |= {Field.VOCABULARY: len(facts.is_text), Field.DATA_LENGTH: len(vocab.data)}
    contents |= {Field.PATH_LENGTH: facts.deepest + 2}
    return np.array(list(contents)), np.array(list(contents.values()), np.int64), arrays


def kinds_below(trie: ByteTrie) -> np.ndarray:
    """int64 [nodes]: the kinds of bytes that occur below each node."""
    found = np.zeros(len(trie.byte), np.int64)
    byte, depth = np.ascontiguousarray(trie.byte), np.ascontiguousarray(trie.depth)
    entries.find_kinds(byte.ctypes.data, depth.ctypes.data, len(found), utf8.KINDS.ctypes.data, found.ctypes.data)
    return found
