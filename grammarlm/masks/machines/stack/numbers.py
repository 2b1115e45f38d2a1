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

import atexit
import collections
import contextlib
import weakref

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.grammars.lark.lexer import LexerState
from grammarlm.grammars.regular.terms import ANYTHING, NOTHING, Term
from grammarlm.kernels.cpu.stack import rehash
from grammarlm.layout import stack as layout
from grammarlm.layout.stack import Place

from . import survey_store
from .arena import FIRST_REAL, HASHES, SIZES, B, Q, StackArena
from .program import StackProgram

BY_BYTE, OPERAND, RETURN, ROOT = range(4)  # origins of states
BOTH = 2  # origin of borders
WORTH_KEEPING, LARGE_TRIE = 8, 20_000  # new surveys, nodes of a vocabulary's trie: with fewer, no file is written
ACCEPTED = object()  # the pseudo-state ACCEPT, as an object


class StackNumbers(StackArena):
    """The numbered states and borders of one epoch."""

    def __init__(self, program: StackProgram):
        super().__init__(program)
        self._states: dict[object, int] = {}
        self._objects: list[object] = [None] * FIRST_REAL
        self._borders: dict[Term, int] = {NOTHING: 0, ANYTHING: 1}
        self._border_terms: list[Term] = [NOTHING, ANYTHING]
        self.origins = [(ROOT, 0, 0)] * FIRST_REAL
        self.border_origins = [(ROOT, 0, 0)] * 2
        self.move_count = self.verdict_count = self._judged = 0
        self._is_resolved = True
        self._path, self._kept = None, 0
        if program.lr:
            self._fixed(Place.LR_LEXER, np.array([self._number(s, (ROOT, 0, 0)) for s in program.lr.lexers], np.int32))
        self.start_number = self._number(program.start_state, (ROOT, 0, 0))
        self._path = survey_store.store_path(self)
        arrays = None if self._path is None else survey_store.load(self, self._path)
        if arrays is not None:
            self._adopt(arrays)
        if self._path is not None:
            _KEEPERS.add(self)

    def _number(self, state: object, origin: tuple[int, int, int]) -> int:
        """The number of an automaton state, given when it is first met."""
        if state is ACCEPTED:
            return layout.ACCEPT
        number = self._states.get(state)
        if number is None:
            limits = self.program.limits
            number = len(self._objects)
            if number >= limits.max_states:
                self.is_full = True
                raise LimitExceeded(
                    f"the grammar needs more than limits.max_states = {limits.max_states} states at once; "
                    "simplify it or raise the limit"
                )
            if number >= len(self._arrays[Place.Q_STATUS]):
                self._grow(*Q)
            self._states[state] = number
            self._objects.append(state)
            self.origins.append(origin)
            if not (isinstance(state, LexerState) and state.lexer.shifts):
                self._arrays[Place.Q_LIVE][number] = ~np.uint64(0)
                self._arrays[Place.Q_STATUS][number] = layout.LIVE_KNOWN
            elif state.start:
                self._arrays[Place.Q_STATUS][number] = layout.STARTS
        return number

    def _border(self, term: Term, origin: tuple[int, int, int]) -> int:
        number = self._borders.get(term)
        if number is None:
            if not self.program.is_alive(term):
                number = 0
            else:
                number = len(self._border_terms)
                if number >= self.program.limits.max_states:
                    self.is_full = True
                    raise LimitExceeded("the grammar's borders need more than limits.max_states states; simplify it")
                if number >= len(self._arrays[Place.B_STATUS]):
                    self._grow(*B)
                self._border_terms.append(term)
                self.border_origins.append(origin)
                trusted = layout.TRUSTED if self.program.trust.trusts(term) else 0
                self._arrays[Place.B_STATUS][number] = trusted | (layout.ACCEPTS if term.nullable else 0)
            self._borders[term] = number
        return number

    def _remember_pair(self, key: int, number: int) -> None:
        table = self._arrays[Place.B_AND]
        if 2 * int((table[:, 0] >= 0).sum()) >= len(table):
            self._grow(Place.B_AND)
        rehash.remember_pair(self.address, key, number)

    def _remember_verdict(self, q: int, stack: int, border: int, value: int) -> None:
        self._judged += 1
        if 2 * self._judged >= len(self._arrays[Place.JUDGED]):
            self._grow(Place.JUDGED)
        rehash.remember_verdict(self.address, q, stack, border, value)

    # ------------------------------------------------------------------ what an earlier process saved

    def _adopt(self, arrays: dict[str, np.ndarray]) -> None:
        """Takes over the arrays that an earlier process saved."""
        origins, roots = arrays["origins"], len(self._objects)
        if len(origins) < roots or (origins[:roots, 0] != ROOT).any() or (origins[roots:, 0] == ROOT).any():
            return
        if int(arrays["start"][0]) != self.start_number:
            return
        for name, array in arrays.items():
            place = Place.__members__.get(name)
            if place is None or place in HASHES:
                continue
            if len(array) < len(self._arrays[place]):
                self._arrays[place][: len(array)] = array
            else:
                self._fixed(place, array)
                if place in SIZES:
                    self.arena[SIZES[place]] = len(array)
            if place in survey_store.COUNTED:
                self.arena[survey_store.COUNTED[place]] = len(array)
        for table, rows in (
            (Place.K_HASH, Place.K_LEXER),
            (Place.TRIE_HASH, Place.TRIES),
            (Place.SURVEY_HASH, Place.SURVEY),
            (Place.SIGNATURE_HASH, Place.SIGNATURES),
        ):
            size = len(self._arrays[table])
            while size < 2 * len(self._arrays[rows]):
                size *= 2
            self._resize(table, size)
        self.origins = [tuple(origin) for origin in origins.tolist()]
        self.border_origins = [tuple(origin) for origin in arrays["border_origins"].tolist()]
        self._objects += [None] * (len(self.origins) - roots)
        self._border_terms += [NOTHING] * (len(self.border_origins) - 2)
        self.move_count, self.verdict_count = len(arrays["MOVES"]), len(arrays["VERDICTS"])
        self._is_resolved = False
        for key, border in arrays["B_AND"].tolist():
            self._remember_pair(key, border)
        for verdict in arrays["JUDGED"].tolist():
            self._remember_verdict(*verdict)
        self._kept = int(self.arena[Place.SURVEY_COUNT])

    @property
    def objects(self) -> list[object]:
        """The objects that the numbers of states stand for."""
        self._resolve()
        return self._objects

    @property
    def border_terms(self) -> list[Term]:
        """The terms that the numbers of borders stand for."""
        self._resolve()
        return self._border_terms

    def _resolve(self) -> None:
        """Finds the objects again that numbers from the disk stand for."""
        if self._is_resolved:
            return
        try:
            self._find_objects()
        except LimitExceeded:
            raise
        except Exception as error:  # no number can be trusted then: nothing more is made here
            self.is_full = True
            with contextlib.suppress(OSError):
                if self._path is not None:
                    self._path.unlink()
            raise LimitExceeded(
                "what an earlier process has left on the disk does not fit this grammar, and has been removed; begin the text again"
            ) from error
        self._is_resolved = True

    def _find_objects(self) -> None:
        program, samples = self.program, self.program.byte_sets.samples
        moves: dict[int, tuple] = {}

        def made_of(number: int) -> tuple:
            if number not in moves:
                moves[number] = program.expand(self._objects[number])
            return moves[number]

        for number, (kind, of, which) in enumerate(self.origins):
            if kind == ROOT:
                continue
            if kind == BY_BYTE:
                state = next(target for bits, target in made_of(of)[0] if bits & samples[which])
            else:
                state = made_of(of)[1][which][kind]
            self._objects[number] = state
            self._states[state] = number
        for number, (kind, of, which) in enumerate(self.border_origins):
            if kind == ROOT:
                continue
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
            if self._arrays[Place.Q_STATUS][number] & layout.EXPANDED:
                self._check_state(number, made_of(number))
        for number in range(2, len(self.border_origins)):
            if self._arrays[Place.B_STATUS][number] & layout.EXPANDED:
                self._check_border(number)

    def _check_state(self, number: int, made: tuple) -> None:
        """Raises where the row from the disk differs from that of the state found for the number: masks would be those
        of another state."""
        edges, moves, _ = made
        row = self._arrays[Place.Q_NEXT][number].tolist()
        for bits, target in edges:
            after = self._states.get(target, layout.ACCEPT if target is ACCEPTED else None)
            if any(row[column] != after for column in self.program.byte_sets.classes_in(bits)):
                raise ValueError("another row")
        first, count = self._arrays[Place.Q_MOVES][number].tolist()
        written = self._arrays[Place.MOVES][first : first + count].tolist()
        if len(written) != len(moves) or any(map(self._differ, moves, written)):
            raise ValueError("other moves")

    def _differ(self, move: tuple, written: list[int]) -> bool:
        kind, operand, other = move
        if kind == layout.CALL:
            after = 0 if other is None else self._states.get(other)
            return written != [kind, self._states.get(operand), after]
        if kind in (layout.LEX, layout.LINE, layout.POP):
            border = self._borders.get(other, None if self.program.is_alive(other) else 0)
            return written != [kind, 0 if kind == layout.POP else operand, border]
        return written[0] != kind

    def _check_border(self, number: int) -> None:
        row = self._arrays[Place.B_NEXT][number].tolist()
        for bits, target in self.program.algebra.edges(self._border_terms[number]):
            after = self._borders.get(target, None if self.program.is_alive(target) else 0)
            if any(row[column] != after for column in self.program.byte_sets.classes_in(bits)):
                raise ValueError("another row")

    def keep_surveys(self) -> None:
        """Saves the surveys to disk, where there are enough new ones."""
        if self._path is None or not self._has_news:
            return
        with self.program.lock:
            made = int(self.arena[Place.SURVEY_COUNT])
            if made >= self._kept + WORTH_KEEPING:
                with self.in_turn():
                    kept = survey_store.save(self, self._path)
                self._kept = made if kept else self._kept

    @property
    def _has_news(self) -> bool:
        """Asked without the lock: the count only grows."""
        if self._path is None or len(self.program.vocab.trie.byte) < LARGE_TRIE:
            return False
        return int(self.arena[Place.SURVEY_COUNT]) >= self._kept + WORTH_KEEPING

    def __del__(self) -> None:
        """Runs wherever Python happens to collect, perhaps under a lock, so nothing is written here: keep_left_surveys
        does that later."""
        if self.__dict__.get("_path") is not None and self._has_news:
            _LEFT.append(self)


_KEEPERS: weakref.WeakSet[StackNumbers] = weakref.WeakSet()
# Dropped epochs with surveys that are not on disk yet.
_LEFT: collections.deque[StackNumbers] = collections.deque(maxlen=2)


def keep_left_surveys() -> None:
    """Writes the surveys of epochs that nobody uses any more: at the next compile, or when the process ends."""
    while _LEFT:
        with contextlib.suppress(IndexError):  # another thread has taken it
            _LEFT.popleft().keep_surveys()


@atexit.register
def _keep_all() -> None:
    """At the end of the process: saves all new surveys for the next one."""
    for states in list(_KEEPERS):
        states.keep_surveys()
    keep_left_surveys()
