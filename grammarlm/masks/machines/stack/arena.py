"""The arena of a pushdown machine: all its arrays, and how they grow.

A full array is replaced by a larger one. When they take more than limits.max_bytes the arena is full, and its owner
opens a new one. layout/stack.py says what the arrays mean, layout/stack_arena.py how long and wide they are at first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.layout import stack as layout
from grammarlm.layout import stack_calls as codes
from grammarlm.layout.stack import Field
from grammarlm.layout.stack_arena import BY_FIELD, USED_OF, fields
from grammarlm.masks.protocol import FINISHED, ByState

from .arena_plan import HASHES, SIZES, SURVEYS_ONLY, of_vocabulary, plan_for
from .parser_tables import parser_arrays, parser_numbers, terminal_words
from .program import StackProgram
from .survey_scratch import GROWING as SCRATCH
from .survey_scratch import SurveyScratch

ROOMY = 16  # while all arrays together take less than this fraction of max_bytes, they grow ahead of need
SMALL, LARGE = 1 << 16, 1 << 20  # bytes: below SMALL an array grows fourfold, from LARGE on by half, else it doubles
FIRST_REAL = 3  # automaton states 0, 1, 2 are dead, ACCEPT and EXIT

# All growing arrays (layout/stack_arena.py), by group.
Q, B = fields("states"), fields("borders")
STACKS, BLOCKS, CONFIGS, CLASSES = fields("stacks"), fields("blocks"), fields("configs"), fields("classes")
ANSWERS = fields("answers")
SURVEY_GROUPS = {  # by the code of a kernel's "full" answer
    codes.FULL_NODES: "nodes",
    codes.FULL_ENTRIES: "entries",
    codes.FULL_TRIES: "tries",
    codes.FULL_SURVEYS: "surveys",
    codes.FULL_SPARSE: "sparse rows",
    codes.FULL_DENSE: "dense rows",
    codes.FULL_EXITS: "exits",
    codes.FULL_SIGNATURES: "signatures",
    codes.FULL_KNOWN: "known signatures",
}


class StackArena:
    """The arrays of one generation of a pushdown machine."""

    def __init__(self, program: StackProgram):
        self.is_full = False  # nothing more is made here
        self._limits = program.limits
        self._scratch: SurveyScratch | None = None  # the one whose addresses are in the words
        self._scratch_moved = 0
        self.words = np.zeros(Field.LENGTH, np.int64)  # what kernels read: numbers, and addresses of arrays
        self.address: int = self.words.ctypes.data
        self._allocate(program)

    def _allocate(self, program: StackProgram) -> None:
        lr, words = program.lr, self.words
        self.terminal_words = terminal_words(lr)
        where, contents, fixed = of_vocabulary(program.vocab)
        words[where] = contents
        plan = plan_for(program, self.terminal_words, int(words[Field.PATH_LENGTH]))
        buffer = np.zeros(plan.length, np.uint8)
        buffer[plan.tables :] = 0xFF
        words[plan.addresses] = plan.begins + buffer.ctypes.data
        words[plan.sizes] = plan.rows
        self._widths = plan.widths
        self._arrays = fixed | {
            field: buffer[begin:end].view(kind).reshape(shape) for field, kind, shape, begin, end in plan.arrays
        }
        self.accepting: ByState[bool] = self._arrays[Field.C_ACCEPTS].data  # type: ignore[assignment]  # 0 and 1
        self.put(Field.CLASS_OF, program.byte_sets.class_of)
        words[Field.CHECKS] = program.trust.level
        words[Field.CLASSES], words[Field.TERMINAL_WORDS] = program.columns, self.terminal_words
        words[Field.C_COUNT] = 2  # 0 is dead, 1 finished
        words[Field.LINE_STACK] = -1
        words[Field.TRIE_COUNT] = 1  # trie 0 is the vocabulary
        self._arrays[Field.TRIES][0] = 0, len(fixed[Field.BYTE]), 0, len(fixed[Field.ENTRY])
        words[Field.S_COUNT], words[Field.K_COUNT] = 1, 1  # the empty stack; the class where every terminal is live
        self._arrays[Field.K_LIVE][0] = ~np.uint64(0)
        self._arrays[Field.S_CLASS][0] = 0
        self._arrays[Field.C_ROW][:2] = -1
        self._arrays[Field.C_ACCEPTS][FINISHED] = 1
        self._arrays[Field.Q_STATUS][:FIRST_REAL] = layout.EXPANDED | layout.LIVE_KNOWN | layout.READS
        self._arrays[Field.B_STATUS][:2] = (layout.EXPANDED, layout.EXPANDED | layout.ACCEPTS)
        self._arrays[Field.B_NEXT][1] = 1
        if lr is not None:
            words[Field.LR_ALONE] = program.lr_alone
            for field, array in parser_arrays(lr).items():
                self.put(field, array)
            for field, number in parser_numbers(lr).items():
                words[field] = number

    def array(self, field: Field) -> np.ndarray:
        """An array as it is now: the next kernel call may replace it."""
        return self._arrays[field]

    @property
    def nbytes(self) -> int:
        return sum(self._arrays[field].nbytes for field in self._widths)

    def put(self, field: Field, array: np.ndarray) -> None:
        """Makes this the array of the field."""
        array = np.ascontiguousarray(array)
        self._arrays[field] = array
        self.words[field] = array.ctypes.data

    # ------------------------------------------------------------------ growth

    def grow(self, *group: Field) -> None:
        """Grows arrays of equal length and the hash table over their rows, by a smaller factor the larger they are."""
        old = self._arrays[group[0]]
        rows = len(old) * 4 if old.nbytes < SMALL else len(old) * 2 if old.nbytes < LARGE else len(old) * 3 // 2
        if group[0] in SURVEYS_ONLY and group[0] != Field.DENSE:
            rows = max(rows, BY_FIELD[group[0]].first)
        # Checked once, before any grows: kernels rely on arrays of a group having one length.
        if self.nbytes > self._limits.max_bytes:
            self.is_full = True
            raise LimitExceeded(
                f"the grammar's automaton needs more than limits.max_bytes = {self._limits.max_bytes:,}; "
                "simplify it or raise the limit"
            )
        for field in group:
            if field in HASHES:
                size = len(self._arrays[field])
                while size < 2 * rows:
                    size *= 2
                if size > len(self._arrays[field]):
                    self._resize(field, size)
            else:
                self._resize(field, rows)

    def _resize(self, field: Field, rows: int) -> None:
        """Gives the array of this field more rows; the entries of a hash table are inserted again."""
        facts = BY_FIELD[field]
        shape = (rows, self._widths[field]) if facts.is_matrix else rows
        old = self._arrays[field]
        if field not in HASHES:
            new = np.zeros(shape, facts.dtype)
            new[: len(old)] = old
        else:
            new = np.full(shape, -1, facts.dtype)
        self.put(field, new)
        if field in SIZES:
            self.words[SIZES[field]] = rows
        if field == Field.C_ACCEPTS:
            self.accepting = new.data  # type: ignore[assignment]
        if field in HASHES:
            kept = old[old >= 0]
            kept = kept[np.argsort(kept & layout.NUMBER)]
            entries.rehash(kept.ctypes.data, len(kept), new.ctypes.data, rows)

    def grow_full(self, index: int) -> None:
        """Grows what a kernel reported as full (layout.FULL)."""
        if index == 0:
            self.grow(*(BLOCKS if self.words[Field.INDENTS] else ()), *STACKS)
        elif index == 1:
            self.grow(*CLASSES)
        elif index == 3:
            self.grow(Field.C_NEXT)
        elif index == codes.FULL_UNIONS:
            self.put(Field.UNIONS, np.zeros((layout.UNIONS, 4), np.int32))
        elif index in SCRATCH:
            assert self._scratch is not None
            self._scratch.grow(index, self._limits.max_bytes, self.words)
        elif index in SURVEY_GROUPS:
            self._grow_surveys(index)
        elif self.words[Field.C_COUNT] >= self.words[Field.C_CAPACITY]:
            self.grow(*CONFIGS)
        else:
            self.grow(Field.THREADS)

    def _grow_surveys(self, index: int) -> None:
        """Grows what is full, and what is more than half full or small: a survey needs room in all of them."""
        self.grow(*fields(SURVEY_GROUPS[index]))
        for group in SURVEY_GROUPS.values():
            first = fields(group)[0]
            rows = len(self._arrays[first])
            is_small = rows < BY_FIELD[first].first and first != Field.DENSE
            is_next = 2 * int(self.words[USED_OF[group]]) > rows or is_small
            if is_next and ROOMY * self.nbytes < self._limits.max_bytes:
                self.grow(*fields(group))

    def lend(self, scratch: SurveyScratch) -> None:
        """Lets kernels use this scratch: its addresses are written unless they are here already."""
        if scratch is not self._scratch or scratch.moved != self._scratch_moved:
            scratch.lend(self.words)
            self._scratch, self._scratch_moved = scratch, scratch.moved

    # ------------------------------------------------------------------ configs and stacks

    def threads_of(self, config: int) -> list[list[int]]:
        """(automaton state, stack, border) of each thread of a config."""
        offset, length = int(self._arrays[Field.C_OFFSET][config]), int(self._arrays[Field.C_LENGTH][config])
        threads: list[list[int]] = self._arrays[Field.THREADS][offset : offset + length].tolist()
        return threads

    def set_pending(self, threads: Sequence[Sequence[int]]) -> None:
        """Writes the threads of which a kernel computes the closure."""
        self._arrays[Field.PENDING][: len(threads)] = threads

    def members_of(self, stack: int) -> list[int]:
        """The stacks that a union consists of (kernels/cpu/stack/unions.py); for another stack, itself."""
        parents, symbols = self._arrays[Field.S_PARENT], self._arrays[Field.S_SYMBOL]
        members = []
        while layout.UNION <= (symbol := int(symbols[stack])) < layout.LR_BASE:
            members.append(int(parents[stack]))
            stack = symbol - layout.UNION
        return [*members, stack]
