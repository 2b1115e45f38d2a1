"""Rows of states and borders that the kernels of the pushdown machine are missing, made when one asks for them.

Stacks and configs are made by the kernels themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.terms import CAT, WORDS, Term
from grammarlm.kernels.cpu.stack import rehash
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import LR_BASE, Place
from grammarlm.masks.runtime.collector import PATIENT

from .arena import FIRST_REAL
from .numbers import BOTH, BY_BYTE, OPERAND, RETURN, StackNumbers
from .program import StackProgram

AHEAD, AHEAD_TERMS = 100, 12  # lexer states, or states of a rule, that are made together
AHEAD_LETTERS = 8  # letters of a string that are made together
MOST_BORDERS = 1000  # up to this many, borders are made together
ONE_WORD = (1 << 64) - 1


class NeedsWalks(Exception):
    """A survey has met a thread whose end depends on its whole stack, or which costs more than a walk."""


class StackStates(StackNumbers):
    """The states and borders of one epoch."""

    def __init__(self, program: StackProgram):
        super().__init__(program)
        self._finishes: dict[tuple[Any, Any], bool] = {}
        self._is_signing = self._has_passing = False

    def _supply(self, code: int) -> None:
        """Makes what a kernel's negative answer asks for."""
        self.program.clock.check()
        reason, index = -code & 7, -code >> 3
        if reason == layout.NEED_LOCK:  # a seat is writing a survey
            time.sleep(0)
            return
        needed = self._arrays[Place.NEEDED][: self.arena[Place.NEEDED_COUNT]].tolist()
        self.arena[Place.NEEDED_COUNT] = 0
        if needed or reason not in (layout.FULL, layout.TOO_WIDE):
            self._resolve()
        for number in needed:
            self._expand_ahead(number)
        if reason == layout.NEED_STATE:
            self._expand_ahead(index)
        elif reason == layout.NEED_BORDER:
            self._expand_borders(index)
        elif reason == layout.NEED_AND:
            b, c, _ = self._arrays[Place.PAIR].tolist()
            self._conjoin(b, c)
        elif reason == layout.NEED_LIVE:
            self._expand_ahead(index)
        elif reason == layout.NEED_VERDICT:
            self._judge(*self._arrays[Place.PAIR].tolist())
        elif reason == layout.FULL:
            self._grow_full(index)
        elif self._is_signing and self.only_inside:
            raise NeedsWalks
        else:
            raise LimitExceeded(
                f"the text so far can be read in more than {layout.WIDEST:,} ways at once; make the grammar less ambiguous"
            )

    def _expand_ahead(self, number: int) -> None:
        """Makes a state and those reachable from it by bytes: a walk over tokens that needs one needs the others next."""
        done = layout.EXPANDED | layout.LIVE_KNOWN
        terms = AHEAD_TERMS if self.uses_surveys and not self.only_inside else 1
        waiting, seen = [number], {number}
        for here in waiting:
            state, status = self._objects[here], int(self._arrays[Place.Q_STATUS][here])
            if status & layout.EXPANDED:
                targets = self._arrays[Place.Q_NEXT][here].tolist()
            else:
                targets = self._expand_word(here, state) or self._expand(here)
            if not status & layout.LIVE_KNOWN:
                self._find_live(here)
            if len(waiting) < (AHEAD if isinstance(state, LexerState) else terms):
                statuses = self._arrays[Place.Q_STATUS]
                for after in sorted(set(targets) - seen):
                    if after >= FIRST_REAL and statuses[after] & done != done:
                        seen.add(after)
                        waiting.append(after)

    def _expand_word(self, number: int, state: object) -> list[int]:
        """Makes a state before a string, and those within it, as `_expand` would one by one; none where there is no string."""
        if not isinstance(state, Term) or self.program.trust.level != layout.UNCHECKED:
            return []
        head = state.parts[0] if state.kind == CAT else state
        if head.kind != WORDS or head.nullable or head.data[2] != head.data[1] + 1:
            return []
        words, low, _, depth = head.data
        letters = words.value[low][depth : depth + AHEAD_LETTERS]
        if len(letters) < 2 or 4 * (len(self._objects) + len(letters)) > self.program.limits.max_states:
            return []
        class_of, edges, known = self.program.byte_sets.class_of, self.program.algebra.edges, self._states
        row, made, columns = number, [number], []
        for letter in letters:
            ((_, state),) = edges(state)
            columns.append(int(class_of[letter]))
            after = known.get(state)
            if after is not None:
                made.append(after)
                break
            row = self._number(state, (BY_BYTE, row, columns[-1]))
            made.append(row)
        rows = np.zeros((len(columns), self.program.columns), np.int32)
        rows[range(len(columns)), columns] = made[1:]
        arrays = self._arrays
        arrays[Place.Q_NEXT][made[:-1]] = rows
        arrays[Place.Q_MOVES][made[:-1]] = self.move_count, 0
        arrays[Place.Q_STATUS][made[:-1]] |= layout.EXPANDED | layout.READS
        return made[-1:]

    def _expand(self, number: int) -> list[int]:
        """Makes a state's row; returns the states in it."""
        program, state = self.program, self._objects[number]
        edges, moves, tokens = program.expand(state)
        classes_in, known = program.byte_sets.classes_in, self._states
        row, targets = [0] * program.columns, []
        for bits, target in edges:
            columns = classes_in(bits)
            after = known.get(target)
            if after is None:
                after = self._number(target, (BY_BYTE, number, columns[0]))
            targets.append(after)
            for column in columns:
                row[column] = after
        for column, target in tokens:
            row[column] = after = self._number(target, (BY_BYTE, number, column))
            targets.append(after)
        first = self.move_count
        if moves:
            encoded = [self._move(*move, number, which) for which, move in enumerate(moves)]
            while first + len(encoded) > len(self._arrays[Place.MOVES]):
                self._grow(Place.MOVES)
            self._arrays[Place.MOVES][first : first + len(encoded)] = encoded
            self.move_count = first + len(encoded)
        self._arrays[Place.Q_NEXT][number] = row
        self._arrays[Place.Q_MOVES][number] = first, len(moves)
        status = layout.EXPANDED | (layout.READS if targets else 0)
        ends = program.lr_alone and all(move[0] == layout.END for move in moves)  # together with the whole text
        if targets and getattr(state, "start", False) and (ends or not moves):
            status |= layout.AT_ONCE
        trust = program.trust
        if trust.level != layout.UNCHECKED:
            status |= layout.BETWEEN if trust.is_between(state) else 0
            status |= layout.DOUBTFUL if trust.is_doubtful(state) else 0
        self._arrays[Place.Q_STATUS][number] |= status | (layout.LOOPS if program.loops(state) else 0)
        return targets

    def _move(self, kind: int, operand: Any, other: Any, of: int, which: int) -> tuple[int, int, int]:
        if kind == layout.CALL:
            after = 0 if other is None else self._number(other, (RETURN, of, which))
            if after:
                self._mark_loop(after)
            return kind, self._number(operand, (OPERAND, of, which)), after
        if kind in (layout.LEX, layout.LINE):
            return kind, operand, self._border(other, (OPERAND, of, which))
        if kind == layout.POP:
            return kind, 0, self._border(other, (OPERAND, of, which))
        return kind, operand or 0, 0

    def _mark_loop(self, number: int) -> None:
        if self.program.loops(self._objects[number]):
            self._arrays[Place.Q_STATUS][number] |= layout.LOOPS

    def _expand_borders(self, number: int) -> None:
        """Makes a border's row, and those of the newest others that have none: so a walk is interrupted less often.

        Above MOST_BORDERS only the one asked for is made: some borders lead to ever more.
        """
        self._expand_border(number)
        known = len(self._border_terms)
        if known > MOST_BORDERS:
            return
        waiting = np.flatnonzero(self._arrays[Place.B_STATUS][:known] & layout.EXPANDED == 0)
        for other in waiting[-AHEAD:].tolist():
            if len(self._border_terms) > MOST_BORDERS or 2 * len(self._border_terms) > self.program.limits.max_states:
                return
            self.program.clock.check()
            self._expand_border(other)

    def _expand_border(self, number: int) -> None:
        program, term = self.program, self._border_terms[number]
        row = np.zeros(program.columns, np.int32)
        for bits, target in program.algebra.edges(term):
            columns = program.byte_sets.classes_in(bits)
            row[columns] = self._border(target, (BY_BYTE, number, columns[0]))
        if program.border_reads_on:
            row[len(program.byte_sets.samples) :] = number
        elif term.nullable:  # a special token is not text: what the border is about has ended
            row[len(program.byte_sets.samples) :] = 1
        self._arrays[Place.B_NEXT][number] = row
        self._arrays[Place.B_STATUS][number] |= layout.EXPANDED

    def _conjoin(self, b: int, c: int) -> None:
        number = self._border(self.program.algebra.both((self._border_terms[b], self._border_terms[c])), (BOTH, b, c))
        self._remember_pair(min(b, c) << 32 | max(b, c), number)

    def _find_live(self, number: int) -> None:
        state = self._objects[number]
        assert isinstance(state, LexerState)
        bits = self.program.trust.may_become(state)
        self._arrays[Place.Q_LIVE][number] = self._as_words(bits) if self._words > 1 else bits & ONE_WORD
        self._arrays[Place.Q_STATUS][number] |= layout.LIVE_KNOWN

    def _as_words(self, bits: int) -> list[int]:
        return [bits >> 64 * w & ONE_WORD for w in range(max(1, self._words))]

    # ------------------------------------------------------------------ verdicts

    def _judge(self, q: int, stack: int, border: int) -> None:
        """Stores the verdict on a state under a border (stack < 0: -1 - the lexer of its context), or on a thread."""
        trust, state, term = self.program.trust, self._objects[q], self._border_terms[border]
        if stack < 0:
            verdict, value = trust.verdict(state, term, self._objects[-1 - stack]), self.verdict_count
            if value >= len(self._arrays[Place.VERDICTS]):
                self._grow(Place.VERDICTS)
            self._arrays[Place.VERDICTS][value] = self._as_words(verdict.surely) + self._as_words(verdict.maybe)
            self.verdict_count += 1
        else:
            self._find_bottom(stack)
            passing = (
                self._is_signing and stack >= self.arena[Place.MARK_S]
            )  # a temporary stack: its number is reused after this mask
            self._has_passing = self._has_passing or passing
            known = {} if passing else self._finishes
            value = trust.liveness.alive_on(state, term, stack, self._look, known)
        self._remember_verdict(q, stack, border, int(value))

    def _forget_passing(self) -> None:
        """Removes the verdicts on stacks that were rolled back."""
        self._has_passing = False
        judged = self._arrays[Place.JUDGED]
        kept = judged[(judged[:, 0] >= 0) & (judged[:, 1] < self.arena[Place.MARK_S])]
        judged[:] = -1
        for verdict in kept.tolist():
            rehash.remember_verdict(self.address, *verdict)
        self._judged = len(kept)

    def _look(self, stack: Any) -> list[tuple[Any, Any]]:
        """(top, stack below) of each stack that this one stands for; the empty one's top is None."""
        symbols, parents = self._arrays[Place.S_SYMBOL], self._arrays[Place.S_PARENT]
        found: list[tuple[Any, Any]] = []
        for one in self.ways_of(stack):
            symbol = int(symbols[one])
            top = None if symbol == layout.ROOT else symbol - LR_BASE if symbol >= LR_BASE else self._objects[symbol]
            found.append((top, int(parents[one])))
        return found

    def _find_bottom(self, stack: int) -> None:
        """Raises where the bottom is unknown, as in a survey: this grammar then does without surveys."""
        symbols, parents = self._arrays[Place.S_SYMBOL], self._arrays[Place.S_PARENT]
        while stack and symbols[stack] >= 0:
            stack = parents[stack]
        if stack:
            self.program.trust.needs_walks = True
            raise NeedsWalks

    def _made(self, kernel: Callable[..., int], *arguments: int) -> int:
        """The kernel's answer, after making all that it asks for."""
        found = kernel(self.address, *arguments)
        if found >= 0:
            return found
        with PATIENT:  # new states and borders are as many objects as a compile makes, and they stay, too
            while found < 0:
                self._supply(found)
                found = kernel(self.address, *arguments)
        return found
