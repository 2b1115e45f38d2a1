"""The arena of a pushdown machine: all its arrays, and how they grow.

A full array is replaced by a larger one. When they take more than limits.max_bytes the arena is full, and its owner
opens a new one. layout/stack.py says what the arrays mean, layout/stack_arena.py how long and wide they are at first.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.lark.tables import LrTables
from grammarlm.kernels.cpu.stack import calls as stack_calls
from grammarlm.kernels.cpu.stack import rehash, unions
from grammarlm.kernels.cpu.stack import walk as pushdown_walk
from grammarlm.kernels.cpu.surveys import masks as survey_masks
from grammarlm.kernels.cpu.surveys import remainders
from grammarlm.kernels.cpu.tokens import byte_kinds
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import Place
from grammarlm.layout.stack_arena import ARRAYS, BY_PLACE, COLUMNS, OF_SURVEYS, ROW, TWICE_WORDS, USED_OF, WORDS, places
from grammarlm.masks.protocol import FINISHED
from grammarlm.masks.token_facts import pack_ids, token_facts
from grammarlm.vocab.byte_trie import ByteTrie
from grammarlm.vocab.vocabulary import Vocabulary

from .program import StackProgram

ROOMY = 16  # while all arrays together take less than this fraction of max_bytes, they grow ahead of need
SMALL, LARGE = 1 << 16, 1 << 20  # bytes: below SMALL an array grows fourfold, from LARGE on by half, else it doubles
# Surveys: the room an arena has for them at first. LENT: a seat uses those of its epoch.
VERY_MANY, MANY, FEW, NONE, LENT = "very many", "many", "few", "none", "lent"
MORE = 8  # factor for VERY_MANY: replacing an array costs the other threads time, too
LEAF_NUMBERS = 1 << 19  # room for leaf_lists.py with VERY_MANY; memory is taken only as it is written
LONGEST_TURN = 10.0  # seconds to wait for a turn; turns take microseconds
MUCH_MEMORY = 64 << 20
FIRST_REAL = 3  # automaton states 0, 1, 2 are dead, ACCEPT and EXIT

# All growing arrays (layout/stack_arena.py), by group.
Q, B = places("states"), places("borders")
STACKS, BLOCKS, CONFIGS, CLASSES = places("stacks"), places("blocks"), places("configs"), places("classes")
SURVEY_GROUPS = {  # by the code of a kernel's "full" answer
    remainders.FULL_NODES: "nodes",
    remainders.FULL_ENTRIES: "entries",
    remainders.FULL_TRIES: "tries",
    remainders.FULL_SURVEYS: "surveys",
    remainders.FULL_SPARSE: "sparse rows",
    remainders.FULL_DENSE: "dense rows",
    remainders.FULL_EXITS: "exits",
    survey_masks.FULL_SIGNATURES: "signatures",
    survey_masks.FULL_KNOWN: "known signatures",
}
# Arrays whose values are row numbers of another array: when that one grows while seats read, these are copied to a new
# address, too. A seat keeps the old copies, which never name a row added later.
NAMED_IN = {
    Place.MOVES: Q,
    Place.B_NEXT: (*Q, Place.B_AND),
    Place.VERDICTS: (Place.JUDGED,),
}
HASHES = {
    Place.S_HASH: rehash.rehash_stacks,
    Place.C_HASH: rehash.rehash_configs,
    Place.K_HASH: rehash.rehash_classes,
    Place.TRIE_HASH: rehash.rehash_tries,
    Place.SURVEY_HASH: rehash.rehash_surveys,
    Place.SIGNATURE_HASH: rehash.rehash_signatures,
    Place.B_AND: None,  # the last two store what they look up: they are filled again from their old content
    Place.JUDGED: None,
}
SIZES = {array.place: array.size for array in ARRAYS if array.size is not None} | {Place.LEAF_NUMBERS: Place.LEAF_ROOM}
SURVEYS_ONLY = {*places(*OF_SURVEYS), Place.UNITS, Place.UNITS_ON, Place.CHAIN}


@dataclass(frozen=True)
class Plan:
    """Where the first arrays of an arena lie in one buffer. Hash tables are at its end: they are filled with -1."""

    arrays: tuple[tuple[Place, Any, tuple[int, ...], int, int], ...]  # (place, dtype, shape, begin and end in bytes)
    widths: dict[Place, int]
    length: int
    tables: int  # where the hash tables begin, in bytes
    where: np.ndarray  # the places, as numbers
    begins: np.ndarray
    sizes: np.ndarray  # the places that hold the number of rows
    rows: np.ndarray


@functools.lru_cache(maxsize=64)
def plan_of(columns: int, words: int, row_words: int, deepest: int, surveys: str, has_blocks: bool) -> Plan:
    """The plan of an arena's first buffer. `surveys`: VERY_MANY, MANY, ..."""
    named = {COLUMNS: columns, WORDS: words, TWICE_WORDS: 2 * words, ROW: row_words}
    widths = {array.place: array.width if isinstance(array.width, int) else named[array.width] for array in ARRAYS}
    scratch = {  # these never grow
        Place.WORK: (np.int32, (layout.WIDEST, 3)),
        Place.KEPT: (np.int32, (layout.WIDEST, 3)),
        Place.PAIR: (np.int64, (3,)),
        Place.NEEDED: (np.int32, (layout.NEEDED,)),
        Place.CLAIMS: (np.int64, (layout.CLAIMS + 1, 3)),
        Place.UNITING: (np.int32, (layout.UNITING, 5)),
        Place.UNITED: (np.int32, (layout.UNITED,)),
        Place.STEPS: (np.int64, (pushdown_walk.STEPS_KEPT, 2)),
        Place.PATH: (np.int32, (deepest,)),
        Place.CHAIN: (np.int32, (layout.STATES,)),
        Place.UNITS: (np.int32, (layout.UNITS,)),
        Place.UNITS_ON: (np.uint64, (layout.UNITS, words)),
    }
    shapes: list[tuple[Place, Any, tuple[int, ...]]] = []
    for array in ARRAYS:
        place, rows = array.place, 1 if array.group == "blocks" and not has_blocks else array.first
        if place in SURVEYS_ONLY and surveys == VERY_MANY:
            rows *= 2 if place == Place.DENSE else MORE
        elif place in SURVEYS_ONLY and surveys != MANY:
            rows = 1 if surveys in (NONE, LENT) or place == Place.DENSE else 32 if array.is_hash else 16
        shapes.append((place, array.dtype, (rows, widths[place]) if array.is_matrix else (rows,)))
    has_scratch = surveys in (VERY_MANY, MANY, LENT)
    shapes += [(place, *what) for place, what in scratch.items() if has_scratch or place not in SURVEYS_ONLY]
    if surveys not in (NONE, LENT):
        shapes.append((Place.LEAF_LISTS, np.int64, (layout.LEAF_LISTS, 4)))
        shapes.append((Place.LEAF_NUMBERS, np.int32, (LEAF_NUMBERS if surveys == VERY_MANY else LEAF_NUMBERS // 32,)))
    shapes.sort(key=lambda one: one[0] in HASHES)
    arrays, at, tables = [], 0, 0
    for place, kind, shape in shapes:
        if place in HASHES and not tables:
            tables = at
        size = np.dtype(kind).itemsize * math.prod(shape)
        arrays.append((place, np.dtype(kind), shape, at, at + size))
        at += -(-size // 64) * 64
    sized = [(SIZES[place], shape[0]) for place, _, shape in shapes if place in SIZES]
    return Plan(
        tuple(arrays),
        widths,
        at,
        tables,
        np.array([one[0] for one in arrays]),
        np.array([one[3] for one in arrays]),
        np.array([place for place, _ in sized]),
        np.array([rows for _, rows in sized]),
    )


@functools.lru_cache(maxsize=8)
def _of_vocabulary(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray, dict[Place, np.ndarray]]:
    """What every arena over a vocabulary has: places, their contents, the arrays."""
    trie, facts = vocab.trie, token_facts(vocab)
    carried = trie.token[trie.token != vocab.words * 32]
    arrays = {
        Place.BYTE: trie.byte,
        Place.DEPTH: trie.depth,
        Place.END: trie.end,
        Place.TOKEN: trie.token,
        Place.TWINS: trie.twins,
        Place.OFFSETS: vocab.offsets,
        Place.DATA: vocab.data,
        Place.IS_TEXT: facts.is_text,
        Place.KINDS: byte_kinds.KINDS,
        Place.KINDS_BELOW: kinds_below(trie),
        Place.TEXT_ROW: pack_ids(carried, vocab.words),
    }
    arrays = {place: np.ascontiguousarray(array) for place, array in arrays.items()}
    contents = {place: array.ctypes.data for place, array in arrays.items()}
    contents |= {Place.NODES: len(trie.byte), Place.TWIN_COUNT: len(trie.twins), Place.NOTHING: vocab.words * 32}
    contents |= {Place.VOCABULARY: len(facts.is_text), Place.DATA_LENGTH: len(vocab.data)}
    contents |= {Place.PATH_LENGTH: facts.deepest + 2}
    return np.array(list(contents)), np.array(list(contents.values()), np.int64), arrays


def kinds_below(trie: ByteTrie) -> np.ndarray:
    """int64 [nodes]: the kinds of bytes that occur below each node."""
    found = np.zeros(len(trie.byte), np.int64)
    byte, depth = np.ascontiguousarray(trie.byte), np.ascontiguousarray(trie.depth)
    byte_kinds.find_kinds(
        byte.ctypes.data, depth.ctypes.data, len(found), byte_kinds.KINDS.ctypes.data, found.ctypes.data
    )
    return found


class StackArena:
    """The arrays of one generation of a pushdown machine."""

    uses_surveys: bool | None = None  # None: where they are worth it
    has_seats = False  # seats read what is written here
    only_inside = False  # only configs that most bytes lead back to have surveys

    def __init__(self, program: StackProgram):
        self.program = program
        self.is_full = False
        # Without a lexer, rules end wherever blanks may follow, which is nearly everywhere: the remainders of tokens
        # are then nearly all tokens. Inside a string they are not.
        if self.uses_surveys is None:
            self.uses_surveys = True
            self.only_inside = program.lr is None
        self._arrays: dict[Place, np.ndarray] = {}
        self.arena = np.zeros(Place.LENGTH, np.int64)
        self.address = self.arena.ctypes.data
        # The end of the text, and ends of lines, have a bit after those of the terminals.
        self._words = -(-(len(program.lr.ignored) + 2) // 64) if program.lr else 0
        self._allocate()

    def _allocate(self) -> None:
        program, lr = self.program, self.program.lr
        columns, words = program.columns, max(1, self._words)
        where, contents, fixed = _of_vocabulary(program.vocab)
        self.arena[where] = contents
        blocks = bool(lr and lr.blocks)
        deepest = int(self.arena[Place.PATH_LENGTH])
        plan = plan_of(columns, words, program.vocab.words, deepest, self._surveys_at_first(), blocks)
        buffer = np.zeros(plan.length, np.uint8)
        buffer[plan.tables :] = 0xFF
        self.arena[plan.where] = plan.begins + buffer.ctypes.data
        self.arena[plan.sizes] = plan.rows
        self._widths = plan.widths
        self._arrays = fixed | {
            place: buffer[begin:end].view(kind).reshape(shape) for place, kind, shape, begin, end in plan.arrays
        }
        self.accepting: Any = memoryview(self._arrays[Place.C_ACCEPTS])  # type: ignore[arg-type]
        self._fixed(Place.CLASS_OF, program.byte_sets.class_of)
        arena = self.arena
        arena[Place.CHECKS] = program.trust.level
        arena[Place.CLASSES], arena[Place.TERMINAL_WORDS] = columns, self._words
        arena[Place.C_COUNT] = 2  # 0 is dead, 1 finished
        arena[Place.LINE_STACK] = -1
        arena[Place.TRIE_COUNT] = 1  # trie 0 is the vocabulary
        arena[Place.S_COUNT], arena[Place.K_COUNT] = 1, 1  # the empty stack; the class where every terminal is live
        self._arrays[Place.K_LIVE][0] = ~np.uint64(0)
        self._arrays[Place.S_CLASS][0] = 0
        self._arrays[Place.C_ROW][:2] = -1
        self._arrays[Place.C_ACCEPTS][FINISHED] = 1
        self._arrays[Place.Q_STATUS][:FIRST_REAL] = layout.EXPANDED | layout.LIVE_KNOWN | layout.READS
        self._arrays[Place.B_STATUS][:2] = (layout.EXPANDED, layout.EXPANDED | layout.ACCEPTS)
        self._arrays[Place.B_NEXT][1] = 1
        if lr:
            self._take_tables(lr)

    def _surveys_at_first(self) -> str:
        if self.only_inside:
            return FEW
        if self.program.lr is None:
            return MANY if self.uses_surveys else NONE
        return VERY_MANY if self.program.limits.max_bytes >= MUCH_MEMORY else MANY

    def _take_tables(self, lr: LrTables) -> None:
        """The parser's tables, as kernels read them."""
        arena = self.arena
        self._fixed(Place.LR_ACTION, lr.action)
        self._fixed(Place.LR_GOTO, lr.goto)
        self._fixed(Place.LR_RULE, lr.rule)
        self._fixed(Place.IGNORED, lr.ignored)
        ignored = np.zeros((1, 64 * self._words), bool)
        ignored[0, : len(lr.ignored)] = lr.ignored
        self._fixed(Place.IGNORED_BITS, _bits(ignored)[0])
        arena[Place.LR_TERMINALS], arena[Place.LR_NONTERMINALS] = len(lr.ignored), lr.goto.shape[1]
        arena[Place.LR_STATES], arena[Place.LR_RULES] = len(lr.action), len(lr.rule)
        arena[Place.LR_ALONE] = self.program.lr_alone
        self._fixed(Place.LR_ACCESS, lr.access)
        shifts, begins, rules, reduce_on = _rows_of_bits(lr.action, self._words)
        self._fixed(Place.LR_SHIFTS, shifts)
        self._fixed(Place.LR_REDUCES, begins)
        self._fixed(Place.REDUCE_RULE, rules)
        self._fixed(Place.REDUCE_ON, reduce_on)
        if lr.blocks:
            arena[Place.INDENTS] = 1
            arena[Place.T_NEWLINE], arena[Place.T_INDENT], arena[Place.T_DEDENT] = lr.blocks

    def _fixed(self, place: Place, array: np.ndarray) -> None:
        array = np.ascontiguousarray(array)
        self.arena[Place.REPLACED] += 1
        self._arrays[place] = array
        self.arena[place] = array.ctypes.data

    def _resize(self, place: Place, rows: int) -> None:
        """Gives the array at this place more rows; hash tables are filled again."""
        facts, hashed = BY_PLACE[place], place in HASHES
        shape = (rows, self._widths[place]) if facts.is_matrix else rows
        new: np.ndarray = (np.full if hashed else _zeros)(shape, -1, facts.dtype)
        old = self._arrays[place]
        if not hashed:
            new[: len(old)] = old
        self._fixed(place, new)
        if place in SIZES:
            self.arena[SIZES[place]] = rows
        if place == Place.C_ACCEPTS:
            self.accepting = memoryview(new)  # type: ignore[arg-type]
        if place == Place.JUDGED:
            rehash.rehash_verdicts(self.address, old.ctypes.data, len(old))
        elif place == Place.B_AND:
            for key, value in old[old[:, 0] >= 0].tolist():
                rehash.remember_pair(self.address, key, value)
        elif hashed:
            HASHES[place](self.address)  # type: ignore[misc]

    def _grow(self, *group: Place) -> None:
        """Grows arrays of equal length and the hash table over their rows, by a smaller factor the larger they are."""
        old = self._arrays[group[0]]
        rows = len(old) * 4 if old.nbytes < SMALL else len(old) * 2 if old.nbytes < LARGE else len(old) * 3 // 2
        if group[0] in SURVEYS_ONLY and group[0] != Place.DENSE:
            rows = max(rows, BY_PLACE[group[0]].first)
        if (
            self.nbytes > self.program.limits.max_bytes
        ):  # checked once, before any grows: kernels rely on arrays of a group having one length
            self.is_full = True
            raise LimitExceeded(
                f"the grammar's automaton needs more than limits.max_bytes = {self.program.limits.max_bytes:,}; "
                "simplify it or raise the limit"
            )
        with self.in_turn():
            for place in group:
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
            if self.has_seats:
                for place in NAMED_IN.get(group[0], ()):
                    self._fixed(place, self._arrays[place].copy())

    @contextlib.contextmanager
    def in_turn(self) -> Iterator[None]:
        """Holds the turn to write: no seat writes surveys meanwhile (kernels/cpu/stack/turns.py)."""
        end = time.monotonic() + LONGEST_TURN
        while not stack_calls.begin_turn(self.address):
            if time.monotonic() > end:
                raise LimitExceeded(
                    "another thread writes down what a mask needs and does not end; compile the grammar anew"
                )
            time.sleep(0)
        try:
            yield
        finally:
            stack_calls.leave_turn(self.address)

    def _grow_full(self, index: int) -> None:
        """Grows what a kernel reported as full (layout.FULL)."""
        if index == 0:
            self._grow(*(BLOCKS if self.arena[Place.INDENTS] else ()), *STACKS)
        elif index == 1:
            self._grow(*CLASSES)
        elif index == 3:
            self._grow(Place.C_NEXT)
        elif index == unions.FULL_UNIONS:
            self._fixed(Place.UNIONS, np.zeros((layout.UNIONS, 4), np.int32))
        elif index in SURVEY_GROUPS:
            self._grow(*places(SURVEY_GROUPS[index]))
            # Also grows those that are more than half full or small: a seat that meets a full one must ask, and a
            # survey needs all of them.
            for group in SURVEY_GROUPS.values():
                first = places(group)[0]
                rows = len(self._arrays[first])
                is_small = rows < BY_PLACE[first].first and first != Place.DENSE
                is_next = 2 * int(self.arena[USED_OF[group]]) > rows or is_small
                if is_next and ROOMY * self.nbytes < self.program.limits.max_bytes:
                    self._grow(*places(group))
        elif self.arena[Place.C_COUNT] >= self.arena[Place.C_CAPACITY]:
            self._grow(*CONFIGS)
        else:
            self._grow(Place.THREADS)

    def ways_of(self, stack: int) -> list[int]:
        """The stacks that a union consists of (kernels/cpu/stack/unions.py); for another stack, itself."""
        parents, symbols = self._arrays[Place.S_PARENT], self._arrays[Place.S_SYMBOL]
        ways = []
        while layout.UNION <= (symbol := int(symbols[stack])) < layout.LR_BASE:
            ways.append(int(parents[stack]))
            stack = symbol - layout.UNION
        return [*ways, stack]

    def array(self, place: Place) -> np.ndarray:
        """An array as it is now: the next kernel call may replace it."""
        return self._arrays[place]

    @property
    def arrays(self) -> dict[Place, np.ndarray]:
        """All arrays, as they are now."""
        return self._arrays

    @property
    def nbytes(self) -> int:
        return sum(self._arrays[place].nbytes for place in self._widths)


def _zeros(shape: Any, _: int, kind: Any) -> np.ndarray:
    return np.zeros(shape, kind)


def _rows_of_bits(action: np.ndarray, words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """An LR table as sets of terminals: the shifts of each state; where its reductions begin, their rules, and their lookaheads."""
    padded = np.zeros((len(action), words * 64), np.int32)
    padded[:, : action.shape[1]] = action
    states, columns = np.nonzero(padded < 0)
    rules = -padded[states, columns] - 1
    most = int(rules.max(initial=0)) + 1
    keys = states * most + rules  # of the reductions, nearly sorted already, which a stable sort uses
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
