"""One epoch (generation of states) of a lazy automaton: states, their transitions and their mask rows.

A state stands for a term of grammars/regular/terms.py, or for two in a row (`Algebra.open_edges`). An epoch owns everything
that depends on state numbers: the terms, the transition table that the kernels read, and the mask rows.

Who may write: Python, under the automaton's lock. Kernels only read, without the GIL. An array that must grow is
replaced, never resized: a kernel works on the arrays of the `Tables` that its caller holds, and an entry that is
missing there is looked up again under the lock. A row of the table is MISS until all of its targets are known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.regular.derivatives import Algebra, Pair
from grammarlm.grammars.regular.terms import NOTHING, Term
from grammarlm.kernels import entries
from grammarlm.layout.table import DEAD, DONE, MISS, NO, UNKNOWN, YES, Arena
from grammarlm.masks.protocol import FINISHED, EpochDefaults
from grammarlm.masks.shared_rows import SharedRows

from .completion import Completions
from .dense_rows import DenseRows

if TYPE_CHECKING:
    from .program import RegularProgram

FIRST_CAPACITY = 64  # states; doubled when full


@dataclass(frozen=True)
class Tables:
    """What a kernel reads. `arena` holds the addresses of the other arrays, which live as long as this object."""

    next: np.ndarray  # int32 [S, C]
    usable: np.ndarray  # uint8 [S]
    class_of: np.ndarray  # uint8 [256]
    arena: np.ndarray  # int64 [Arena.LENGTH]
    address: int  # of the arena


class _Terms:
    """The terms of states."""

    def __init__(self, keys: list[Term | Pair], algebra: Algebra):
        self._keys, self._algebra = keys, algebra

    def __getitem__(self, state: int) -> Term:
        key = self._keys[state]
        return self._algebra.cat(*key) if isinstance(key, tuple) else key


class RegularEpoch(EpochDefaults):
    """One epoch of states. All methods run under the automaton's lock, except `peek_token` and `try_row`; `rows`,
    `accepting` and `tables` are read without it."""

    rows_in_parallel = has_table = True
    targets_at_once = 1 << 31
    peek_token: Callable[[int, int, int], int]
    """(tables.address, state, token) -> the result of after_token, without the lock; negative if something must be made first.

    The caller keeps a reference to `tables` during the call.
    """

    def __init__(self, program: RegularProgram):
        self.program = program
        self._keys: list[Term | Pair] = [NOTHING, NOTHING]  # what the states stand for
        self.accepting: list[bool] = [False, True]
        self.rows: list[np.ndarray | None] = [np.zeros(program.vocab.words, np.int32), program.facts.stop_row]
        self._index: dict[Term | Pair, int] = {}
        self._shared_rows = SharedRows()
        self._dense = DenseRows(program)
        self._completions: Completions | None = None
        self.is_full = False
        self.tables = self._allocate(FIRST_CAPACITY)
        self.tables.next[:2] = DEAD
        self.peek_token = entries.advance if program.tokens_spell_all else self._peek_usable
        self.start = self.state_of(program.start)

    # ------------------------------------------------------------------ states

    def _allocate(self, capacity: int) -> Tables:
        program = self.program
        vocab, trie = program.vocab, program.vocab.trie
        table = np.full((capacity, len(program.byte_sets.samples)), MISS, np.int32)
        usable = np.full(capacity, YES if program.tokens_spell_all else UNKNOWN, np.uint8)
        if len(self._keys) > 2:
            filled = len(self._keys)
            table[:filled] = self.tables.next[:filled]
            usable[:filled] = self.tables.usable[:filled]
        class_of = program.byte_sets.class_of
        is_text = program.facts.is_text
        arena = np.zeros(Arena.LENGTH, np.int64)
        for place, array in (
            (Arena.NEXT, table),
            (Arena.CLASS_OF, class_of),
            (Arena.USABLE, usable),
            (Arena.BYTE, trie.byte),
            (Arena.DEPTH, trie.depth),
            (Arena.END, trie.end),
            (Arena.TOKEN, trie.token),
            (Arena.TWINS, trie.twins),
            (Arena.OFFSETS, vocab.offsets),
            (Arena.DATA, vocab.data),
            (Arena.IS_TEXT, is_text),
        ):
            arena[place] = array.ctypes.data
        arena[Arena.CLASSES], arena[Arena.STATES] = table.shape[1], capacity
        arena[Arena.NODES], arena[Arena.TWIN_COUNT] = len(trie.byte), len(trie.twins)
        arena[Arena.NOTHING], arena[Arena.SPELLS_ALL] = vocab.words * 32, program.tokens_spell_all
        arena[Arena.VOCABULARY], arena[Arena.DATA_LENGTH] = len(is_text), len(vocab.data)
        self._room = min(capacity, program.limits.max_states)
        return Tables(table, usable, class_of, arena, arena.ctypes.data)

    def state_of(self, term: Term) -> int:
        """The number of a term's state, DEAD where its language is empty."""
        state = self._index.get(term)
        if state is None:
            alive = term.sure or term.nullable or self.program.is_alive(term)
            state = self._index[term] = self._add(term, term.nullable) if alive else DEAD
        return state

    def _add(self, key: Term | Pair, accepts: bool) -> int:
        """Adds a state, its transitions still missing."""
        state = len(self._keys)
        if state >= self._room:
            self._make_room(state)
        self._keys.append(key)
        self.accepting.append(accepts)
        self.rows.append(None)
        return state

    def _make_room(self, states: int) -> None:
        """Makes room for more than this number of states."""
        limits = self.program.limits
        if states >= limits.max_states:
            self.is_full = True
            raise LimitExceeded(
                f"the grammar needs more than limits.max_states = {limits.max_states} states at once; "
                "simplify it or raise the limit"
            )
        if 2 * self.tables.next.nbytes > limits.max_bytes:
            self.is_full = True
            raise LimitExceeded(
                f"the grammar's transitions need more than limits.max_bytes = {limits.max_bytes}; "
                "simplify it or raise the limit"
            )
        self.tables = self._allocate(2 * states)

    @property
    def terms(self) -> _Terms:
        """What the states stand for, by number."""
        return _Terms(self._keys, self.program.algebra)

    def expand(self, state: int) -> None:
        """Makes the transitions of a state."""
        program = self.program
        program.clock.check()
        if self.tables.next[state, 0] != MISS:
            return
        known, classes_of = self._index, program.byte_sets.known
        targets = [DEAD] * len(program.byte_sets.samples)
        for bits, key in program.algebra.open_edges(self._keys[state]):
            target = known.get(key)
            if target is None:
                if isinstance(key, tuple):
                    target = known[key] = self._add(key, False)
                else:
                    target = self.state_of(key)
            classes = classes_of.get(bits)
            for index in program.byte_sets.classes_in(bits) if classes is None else classes:
                targets[index] = target
        self.tables.next[state] = targets

    # ------------------------------------------------------------------ can tokens complete a text from here?

    def is_usable(self, state: int) -> bool:
        """Can some sequence of tokens complete a text from this state? A fixpoint over tokens, by breadth-first search."""
        usable = self.tables.usable
        if usable[state] != UNKNOWN:
            return bool(usable[state] == YES)
        came_from = {state: DEAD}
        queue = deque([state])
        found = DEAD
        while queue and not found:
            here = queue.popleft()
            if self.accepting[here] or self.tables.usable[here] == YES:
                found = here
                break
            for target in self._token_successors(here):
                if target not in came_from and self.tables.usable[target] != NO:
                    came_from[target] = here
                    queue.append(target)
        usable = self.tables.usable
        if not found:
            usable[list(came_from)] = NO
            return False
        while found:
            usable[found] = YES
            found = came_from[found]
        return True

    def _token_successors(self, state: int) -> list[int]:
        after = self.targets(state, self.program.vocab.text_ids)
        marks = np.zeros(len(self.tables.usable), bool)
        marks[after] = True
        marks[DEAD] = False
        return np.flatnonzero(marks).tolist()

    def scratch(self, state: int) -> np.ndarray:
        """Initial scratch memory of a kernel's walk (kernels/cpu/table/walk.py)."""
        scratch = np.zeros(self.program.facts.deepest + 2, np.int32)
        scratch[0] = state
        return scratch

    # ------------------------------------------------------------------ rows and steps

    def row(self, state: int) -> np.ndarray:
        """The mask row of a state (read only): tokens that can be read and completed, stop ids iff the text may end."""
        known = self.rows[state]
        if known is None:
            self.expand(state)
            row = self._walked(state, may_make=True)
            assert row is not None  # whatever was missing has been made
            known = self.rows[state] = self._share(row)
        return known

    def try_row(self, state: int) -> np.ndarray | None:
        """row(), without the lock; None where something else must be made first."""
        known = self.rows[state]
        if known is not None:
            return known
        row = None if self.tables.next[state, 0] == MISS else self._walked(state, may_make=False)
        if row is None:
            return None
        known = self._share(row)
        self.rows[state] = known
        return known

    def _walked(self, state: int, may_make: bool) -> np.ndarray | None:
        """The row of a state, None where something is missing that may not be made."""
        facts, scratch = self.program.facts, self.scratch(state)
        row = np.zeros(len(facts.stop_row) + 1, np.int32)
        tables = self.tables
        trees = self._dense.take_over(tables.next, tables.class_of, state, row)
        if self.accepting[state]:
            row[:-1] |= facts.stop_row
        if trees is not None:
            is_made = all(self._add_tree(scratch, first, end, row, may_make) for first, end in trees)
            return row[:-1].copy() if is_made else None
        memory = scratch.ctypes.data, len(scratch), row.ctypes.data
        tables = self.tables  # kept in a local: its arrays must outlive the call
        while missing := entries.fill_row(tables.address, *memory):
            if not may_make:
                return None
            self._make(missing)
            tables = self.tables
        made = row[:-1].copy()
        self._dense.note(state, made)
        return made

    def add_below(self, state: int, nodes: np.ndarray, row: np.ndarray) -> None:
        """Allows the tokens below nodes of the trie whose remainders can be read from a state, in a row with a word to spare."""
        trie, scratch = self.program.vocab.trie, self.scratch(state)
        for depth, node, end in zip(trie.depth[nodes].tolist(), nodes.tolist(), trie.end[nodes].tolist(), strict=True):
            scratch[depth] = state
            self._add_tree(scratch, node + 1, end, row, may_make=True)

    def _add_tree(self, scratch: np.ndarray, first: int, end: int, row: np.ndarray, may_make: bool) -> bool:
        """Allows tokens at some nodes of the trie (up to `end`), of which `scratch` has the state above; False where something is
        missing that may not be made."""
        scratch[-1] = first
        while True:
            tables = self.tables  # kept in a local: its arrays must outlive the call
            arena = tables.arena.copy()
            arena[Arena.NODES] = end
            missing = entries.fill_row(arena.ctypes.data, scratch.ctypes.data, len(scratch), row.ctypes.data)
            if missing == DONE or not may_make:
                return bool(missing == DONE)
            self._make(missing)

    def _make(self, missing: int) -> None:
        """What a walk of a row has found missing."""
        if missing > 0:
            self.expand(missing)
        else:
            self.is_usable(-missing)

    def _share(self, row: np.ndarray) -> np.ndarray:
        """States with equal rows share one array; all rows are dropped when they take too much."""
        if self._shared_rows.nbytes + row.nbytes > self.program.limits.max_bytes:
            for state in range(2, len(self.rows)):
                self.rows[state] = None
            self._shared_rows.clear()
        return self._shared_rows.shared(row)

    def _peek_usable(self, address: int, state: int, token: int) -> int:
        after: int = entries.advance(address, state, token)
        if after > DEAD and (known := self.tables.usable[after]) != YES:
            return MISS if known == UNKNOWN else DEAD
        return after

    def after_token(self, state: int, token: int) -> int:
        """The state after a token, DEAD where it is refused."""
        while True:
            tables = self.tables
            after = entries.advance(tables.address, state, token)
            if after >= 0:
                break
            self.expand(-after)
        return after if after and self.is_usable(after) else DEAD

    def after_bytes(self, state: int, data: bytes) -> int:
        """The state after any bytes, DEAD where they are refused."""
        class_of = self.program.byte_sets.class_of
        for byte in data:
            if self.tables.next[state, 0] == MISS:
                self.expand(state)
            state = int(self.tables.next[state, class_of[byte]])
            if state == DEAD:
                return DEAD
        return state if self.is_usable(state) else DEAD

    def next_bytes(self, state: int) -> np.ndarray:
        """bool [256]: which bytes can come next."""
        self.expand(state)
        found: np.ndarray = self.tables.next[state][self.tables.class_of] != DEAD
        return found

    def targets(self, state: int, tokens: np.ndarray) -> np.ndarray:
        """The states after tokens, all found by one walk; DEAD after those that are refused."""
        targets = np.zeros(self.program.vocab.words * 32 + 1, np.int32)
        scratch = self.scratch(state)
        addresses = scratch.ctypes.data, len(scratch), targets.ctypes.data
        while True:
            tables = self.tables
            missing = entries.fill_targets(tables.address, *addresses)
            if missing == DONE:
                found: np.ndarray = targets[tokens]
                return found
            self.expand(missing)

    # ------------------------------------------------------------------ completions

    def completion(self, state: int) -> list[bytes] | None:
        """The shortest bytes that end the text, the first in byte order; None where they are too many to be written down."""
        if state == FINISHED:
            return []
        shortest: bytes | None = self._ends().of(self.terms[state])
        return None if shortest is None else [shortest]

    def completion_limit(self, state: int) -> int | None:
        """Upper bound in bytes on the completion of every state that tokens reach; None where it is not known."""
        return self._ends().ceiling(self.program.start)

    def _ends(self) -> Completions:
        if self._completions is None:
            program = self.program
            self._completions = Completions(program.algebra, program.limits.max_states, program.clock.check)
        return self._completions

    @property
    def nbytes(self) -> int:
        return self.tables.next.nbytes + self.tables.usable.nbytes + self._shared_rows.nbytes + 400 * len(self._keys)
