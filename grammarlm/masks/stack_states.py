"""States and borders of the pushdown machine: numbers for them, and what the kernels lack of them.

A number is given when a state is first met, its row is filled when a kernel asks for it. Stacks and configs are made by the kernels
themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import LimitExceeded
from ..grammars.lexer import LexerState
from ..grammars.terms import ANYTHING, NOTHING, Term
from ..kernels.cpu import places, rehash
from ..kernels.cpu.places import LR_BASE, Place
from .stack_arena import FIRST_REAL, B, Q, StackArena
from .stack_program import StackProgram

AHEAD, AHEAD_TERMS = 100, 12  # lexer states, or states of a rule, that are made together
ACCEPTED = object()  # the pseudo-state ACCEPT, without its number


class NeedsWalks(Exception):
    """A survey has met a thread whose end hangs on its whole stack."""


class StackStates(StackArena):
    """The numbered states and borders of one generation."""

    uses_surveys: bool | None = None  # None: where they are worth it

    def __init__(self, program: StackProgram):
        super().__init__(program)
        # Without a lexer rules end where blanks may follow, nearly everywhere: what remains of tokens is then nearly all of them.
        if self.uses_surveys is None:
            self.uses_surveys = program.lr is not None
        self._states: dict[object, int] = {}
        self.objects: list[object] = [None] * FIRST_REAL
        self._borders: dict[Term, int] = {NOTHING: 0, ANYTHING: 1}
        self.border_terms: list[Term] = [NOTHING, ANYTHING]
        self._move_count = self._judged = self._verdicts = 0
        self._finishes: dict[tuple[Any, Any], bool] = {}
        if program.lr:
            self._fixed(Place.LR_LEXER, np.array([self._number(s) for s in program.lr.lexers], np.int32))

    def _number(self, state: object) -> int:
        """The number of an automaton state, given when it is first met."""
        if state is ACCEPTED:
            return places.ACCEPT
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
                self._grow(*Q)
            self._states[state] = number
            self.objects.append(state)
            if not (isinstance(state, LexerState) and state.lexer.shifts):
                self._arrays[Place.Q_LIVE][number] = ~np.uint64(0)
                self._arrays[Place.Q_STATUS][number] = places.LIVE_KNOWN
            elif state.start:
                self._arrays[Place.Q_STATUS][number] = places.STARTS
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
                    self._grow(*B)
                self.border_terms.append(term)
                trusted = places.TRUSTED if self.program.trust.trusts(term) else 0
                self._arrays[Place.B_STATUS][number] = trusted | (places.ACCEPTS if term.nullable else 0)
            self._borders[term] = number
        return number

    # ------------------------------------------------------------------ what kernels lack

    def _supply(self, code: int) -> None:
        """Makes what a kernel's negative answer asks for."""
        self.program.clock.check()
        reason, index = -code & 7, -code >> 3
        if reason == places.NEED_STATE:
            self._expand_ahead(index)
        elif reason == places.NEED_BORDER:
            self._expand_border(index)
        elif reason == places.NEED_AND:
            b, c, _ = self._arrays[Place.PAIR].tolist()
            self._conjoin(b, c)
        elif reason == places.NEED_LIVE:
            self._expand_ahead(index)
        elif reason == places.NEED_VERDICT:
            self._judge(*self._arrays[Place.PAIR].tolist())
        elif reason == places.FULL:
            self._grow_full(index)
        else:
            raise LimitExceeded(
                f"the text so far can be read in more than {places.WIDEST:,} ways at once; make the grammar less ambiguous"
            )

    def _expand_ahead(self, number: int) -> None:
        """Makes a state, and those that bytes lead to from it: a walk over tokens that needs one needs the others next."""
        done = places.EXPANDED | places.LIVE_KNOWN
        waiting, seen = [number], {number}
        for here in waiting:
            state = self.objects[here]
            if not self._arrays[Place.Q_STATUS][here] & places.EXPANDED:
                self._expand(here)
            if not self._arrays[Place.Q_STATUS][here] & places.LIVE_KNOWN:
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
        status = places.EXPANDED | (places.READS if edges or tokens else 0)
        if status & places.READS and getattr(state, "start", False) and all(move[0] == places.END for move in moves):
            status |= places.AT_ONCE
        trust = program.trust
        if trust.level != places.UNCHECKED:
            status |= places.BETWEEN if trust.is_between(state) else 0
            status |= places.DOUBTFUL if trust.is_doubtful(state) else 0
        self._arrays[Place.Q_STATUS][number] |= status | (places.LOOPS if program.loops(state) else 0)

    def _move(self, kind: int, operand: Any, other: Any) -> tuple[int, int, int]:
        if kind == places.CALL:
            after = 0 if other is None else self._number(other)
            if after:
                self._mark_loop(after)
            return kind, self._number(operand), after
        if kind in (places.LEX, places.LINE):
            return kind, operand, self._border(other)
        if kind == places.POP:
            return kind, 0, self._border(other)
        return kind, operand or 0, 0

    def _mark_loop(self, number: int) -> None:
        if self.program.loops(self.objects[number]):
            self._arrays[Place.Q_STATUS][number] |= places.LOOPS

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
        self._arrays[Place.B_STATUS][number] |= places.EXPANDED

    def _conjoin(self, b: int, c: int) -> None:
        number = self._border(self.program.algebra.both((self.border_terms[b], self.border_terms[c])))
        self._remember_pair(min(b, c) << 32 | max(b, c), number)

    def _remember_pair(self, key: int, number: int) -> None:
        table = self._arrays[Place.B_AND]
        if 2 * int((table[:, 0] >= 0).sum()) >= len(table):
            self._grow(Place.B_AND)
        rehash.remember_pair(self.address, key, number)

    def _find_live(self, number: int) -> None:
        state = self.objects[number]
        assert isinstance(state, LexerState)
        bits = self.program.trust.may_become(state)
        self._arrays[Place.Q_LIVE][number] = self._as_words(bits)
        self._arrays[Place.Q_STATUS][number] |= places.LIVE_KNOWN

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
        rehash.remember_verdict(self.address, q, stack, border, int(value))

    def _look(self, stack: Any) -> tuple[Any, int] | None:
        """(top, stack below); None of the empty stack."""
        symbol = int(self._arrays[Place.S_SYMBOL][stack])
        if symbol == places.ROOT:
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
            raise NeedsWalks

    def _made(self, kernel: Callable[..., int], *arguments: int) -> int:
        """What the kernel answers once it lacks nothing."""
        while True:
            found = kernel(self.address, *arguments)
            if found >= 0:
                return found
            self._supply(found)
