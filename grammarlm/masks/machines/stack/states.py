"""Rows of states and borders that the kernels of the pushdown machine are missing, made when one asks for them.

Stacks and configs are made by the kernels themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grammarlm.collector import PATIENT
from grammarlm.errors import LimitExceeded
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.terms import Term
from grammarlm.kernels import entries
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import LR_BASE, STATES, Field
from grammarlm.layout.stack_calls import ADVANCE_BYTES, ADVANCE_COLUMN

from .arena import FIRST_REAL, StackArena
from .language import Move
from .numbers import StackNumbers
from .program import StackProgram

AHEAD, AHEAD_TERMS = 100, 12  # lexer states, or states of a rule, that are made together
MOST_BORDERS = 1000  # up to this many, borders are made together
ONE_WORD = (1 << 64) - 1


class NeedsWalks(Exception):
    """A survey has met a thread whose end depends on its whole stack."""


class StateMaker:
    """Answers of kernels, with all made that they are missing."""

    def __init__(self, program: StackProgram, arena: StackArena, numbers: StackNumbers):
        self._program, self._arena, self._numbers = program, arena, numbers
        self._address = arena.address
        self._finishes: dict[tuple[int, Any], bool] = {}  # by stack and outcome (proofs/liveness.py)
        self._is_signing = self._has_passing = False
        self._lasting_answers = 0

    def ask(self, question: int, a: int, b: int = 0, c: int = 0) -> int:
        """The kernel's answer (layout/stack_calls.py); negative where something has to be made first."""
        return entries.ask(question, self._address, a, b, c)

    def made(self, question: int, a: int, b: int = 0, c: int = 0) -> int:
        """The kernel's answer, after making all that it asks for."""
        found = self.ask(question, a, b, c)
        if found >= 0:
            return found
        with PATIENT:  # new states and borders are as many objects as a compile makes, and they stay, too
            while found < 0:
                self.supply(found)
                found = self.ask(question, a, b, c)
        return found

    def after_column(self, state: int, column: int) -> int:
        """The state after one letter, 0 where it cannot be read."""
        return self.made(ADVANCE_COLUMN, state, column)

    def after_text(self, state: int, data: bytes) -> int:
        """The state after any bytes, usable or not."""
        array = np.frombuffer(bytes(data), np.uint8)
        return self.made(ADVANCE_BYTES, state, array.ctypes.data if len(array) else 0, len(array))

    def begin_signing(self) -> None:
        """Stacks from MARK_S on are temporary until the end: answers about them are not used afterwards."""
        self._is_signing = True
        self._lasting_answers = int(self._arena.words[Field.ANSWER_COUNT])

    def end_signing(self) -> None:
        self._is_signing = False
        if self._has_passing:
            self._has_passing = False
            self._numbers.forget_answers(self._lasting_answers)

    def supply(self, code: int) -> None:
        """Makes what a kernel's negative answer asks for."""
        self._program.clock.check()
        arena = self._arena
        reason, index = -code & 7, -code >> 3
        if reason in (layout.NEED_STATE, layout.NEED_LIVE):
            self._expand_ahead(index)
        elif reason == layout.NEED_BORDER:
            self._expand_borders(index)
        elif reason == layout.NEED_ANSWER:
            question = arena.array(Field.QUESTION).tolist()
            self._numbers.answer(question, self._answer(*question[:3]))
        elif reason == layout.FULL:
            arena.grow_full(index)
        else:
            raise LimitExceeded(
                f"the text so far can be read in more than {layout.WIDEST:,} ways at once; make the grammar less ambiguous"
            )

    # ------------------------------------------------------------------ states

    def _expand_ahead(self, number: int) -> None:
        """Makes a state and those reachable from it by bytes: a walk over tokens that needs one needs the others next."""
        done = layout.EXPANDED | layout.LIVE_KNOWN
        terms = 1 if self._program.lr is None else AHEAD_TERMS
        array, objects = self._arena.array, self._numbers.objects
        waiting, seen = [number], {number}
        for here in waiting:
            state, status = objects[here], int(array(Field.Q_STATUS)[here])
            is_made = status & layout.EXPANDED
            targets = array(Field.Q_NEXT)[here].tolist() if is_made else self._expand(here, state)
            if not status & layout.LIVE_KNOWN:
                self._find_live(here, state)
            if len(waiting) < (AHEAD if isinstance(state, LexerState) else terms):
                statuses = array(Field.Q_STATUS)
                for after in sorted(set(targets) - seen):
                    if after >= FIRST_REAL and statuses[after] & done != done:
                        seen.add(after)
                        waiting.append(after)

    def _expand(self, number: int, state: object) -> list[int]:
        """Makes a state's row; returns the states in it."""
        program, numbers = self._program, self._numbers
        edges, moves, tokens = program.expand(state)
        classes_in, known = program.byte_sets.classes_in, numbers.known
        row, targets = [0] * program.columns, []
        for bits, target in edges:
            columns = classes_in(bits)
            after = known.get(target)
            if after is None:
                after = numbers.number(target)
            targets.append(after)
            for column in columns:
                row[column] = after
        for column, target in tokens:
            row[column] = after = numbers.number(target)
            targets.append(after)
        first = numbers.add_moves([self._move(move) for move in moves])
        array = self._arena.array
        array(Field.Q_NEXT)[number] = row
        array(Field.Q_MOVES)[number] = first, len(moves)
        status = layout.EXPANDED | (layout.READS if targets else 0)
        ends = program.lr_alone and all(move[0] == layout.END for move in moves)  # together with the whole text
        if targets and getattr(state, "start", False) and (ends or not moves):
            status |= layout.AT_ONCE
        trust = program.trust
        if trust.level != layout.UNCHECKED:
            status |= layout.BETWEEN if trust.is_between(state) else 0
            status |= layout.DOUBTFUL if trust.is_doubtful(state) else 0
        array(Field.Q_STATUS)[number] |= status | (layout.LOOPS if program.loops(state) else 0)
        return targets

    def _move(self, move: Move) -> tuple[int, int, int]:
        """A move as kernels read it."""
        kind, operand, other = move
        if kind == layout.CALL:
            after = 0 if other is None else self._numbers.number(other)
            if after and self._program.loops(other):
                self._arena.array(Field.Q_STATUS)[after] |= layout.LOOPS
            return kind, self._numbers.number(operand), after
        number = operand if isinstance(operand, int) else 0
        if isinstance(other, Term):  # the border of LEX, LINE and POP
            return kind, number, self._numbers.border(other)
        return kind, number, 0

    def _find_live(self, number: int, state: object) -> None:
        assert isinstance(state, LexerState)
        bits = self._program.trust.may_become(state)
        self._arena.array(Field.Q_LIVE)[number] = self._as_words(bits)
        self._arena.array(Field.Q_STATUS)[number] |= layout.LIVE_KNOWN

    def _as_words(self, bits: int) -> list[int]:
        return [bits >> 64 * w & ONE_WORD for w in range(max(1, self._arena.terminal_words))]

    # ------------------------------------------------------------------ borders

    def _expand_borders(self, number: int) -> None:
        """Makes a border's row, and those of the newest others that have none: so a walk is interrupted less often.

        Above MOST_BORDERS only the one asked for is made: some borders lead to ever more.
        """
        self._expand_border(number)
        terms, limits = self._numbers.border_terms, self._program.limits
        known = len(terms)
        if known > MOST_BORDERS:
            return
        waiting = np.flatnonzero(self._arena.array(Field.B_STATUS)[:known] & layout.EXPANDED == 0)
        for other in waiting[-AHEAD:].tolist():
            if len(terms) > MOST_BORDERS or 2 * len(terms) > limits.max_states:
                return
            self._program.clock.check()
            self._expand_border(other)

    def _expand_border(self, number: int) -> None:
        program, term = self._program, self._numbers.border_terms[number]
        row = np.zeros(program.columns, np.int32)
        for bits, target in program.algebra.edges(term):
            columns = program.byte_sets.classes_in(bits)
            row[columns] = self._numbers.border(target)
        if program.border_reads_on:
            row[len(program.byte_sets.samples) :] = number
        elif term.nullable:  # a special token is not text: what the border is about has ended
            row[len(program.byte_sets.samples) :] = 1
        self._arena.array(Field.B_NEXT)[number] = row
        self._arena.array(Field.B_STATUS)[number] |= layout.EXPANDED

    # ------------------------------------------------------------------ answers

    def _answer(self, q: int, stack: int, border: int) -> int:
        """The verdict on a state under a border (stack < 0: -1 - the lexer of its context), or on a thread; where the state is 0,
        the conjunction of two borders."""
        trust, numbers = self._program.trust, self._numbers
        state, term = numbers.objects[q], numbers.border_terms[border]
        if q == 0:
            return numbers.border(self._program.algebra.both((numbers.border_terms[stack], term)))
        if stack < 0:
            verdict = trust.verdict(state, term, numbers.objects[-1 - stack])
            return numbers.add_verdict(self._as_words(verdict.surely) + self._as_words(verdict.maybe))
        self._find_bottom(stack)
        # A temporary stack: its number is used again after this mask.
        passing = self._is_signing and stack >= self._arena.words[Field.MARK_S]
        self._has_passing = self._has_passing or bool(passing)
        return int(trust.liveness.alive_on(state, term, stack, self.look, {} if passing else self._finishes))

    def look(self, stack: int) -> list[tuple[object, int]]:
        """(top, stack below) of each stack that this one stands for; the empty one's top is None."""
        symbols, parents = self._arena.array(Field.S_SYMBOL), self._arena.array(Field.S_PARENT)
        found: list[tuple[object, int]] = []
        for one in self._arena.members_of(stack):
            symbol = int(symbols[one])
            top: object = (symbol - LR_BASE) & (STATES - 1) if symbol >= LR_BASE else self._numbers.objects[symbol]
            found.append((None if symbol == layout.ROOT else top, int(parents[one])))
        return found

    def _find_bottom(self, stack: int) -> None:
        """Raises where the bottom is unknown, as in a survey: this grammar then does without surveys."""
        symbols, parents = self._arena.array(Field.S_SYMBOL), self._arena.array(Field.S_PARENT)
        while stack and symbols[stack] >= 0:
            stack = parents[stack]
        if stack:
            self._program.trust.needs_walks = True
            raise NeedsWalks
