"""Numbers of the states and borders of the pushdown machine: each is given when it is first met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import Field

from .arena import ANSWERS, FIRST_REAL, B, Q, StackArena
from .program import StackProgram

ACCEPTED = object()  # the pseudo-state ACCEPT, as an object


class StackNumbers:
    """The numbered states and borders of one epoch."""

    def __init__(self, program: StackProgram, arena: StackArena):
        self.program, self.arena = program, arena
        self.known: dict[object, int] = {}  # the numbers of states
        self.objects: list[object] = [None] * FIRST_REAL  # the states that the numbers stand for
        self._borders: dict[Term, int] = {NOTHING: 0, ANYTHING: 1}
        self.border_terms: list[Term] = [NOTHING, ANYTHING]  # the borders
        self.move_count = self.verdict_count = 0
        if program.lr:
            number_of = {lexer: self.number(lexer) for lexer in dict.fromkeys(program.lr.lexers)}
            arena.put(Field.LR_LEXER, np.array([*map(number_of.__getitem__, program.lr.lexers)], np.int32))
        self.start = self.number(program.start_state)

    # ------------------------------------------------------------------ numbers

    def number(self, state: object) -> int:
        """The number of an automaton state, given when it is first met."""
        if state is ACCEPTED:
            return layout.ACCEPT
        number = self.known.get(state)
        if number is None:
            limits = self.program.limits
            number = len(self.objects)
            if number >= limits.max_states:
                self.arena.is_full = True
                raise LimitExceeded(
                    f"the grammar needs more than limits.max_states = {limits.max_states} states at once; "
                    "simplify it or raise the limit"
                )
            if number >= len(self.arena.array(Field.Q_STATUS)):
                self.arena.grow(*Q)
            self.known[state] = number
            self.objects.append(state)
            if not (isinstance(state, LexerState) and state.lexer.shifts):
                self.arena.array(Field.Q_LIVE)[number] = ~np.uint64(0)
                self.arena.array(Field.Q_STATUS)[number] = layout.LIVE_KNOWN
            elif state.start:
                self.arena.array(Field.Q_STATUS)[number] = layout.STARTS
        return number

    def border(self, term: Term) -> int:
        """The number of a border, given when it is first met; 0 where no text satisfies it."""
        number = self._borders.get(term)
        if number is None:
            if not self.program.is_alive(term):
                number = 0
            else:
                number = len(self.border_terms)
                if number >= self.program.limits.max_states:
                    self.arena.is_full = True
                    raise LimitExceeded("the grammar's borders need more than limits.max_states states; simplify it")
                if number >= len(self.arena.array(Field.B_STATUS)):
                    self.arena.grow(*B)
                self.border_terms.append(term)
                trusted = layout.TRUSTED if self.program.trust.trusts(term) else 0
                self.arena.array(Field.B_STATUS)[number] = trusted | (layout.ACCEPTS if term.nullable else 0)
            self._borders[term] = number
        return number

    def add_moves(self, moves: Sequence[tuple[int, int, int]]) -> int:
        """The index of the first of these moves."""
        first = self.move_count
        while first + len(moves) > len(self.arena.array(Field.MOVES)):
            self.arena.grow(Field.MOVES)
        if moves:
            self.arena.array(Field.MOVES)[first : first + len(moves)] = moves
        self.move_count = first + len(moves)
        return first

    def add_verdict(self, words: list[int]) -> int:
        """The row of a verdict: the terminals that surely lead on, then those that may."""
        row = self.verdict_count
        if row >= len(self.arena.array(Field.VERDICTS)):
            self.arena.grow(Field.VERDICTS)
        self.arena.array(Field.VERDICTS)[row] = words
        self.verdict_count += 1
        return row

    def answer(self, question: Sequence[int], value: int) -> None:
        """Stores the answer to a kernel's question, where the kernel looked for it."""
        q, s, b, slot, entry = question
        arena = self.arena
        number = int(arena.words[Field.ANSWER_COUNT])
        if number == len(arena.array(Field.ANSWERS)):
            arena.grow(*ANSWERS)  # the kernel asks again, and looks in the longer table
            return
        arena.array(Field.ANSWERS)[number] = q, s, b, value
        arena.array(Field.ANSWER_HASH)[slot] = entry | number
        arena.words[Field.ANSWER_COUNT] = number + 1

    def forget_answers(self, first: int) -> None:
        """Removes the answers from this number on."""
        table = self.arena.array(Field.ANSWER_HASH)
        table[table & layout.NUMBER >= first] = -1
        self.arena.words[Field.ANSWER_COUNT] = first
