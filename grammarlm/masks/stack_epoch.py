"""States, stacks and configs of the pushdown machine: one generation.

The counterpart of epoch.py, with the same face to the matcher: a `state` is the number of a config. Numbers of automaton states and
borders are given here and their rows are filled when a kernel lacks them; stacks and configs are made by the kernels themselves.

All arrays belong to the epoch and are listed in one arena. One that is full is replaced by one twice as long; when they take more
than limits.max_bytes the epoch is full, and a new, empty one takes its place (automaton.py).
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import LimitExceeded
from ..grammars.lexer import LexerState
from ..grammars.terms import ANYTHING, NOTHING, Term
from ..kernels.cpu import pushdown as machine
from ..kernels.cpu import pushdown_walk, surveys
from ..kernels.cpu import stack_calls as walk
from ..kernels.cpu.pushdown import LR_BASE, Place
from ..vocab.vocabulary import Vocabulary
from .mask_array import ids_of
from .stack_completion import StackEnds, parts
from .stack_description import RuleNames, describe
from .stack_program import StackProgram, Thread

FINISHED = 1  # the state behind a stop token
AHEAD, AHEAD_TERMS = 100, 12  # lexer states, or states of a rule, that are made together
SCRATCH_LOCK = threading.Lock()
FIRST_REAL = 3  # automaton states 0, 1, 2 are dead, ACCEPT and EXIT


HASHES = (Place.S_HASH, Place.C_HASH, Place.B_AND, Place.SURVEY_HASH, Place.JUDGED)
LARGE = 1 << 20  # bytes of an array that no longer doubles
SURVEY_ARRAYS = {
    surveys.FULL_NODES: (Place.X_BYTE, Place.X_DEPTH, Place.X_END, Place.X_FIRST, Place.X_COUNT),
    surveys.FULL_ENTRIES: (Place.X_TOKEN,),
    surveys.FULL_TRIES: (Place.TRIES, Place.TRIE_KEY),
    surveys.FULL_SURVEYS: (Place.SURVEY, Place.SURVEY_KEY, Place.SURVEY_HASH),
    surveys.FULL_SPARSE: (Place.SPARSE,),
    surveys.FULL_DENSE: (Place.DENSE,),
    surveys.FULL_EXITS: (Place.EXITS,),
}


class _NeedsWalks(Exception):
    """A survey has met a thread whose end hangs on its whole stack."""


class KnownRows(dict):
    """Rows by config; None where there is none yet."""

    def __missing__(self, key: int) -> None:
        return None


class StackEpoch:
    """One generation of configs. All methods run under the automaton's lock; `rows` is read without it."""

    tables = SimpleNamespace(address=0)
    uses_surveys: bool | None = None  # None: where they are worth it

    def __init__(self, program: StackProgram):
        self.program = program
        self.is_full = False
        # Without a lexer rules end where blanks may follow, nearly everywhere: what remains of tokens is then nearly all of them.
        if self.uses_surveys is None:
            self.uses_surveys = program.lr is not None
        self.rows: dict[int, np.ndarray] = KnownRows()
        self.rows[FINISHED] = program.facts.stop_row
        self._shared_rows: dict[bytes, np.ndarray] = {}
        self._row_bytes = 0
        self._states: dict[object, int] = {}
        self.objects: list[object] = [None] * FIRST_REAL
        self._borders: dict[Term, int] = {NOTHING: 0, ANYTHING: 1}
        self.border_terms: list[Term] = [NOTHING, ANYTHING]
        self.lr = program.lr
        self._judged = self._verdicts = 0
        self._finishes: dict[tuple[Any, Any], bool] = {}
        self._arrays: dict[Place, np.ndarray] = {}
        self.arena = np.zeros(Place.LENGTH, np.int64)
        self.address = self.arena.ctypes.data
        self._allocate()
        # Made now, since it may be refused; of a grammar that has been compiled before, when the first matcher asks.
        is_roomy = 16 * self.nbytes < program.limits.max_bytes
        self.start = None if program.is_proved and is_roomy else self.state_of(program.start)

    # ------------------------------------------------------------------ arrays

    def _allocate(self) -> None:
        program = self.program
        columns = program.columns
        lr = program.lr
        terminals = len(lr.ignored) if lr else 0
        blocks = lr.blocks if lr else None
        self._words = -(-(terminals + 2) // 64) if lr else 0  # the end, and ends of lines, have a bit, too
        words = max(1, self._words)
        self._widths = {
            Place.Q_NEXT: columns,
            Place.Q_STATUS: 1,
            Place.Q_MOVES: 2,
            Place.Q_LIVE: words,
            Place.MOVES: 3,
            Place.B_NEXT: columns,
            Place.B_STATUS: 1,
            Place.B_AND: 2,
            Place.S_PARENT: 1,
            Place.S_SYMBOL: 1,
            Place.S_CLASS: 1,
            Place.S_INDENT: 1,
            Place.S_OPENER: 1,
            Place.S_BRACKETS: 1,
            Place.S_HASH: 1,
            Place.K_LEXER: 1,
            Place.K_LIVE: words,
            Place.C_OFFSET: 1,
            Place.C_LENGTH: 1,
            Place.C_ACCEPTS: 1,
            Place.C_ROW: 1,
            Place.C_HASH: 1,
            Place.THREADS: 3,
            Place.C_NEXT: columns,
            Place.C_KIND: 1,
            Place.X_BYTE: 1,
            Place.X_DEPTH: 1,
            Place.X_END: 1,
            Place.X_FIRST: 1,
            Place.X_COUNT: 1,
            Place.X_TOKEN: 2,
            Place.TRIES: 5,
            Place.TRIE_KEY: 1,
            Place.SURVEY: 5,
            Place.SURVEY_KEY: 2,
            Place.SURVEY_HASH: 1,
            Place.SPARSE: 1,
            Place.DENSE: program.vocab.words,
            Place.EXITS: 3,
            Place.JUDGED: 4,
            Place.VERDICTS: 2 * words,
        }
        for place, rows in (
            (Place.Q_NEXT, 64),
            (Place.Q_STATUS, 64),
            (Place.Q_MOVES, 64),
            (Place.Q_LIVE, 64),
            (Place.MOVES, 256),
            (Place.B_NEXT, 16),
            (Place.B_STATUS, 16),
            (Place.B_AND, 64),
            (Place.S_PARENT, 256),
            (Place.S_SYMBOL, 256),
            (Place.S_CLASS, 256),
            (Place.S_INDENT, 256 if blocks else 1),
            (Place.S_OPENER, 256 if blocks else 1),
            (Place.S_BRACKETS, 256 if blocks else 1),
            (Place.S_HASH, 512),
            (Place.K_LEXER, 64),
            (Place.K_LIVE, 64),
            (Place.C_OFFSET, 256),
            (Place.C_LENGTH, 256),
            (Place.C_ACCEPTS, 256),
            (Place.C_ROW, 256),
            (Place.C_HASH, 512),
            (Place.THREADS, 512),
            (Place.C_NEXT, 64),
            (Place.C_KIND, 256),
            (Place.X_BYTE, 4096),
            (Place.X_DEPTH, 4096),
            (Place.X_END, 4096),
            (Place.X_FIRST, 4096),
            (Place.X_COUNT, 4096),
            (Place.X_TOKEN, 4096),
            (Place.TRIES, 64),
            (Place.TRIE_KEY, 64),
            (Place.SURVEY, 64),
            (Place.SURVEY_KEY, 64),
            (Place.SURVEY_HASH, 256),
            (Place.SPARSE, 1024),
            (Place.DENSE, 8),
            (Place.EXITS, 256),
            (Place.JUDGED, 64),
            (Place.VERDICTS, 16),
        ):
            self._resize(place, rows)
        self._fixed(Place.CLASS_OF, program.byte_sets.class_of)
        for place, shape, kind in (
            (Place.WORK, (machine.WIDEST, 3), np.int32),
            (Place.KEPT, (machine.WIDEST, 3), np.int32),
            (Place.PAIR, (3,), np.int64),
            (Place.AGENDA, (surveys.AGENDA_LENGTH, 4), np.int32),
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
        scratch = _scratch_of(vocab)
        self._fixed(Place.FOUND, scratch[0])
        self._fixed(Place.SORTED, scratch[1])
        self._fixed(Place.LEAVES, scratch[2])
        arena[Place.FOUND_CAPACITY], arena[Place.LEAVES_CAPACITY] = len(scratch[0]), len(scratch[2])
        arena[Place.S_COUNT], arena[Place.K_COUNT] = 1, 1  # the empty stack; the class under which any terminal is live
        self._arrays[Place.K_LIVE][0] = ~np.uint64(0)
        self._arrays[Place.S_CLASS][0] = 0
        self._arrays[Place.C_ROW][:2] = -1
        self._arrays[Place.Q_STATUS][:FIRST_REAL] = machine.EXPANDED | machine.LIVE_KNOWN | machine.READS
        self._arrays[Place.B_STATUS][:2] = (machine.EXPANDED, machine.EXPANDED | machine.ACCEPTS)
        self._arrays[Place.B_NEXT][1] = 1
        if lr:
            self._fixed(Place.LR_ACTION, lr.action)
            self._fixed(Place.LR_GOTO, lr.goto)
            self._fixed(Place.LR_RULE, lr.rule)
            self._fixed(Place.IGNORED, lr.ignored)
            arena[Place.LR_TERMINALS], arena[Place.LR_NONTERMINALS] = terminals, lr.goto.shape[1]
            arena[Place.LR_STATES] = len(lr.action)
            arena[Place.LR_ALONE] = program.lr_alone
            self._fixed(Place.LR_ACCESS, lr.access)
            shifts, begins, rules, reduce_on = _rows_of_bits(lr.action, self._words)
            self._fixed(Place.LR_SHIFTS, shifts)
            self._fixed(Place.LR_REDUCES, begins)
            self._fixed(Place.REDUCE_RULE, rules)
            self._fixed(Place.REDUCE_ON, reduce_on)
            self._fixed(Place.CHAIN, np.zeros(machine.STATES, np.int32))
            if blocks:
                arena[Place.INDENTS] = 1
                arena[Place.T_NEWLINE], arena[Place.T_INDENT], arena[Place.T_DEDENT] = blocks
            self._fixed(Place.LR_LEXER, np.array([self._number(s) for s in lr.lexers], np.int32))

    def _fixed(self, place: Place, array: np.ndarray) -> None:
        array = np.ascontiguousarray(array)
        self._arrays[place] = array
        self.arena[place] = array.ctypes.data

    def _resize(self, place: Place, rows: int) -> None:
        """The array at this place with more rows; hash tables are filled again."""
        width = self._widths[place]
        wide = place in (Place.Q_LIVE, Place.K_LIVE, Place.VERDICTS)
        kind: Any = np.uint64 if wide else np.int64 if place == Place.B_AND else np.int32
        if place in (Place.Q_STATUS, Place.B_STATUS, Place.C_ACCEPTS, Place.C_KIND, Place.X_BYTE):
            kind = np.uint8
        elif place == Place.X_DEPTH:
            kind = np.uint16
        elif place == Place.SURVEY_KEY:
            kind = np.int64
        elif place == Place.TRIE_KEY:
            kind = np.uint64
        shape = (rows, width) if width > 1 or wide or place in (Place.Q_NEXT, Place.B_NEXT, Place.C_NEXT) else (rows,)
        hashed = place in HASHES
        new = np.full(shape, -1, kind) if hashed else np.zeros(shape, kind)
        old = self._arrays.get(place)
        if old is not None and not hashed:
            new[: len(old)] = old
        self._fixed(place, new)
        sizes = {
            Place.B_AND: Place.B_AND_SIZE,
            Place.S_HASH: Place.S_HASH_SIZE,
            Place.S_PARENT: Place.S_CAPACITY,
            Place.K_LEXER: Place.K_CAPACITY,
            Place.C_OFFSET: Place.C_CAPACITY,
            Place.C_HASH: Place.C_HASH_SIZE,
            Place.THREADS: Place.T_CAPACITY,
            Place.C_NEXT: Place.R_CAPACITY,
            Place.X_BYTE: Place.X_NODE_CAPACITY,
            Place.X_TOKEN: Place.X_TOKEN_CAPACITY,
            Place.TRIES: Place.TRIE_CAPACITY,
            Place.SURVEY: Place.SURVEY_CAPACITY,
            Place.SURVEY_HASH: Place.SURVEY_HASH_SIZE,
            Place.SPARSE: Place.SPARSE_CAPACITY,
            Place.DENSE: Place.DENSE_CAPACITY,
            Place.EXITS: Place.EXIT_CAPACITY,
            Place.JUDGED: Place.JUDGED_SIZE,
        }
        if place in sizes:
            self.arena[sizes[place]] = rows
        if place == Place.C_ACCEPTS:
            self.accepting = memoryview(new)  # type: ignore[arg-type]
        if place == Place.S_HASH:
            pushdown_walk.rehash_stacks(self.address)
        elif place == Place.C_HASH:
            pushdown_walk.rehash_configs(self.address)
        elif place == Place.SURVEY_HASH:
            pushdown_walk.rehash_surveys(self.address)
        elif place == Place.JUDGED and old is not None:
            pushdown_walk.rehash_verdicts(self.address, old.ctypes.data, len(old))
        elif place == Place.B_AND and old is not None:
            for key, value in old[old[:, 0] >= 0].tolist():
                self._remember_pair(key, value)

    def _grow(self, *places: Place) -> None:
        """Arrays of one length, and the hash table that finds their rows, get longer: by half where they are large."""
        old = self._arrays[places[0]]
        rows = len(old) * 2 if old.nbytes < LARGE else len(old) * 3 // 2
        for place in places:
            if self.nbytes > self.program.limits.max_bytes:
                self.is_full = True
                raise LimitExceeded(
                    f"the grammar's automaton needs more than limits.max_bytes = {self.program.limits.max_bytes:,}; "
                    "simplify it or raise the limit"
                )
            if place in HASHES and len(places) > 1:
                size = len(self._arrays[place])
                while size < 2 * rows:
                    size *= 2
                if size > len(self._arrays[place]):
                    self._resize(place, size)
            elif place in HASHES:
                self._resize(place, 2 * len(self._arrays[place]))
            else:
                self._resize(place, rows)

    # ------------------------------------------------------------------ numbers

    def _number(self, state: object) -> int:
        """The number of an automaton state, given when it is first met."""
        if state is ACCEPTED:
            return machine.ACCEPT
        number = self._states.get(state)
        if number is None:
            limits = self.program.limits
            number = len(self.objects)
            if number >= limits.max_states:
                self.is_full = True
                raise LimitExceeded(
                    f"the grammar needs more than limits.max_states = {limits.max_states} states at once; "
                    "simplify it or raise the limit"
                )
            if number >= len(self._arrays[Place.Q_STATUS]):
                self._grow(Place.Q_NEXT, Place.Q_STATUS, Place.Q_MOVES, Place.Q_LIVE)
            self._states[state] = number
            self.objects.append(state)
            if not (isinstance(state, LexerState) and state.lexer.shifts):
                self._arrays[Place.Q_LIVE][number] = ~np.uint64(0)
                self._arrays[Place.Q_STATUS][number] = machine.LIVE_KNOWN
            elif state.start:
                self._arrays[Place.Q_STATUS][number] = machine.STARTS
        return number

    def _border(self, term: Term) -> int:
        number = self._borders.get(term)
        if number is None:
            if not self.program.is_alive(term):
                number = 0
            else:
                number = len(self.border_terms)
                if number >= self.program.limits.max_states:
                    self.is_full = True
                    raise LimitExceeded("the grammar's borders need more than limits.max_states states; simplify it")
                if number >= len(self._arrays[Place.B_STATUS]):
                    self._grow(Place.B_NEXT, Place.B_STATUS)
                self.border_terms.append(term)
                trusted = machine.TRUSTED if self.program.trust.trusts(term) else 0
                self._arrays[Place.B_STATUS][number] = trusted | (machine.ACCEPTS if term.nullable else 0)
            self._borders[term] = number
        return number

    # ------------------------------------------------------------------ what kernels lack

    def _supply(self, code: int) -> None:
        """Makes what a kernel's negative answer asks for."""
        self.program.clock.check()
        reason, index = -code & 7, -code >> 3
        if reason == machine.NEED_STATE:
            self._expand_ahead(index)
        elif reason == machine.NEED_BORDER:
            self._expand_border(index)
        elif reason == machine.NEED_AND:
            b, c, _ = self._arrays[Place.PAIR].tolist()
            self._conjoin(b, c)
        elif reason == machine.NEED_LIVE:
            self._expand_ahead(index)
        elif reason == machine.NEED_VERDICT:
            self._judge(*self._arrays[Place.PAIR].tolist())
        elif reason == machine.FULL:
            if index == 0:
                blocks = (Place.S_INDENT, Place.S_OPENER, Place.S_BRACKETS) if self.arena[Place.INDENTS] else ()
                self._grow(*blocks, Place.S_PARENT, Place.S_SYMBOL, Place.S_CLASS, Place.S_HASH)
            elif index == 1:
                self._grow(Place.K_LEXER, Place.K_LIVE)
            elif index == 3:
                self._grow(Place.C_NEXT)
            elif index in SURVEY_ARRAYS:
                self._grow(*SURVEY_ARRAYS[index])
            elif self.arena[Place.C_COUNT] >= self.arena[Place.C_CAPACITY]:
                self._grow(Place.C_OFFSET, Place.C_LENGTH, Place.C_ACCEPTS, Place.C_ROW, Place.C_KIND, Place.C_HASH)
            else:
                self._grow(Place.THREADS)
        else:
            raise LimitExceeded(
                f"the text so far can be read in more than {machine.WIDEST:,} ways at once; make the grammar less ambiguous"
            )

    def _expand_ahead(self, number: int) -> None:
        """Makes a state, and those that bytes lead to from it: a walk over tokens that needs one needs the others next."""
        done = machine.EXPANDED | machine.LIVE_KNOWN
        waiting, seen = [number], {number}
        for here in waiting:
            state = self.objects[here]
            if not self._arrays[Place.Q_STATUS][here] & machine.EXPANDED:
                self._expand(here)
            if not self._arrays[Place.Q_STATUS][here] & machine.LIVE_KNOWN:
                self._find_live(here)
            if len(waiting) < (AHEAD if isinstance(state, LexerState) else AHEAD_TERMS if self.uses_surveys else 1):
                for after in sorted(set(self._arrays[Place.Q_NEXT][here].tolist())):
                    if after >= FIRST_REAL and after not in seen and self._arrays[Place.Q_STATUS][after] & done != done:
                        seen.add(after)
                        waiting.append(after)

    def _expand(self, number: int) -> None:
        program, state = self.program, self.objects[number]
        edges, moves, tokens = program.expand(state)
        row = np.zeros(program.columns, np.int32)
        for bits, target in edges:
            row[program.byte_sets.classes_in(bits)] = self._number(target)
        for column, target in tokens:
            row[column] = self._number(target)
        encoded = [self._move(*move) for move in moves]
        first = int(self._move_count)
        while first + len(encoded) > len(self._arrays[Place.MOVES]):
            self._grow(Place.MOVES)
        if encoded:
            self._arrays[Place.MOVES][first : first + len(encoded)] = encoded
        self._move_count = first + len(encoded)
        self._arrays[Place.Q_NEXT][number] = row
        self._arrays[Place.Q_MOVES][number] = first, len(encoded)
        status = machine.EXPANDED | (machine.READS if edges or tokens else 0)
        trust = program.trust
        if trust.level != machine.UNCHECKED:
            status |= machine.BETWEEN if trust.is_between(state) else 0
            status |= machine.DOUBTFUL if trust.is_doubtful(state) else 0
        self._arrays[Place.Q_STATUS][number] |= status | (machine.LOOPS if program.loops(state) else 0)

    _move_count = 0

    def _move(self, kind: int, operand: Any, other: Any) -> tuple[int, int, int]:
        if kind == machine.CALL:
            after = 0 if other is None else self._number(other)
            if after:
                self._mark_loop(after)
            return kind, self._number(operand), after
        if kind in (machine.LEX, machine.LINE):
            return kind, operand, self._border(other)
        if kind == machine.POP:
            return kind, 0, self._border(other)
        return kind, operand or 0, 0

    def _mark_loop(self, number: int) -> None:
        if self.program.loops(self.objects[number]):
            self._arrays[Place.Q_STATUS][number] |= machine.LOOPS

    def _expand_border(self, number: int) -> None:
        program, term = self.program, self.border_terms[number]
        row = np.zeros(program.columns, np.int32)
        for bits, target in program.algebra.edges(term):
            row[program.byte_sets.classes_in(bits)] = self._border(target)
        if program.border_reads_on:
            row[len(program.byte_sets.samples) :] = number
        elif term.nullable:  # a special token is no text: what the border is about has ended
            row[len(program.byte_sets.samples) :] = 1
        self._arrays[Place.B_NEXT][number] = row
        self._arrays[Place.B_STATUS][number] |= machine.EXPANDED

    def _conjoin(self, b: int, c: int) -> None:
        number = self._border(self.program.algebra.both((self.border_terms[b], self.border_terms[c])))
        self._remember_pair(min(b, c) << 32 | max(b, c), number)

    def _remember_pair(self, key: int, number: int) -> None:
        table = self._arrays[Place.B_AND]
        if 2 * int((table[:, 0] >= 0).sum()) >= len(table):
            self._grow(Place.B_AND)
        pushdown_walk.remember_pair(self.address, key, number)

    def _find_live(self, number: int) -> None:
        state = self.objects[number]
        assert isinstance(state, LexerState)
        bits = self.program.trust.may_become(state)
        self._arrays[Place.Q_LIVE][number] = self._as_words(bits)
        self._arrays[Place.Q_STATUS][number] |= machine.LIVE_KNOWN

    def _as_words(self, bits: int) -> list[int]:
        return [bits >> 64 * w & (1 << 64) - 1 for w in range(max(1, self._words))]

    # ------------------------------------------------------------------ what can be finished

    def _judge(self, q: int, stack: int, border: int) -> None:
        """The verdict on a state under a border (no stack: -1 - the lexer of its context), or on a thread."""
        trust, state, term = self.program.trust, self.objects[q], self.border_terms[border]
        if stack < 0:
            verdict, value = trust.verdict(state, term, self.objects[-1 - stack]), self._verdicts
            if value >= len(self._arrays[Place.VERDICTS]):
                self._grow(Place.VERDICTS)
            self._arrays[Place.VERDICTS][value] = self._as_words(verdict.surely) + self._as_words(verdict.maybe)
            self._verdicts += 1
        else:
            self._find_bottom(stack)
            value = trust.liveness.alive_on(state, term, stack, self._look, self._finishes)
        table = self._arrays[Place.JUDGED]
        self._judged += 1
        if 2 * self._judged >= len(table):
            self._grow(Place.JUDGED)
        pushdown_walk.remember_verdict(self.address, q, stack, border, int(value))

    def _look(self, stack: Any) -> tuple[Any, int] | None:
        """(top, stack below); None of the empty stack."""
        symbol = int(self._arrays[Place.S_SYMBOL][stack])
        if symbol == machine.ROOT:
            return None
        below = int(self._arrays[Place.S_PARENT][stack])
        return (symbol - LR_BASE if symbol >= LR_BASE else self.objects[symbol]), below

    def _find_bottom(self, stack: int) -> None:
        """Raises where the bottom is unknown, as in a survey: then surveys are no use for this grammar."""
        symbols, parents = self._arrays[Place.S_SYMBOL], self._arrays[Place.S_PARENT]
        while stack and symbols[stack] >= 0:
            stack = parents[stack]
        if stack:
            self.program.trust.needs_walks = True
            raise _NeedsWalks

    def _made(self, kernel: Callable[..., int], *arguments: int) -> int:
        """What the kernel answers once it lacks nothing."""
        while True:
            found = kernel(self.address, *arguments)
            if found >= 0:
                return found
            self._supply(found)

    # ------------------------------------------------------------------ configs in and out

    def state_of(self, threads: tuple[Thread, ...]) -> int:
        """The number of a config in this epoch."""
        rows = []
        for thread in threads:
            stack = 0
            for symbol in reversed(thread.stack):
                number = LR_BASE + symbol if isinstance(symbol, int) else self._number(symbol)
                stack = self._made(walk.push_symbol, stack, number)
            rows.append((self._number(thread.state), stack, self._border(thread.border)))
        while True:
            self._arrays[Place.WORK][: len(rows)] = rows
            found = walk.make_config(self.address, len(rows))
            if found >= 0:
                return found
            self._supply(found)

    def export(self, config: int) -> tuple[Thread, ...]:
        """The config without numbers."""
        offset, length = self._arrays[Place.C_OFFSET][config], self._arrays[Place.C_LENGTH][config]
        out = []
        for q, stack, border in self._arrays[Place.THREADS][offset : offset + length].tolist():
            symbols, rest = [], stack
            while rest:
                symbol = int(self._arrays[Place.S_SYMBOL][rest])
                symbols.append(symbol - LR_BASE if symbol >= LR_BASE else self.objects[symbol])
                rest = int(self._arrays[Place.S_PARENT][rest])
            out.append(
                Thread(ACCEPTED if q == machine.ACCEPT else self.objects[q], tuple(symbols), self.border_terms[border])
            )
        return tuple(out)

    @property
    def terms(self) -> _Exports:
        return _Exports(self)

    # ------------------------------------------------------------------ rows and steps

    def row(self, state: int) -> np.ndarray:
        """The mask row of a state (read only): tokens that can be read and completed, stop ids iff the text may end."""
        known = self.rows[state]
        if known is None:
            known = self.rows[state] = self._share(self._make_row(state))
        return known

    def _make_row(self, state: int) -> np.ndarray:
        facts = self.program.facts
        words = len(facts.stop_row)
        row = np.zeros(2 * (words + 1), np.int32)  # a word to spare behind each of two rows, the second is scratch
        if self.accepting[state]:
            row[:words] = facts.stop_row
        if not self._fill_from_surveys(state, row):
            row[:words] = facts.stop_row if self.accepting[state] else 0
            scratch = np.zeros(facts.deepest + 2, np.int32)
            scratch[0] = state
            self._made(walk.fill_row, scratch.ctypes.data, len(scratch), row.ctypes.data)
        bits = row.view(np.uint8)
        for token in self.special_tokens(state):
            bits[token >> 3] |= 1 << (token & 7)
        if not self.program.tokens_spell_all:
            targets = self.targets(state)
            for token in ids_of(row[:words] & ~facts.stop_row).tolist():
                if not self.ends.is_usable(int(targets[token])):
                    bits[token >> 3] &= ~(1 << (token & 7)) & 0xFF
        return row[:words].copy()

    def _fill_from_surveys(self, state: int, row: np.ndarray) -> bool:
        """False where it takes a walk from the state itself."""
        if not self.uses_surveys or self.program.trust.needs_walks:
            return False
        try:
            with SCRATCH_LOCK:
                self._made(walk.fill_from_surveys, state, row.ctypes.data)
        except _NeedsWalks:
            return False
        return True

    def special_tokens(self, state: int) -> list[int]:
        """The special tokens that may come next."""
        columns = self.program.token_columns
        if not columns or state <= FINISHED:
            return []
        offset, length = self._arrays[Place.C_OFFSET][state], self._arrays[Place.C_LENGTH][state]
        automaton_states = self._arrays[Place.THREADS][offset : offset + length, 0]
        asked = self._arrays[Place.Q_NEXT][automaton_states].any(axis=0)
        return [t for t, column in columns.items() if asked[column] and self._made(walk.advance_column, state, column)]

    def _share(self, row: np.ndarray) -> np.ndarray:
        """States with equal rows share one array; all rows are dropped when they take too much."""
        key = hashlib.blake2b(row.data, digest_size=16).digest()
        shared = self._shared_rows.get(key)
        if shared is not None and np.array_equal(shared, row):
            return shared
        if self._row_bytes + row.nbytes > self.program.limits.max_bytes // 2:
            finished = self.rows[FINISHED]
            self.rows.clear()
            self.rows[FINISHED] = finished
            self._shared_rows.clear()
            self._row_bytes = 0
        row.setflags(write=False)
        self._shared_rows[key] = row
        self._row_bytes += row.nbytes
        return row

    def after_token(self, state: int, token: int) -> int:
        """The state behind a token, 0 where it is refused."""
        column = self.program.token_columns.get(token)
        if column is not None:
            return self._usable(self._made(walk.advance_column, state, column))
        return self._usable(self._made(walk.advance, state, token))

    def peek_token(self, address: int, state: int, token: int) -> int:
        """What after_token says, negative where Python must make something first."""
        with self.program.lock:  # configs are made on the way
            if token in self.program.token_columns or not self.program.tokens_spell_all:
                return -1
            after: int = walk.advance(self.address, state, token)
            return after

    def after_bytes(self, state: int, data: bytes) -> int:
        """The state behind any bytes, 0 where they are refused."""
        return self._usable(self.after_text(state, data))

    def after_text(self, state: int, data: bytes) -> int:
        """The state behind any bytes, usable or not."""
        array = np.frombuffer(bytes(data), np.uint8)
        return self._made(walk.advance_bytes, state, array.ctypes.data if len(array) else 0, len(array))

    def _usable(self, state: int) -> int:
        return state if self.program.tokens_spell_all or not state or self.ends.is_usable(state) else 0

    def is_usable(self, state: int) -> bool:
        """Can tokens of single bytes, and special ones, complete a text from this state?"""
        return self.ends.is_usable(state)

    # ------------------------------------------------------------------ how the text can end

    @functools.cached_property
    def ends(self) -> StackEnds:
        return StackEnds(self)

    @functools.cached_property
    def rule_names(self) -> RuleNames:
        return RuleNames(self.program)

    def describe(self, state: int) -> str:
        """Where the text stands, in words."""
        return "" if state == FINISHED else describe(self, state)

    def completion(self, state: int) -> bytes | None:
        """Bytes that end the text; None where none are known, or special tokens are needed."""
        found = self.completion_parts(state)
        if found is None or any(isinstance(part, int) for part in found):
            return None
        return b"".join(part for part in found if isinstance(part, bytes))

    def completion_parts(self, state: int) -> list[bytes | int] | None:
        """Bytes and special tokens that end the text; None where none are known."""
        if state == FINISHED:
            return []
        letters = self.ends.of(state)
        return None if letters is None else parts(letters)

    def targets(self, state: int) -> np.ndarray:
        """int32: the state behind each token that the row of the state allows; other entries mean nothing."""
        targets = np.zeros(self.program.vocab.words * 32 + 1, np.int32)
        scratch = np.zeros(self.program.facts.deepest + 2, np.int32)
        scratch[0] = state
        self._made(walk.fill_targets, scratch.ctypes.data, len(scratch), targets.ctypes.data)
        for token in self.special_tokens(state):
            targets[token] = self._made(walk.advance_column, state, self.program.token_columns[token])
        return targets[:-1]

    def made(self, kernel: Callable[..., int], *arguments: int) -> int:
        """What a kernel answers, for those who look at configs from outside."""
        return self._made(kernel, *arguments)

    def after_column(self, state: int, column: int) -> int:
        """The state behind one letter, 0 where it cannot be read."""
        return self._made(walk.advance_column, state, column)

    def array(self, place: Place) -> np.ndarray:
        """An array as it is now: the next call of a kernel may replace it."""
        return self._arrays[place]

    def threads_of(self, state: int) -> list[list[int]]:
        """(automaton state, stack, border) of each thread."""
        offset, length = int(self._arrays[Place.C_OFFSET][state]), int(self._arrays[Place.C_LENGTH][state])
        threads: list[list[int]] = self._arrays[Place.THREADS][offset : offset + length].tolist()
        return threads

    @property
    def nbytes(self) -> int:
        own = sum(self._arrays[place].nbytes for place in self._widths)
        ends = self.__dict__["ends"].nbytes if "ends" in self.__dict__ else 0
        return own + self._row_bytes + 400 * len(self.objects) + ends


class _Exports:
    """Configs without numbers, by number: what a matcher carries from a full epoch to the next."""

    def __init__(self, epoch: StackEpoch):
        self._epoch = epoch

    def __getitem__(self, config: int) -> tuple[Thread, ...]:
        return self._epoch.export(config)


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


@functools.lru_cache(maxsize=4)
def _scratch_of(vocab: Vocabulary) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a survey writes down meanwhile; guarded by SCRATCH_LOCK, so that all automata over a vocabulary share it."""
    most = len(vocab.data) + len(vocab.trie.byte) + 1024
    return (
        np.zeros((most, 3), np.int32),
        np.zeros((most, 3), np.int32),
        np.zeros((len(vocab.trie.byte) + 1024, 2), np.int32),
    )


ACCEPTED = object()  # the pseudo-state ACCEPT, without its number
