"""Numbers of the states and borders of the pushdown machine, and the rows that an earlier process saved for them.

A number is given when a state is first met. Rows read from disk (survey_store.py) come without the objects that their
numbers stand for. Those are found again when something new must be made, each from its **origin**:

    states     BY_BYTE p c     what the bytes of class c lead to from state p        OPERAND p i, RETURN p i   of its
               move i
    borders    BY_BYTE b c     the same of borders      OPERAND p i   of state p's move i       BOTH b c      their
               conjunction
    ROOT       the states of the lexer's contexts and the start, borders 0 and 1: known from the program
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term
from grammarlm.kernels import entries
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import Field

from . import survey_store
from .arena import FIRST_REAL, B, Q, StackArena
from .arena_plan import HASHES
from .program import Expansion, Move, StackProgram

BY_BYTE, OPERAND, RETURN, ROOT = range(4)  # origins of states
BOTH = 2  # origin of borders
ACCEPTED = object()  # the pseudo-state ACCEPT, as an object
Origin = tuple[int, int, int]
FROM_PROGRAM: Origin = (ROOT, 0, 0)


class StackNumbers:
    """The numbered states and borders of one epoch."""

    def __init__(self, program: StackProgram, arena: StackArena, path: Path | None):
        """`path`: the file where an earlier process may have saved rows; None: this grammar's are not saved."""
        self.program, self.arena, self.path = program, arena, path
        self.known: dict[object, int] = {}  # the numbers of states
        self._objects: list[object] = [None] * FIRST_REAL
        self._borders: dict[Term, int] = {NOTHING: 0, ANYTHING: 1}
        self._border_terms: list[Term] = [NOTHING, ANYTHING]
        self.origins = [FROM_PROGRAM] * FIRST_REAL
        self.border_origins = [FROM_PROGRAM] * 2
        self.move_count = self.verdict_count = self._judged = 0
        self.surveys_read = 0
        self.is_resolved = True
        if program.lr:
            its = {lexer: self.number(lexer, FROM_PROGRAM) for lexer in dict.fromkeys(program.lr.lexers)}
            numbers = [*map(its.__getitem__, program.lr.lexers)]
            arena.put(Field.LR_LEXER, np.array(numbers, np.int32))
        self.start = self.number(program.start_state, FROM_PROGRAM)
        arrays = None if path is None else survey_store.load(self, path)
        if arrays is not None:
            self._adopt(arrays)

    # ------------------------------------------------------------------ numbers

    def number(self, state: object, origin: Origin) -> int:
        """The number of an automaton state, given when it is first met."""
        if state is ACCEPTED:
            return layout.ACCEPT
        number = self.known.get(state)
        if number is None:
            limits = self.program.limits
            number = len(self._objects)
            if number >= limits.max_states:
                self.arena.is_full = True
                raise LimitExceeded(
                    f"the grammar needs more than limits.max_states = {limits.max_states} states at once; "
                    "simplify it or raise the limit"
                )
            if number >= len(self.arena.array(Field.Q_STATUS)):
                self.arena.grow(*Q)
            self.known[state] = number
            self._objects.append(state)
            self.origins.append(origin)
            if not (isinstance(state, LexerState) and state.lexer.shifts):
                self.arena.array(Field.Q_LIVE)[number] = ~np.uint64(0)
                self.arena.array(Field.Q_STATUS)[number] = layout.LIVE_KNOWN
            elif state.start:
                self.arena.array(Field.Q_STATUS)[number] = layout.STARTS
        return number

    def border(self, term: Term, origin: Origin) -> int:
        """The number of a border, given when it is first met; 0 where no text satisfies it."""
        number = self._borders.get(term)
        if number is None:
            if not self.program.is_alive(term):
                number = 0
            else:
                number = len(self._border_terms)
                if number >= self.program.limits.max_states:
                    self.arena.is_full = True
                    raise LimitExceeded("the grammar's borders need more than limits.max_states states; simplify it")
                if number >= len(self.arena.array(Field.B_STATUS)):
                    self.arena.grow(*B)
                self._border_terms.append(term)
                self.border_origins.append(origin)
                trusted = layout.TRUSTED if self.program.trust.trusts(term) else 0
                self.arena.array(Field.B_STATUS)[number] = trusted | (layout.ACCEPTS if term.nullable else 0)
            self._borders[term] = number
        return number

    def number_from_outside(self, state: object) -> int:
        """The number of a state of another epoch. A new one has no origin, so nothing is saved to disk from then on."""
        if state not in self.known and state is not ACCEPTED:
            self.resolve()
            if state not in self.known:
                self.path = None
        return self.number(state, FROM_PROGRAM)

    def border_from_outside(self, term: Term) -> int:
        if term not in self._borders:
            self.resolve()
            if term not in self._borders:
                self.path = None
        return self.border(term, FROM_PROGRAM)

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

    def remember_pair(self, b: int, c: int, conjunction: int) -> None:
        self._remember_pair(min(b, c) << 32 | max(b, c), conjunction)

    def _remember_pair(self, key: int, number: int) -> None:
        table = self.arena.array(Field.B_AND)
        if 2 * int((table[:, 0] >= 0).sum()) >= len(table):
            self.arena.grow(Field.B_AND)
        entries.remember_pair(self.arena.address, key, number)

    def remember_verdict(self, q: int, stack: int, border: int, value: int) -> None:
        self._judged += 1
        if 2 * self._judged >= len(self.arena.array(Field.JUDGED)):
            self.arena.grow(Field.JUDGED)
        entries.remember_verdict(self.arena.address, q, stack, border, value)

    def forget_verdicts(self, first_stack: int) -> None:
        """Removes the verdicts on stacks from this number on: the numbers are used again."""
        judged = self.arena.array(Field.JUDGED)
        valid = judged[(judged[:, 0] >= 0) & (judged[:, 1] < first_stack)]
        judged[:] = -1
        for verdict in valid.tolist():
            entries.remember_verdict(self.arena.address, *verdict)
        self._judged = len(valid)

    @property
    def objects(self) -> list[object]:
        """The objects that the numbers of states stand for."""
        self.resolve()
        return self._objects

    @property
    def border_terms(self) -> list[Term]:
        """The terms that the numbers of borders stand for."""
        self.resolve()
        return self._border_terms

    # ------------------------------------------------------------------ what an earlier process saved

    def _adopt(self, arrays: dict[str, np.ndarray]) -> None:
        """Takes over the arrays that an earlier process saved."""
        arena, origins, roots = self.arena, arrays["origins"], len(self._objects)
        if len(origins) < roots or (origins[:roots, 0] != ROOT).any() or (origins[roots:, 0] == ROOT).any():
            return
        if int(arrays["start"][0]) != self.start:
            return
        for name, array in arrays.items():
            field = Field.__members__.get(name)
            if field is None or field in HASHES:
                continue
            arena.fill(field, array)
            if field in survey_store.COUNTED:
                arena.words[survey_store.COUNTED[field]] = len(array)
        arena.fill_hash(Field.K_HASH, Field.K_LEXER)
        arena.fill_hash(Field.TRIE_HASH, Field.TRIES)
        arena.fill_hash(Field.SURVEY_HASH, Field.SURVEY)
        arena.fill_hash(Field.SIGNATURE_HASH, Field.SIGNATURES)
        self.origins = [(kind, of, which) for kind, of, which in origins.tolist()]
        self.border_origins = [(kind, of, which) for kind, of, which in arrays["border_origins"].tolist()]
        self._objects += [None] * (len(self.origins) - roots)
        self._border_terms += [NOTHING] * (len(self.border_origins) - 2)
        self.move_count, self.verdict_count = len(arrays["MOVES"]), len(arrays["VERDICTS"])
        self.is_resolved = False
        for key, border in arrays["B_AND"].tolist():
            self._remember_pair(key, border)
        for verdict in arrays["JUDGED"].tolist():
            self.remember_verdict(*verdict)
        self.surveys_read = int(arena.words[Field.SURVEY_COUNT])

    def resolve(self) -> None:
        """Finds the objects again that numbers from the disk stand for."""
        if self.is_resolved:
            return
        try:
            self._find_objects()
        except LimitExceeded:
            raise
        except Exception as error:  # no number can be trusted then: nothing more is made here
            self.arena.is_full = True
            with contextlib.suppress(OSError):
                if self.path is not None:
                    self.path.unlink()
            raise LimitExceeded(
                "what an earlier process has left on the disk does not fit this grammar, and has been removed; begin the text again"
            ) from error
        self.is_resolved = True

    def _find_objects(self) -> None:
        program, samples = self.program, self.program.byte_sets.samples
        made: dict[int, Expansion] = {}

        def made_of(number: int) -> Expansion:
            if number not in made:
                made[number] = program.expand(self._objects[number])
            return made[number]

        for number, (kind, of, which) in enumerate(self.origins):
            if kind == ROOT:
                continue
            if kind == BY_BYTE:
                state = next(target for bits, target in made_of(of)[0] if bits & samples[which])
            else:
                state = made_of(of)[1][which][kind]
            self._objects[number] = state
            self.known[state] = number
        for number, (kind, of, which) in enumerate(self.border_origins):
            if kind == ROOT:
                continue
            term: object
            if kind == BY_BYTE:
                edges = program.algebra.edges(self._border_terms[of])
                term = next(target for bits, target in edges if bits & samples[which])
            elif kind == OPERAND:
                term = made_of(of)[1][which][2]
            else:
                term = program.algebra.both((self._border_terms[of], self._border_terms[which]))
            if not isinstance(term, Term):
                raise TypeError("no border")
            self._border_terms[number] = term
            self._borders[term] = number
        for number in range(FIRST_REAL, len(self.origins)):
            if self.arena.array(Field.Q_STATUS)[number] & layout.EXPANDED:
                self._check_state(number, made_of(number))
        for number in range(2, len(self.border_origins)):
            if self.arena.array(Field.B_STATUS)[number] & layout.EXPANDED:
                self._check_border(number)

    def _check_state(self, number: int, made: Expansion) -> None:
        """Raises where the row from the disk differs from that of the state found for the number: masks would be those
        of another state."""
        edges, moves, _ = made
        row = self.arena.array(Field.Q_NEXT)[number].tolist()
        for bits, target in edges:
            after = self.known.get(target, layout.ACCEPT if target is ACCEPTED else None)
            if any(row[column] != after for column in self.program.byte_sets.classes_in(bits)):
                raise ValueError("another row")
        first, count = self.arena.array(Field.Q_MOVES)[number].tolist()
        written = self.arena.array(Field.MOVES)[first : first + count].tolist()
        if len(written) != len(moves) or any(map(self._differ, moves, written)):
            raise ValueError("other moves")

    def _differ(self, move: Move, written: list[int]) -> bool:
        kind, operand, other = move
        if kind == layout.CALL:
            after = 0 if other is None else self.known.get(other)
            return written != [kind, self.known.get(operand), after]
        if isinstance(other, Term):  # LEX, LINE, POP
            border = self._borders.get(other, None if self.program.is_alive(other) else 0)
            return written != [kind, 0 if kind == layout.POP else operand, border]
        return written[0] != kind

    def _check_border(self, number: int) -> None:
        row = self.arena.array(Field.B_NEXT)[number].tolist()
        for bits, target in self.program.algebra.edges(self._border_terms[number]):
            after = self._borders.get(target, None if self.program.is_alive(target) else 0)
            if any(row[column] != after for column in self.program.byte_sets.classes_in(bits)):
                raise ValueError("another row")
