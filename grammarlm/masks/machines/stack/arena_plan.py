"""Where the first arrays of an arena lie, and what every arena over a vocabulary has."""

from __future__ import annotations

import enum
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

VERY_MANY, MANY, FEW, NONE = "very many", "many", "few", "none"  # room for surveys at first
MORE = 8  # factor for VERY_MANY
LEAF_NUMBERS = 1 << 19  # room for leaf_lists.py with VERY_MANY; memory is taken only as it is written
MUCH_MEMORY = 64 << 20
SURVEYS_ONLY = {*fields(*OF_SURVEYS), Field.UNITS, Field.UNITS_ON, Field.CHAIN}
HASHES = {  # hash tables, and the kernel that fills each again
    Field.S_HASH: "rehash_stacks",
    Field.C_HASH: "rehash_configs",
    Field.K_HASH: "rehash_classes",
    Field.TRIE_HASH: "rehash_tries",
    Field.SURVEY_HASH: "rehash_surveys",
    Field.SIGNATURE_HASH: "rehash_signatures",
    Field.B_AND: None,  # the last two store what they look up: they are filled again from their old content
    Field.JUDGED: None,
}
SIZES = {array.field: array.size for array in ARRAYS if array.size is not None} | {Field.LEAF_NUMBERS: Field.LEAF_ROOM}


class Surveys(enum.Enum):
    """Which configs have rows made of surveys; the others take walks."""

    EVERYWHERE = enum.auto()
    INSIDE = enum.auto()  # those that most bytes lead back to
    NOWHERE = enum.auto()


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


def plan_for(program: StackProgram, words: int, deepest: int, surveys: Surveys) -> Plan:
    """The plan of an arena; `words`: of a set of terminals; `deepest`: the length of a path through the vocabulary's trie."""
    lr = program.lr
    if surveys is Surveys.INSIDE:
        room = FEW
    elif lr is None:
        room = MANY if surveys is Surveys.EVERYWHERE else NONE
    else:
        room = VERY_MANY if program.limits.max_bytes >= MUCH_MEMORY else MANY
    has_blocks = bool(lr is not None and lr.blocks)
    return plan_of(program.columns, max(1, words), program.vocab.words, deepest, room, has_blocks)


@functools.lru_cache(maxsize=64)
def plan_of(columns: int, words: int, row_words: int, deepest: int, surveys: str, has_blocks: bool) -> Plan:
    """The plan of an arena's first buffer. `surveys`: VERY_MANY, MANY, ..."""
    named = {COLUMNS: columns, WORDS: words, TWICE_WORDS: 2 * words, ROW: row_words}
    widths = {array.field: array.width if isinstance(array.width, int) else named[array.width] for array in ARRAYS}
    scratch: dict[Field, tuple[type, tuple[int, ...]]] = {  # these never grow
        Field.PENDING: (np.int32, (layout.WIDEST, 3)),
        Field.CLOSURE: (np.int32, (layout.WIDEST, 3)),
        Field.PAIR: (np.int64, (3,)),
        Field.NEEDED: (np.int32, (layout.NEEDED,)),
        Field.UNITING: (np.int32, (layout.UNITING, 5)),
        Field.UNITED: (np.int32, (layout.UNITED,)),
        Field.STEPS: (np.int64, (STEPS_KEPT, 2)),
        Field.PATH: (np.int32, (deepest,)),
        Field.CHAIN: (np.int32, (layout.STATES,)),
        Field.UNITS: (np.int32, (layout.UNITS,)),
        Field.UNITS_ON: (np.uint64, (layout.UNITS, words)),
    }
    shapes: list[tuple[Field, type, tuple[int, ...]]] = []
    for array in ARRAYS:
        field, rows = array.field, 1 if array.group == "blocks" and not has_blocks else array.first
        if field in SURVEYS_ONLY and surveys == VERY_MANY:
            rows *= 2 if field == Field.DENSE else MORE
        elif field in SURVEYS_ONLY and surveys != MANY:
            rows = 1 if surveys == NONE or field == Field.DENSE else 32 if array.is_hash else 16
        shapes.append((field, array.dtype, (rows, widths[field]) if array.is_matrix else (rows,)))
    has_scratch = surveys in (VERY_MANY, MANY)
    shapes += [(field, *what) for field, what in scratch.items() if has_scratch or field not in SURVEYS_ONLY]
    if surveys != NONE:
        shapes.append((Field.LEAF_LISTS, np.int64, (layout.LEAF_LISTS, 4)))
        shapes.append((Field.LEAF_NUMBERS, np.int32, (LEAF_NUMBERS if surveys == VERY_MANY else LEAF_NUMBERS // 32,)))
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
    carried = trie.token[trie.token != vocab.words * 32]
    arrays = {
        Field.BYTE: trie.byte,
        Field.DEPTH: trie.depth,
        Field.END: trie.end,
        Field.TOKEN: trie.token,
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
