"""The lazy automaton: states are made when somebody walks there, and shared by all matchers of a constraint.

A state stands for a term of grammars/regular.py. An `Epoch` owns everything that hangs on state numbers: the terms, the transition
table that the kernels read, and the mask rows. When an epoch has reached its limits a new, empty one takes its place, and a matcher
that still holds a state of the old one moves over by the state's term (`Automaton.renew`); the old epoch goes with its last holder.

Who may write: Python, under the automaton's lock. Kernels only read, without the GIL. An array that must grow is replaced, never
moved: a kernel works on the arrays of the `Tables` that its caller holds, and an entry that it finds missing there is asked for
again under the lock. A row of the table is MISS until all of its targets are known.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..errors import LimitExceeded, UnsatisfiableGrammar
from ..grammars import utf8
from ..grammars.byte_classes import FIRST_NODE, CharacterPattern, byte_partition, character_pattern
from ..grammars.regular import Algebra
from ..grammars.terms import CAT, CHARS, NIL, NOTHING, Term
from ..kernels.cpu import walk
from ..kernels.cpu.table import DEAD, MISS, Arena
from ..vocab.vocabulary import Vocabulary
from .limits import Clock, Limits

FINISHED = 1  # the state behind a stop token
FIRST_CAPACITY = 64  # states; doubled when full


@dataclass(frozen=True)
class Tables:
    """What a kernel reads. `arena` holds the addresses of the other arrays, which live as long as this object."""

    next: np.ndarray  # int32 [S, C]
    usable: np.ndarray  # uint8 [S]
    class_of: np.ndarray  # uint8 [256]
    arena: np.ndarray  # int64 [Arena.LENGTH]
    address: int  # of the arena


class Automaton:
    """States, transitions and mask rows of one language over one vocabulary."""

    def __init__(self, start: Term, algebra: Algebra, vocab: Vocabulary, limits: Limits):
        self.start, self.algebra, self.vocab, self.limits = start, algebra, vocab, limits
        self.lock = threading.RLock()
        self.clock = Clock(limits)
        self.byte_sets = byte_partition(start)
        used = functools.reduce(operator.or_, self.byte_sets.used)
        self.facts = token_facts(vocab)
        # Where each byte that the language uses is a token of its own, tokens can spell whatever bytes can.
        self.tokens_spell_all = not used & ~self.facts.single_bytes
        self._alive: dict[Term, bool] = {}
        self._patterns: dict[int, CharacterPattern] = {}
        self.epoch = Epoch(self)
        if not self.is_alive(start):
            raise UnsatisfiableGrammar("the grammar matches no text at all; check its intersections and look-aheads")
        if not self.tokens_spell_all and not self.epoch.is_usable(self.epoch.start):
            raise UnsatisfiableGrammar(
                "no sequence of this vocabulary's tokens spells a text of the grammar; "
                "the vocabulary lacks tokens for some of its bytes"
            )

    def renew(self, term: Term) -> tuple[Epoch, int]:
        """The current epoch and the state of the term in it; a new epoch where the current one is full."""
        with self.lock:
            if not self.epoch.is_full:
                try:
                    return self.epoch, self.epoch.state_of(term)
                except LimitExceeded:
                    if not self.epoch.is_full:
                        raise
            self.algebra.forget()
            self._alive.clear()
            self.epoch = Epoch(self)
            return self.epoch, self.epoch.state_of(term)

    @property
    def checks_tokens(self) -> bool:
        return not self.tokens_spell_all

    def is_alive(self, term: Term) -> bool:
        """Is there a text in the language? Searched breadth first, the term's path to it remembered."""
        if term.sure or term.nullable or term in self._alive:
            return term.sure or term.nullable or self._alive[term]
        came_from: dict[Term, Term | None] = {term: None}
        queue = deque([term])
        found = None
        while queue and found is None:
            here = queue.popleft()
            self.clock.check()
            for _, target in self.algebra.edges(here):
                if target in came_from or self._alive.get(target) is False:
                    continue
                came_from[target] = here
                if target.nullable or target.sure or self._alive.get(target):
                    found = target
                    break
                queue.append(target)
            if len(came_from) > self.limits.max_states:
                raise LimitExceeded(
                    f"whether a text exists is not decided after {self.limits.max_states} states; "
                    "simplify intersections and look-aheads, or raise limits.max_states"
                )
        if found is None:
            self._alive.update(dict.fromkeys(came_from, False))
            return False
        while found is not None:
            self._alive[found] = True
            found = came_from[found]
        return True

    def pattern_of(self, root: utf8.Edges) -> CharacterPattern:
        """The transitions of one character out of a set, made once."""
        pattern = self._patterns.get(id(root))
        if pattern is None:
            pattern = self._patterns[id(root)] = character_pattern(root, self.byte_sets)
        return pattern

    @property
    def nbytes(self) -> int:
        return self.epoch.nbytes


class Epoch:
    """One generation of states. All methods but `row` lookups run under the automaton's lock."""

    def __init__(self, automaton: Automaton):
        self.automaton = automaton
        self.terms: list = [NOTHING, NOTHING]  # Term; (characters, rest) for a stamped state nobody asked for
        self.accepting: list[bool] = [False, False]
        self.rows: list[np.ndarray | None] = [np.zeros(automaton.vocab.words, np.int32), automaton.facts.stop_row]
        self._index: dict[Term, int] = {}
        self._shared_rows: dict[bytes, np.ndarray] = {}
        self._row_bytes = 0
        self.is_full = False
        self.tables = self._allocate(FIRST_CAPACITY)
        self.tables.next[:2] = DEAD
        self.start = self.state_of(automaton.start)

    # ------------------------------------------------------------------ states

    def _allocate(self, capacity: int) -> Tables:
        automaton = self.automaton
        vocab, trie = automaton.vocab, automaton.vocab.trie
        table = np.full((capacity, len(automaton.byte_sets.samples)), MISS, np.int32)
        usable = np.full(capacity, walk.YES if automaton.tokens_spell_all else walk.UNKNOWN, np.uint8)
        if len(self.terms) > 2:
            filled = len(self.terms)
            table[:filled] = self.tables.next[:filled]
            usable[:filled] = self.tables.usable[:filled]
        class_of = automaton.byte_sets.class_of
        is_text = automaton.facts.is_text
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
        arena[Arena.NOTHING], arena[Arena.SPELLS_ALL] = vocab.words * 32, automaton.tokens_spell_all
        arena[Arena.VOCABULARY], arena[Arena.DATA_LENGTH] = len(is_text), len(vocab.data)
        return Tables(table, usable, class_of, arena, arena.ctypes.data)

    def state_of(self, term: Term) -> int:
        """The number of a term's state, DEAD where no text is in its language."""
        state = self._index.get(term)
        if state is None:
            if self.automaton.is_alive(term):
                return self._add(term)
            state = self._index[term] = DEAD
        return state

    def term_of(self, state: int) -> Term:
        """The term of a state; those of stamped states are made when somebody asks."""
        term = self.terms[state]
        if isinstance(term, tuple):
            algebra = self.automaton.algebra
            term = self.terms[state] = algebra.cat(algebra.chars(term[0]), term[1])
        return term

    def _add(self, term: Term) -> int:
        """A state for the term, transitions still missing; a term that begins with a set of characters gets them at once.

        Behind the first byte of a character stand the states for its other bytes: dozens for `\\w`, again and again for each
        place in the grammar. They differ in nothing but the state behind the character, so they are stamped from one pattern.
        """
        chain = []  # of such terms, each behind the one before: a loop, because a pattern may be thousands of sets long
        while term not in self._index:
            head, rest = term.parts if term.kind == CAT else (term, NIL)
            if head.kind != CHARS:
                (self._index[term],) = self._append([term], [term.nullable])
                break
            chain.append((term, head, rest))
            term = rest
        behind = self._index[term]
        for whole, head, rest in reversed(chain):
            self._index[whole] = behind = self._stamp(whole, head, rest, behind)
        return behind

    def _stamp(self, whole: Term, head: Term, rest: Term, behind: int) -> int:
        pattern = self.automaton.pattern_of(head.data)
        count = len(pattern.nodes)
        block = self._append([whole, *((node, rest) for node in pattern.nodes[1:])], [False] * count)
        targets = np.arange(block[0] - FIRST_NODE, block[0] + count, dtype=np.int32)
        targets[:FIRST_NODE] = DEAD, behind
        self.tables.next[block[0] : block[0] + count] = targets[pattern.codes]
        return block[0]

    def _append(self, terms: list, accepting: list[bool]) -> range:
        limits = self.automaton.limits
        block = range(len(self.terms), len(self.terms) + len(terms))
        if block.stop > limits.max_states:
            self.is_full = True
            raise LimitExceeded(
                f"the grammar needs more than limits.max_states = {limits.max_states} states at once; "
                "simplify it or raise the limit"
            )
        capacity = len(self.tables.next)
        while block.stop > capacity:
            capacity *= 2
        if capacity > len(self.tables.next):
            if capacity * self.tables.next.shape[1] * 4 > limits.max_bytes:
                self.is_full = True
                raise LimitExceeded(
                    f"the grammar's transitions need more than limits.max_bytes = {limits.max_bytes}; "
                    "simplify it or raise the limit"
                )
            self.tables = self._allocate(capacity)
        self.terms += terms
        self.accepting += accepting
        self.rows += [None] * len(terms)
        return block

    def expand(self, state: int) -> None:
        """Makes the transitions of a state."""
        automaton = self.automaton
        automaton.clock.check()
        if self.tables.next[state, 0] != MISS:
            return
        targets = [DEAD] * len(automaton.byte_sets.samples)
        for bits, term in automaton.algebra.edges(self.term_of(state)):
            target = self.state_of(term)
            for index in automaton.byte_sets.classes_in(bits):
                targets[index] = target
        self.tables.next[state] = targets

    # ------------------------------------------------------------------ can tokens finish from here?

    def is_usable(self, state: int) -> bool:
        """Can some sequence of tokens complete a text from this state? The fixpoint over tokens, searched breadth first."""
        usable = self.tables.usable
        if usable[state] != walk.UNKNOWN:
            return bool(usable[state] == walk.YES)
        came_from = {state: DEAD}
        queue = deque([state])
        found = DEAD
        while queue and not found:
            here = queue.popleft()
            if self.accepting[here] or self.tables.usable[here] == walk.YES:
                found = here
                break
            for target in self._token_successors(here):
                if target not in came_from and self.tables.usable[target] != walk.NO:
                    came_from[target] = here
                    queue.append(target)
        usable = self.tables.usable
        if not found:
            usable[list(came_from)] = walk.NO
            return False
        while found:
            usable[found] = walk.YES
            found = came_from[found]
        return True

    def _token_successors(self, state: int) -> list[int]:
        scratch = self._scratch(state)
        address, length = scratch.ctypes.data, len(scratch)
        seen: set[int] = set()
        while True:
            tables = self.tables
            marks = np.zeros(len(tables.usable), np.uint8)
            missing = walk.collect_states(tables.address, address, length, marks.ctypes.data)
            seen.update(np.flatnonzero(marks).tolist())
            if missing == walk.DONE:
                return sorted(seen)
            self.expand(missing)

    def _scratch(self, state: int) -> np.ndarray:
        """A kernel's memory of a walk, at its beginning (kernels/cpu/walk.py)."""
        scratch = np.zeros(self.automaton.facts.deepest + 2, np.int32)
        scratch[0] = state
        return scratch

    # ------------------------------------------------------------------ rows and steps

    def row(self, state: int) -> np.ndarray:
        """The mask row of a state (read only): tokens that can be read and completed, stop ids iff the text may end."""
        known = self.rows[state]
        if known is None:
            known = self._share(self._make_row(state))
            self.rows[state] = known
        return known

    def _make_row(self, state: int) -> np.ndarray:
        stops = self.automaton.facts.stop_row
        row = np.zeros(len(stops) + 1, np.int32)  # the walk writes a word behind the row
        if self.accepting[state]:
            row[:-1] = stops
        scratch = self._scratch(state)
        addresses = scratch.ctypes.data, len(scratch), row.ctypes.data
        while True:
            tables = self.tables  # kept in a local: its arrays must outlive the call
            missing = walk.fill_row(tables.address, *addresses)
            if missing == walk.DONE:
                return row[:-1].copy()
            if missing > 0:
                self.expand(missing)
            else:
                self.is_usable(-missing)

    def _share(self, row: np.ndarray) -> np.ndarray:
        """States with equal rows share one array; all rows are dropped when they take too much."""
        key = row.tobytes()
        shared = self._shared_rows.get(key)
        if shared is not None:
            return shared
        if self._row_bytes + 2 * row.nbytes > self.automaton.limits.max_bytes:
            self.rows[2:] = [None] * (len(self.rows) - 2)
            self._shared_rows.clear()
            self._row_bytes = 0
        row.setflags(write=False)
        self._shared_rows[key] = row
        self._row_bytes += 2 * row.nbytes  # the row and its key
        return row

    def after_token(self, state: int, token: int) -> int:
        """The state behind a token, DEAD where it is refused."""
        while True:
            tables = self.tables
            after = walk.advance(tables.address, state, token)
            if after >= 0:
                break
            self.expand(-after)
        return after if after and self.is_usable(after) else DEAD

    def after_bytes(self, state: int, data: bytes) -> int:
        """The state behind any bytes, DEAD where they are refused."""
        class_of = self.automaton.byte_sets.class_of
        for byte in data:
            if self.tables.next[state, 0] == MISS:
                self.expand(state)
            state = int(self.tables.next[state, class_of[byte]])
            if state == DEAD:
                return DEAD
        return state if self.is_usable(state) else DEAD

    @property
    def nbytes(self) -> int:
        return self.tables.next.nbytes + self.tables.usable.nbytes + self._row_bytes + 400 * len(self.terms)


@dataclass(frozen=True)
class TokenFacts:
    """What all automata over one vocabulary share."""

    stops: frozenset[int]
    stop_row: np.ndarray  # int32 [W]: the stop ids alone
    everything: np.ndarray | None  # int32 [W]: all ids, where there can be such a row (no special ids, no padding)
    is_text: np.ndarray  # uint8: may a mask allow this id for its bytes?
    single_bytes: int  # the bytes that are tokens of their own, as a 256-bit integer
    deepest: int  # bytes of the longest token


@functools.lru_cache(maxsize=16)
def token_facts(vocab: Vocabulary) -> TokenFacts:
    is_text = np.zeros(len(vocab.offsets) - 1, np.uint8)
    is_text[vocab.text_ids] = 1
    stops = frozenset(vocab.stop_ids)
    complete = len(vocab.text_ids) + len(stops) == vocab.size
    everything = pack_ids(range(vocab.size), vocab.words) if complete else None
    single_bytes = sum(1 << b for b in range(256) if vocab.single_bytes[b])
    return TokenFacts(stops, pack_ids(stops, vocab.words), everything, is_text, single_bytes, vocab.trie.deepest)


def pack_ids(ids: Iterable[int], words: int) -> np.ndarray:
    """A mask row in which exactly these ids are allowed."""
    bits = np.zeros(words * 32, np.uint8)
    bits[list(ids)] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)
