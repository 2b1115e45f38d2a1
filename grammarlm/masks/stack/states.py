"""States and borders of the pushdown machine: numbers for them, and what the kernels lack of them.

A number is given when a state is first met, its row is filled when a kernel asks for it. Stacks and configs are made by the kernels
themselves.

Rows that an earlier process has left on the disk (survey_store.py) come without the objects that their numbers stand for. Those are
found again as soon as something new must be made, each from its **origin**:

    states     BY_BYTE p c     what the bytes of class c lead to from state p        OPERAND p i, RETURN p i   of its move i
    borders    BY_BYTE b c     the same of borders      OPERAND p i   of state p's move i       BOTH b c      their conjunction
    ROOT       the states of the lexer's contexts and the start, borders 0 and 1: known from the program
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import LimitExceeded
from ...grammars.lexer import LexerState
from ...grammars.terms import ANYTHING, CAT, NOTHING, WORDS, Term
from ...kernels.cpu import places, rehash
from ...kernels.cpu.places import LR_BASE, Place
from ..collector import PATIENT
from . import survey_store
from .arena import FIRST_REAL, HASHES, SIZES, B, Q, StackArena
from .program import StackProgram

AHEAD, AHEAD_TERMS = 100, 12  # lexer states, or states of a rule, that are made together
AHEAD_LETTERS = 8  # of a string
MOST_BORDERS = 1000  # up to so many are made together
BY_BYTE, OPERAND, RETURN, ROOT = range(4)  # origins of states
BOTH = 2  # and of borders
WORTH_KEEPING, LARGE_TRIE = 8, 20_000  # new surveys, nodes of a vocabulary's trie: below them a file is not worth while
ONE_WORD = (1 << 64) - 1
ACCEPTED = object()  # the pseudo-state ACCEPT, without its number


class NeedsWalks(Exception):
    """A survey has met a thread whose end hangs on its whole stack, or is wider than a walk would be."""


class StackStates(StackArena):
    """The numbered states and borders of one generation."""

    def __init__(self, program: StackProgram):
        super().__init__(program)
        self._states: dict[object, int] = {}
        self._objects: list[object] = [None] * FIRST_REAL
        self._borders: dict[Term, int] = {NOTHING: 0, ANYTHING: 1}
        self._border_terms: list[Term] = [NOTHING, ANYTHING]
        self.origins = [(ROOT, 0, 0)] * FIRST_REAL
        self.border_origins = [(ROOT, 0, 0)] * 2
        self.move_count = self.verdict_count = self._judged = 0
        self._finishes: dict[tuple[Any, Any], bool] = {}
        self._is_resolved = True
        self._is_signing = self._has_passing = False
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

    # ------------------------------------------------------------------ what was known before

    def _adopt(self, arrays: dict[str, np.ndarray]) -> None:
        """Goes on where the process stopped that has left these arrays."""
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
        """What the numbers of states stand for."""
        self._resolve()
        return self._objects

    @property
    def border_terms(self) -> list[Term]:
        """What the numbers of borders stand for."""
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
        except Exception as error:  # no number can be trusted then: nothing is made here any more
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
            if self._arrays[Place.Q_STATUS][number] & places.EXPANDED:
                self._check_state(number, made_of(number))
        for number in range(2, len(self.border_origins)):
            if self._arrays[Place.B_STATUS][number] & places.EXPANDED:
                self._check_border(number)

    def _check_state(self, number: int, made: tuple) -> None:
        """Does the row from the disk say what the state found for the number does? Else masks would be made of another state."""
        edges, moves, _ = made
        row = self._arrays[Place.Q_NEXT][number].tolist()
        for bits, target in edges:
            after = self._states.get(target, places.ACCEPT if target is ACCEPTED else None)
            if any(row[column] != after for column in self.program.byte_sets.classes_in(bits)):
                raise ValueError("another row")
        first, count = self._arrays[Place.Q_MOVES][number].tolist()
        written = self._arrays[Place.MOVES][first : first + count].tolist()
        if len(written) != len(moves) or any(map(self._differ, moves, written)):
            raise ValueError("other moves")

    def _differ(self, move: tuple, written: list[int]) -> bool:
        kind, operand, other = move
        if kind == places.CALL:
            after = 0 if other is None else self._states.get(other)
            return written != [kind, self._states.get(operand), after]
        if kind in (places.LEX, places.LINE, places.POP):
            border = self._borders.get(other, None if self.program.is_alive(other) else 0)
            return written != [kind, 0 if kind == places.POP else operand, border]
        return written[0] != kind

    def _check_border(self, number: int) -> None:
        row = self._arrays[Place.B_NEXT][number].tolist()
        for bits, target in self.program.algebra.edges(self._border_terms[number]):
            after = self._borders.get(target, None if self.program.is_alive(target) else 0)
            if any(row[column] != after for column in self.program.byte_sets.classes_in(bits)):
                raise ValueError("another row")

    def keep_surveys(self) -> None:
        """Leaves what is known on the disk, where that is worth while."""
        if self._path is None or len(self.program.vocab.trie.byte) < LARGE_TRIE:
            return
        with self.program.lock:
            made = int(self.arena[Place.SURVEY_COUNT])
            if made >= self._kept + WORTH_KEEPING:
                with self.in_turn():
                    kept = survey_store.save(self, self._path)
                self._kept = made if kept else self._kept

    def __del__(self) -> None:
        if self.__dict__.get("_path") is not None and not _closing.is_set():
            self.keep_surveys()

    # ------------------------------------------------------------------ numbers

    def _number(self, state: object, origin: tuple[int, int, int]) -> int:
        """The number of an automaton state, given when it is first met."""
        if state is ACCEPTED:
            return places.ACCEPT
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
                self._arrays[Place.Q_STATUS][number] = places.LIVE_KNOWN
            elif state.start:
                self._arrays[Place.Q_STATUS][number] = places.STARTS
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
                trusted = places.TRUSTED if self.program.trust.trusts(term) else 0
                self._arrays[Place.B_STATUS][number] = trusted | (places.ACCEPTS if term.nullable else 0)
            self._borders[term] = number
        return number

    # ------------------------------------------------------------------ what kernels lack

    def _supply(self, code: int) -> None:
        """Makes what a kernel's negative answer asks for."""
        self.program.clock.check()
        reason, index = -code & 7, -code >> 3
        if reason == places.NEED_LOCK:  # a seat writes down a survey
            time.sleep(0)
            return
        needed = self._arrays[Place.NEEDED][: self.arena[Place.NEEDED_COUNT]].tolist()
        self.arena[Place.NEEDED_COUNT] = 0
        if needed or reason not in (places.FULL, places.TOO_WIDE):
            self._resolve()
        for number in needed:
            self._expand_ahead(number)
        if reason == places.NEED_STATE:
            self._expand_ahead(index)
        elif reason == places.NEED_BORDER:
            self._expand_borders(index)
        elif reason == places.NEED_AND:
            b, c, _ = self._arrays[Place.PAIR].tolist()
            self._conjoin(b, c)
        elif reason == places.NEED_LIVE:
            self._expand_ahead(index)
        elif reason == places.NEED_VERDICT:
            self._judge(*self._arrays[Place.PAIR].tolist())
        elif reason == places.FULL:
            self._grow_full(index)
        elif self._is_signing and self.only_inside:
            raise NeedsWalks
        else:
            raise LimitExceeded(
                f"the text so far can be read in more than {places.WIDEST:,} ways at once; make the grammar less ambiguous"
            )

    def _expand_ahead(self, number: int) -> None:
        """Makes a state, and those that bytes lead to from it: a walk over tokens that needs one needs the others next."""
        done = places.EXPANDED | places.LIVE_KNOWN
        terms = AHEAD_TERMS if self.uses_surveys and not self.only_inside else 1
        waiting, seen = [number], {number}
        for here in waiting:
            state, status = self._objects[here], int(self._arrays[Place.Q_STATUS][here])
            if status & places.EXPANDED:
                targets = self._arrays[Place.Q_NEXT][here].tolist()
            else:
                targets = self._expand_word(here, state) or self._expand(here)
            if not status & places.LIVE_KNOWN:
                self._find_live(here)
            if len(waiting) < (AHEAD if isinstance(state, LexerState) else terms):
                statuses = self._arrays[Place.Q_STATUS]
                for after in sorted(set(targets) - seen):
                    if after >= FIRST_REAL and statuses[after] & done != done:
                        seen.add(after)
                        waiting.append(after)

    def _expand_word(self, number: int, state: object) -> list[int]:
        """Makes a state before a string, and those within it, as `_expand` would one by one; none where it is not one."""
        if not isinstance(state, Term) or self.program.trust.level != places.UNCHECKED:
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
        arrays[Place.Q_STATUS][made[:-1]] |= places.EXPANDED | places.READS
        return made[-1:]

    def _expand(self, number: int) -> list[int]:
        """Makes a state's row; the states in it."""
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
        status = places.EXPANDED | (places.READS if targets else 0)
        if targets and getattr(state, "start", False) and all(move[0] == places.END for move in moves):
            status |= places.AT_ONCE
        trust = program.trust
        if trust.level != places.UNCHECKED:
            status |= places.BETWEEN if trust.is_between(state) else 0
            status |= places.DOUBTFUL if trust.is_doubtful(state) else 0
        self._arrays[Place.Q_STATUS][number] |= status | (places.LOOPS if program.loops(state) else 0)
        return targets

    def _move(self, kind: int, operand: Any, other: Any, of: int, which: int) -> tuple[int, int, int]:
        if kind == places.CALL:
            after = 0 if other is None else self._number(other, (RETURN, of, which))
            if after:
                self._mark_loop(after)
            return kind, self._number(operand, (OPERAND, of, which)), after
        if kind in (places.LEX, places.LINE):
            return kind, operand, self._border(other, (OPERAND, of, which))
        if kind == places.POP:
            return kind, 0, self._border(other, (OPERAND, of, which))
        return kind, operand or 0, 0

    def _mark_loop(self, number: int) -> None:
        if self.program.loops(self._objects[number]):
            self._arrays[Place.Q_STATUS][number] |= places.LOOPS

    def _expand_borders(self, number: int) -> None:
        """Makes a border's row, and those of the newest others that have none: a walk that ends for want of one goes on sooner.

        Not of a border that leads to ever more: where there are many, only what is asked for is made.
        """
        self._expand_border(number)
        known = len(self._border_terms)
        if known > MOST_BORDERS:
            return
        waiting = np.flatnonzero(self._arrays[Place.B_STATUS][:known] & places.EXPANDED == 0)
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
        elif term.nullable:  # a special token is no text: what the border is about has ended
            row[len(program.byte_sets.samples) :] = 1
        self._arrays[Place.B_NEXT][number] = row
        self._arrays[Place.B_STATUS][number] |= places.EXPANDED

    def _conjoin(self, b: int, c: int) -> None:
        number = self._border(self.program.algebra.both((self._border_terms[b], self._border_terms[c])), (BOTH, b, c))
        self._remember_pair(min(b, c) << 32 | max(b, c), number)

    def _remember_pair(self, key: int, number: int) -> None:
        table = self._arrays[Place.B_AND]
        if 2 * int((table[:, 0] >= 0).sum()) >= len(table):
            self._grow(Place.B_AND)
        rehash.remember_pair(self.address, key, number)

    def _find_live(self, number: int) -> None:
        state = self._objects[number]
        assert isinstance(state, LexerState)
        bits = self.program.trust.may_become(state)
        self._arrays[Place.Q_LIVE][number] = self._as_words(bits) if self._words > 1 else bits & ONE_WORD
        self._arrays[Place.Q_STATUS][number] |= places.LIVE_KNOWN

    def _as_words(self, bits: int) -> list[int]:
        return [bits >> 64 * w & ONE_WORD for w in range(max(1, self._words))]

    # ------------------------------------------------------------------ what can be finished

    def _judge(self, q: int, stack: int, border: int) -> None:
        """The verdict on a state under a border (no stack: -1 - the lexer of its context), or on a thread."""
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
            )  # its number is given again behind this mask
            self._has_passing = self._has_passing or passing
            known = {} if passing else self._finishes
            value = trust.liveness.alive_on(state, term, stack, self._look, known)
        self._remember_verdict(q, stack, border, int(value))

    def _remember_verdict(self, q: int, stack: int, border: int, value: int) -> None:
        self._judged += 1
        if 2 * self._judged >= len(self._arrays[Place.JUDGED]):
            self._grow(Place.JUDGED)
        rehash.remember_verdict(self.address, q, stack, border, value)

    def _forget_passing(self) -> None:
        """Takes back the verdicts on stacks that are no more."""
        self._has_passing = False
        judged = self._arrays[Place.JUDGED]
        kept = judged[(judged[:, 0] >= 0) & (judged[:, 1] < self.arena[Place.MARK_S])]
        judged[:] = -1
        for verdict in kept.tolist():
            rehash.remember_verdict(self.address, *verdict)
        self._judged = len(kept)

    def _look(self, stack: Any) -> list[tuple[Any, Any]]:
        """(top, stack below) of each stack that this one is; the empty one's top is None."""
        symbols, parents = self._arrays[Place.S_SYMBOL], self._arrays[Place.S_PARENT]
        found: list[tuple[Any, Any]] = []
        for one in self.ways_of(stack):
            symbol = int(symbols[one])
            top = None if symbol == places.ROOT else symbol - LR_BASE if symbol >= LR_BASE else self._objects[symbol]
            found.append((top, int(parents[one])))
        return found

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
        found = kernel(self.address, *arguments)
        if found >= 0:
            return found
        with PATIENT:  # states and borders are as many objects as a compile makes, and they stay, too
            while found < 0:
                self._supply(found)
                found = kernel(self.address, *arguments)
        return found


_KEEPERS: weakref.WeakSet[StackStates] = weakref.WeakSet()
_closing = threading.Event()


@atexit.register
def _keep_all() -> None:
    """The process ends: whoever has made surveys leaves them to the next one."""
    for states in list(_KEEPERS):
        states.keep_surveys()
    _closing.set()
