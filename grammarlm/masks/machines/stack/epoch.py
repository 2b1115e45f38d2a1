"""One epoch (generation of states) of a pushdown machine: configs, their rows, and how a text ends.

The counterpart of epoch.py, with the same interface for the matcher: a `state` is the number of a config. When the
arena is full a new, empty epoch takes its place (automaton.py).
"""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Hashable
from types import SimpleNamespace

import numpy as np

from grammarlm.errors import GrammarError
from grammarlm.grammars.regular.terms import Term
from grammarlm.kernels.cpu.jit import direct
from grammarlm.kernels.cpu.stack import calls as walk
from grammarlm.kernels.cpu.stack.calls import ADVANCE, FILL_SIGNED, SIGN
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import LR_BASE, UNION, Place
from grammarlm.layout.table import DEAD
from grammarlm.masks.beside import NotNow
from grammarlm.masks.machines.stack.ends.completion import StackEnds, parts
from grammarlm.masks.mask_array import ids_of
from grammarlm.masks.protocol import FINISHED, EpochDefaults
from grammarlm.masks.runtime.collector import PATIENT
from grammarlm.masks.shared_rows import SharedRows

from .arena import SURVEY_GROUPS
from .description import RuleNames, describe
from .numbers import ACCEPTED, ROOT
from .program import Fork, StackProgram, Thread
from .seat import StackSeat
from .states import NeedsWalks, StackStates
from .survey_scratch import GROWING as SCRATCH
from .survey_scratch import SurveyScratch, idle_scratch

INSIDE = 80  # bytes that lead back to the state: more than a name has, fewer than a string
MANY_TARGETS = 1024
MOST_REMAINS = 100_000  # entries in tries of remainders, after the ends of strings


class KnownRows(dict):
    """Rows by config; None where there is none yet."""

    def __missing__(self, key: int) -> None:
        return None


class StackEpoch(StackStates, EpochDefaults):
    """One epoch of configs. All methods run under the automaton's lock; `rows` is read without it."""

    tables = SimpleNamespace(address=0)

    def __init__(self, program: StackProgram):
        self._lock = program.lock
        self._shared_rows = SharedRows()
        super().__init__(program)
        self.rows: dict[int, np.ndarray] = KnownRows()
        self.rows[FINISHED] = program.facts.stop_row
        self._signed_rows: dict[int, np.ndarray] = {}  # by the number of a signature
        self._ask = direct(walk.ask)
        _EPOCHS.add(self)
        self._scratch: SurveyScratch | None = None  # the one whose addresses are in the arena
        self._scratch_moved = 0
        self._insides: dict[int, bool] = {}  # by state
        self._asked = 0, False  # the last config asked about, and the answer
        self._idle = idle_scratch(program.vocab)
        self._seats: list[StackSeat] = []
        self._start_state: int | None = None
        self._is_plain = program.tokens_spell_all and not program.token_columns
        # Made now, since it may be refused; for a grammar that was compiled before, when the first matcher asks.
        is_roomy = 16 * self.nbytes < program.limits.max_bytes
        self.start = None if program.is_proved and is_roomy else self.state_of(program.start)

    # ------------------------------------------------------------------ configs in and out

    def state_of(self, threads: tuple[Thread, ...]) -> int:
        """The number of a config in this epoch."""
        if threads is self.program.start and self._start_state is not None:
            return self._start_state
        found = self._state_of(threads)
        if threads is self.program.start:
            self._start_state = found
        return found

    def _state_of(self, threads: tuple[Thread, ...]) -> int:
        rows = []
        forks: dict[Fork, int] = {}
        for thread in threads:
            stack = self._stack_of(thread.stack, forks)
            rows.append((self._number_of(thread.state), stack, self._border_of(thread.border)))
        return self._config_of(rows)

    def _config_of(self, rows: list[tuple[int, int, int]]) -> int:
        """The number of the config of these threads, after their closure."""
        while True:
            self._arrays[Place.WORK][: len(rows)] = rows
            found = walk.make_config(self.address, len(rows))
            if found >= 0:
                return found
            self._supply(found)

    def _stack_of(self, symbols: tuple, forks: dict[Fork, int]) -> int:
        """The number of a stack in this epoch. `forks`: numbers of the lower ends found so far."""
        waiting = [symbols[-1]] if symbols and isinstance(symbols[-1], Fork) else []
        while waiting:
            fork = waiting[-1]
            lower = [way[-1] for way in fork.ways if way and isinstance(way[-1], Fork) and way[-1] not in forks]
            waiting += lower
            if not lower:
                stacks = [self._pushed(way, forks) for way in fork.ways]
                forks[fork] = functools.reduce(lambda one, other: self._made(walk.unite_stacks, one, other), stacks)
                waiting.pop()
        return self._pushed(symbols, forks)

    def _pushed(self, symbols: tuple, forks: dict[Fork, int]) -> int:
        stack = 0
        for symbol in reversed(symbols):
            if isinstance(symbol, Fork):
                stack = forks[symbol]
                continue
            number = LR_BASE + symbol if isinstance(symbol, int) else self._number_of(symbol)
            stack = self._made(walk.push_symbol, stack, number)
        return stack

    def _number_of(self, state: object) -> int:
        """The number of a state that came from outside. A new one has no origin, so surveys are not saved to disk from then on."""
        if state not in self._states and state is not ACCEPTED:
            self._resolve()
            if state not in self._states:
                self._path = None
        return self._number(state, (ROOT, 0, 0))

    def _border_of(self, term: Term) -> int:
        if term not in self._borders:
            self._resolve()
            if term not in self._borders:
                self._path = None
        return self._border(term, (ROOT, 0, 0))

    def export(self, config: int) -> tuple[Thread, ...]:
        """The config without numbers."""
        offset, length = self._arrays[Place.C_OFFSET][config], self._arrays[Place.C_LENGTH][config]
        threads = self._arrays[Place.THREADS][offset : offset + length].tolist()
        forks: dict[int, Fork] = {}
        waiting, unions = [stack for _, stack, _ in threads], set()
        while waiting:
            _, end = self._down(waiting.pop())
            if end and end not in unions:
                unions.add(end)
                waiting += self.ways_of(end)
        for union in sorted(unions):  # what lies below was interned before, so its number is less
            forks[union] = Fork(tuple(self._symbols(way, forks) for way in self.ways_of(union)))
        return tuple(
            Thread(
                ACCEPTED if q == layout.ACCEPT else self.objects[q],
                self._symbols(stack, forks),
                self.border_terms[border],
            )
            for q, stack, border in threads
        )

    def _down(self, stack: int) -> tuple[list[int], int]:
        """The symbols from the top of a stack down to the first union, and that union; 0 at the bottom."""
        parents, symbols = self._arrays[Place.S_PARENT], self._arrays[Place.S_SYMBOL]
        found = []
        while stack and not UNION <= (symbol := int(symbols[stack])) < LR_BASE:
            found.append(symbol)
            stack = int(parents[stack])
        return found, stack

    def _symbols(self, stack: int, forks: dict[int, Fork]) -> tuple:
        symbols, end = self._down(stack)
        found = [symbol - LR_BASE if symbol >= LR_BASE else self.objects[symbol] for symbol in symbols]
        return (*found, forks[end]) if end else tuple(found)

    def key(self, state: int) -> Hashable:
        """Equal keys, equal futures: configs are interned within an epoch."""
        return self, state

    @property
    def terms(self) -> _Exports:
        return _Exports(self)

    # ------------------------------------------------------------------ rows and steps

    def row(self, state: int) -> np.ndarray:
        """The mask row of a state (read only): tokens that can be read and completed, stop ids iff the text may end."""
        known = self.rows[state]
        if known is None:
            with PATIENT:  # one garbage collection at most for all objects that a mask makes
                known = self.rows[state] = self._make_row(state)
        return known

    @property
    def reads_bytes(self) -> bool:  # type: ignore[override]
        """Does a token's byte string alone decide where it leads?"""
        return not self.program.named_texts

    @property
    def makes_beside(self) -> bool:  # type: ignore[override]
        """Are most rows made in seats, in parallel with other threads, and not under the lock?"""
        return self._is_plain and not self.only_inside

    def try_row(self, state: int) -> np.ndarray | None:
        """row() where all its parts are cached; None where something must be made first."""
        known = self.rows[state]
        if known is not None or not self._signed_rows or not self._is_plain or not self._can_sign(state):
            return known
        with self._lock:
            if self.is_full:
                return None
            try:
                scratch = self._lent_scratch()
                signature: int = self._ask(SIGN, self.address, state, 0, 0)
                if signature < 0:
                    walk.forget(self.address)
                self._idle.append(scratch)
                if signature >= 0:
                    known = self.rows[state] = self._signed_row(state, signature)
                return known
            except BaseException:
                self.close()
                raise

    def row_beside(self, state: int) -> np.ndarray | NotNow:
        """row(), made in a seat in parallel with other threads, or the reason why that is not possible now."""
        known = self.rows[state]
        if known is not None:
            return known
        if not self._is_plain or not self._can_sign(state):
            return NotNow.UNDER_THE_LOCK
        seats, idle = self._seats, self._idle
        self.has_seats = True
        seat = seats.pop() if seats else StackSeat(self)
        scratch = idle.pop() if idle else SurveyScratch(self.program.vocab)
        try:
            found = seat.row(state, scratch)
        except BaseException as error:  # seat and scratch are dropped, with their content
            claims = self.array(Place.CLAIMS)
            claims[claims[:, 2] == seat.address, 2] = 0
            if isinstance(error, NeedsWalks):
                return NotNow.UNDER_THE_LOCK
            if not isinstance(error, GrammarError):
                self.close()
            raise
        seats.append(seat)
        idle.append(scratch)
        if not isinstance(found, NotNow):
            self.rows[state] = found
        return found

    def supply_to(self, seat: StackSeat, code: int) -> None:
        """Makes what a seat is missing. Under the lock."""
        self.array(Place.PAIR)[:] = seat.array(Place.PAIR)
        self.array(Place.NEEDED)[:] = seat.array(Place.NEEDED)
        self.arena[Place.NEEDED_COUNT], seat.arena[Place.NEEDED_COUNT] = seat.arena[Place.NEEDED_COUNT], 0
        self.program.clock.restart()
        self._supply(code)

    def take_survey(self, scratch: SurveyScratch, drafted: np.ndarray) -> None:
        """Stores the survey that a seat has drafted in its scratch. Under the lock."""
        self._take_scratch(scratch)
        with self.in_turn():
            self.arena[Place.DRAFTS_COUNT] = drafted[Place.DRAFTS_COUNT]
        self._made(walk.publish)

    def take_signature(self, scratch: SurveyScratch, length: int) -> int:
        """The number of the signature that a seat has in its scratch. Under the lock."""
        self._take_scratch(scratch)
        return self._made(walk.signature_in_scratch, length)

    def take_class(self, seat: StackSeat) -> None:
        """Stores the last class of stacks that a seat has made. Under the lock."""
        self._made(walk.take_class, seat.address)

    def take_first_bytes(self, scratch: SurveyScratch, border: int) -> None:
        """Makes the survey of a border's first bytes. Under the lock."""
        self._take_scratch(scratch)
        self._made(walk.first_bytes, border)

    def signed_row(self, signature: int) -> np.ndarray | None:
        return self._signed_rows.get(signature)

    def _signed_row(self, state: int, signature: int) -> np.ndarray:
        """The row of a config, shared by all configs with its signature."""
        known = self._signed_rows.get(signature)
        if known is None:
            known = self.keep_signed_row(signature, self._filled(state, signature), self._fill_scratch[1])
        return known

    def keep_signed_row(self, signature: int, row: np.ndarray, address: int) -> np.ndarray:
        """Stores the row of a signature, copied from its address. Under the lock."""
        known = self._signed_rows[signature] = self._share(row, address)
        return known

    def _can_sign(self, state: int) -> bool:
        """Is the row of a config made from surveys?"""
        if not self.uses_surveys or self.program.trust.needs_walks:
            return False
        if not self.only_inside:
            return True
        asked, is_inside = self._asked  # try_row and row ask one after the other
        if asked != state:
            threads = [thread for thread in self.threads_of(state) if thread[0] > layout.EXIT]
            is_inside = all(border == layout.ANY and self._stays_inside(q) for q, _, border in threads)
            self._asked = state, is_inside
        return is_inside

    def _stays_inside(self, q: int) -> bool:
        """Do most bytes lead from a state back to itself, and can nothing end there, as inside a string?"""
        known = self._insides.get(q)
        if known is None:
            behind = self._arrays[Place.Q_NEXT][q].take(self.program.byte_sets.class_of)
            loops = bool(np.count_nonzero(behind == q) >= INSIDE)
            known = self._insides[q] = loops and not self._arrays[Place.Q_MOVES][q, 1]
        return known

    def _lent_scratch(self) -> SurveyScratch:
        """Scratch for a mask, with its addresses in the arena."""
        scratch = self._idle.pop() if self._idle else SurveyScratch(self.program.vocab)
        self._take_scratch(scratch)
        return scratch

    def _take_scratch(self, scratch: SurveyScratch) -> None:
        if scratch is not self._scratch or scratch.moved != self._scratch_moved:
            with self.in_turn():  # seats lend theirs for a moment
                scratch.lend(self.arena)
            self._scratch, self._scratch_moved = scratch, scratch.moved

    def _make_row(self, state: int) -> np.ndarray:
        signature = self._signature_of(state)
        if self._is_plain and signature is not None:
            return self._signed_row(state, signature)
        if self._is_plain:
            return self._share(self._filled(state, None), self._fill_scratch[1])
        facts = self.program.facts
        row = self._filled(state, signature).copy()
        bits = row.view(np.uint8)
        for token in self.special_tokens(state):
            bits[token >> 3] |= 1 << (token & 7)
        if not self.program.tokens_spell_all:
            ids = ids_of(row & ~facts.stop_row)
            for token, target in zip(ids.tolist(), self.targets(state, ids).tolist(), strict=True):
                if not self.ends.is_usable(target):
                    bits[token >> 3] &= ~(1 << (token & 7)) & 0xFF
        return self._share(row, row.ctypes.data)

    def _filled(self, state: int, signature: int | None) -> np.ndarray:
        """The row of the tokens that bytes allow, from a signature or by a walk. The next call overwrites it."""
        rows, rows_address, path, path_address = self._fill_scratch
        stops = self.program.facts.stop_row
        words = len(stops)
        if self.accepting[state]:
            rows[:words] = stops
        else:
            rows[:words] = 0
        if signature is not None:
            self._ask(FILL_SIGNED, self.address, signature, rows_address, 0)
        else:
            path[0], path[-1] = state, 0  # the walk begins at node 0
            self._made(walk.fill_row, path_address, len(path), rows_address)
        return rows[:words]

    @functools.cached_property
    def _fill_scratch(self) -> tuple[np.ndarray, int, np.ndarray, int]:
        """Two rows, each with a word to spare, and a path through the vocabulary's trie; with their addresses."""
        facts = self.program.facts
        rows, path = np.zeros(2 * (len(facts.stop_row) + 1), np.int32), np.zeros(facts.deepest + 2, np.int32)
        return rows, rows.ctypes.data, path, path.ctypes.data

    def _signature_of(self, state: int) -> int | None:
        """The signature number of a config's row; None where the row takes a walk from the config itself."""
        if not self._can_sign(state):
            return None
        scratch = self._lent_scratch()
        self._is_signing, found = True, -1
        try:
            found = walk.sign(self.address, state, 0)
            while found < 0:
                self._supply(found)
                found = walk.sign(self.address, state, 1)
        except NeedsWalks:
            if self.only_inside:
                self._insides |= dict.fromkeys((q for q, _, _ in self.threads_of(state)), False)
                self._asked = 0, False
            self._end_signing(scratch, found)
            return None
        except GrammarError:
            self._end_signing(scratch, found)
            raise
        self._end_signing(scratch, found)
        return found

    def _end_signing(self, scratch: SurveyScratch, found: int) -> None:
        # Given up: configs left over would be found again, with row numbers that belong to others by then.
        if found < 0:
            walk.forget(self.address)
        self._is_signing = False
        if self._has_passing:
            self._forget_passing()
        self._idle.append(scratch)

    def _grow_full(self, index: int) -> None:
        remains = index in SCRATCH or (index in SURVEY_GROUPS and self.arena[Place.X_TOKENS] > MOST_REMAINS)
        if remains and self._is_signing and self.only_inside:  # where remainders are many, a walk is faster
            raise NeedsWalks
        if index in SCRATCH:
            assert self._scratch is not None
            with self.in_turn():
                self._scratch.grow(index, self.program.limits.max_bytes, self.arena)
        else:
            super()._grow_full(index)

    def close(self) -> None:
        """A call was interrupted halfway: the epoch is declared full, so that nothing more is made here and its
        matchers move on."""
        with self._lock:
            self.is_full, self._path, self._ask = True, None, _moves_on
            self._seats.clear()
            self.arena[Place.REPLACED] += 1  # so that no seat writes here
            self.arena[Place.TURN] = 0

    def special_tokens(self, state: int) -> list[int]:
        """The tokens that may come next by their ids."""
        columns = self.program.token_columns
        if not columns or state <= FINISHED:
            return []
        offset, length = self._arrays[Place.C_OFFSET][state], self._arrays[Place.C_LENGTH][state]
        automaton_states = self._arrays[Place.THREADS][offset : offset + length, 0]
        asked = self._arrays[Place.Q_NEXT][automaton_states].any(axis=0)
        return [t for t, column in columns.items() if asked[column] and self._made(walk.advance_column, state, column)]

    def _share(self, row: np.ndarray, address: int) -> np.ndarray:
        """States with equal rows share one array, a copy of the first. All rows are dropped when they take too much."""
        if self._shared_rows.nbytes + row.nbytes > self.program.limits.max_bytes // 2:
            finished = self.rows[FINISHED]
            self.rows.clear()
            self.rows[FINISHED] = finished
            self._signed_rows.clear()
            self._shared_rows.clear()
        return self._shared_rows.shared_copy(row, address)

    def after_token(self, state: int, token: int) -> int:
        """The state after a token, 0 where it is refused."""
        if token in self.program.token_columns:
            return self._usable(self._after_named(state, token))
        return self._usable(self._made(walk.advance, state, token))

    def _after_named(self, state: int, token: int) -> int:
        """The state after a token that the grammar names. One that is text is read by its bytes as well, in other threads."""
        named = self._made(walk.advance_column, state, self.program.token_columns[token])
        spelled = self._made(walk.advance, state, token) if token in self.program.named_texts else 0
        if not named or not spelled:
            return named or spelled
        rows = [(q, stack, border) for q, stack, border in [*self.threads_of(named), *self.threads_of(spelled)]]
        if len(rows) > layout.WIDEST:
            self._supply(-layout.TOO_WIDE)
        return self._config_of(rows)

    def peek_token(self, address: int, state: int, token: int) -> int:
        """The answer of after_token, negative where Python must make something first."""
        if not self._is_plain:
            return -1
        with self._lock:  # the call may intern configs
            after: int = self._ask(ADVANCE, self.address, state, token, 0)
        return after

    def after_bytes(self, state: int, data: bytes) -> int:
        """The state after any bytes, 0 where they are refused."""
        return self._usable(self.after_text(state, data))

    def after_text(self, state: int, data: bytes) -> int:
        """The state after any bytes, usable or not."""
        array = np.frombuffer(bytes(data), np.uint8)
        return self._made(walk.advance_bytes, state, array.ctypes.data if len(array) else 0, len(array))

    def _usable(self, state: int) -> int:
        return state if self.program.tokens_spell_all or not state or self.ends.is_usable(state) else 0

    def is_usable(self, state: int) -> bool:
        """Can tokens of single bytes, and special ones, complete a text from this state?"""
        return self.ends.is_usable(state)

    # ------------------------------------------------------------------ completions

    @functools.cached_property
    def ends(self) -> StackEnds:
        return StackEnds(self)

    @functools.cached_property
    def rule_names(self) -> RuleNames:
        return RuleNames(self.program)

    def describe(self, state: int) -> str:
        """Where the text stands, in words."""
        return "" if state == FINISHED else describe(self, state)

    def completion(self, state: int) -> list[bytes | int] | None:
        """Bytes and special tokens that end the text; None where none are known."""
        if state == FINISHED:
            return []
        letters = self.ends.of(state)
        return None if letters is None else parts(letters)

    def may_have_texts(self) -> bool:
        return self.start is None or self.start != DEAD  # None: proved by an earlier compile, and made on demand

    def targets_at_once(self, tokens: int) -> bool:
        return tokens <= MANY_TARGETS  # of more, most lead to one state, which is found faster without a walk

    def targets(self, state: int, tokens: np.ndarray) -> np.ndarray:
        """The states after allowed tokens, all found by one walk."""
        targets = np.zeros(self.program.vocab.words * 32 + 1, np.int32)
        scratch = np.zeros(self.program.facts.deepest + 2, np.int32)
        scratch[0] = state
        self._made(walk.fill_targets, scratch.ctypes.data, len(scratch), targets.ctypes.data)
        for token in self.special_tokens(state):
            targets[token] = self._after_named(state, token)
        found: np.ndarray = targets[tokens]
        return found

    def made(self, kernel: Callable[..., int], *arguments: int) -> int:
        """A kernel's answer, for callers that look at configs from outside."""
        return self._made(kernel, *arguments)

    def after_column(self, state: int, column: int) -> int:
        """The state after one letter, 0 where it cannot be read."""
        return self._made(walk.advance_column, state, column)

    def threads_of(self, state: int) -> list[list[int]]:
        """(automaton state, stack, border) of each thread."""
        offset, length = int(self._arrays[Place.C_OFFSET][state]), int(self._arrays[Place.C_LENGTH][state])
        threads: list[list[int]] = self._arrays[Place.THREADS][offset : offset + length].tolist()
        return threads

    @property
    def nbytes(self) -> int:
        ends = self.__dict__["ends"].nbytes if "ends" in self.__dict__ else 0
        return super().nbytes + self._shared_rows.nbytes + 400 * len(self._objects) + ends


def _moves_on(question: int, address: int, a: int, b: int, c: int) -> int:
    """Replaces the kernel in a closed epoch: the answer is that something must be made first."""
    return -8 * layout.FOR_LOCK - layout.NEED_LOCK


class _Exports:
    """Configs without numbers, by number: what a matcher carries from a full epoch to the next."""

    def __init__(self, epoch: StackEpoch):
        self._epoch = epoch

    def __getitem__(self, config: int) -> tuple[Thread, ...]:
        return self._epoch.export(config)


_EPOCHS: weakref.WeakSet[StackEpoch] = weakref.WeakSet()


def _free_turns() -> None:
    """After fork: the thread that was writing surveys does not exist here. Its claims are released; an epoch left half
    written is closed."""
    for epoch in list(_EPOCHS):
        epoch.array(Place.CLAIMS)[:, 2] = 0
        if epoch.arena[Place.TURN]:
            epoch.arena[Place.TURN], epoch.is_full = 0, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_turns)
