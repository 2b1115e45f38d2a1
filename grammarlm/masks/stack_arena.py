"""The arena of a pushdown machine: all its arrays, and how they grow.

One that is full is replaced by one twice as long; when they take more than limits.max_bytes the arena is full, and its owner opens
a new one. What the arrays mean stands in kernels/cpu/places.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import LimitExceeded
from ..kernels.cpu import places, pushdown_walk, rehash, remainders, survey_masks
from ..kernels.cpu.places import Place
from .stack_program import StackProgram

SMALL, LARGE = 1 << 16, 1 << 20  # bytes of an array that grows fourfold, that no longer doubles
FIRST_REAL = 3  # automaton states 0, 1, 2 are dead, ACCEPT and EXIT

WIDE = (Place.Q_LIVE, Place.K_LIVE, Place.VERDICTS)  # of 64-bit sets of terminals
KINDS: dict[Place, Any] = {
    **dict.fromkeys((*WIDE, Place.TRIE_KEY), np.uint64),
    **dict.fromkeys((Place.B_AND, Place.SURVEY_KEY), np.int64),
    **dict.fromkeys((Place.Q_STATUS, Place.B_STATUS, Place.C_ACCEPTS, Place.C_KIND, Place.X_BYTE), np.uint8),
    Place.X_DEPTH: np.uint16,
}
# Arrays that grow together, rows at first; the hash table that finds their rows; where the kernels read how many rows there are.
Q = (Place.Q_NEXT, Place.Q_STATUS, Place.Q_MOVES, Place.Q_LIVE)
B = (Place.B_NEXT, Place.B_STATUS)
STACKS = (Place.S_PARENT, Place.S_SYMBOL, Place.S_CLASS, Place.S_HASH)
BLOCKS = (Place.S_INDENT, Place.S_OPENER, Place.S_BRACKETS)
CONFIGS = (Place.C_OFFSET, Place.C_LENGTH, Place.C_ACCEPTS, Place.C_ROW, Place.C_KIND, Place.C_HASH)
CLASSES = (Place.K_LEXER, Place.K_LIVE, Place.K_HASH)
SURVEY_ARRAYS = {
    remainders.FULL_NODES: (Place.X_BYTE, Place.X_DEPTH, Place.X_END, Place.X_FIRST, Place.X_COUNT),
    remainders.FULL_ENTRIES: (Place.X_TOKEN,),
    remainders.FULL_TRIES: (Place.TRIES, Place.TRIE_KEY, Place.TRIE_HASH),
    remainders.FULL_SURVEYS: (Place.SURVEY, Place.SURVEY_KEY, Place.SURVEY_HASH),
    remainders.FULL_SPARSE: (Place.SPARSE,),
    remainders.FULL_DENSE: (Place.DENSE,),
    remainders.FULL_EXITS: (Place.EXITS,),
    survey_masks.FULL_SIGNATURES: (Place.SIGNATURES, Place.SIGNATURE_HASH),
    survey_masks.FULL_KNOWN: (Place.KNOWN_SIGNATURE,),
}
FIRST_ROWS = (
    *dict.fromkeys(
        (*Q, *CLASSES, Place.C_NEXT, Place.TRIES, Place.TRIE_KEY, Place.SURVEY, Place.SURVEY_KEY), 64
    ).items(),
    *dict.fromkeys((*B, Place.VERDICTS), 16).items(),
    *dict.fromkeys((Place.JUDGED, Place.B_AND, Place.SIGNATURES), 64).items(),
    *dict.fromkeys((*STACKS, *CONFIGS, Place.MOVES, Place.EXITS), 512).items(),
    *dict.fromkeys(
        (Place.X_BYTE, Place.X_DEPTH, Place.X_END, Place.X_FIRST, Place.X_COUNT, Place.X_TOKEN), 4096
    ).items(),
    *dict.fromkeys((Place.SPARSE, Place.KNOWN_SIGNATURE), 1024).items(),
    (Place.THREADS, 1024),
    (Place.DENSE, 16),
    *dict.fromkeys((Place.S_HASH, Place.C_HASH), 1024).items(),
    *dict.fromkeys((Place.K_HASH, Place.TRIE_HASH, Place.SURVEY_HASH, Place.SIGNATURE_HASH), 512).items(),
)
HASHES = {
    Place.S_HASH: rehash.rehash_stacks,
    Place.C_HASH: rehash.rehash_configs,
    Place.K_HASH: rehash.rehash_classes,
    Place.TRIE_HASH: rehash.rehash_tries,
    Place.SURVEY_HASH: rehash.rehash_surveys,
    Place.SIGNATURE_HASH: rehash.rehash_signatures,
    Place.B_AND: None,  # these two hold what they find, and are filled again from what they were
    Place.JUDGED: None,
}
SIZES = {
    Place.B_AND: Place.B_AND_SIZE,
    Place.S_HASH: Place.S_HASH_SIZE,
    Place.S_PARENT: Place.S_CAPACITY,
    Place.K_LEXER: Place.K_CAPACITY,
    Place.K_HASH: Place.K_HASH_SIZE,
    Place.C_OFFSET: Place.C_CAPACITY,
    Place.C_HASH: Place.C_HASH_SIZE,
    Place.THREADS: Place.T_CAPACITY,
    Place.C_NEXT: Place.R_CAPACITY,
    Place.X_BYTE: Place.X_NODE_CAPACITY,
    Place.X_TOKEN: Place.X_TOKEN_CAPACITY,
    Place.TRIES: Place.TRIE_CAPACITY,
    Place.TRIE_HASH: Place.TRIE_HASH_SIZE,
    Place.SURVEY: Place.SURVEY_CAPACITY,
    Place.SURVEY_HASH: Place.SURVEY_HASH_SIZE,
    Place.SPARSE: Place.SPARSE_CAPACITY,
    Place.DENSE: Place.DENSE_CAPACITY,
    Place.EXITS: Place.EXIT_CAPACITY,
    Place.JUDGED: Place.JUDGED_SIZE,
    Place.SIGNATURES: Place.SIGNATURE_CAPACITY,
    Place.SIGNATURE_HASH: Place.SIGNATURE_HASH_SIZE,
    Place.KNOWN_SIGNATURE: Place.KNOWN_CAPACITY,
}


class StackArena:
    """The arrays of one generation of a pushdown machine."""

    def __init__(self, program: StackProgram):
        self.program = program
        self.is_full = False
        self._arrays: dict[Place, np.ndarray] = {}
        self.arena = np.zeros(Place.LENGTH, np.int64)
        self.address = self.arena.ctypes.data
        self._words = (
            -(-(len(program.lr.ignored) + 2) // 64) if program.lr else 0
        )  # the end, and ends of lines, have a bit, too
        self._allocate()

    def _allocate(self) -> None:
        program, lr = self.program, self.program.lr
        columns, words = program.columns, max(1, self._words)
        self._widths = {place: 1 for place, _ in FIRST_ROWS}
        self._widths |= dict.fromkeys((Place.Q_NEXT, Place.B_NEXT, Place.C_NEXT), columns)
        self._widths |= dict.fromkeys(
            (Place.Q_MOVES, Place.B_AND, Place.X_TOKEN, Place.SURVEY_KEY, Place.SIGNATURES), 2
        )
        self._widths |= dict.fromkeys((Place.MOVES, Place.THREADS, Place.EXITS), 3)
        self._widths |= dict.fromkeys((Place.TRIES, Place.SURVEY), 5)
        self._widths |= {Place.Q_LIVE: words, Place.K_LIVE: words, Place.VERDICTS: 2 * words, Place.JUDGED: 4}
        self._widths |= {Place.DENSE: program.vocab.words} | dict.fromkeys(BLOCKS, 1)
        for place, rows in FIRST_ROWS:
            self._resize(place, rows)
        for place in BLOCKS:
            self._resize(place, 512 if lr and lr.blocks else 1)
        self._fixed(Place.CLASS_OF, program.byte_sets.class_of)
        for place, shape, kind in (
            (Place.WORK, (places.WIDEST, 3), np.int32),
            (Place.KEPT, (places.WIDEST, 3), np.int32),
            (Place.PAIR, (3,), np.int64),
            (Place.NEEDED, (places.NEEDED,), np.int32),
            (Place.STEPS, (pushdown_walk.STEPS_KEPT, 2), np.int64),
            (Place.PATH, (program.facts.deepest + 2,), np.int32),
        ):
            self._fixed(place, np.zeros(shape, kind))
        vocab, trie, facts = program.vocab, program.vocab.trie, program.facts
        for place, array in (
            (Place.BYTE, trie.byte),
            (Place.DEPTH, trie.depth),
            (Place.END, trie.end),
            (Place.TOKEN, trie.token),
            (Place.TWINS, trie.twins),
            (Place.OFFSETS, vocab.offsets),
            (Place.DATA, vocab.data),
            (Place.IS_TEXT, facts.is_text),
        ):
            self._fixed(place, array)
        arena = self.arena
        arena[Place.CHECKS] = program.trust.level
        arena[Place.CLASSES], arena[Place.TERMINAL_WORDS] = columns, self._words
        arena[Place.NODES], arena[Place.TWIN_COUNT] = len(trie.byte), len(trie.twins)
        arena[Place.NOTHING], arena[Place.VOCABULARY] = vocab.words * 32, len(facts.is_text)
        arena[Place.DATA_LENGTH] = len(vocab.data)
        arena[Place.C_COUNT] = 2  # 0 is dead, 1 finished
        arena[Place.LINE_STACK] = -1
        arena[Place.TRIE_COUNT] = 1  # trie 0 is the vocabulary's
        arena[Place.PATH_LENGTH] = program.facts.deepest + 2
        arena[Place.S_COUNT], arena[Place.K_COUNT] = 1, 1  # the empty stack; the class under which any terminal is live
        self._arrays[Place.K_LIVE][0] = ~np.uint64(0)
        self._arrays[Place.S_CLASS][0] = 0
        self._arrays[Place.C_ROW][:2] = -1
        self._arrays[Place.Q_STATUS][:FIRST_REAL] = places.EXPANDED | places.LIVE_KNOWN | places.READS
        self._arrays[Place.B_STATUS][:2] = (places.EXPANDED, places.EXPANDED | places.ACCEPTS)
        self._arrays[Place.B_NEXT][1] = 1
        if lr:
            self._fixed(Place.LR_ACTION, lr.action)
            self._fixed(Place.LR_GOTO, lr.goto)
            self._fixed(Place.LR_RULE, lr.rule)
            self._fixed(Place.IGNORED, lr.ignored)
            ignored = np.zeros((1, 64 * self._words), bool)
            ignored[0, : len(lr.ignored)] = lr.ignored
            self._fixed(Place.IGNORED_BITS, _bits(ignored)[0])
            arena[Place.LR_TERMINALS], arena[Place.LR_NONTERMINALS] = len(lr.ignored), lr.goto.shape[1]
            arena[Place.LR_STATES], arena[Place.LR_RULES] = len(lr.action), len(lr.rule)
            self._fixed(Place.UNITS, np.zeros(places.UNITS, np.int32))
            self._fixed(Place.UNITS_ON, np.zeros((places.UNITS, self._words), np.uint64))
            arena[Place.LR_ALONE] = program.lr_alone
            self._fixed(Place.LR_ACCESS, lr.access)
            shifts, begins, rules, reduce_on = _rows_of_bits(lr.action, self._words)
            self._fixed(Place.LR_SHIFTS, shifts)
            self._fixed(Place.LR_REDUCES, begins)
            self._fixed(Place.REDUCE_RULE, rules)
            self._fixed(Place.REDUCE_ON, reduce_on)
            self._fixed(Place.CHAIN, np.zeros(places.STATES, np.int32))
            if lr.blocks:
                arena[Place.INDENTS] = 1
                arena[Place.T_NEWLINE], arena[Place.T_INDENT], arena[Place.T_DEDENT] = lr.blocks

    def _fixed(self, place: Place, array: np.ndarray) -> None:
        array = np.ascontiguousarray(array)
        self._arrays[place] = array
        self.arena[place] = array.ctypes.data

    def _resize(self, place: Place, rows: int) -> None:
        """The array at this place with more rows; hash tables are filled again."""
        width, hashed = self._widths[place], place in HASHES
        matrix = width > 1 or place in WIDE or place in (Place.Q_NEXT, Place.B_NEXT, Place.C_NEXT)
        new: np.ndarray = (np.full if hashed else _zeros)(
            (rows, width) if matrix else rows, -1, KINDS.get(place, np.int32)
        )
        old = self._arrays.get(place)
        if old is not None and not hashed:
            new[: len(old)] = old
        self._fixed(place, new)
        if place in SIZES:
            self.arena[SIZES[place]] = rows
        if place == Place.C_ACCEPTS:
            self.accepting = memoryview(new)  # type: ignore[arg-type]
        if old is None:
            return
        if place == Place.JUDGED:
            rehash.rehash_verdicts(self.address, old.ctypes.data, len(old))
        elif place == Place.B_AND:
            for key, value in old[old[:, 0] >= 0].tolist():
                rehash.remember_pair(self.address, key, value)
        elif hashed:
            HASHES[place](self.address)  # type: ignore[misc]

    def _grow(self, *group: Place) -> None:
        """Arrays of one length, and the hash table that finds their rows, get longer, the less so the larger they are."""
        old = self._arrays[group[0]]
        rows = len(old) * 4 if old.nbytes < SMALL else len(old) * 2 if old.nbytes < LARGE else len(old) * 3 // 2
        for place in group:
            if self.nbytes > self.program.limits.max_bytes:
                self.is_full = True
                raise LimitExceeded(
                    f"the grammar's automaton needs more than limits.max_bytes = {self.program.limits.max_bytes:,}; "
                    "simplify it or raise the limit"
                )
            if place in HASHES and len(group) > 1:
                size = len(self._arrays[place])
                while size < 2 * rows:
                    size *= 2
                if size > len(self._arrays[place]):
                    self._resize(place, size)
            elif place in HASHES:
                self._resize(place, 2 * len(self._arrays[place]))
            else:
                self._resize(place, rows)

    def _grow_full(self, index: int) -> None:
        """What a kernel calls full (places.FULL)."""
        if index == 0:
            self._grow(*(BLOCKS if self.arena[Place.INDENTS] else ()), *STACKS)
        elif index == 1:
            self._grow(*CLASSES)
        elif index == 3:
            self._grow(Place.C_NEXT)
        elif index in SURVEY_ARRAYS:
            self._grow(*SURVEY_ARRAYS[index])
        elif self.arena[Place.C_COUNT] >= self.arena[Place.C_CAPACITY]:
            self._grow(*CONFIGS)
        else:
            self._grow(Place.THREADS)

    def array(self, place: Place) -> np.ndarray:
        """An array as it is now: the next call of a kernel may replace it."""
        return self._arrays[place]

    @property
    def nbytes(self) -> int:
        return sum(self._arrays[place].nbytes for place in self._widths)


def _zeros(shape: Any, _: int, kind: Any) -> np.ndarray:
    return np.zeros(shape, kind)


def _rows_of_bits(action: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """An LR table by sets of terminals: what each state shifts; where its reductions begin, their rules, and on what."""
    padded = np.zeros((len(action), words * 64), np.int32)
    padded[:, : action.shape[1]] = action
    states, columns = np.nonzero(padded < 0)
    rules = -padded[states, columns] - 1
    most = int(rules.max(initial=0)) + 1
    keys = states * most + rules  # of the reductions, nearly in order: a stable sort sees that
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.diff(ordered, prepend=-1) > 0
    pairs = ordered[is_first]
    on = np.zeros((len(pairs), words * 64), bool)
    on[np.cumsum(is_first) - 1, columns[order]] = True
    begins = np.searchsorted(pairs, np.arange(len(action) + 1) * most).astype(np.int32)
    return _bits(padded > 0), begins, (pairs % most).astype(np.int32), _bits(on)


def _bits(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.packbits(rows, axis=1, bitorder="little")).view(np.uint64)
