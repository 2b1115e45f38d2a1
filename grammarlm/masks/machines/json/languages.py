"""Languages of strings as automata that kernels walk.

A state is a tuple of terms, one a case (of the keys of an object, say). Its row of 256 next states is made when a
kernel misses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

import numpy as np

from grammarlm.errors import LimitExceeded, UnsupportedFeature
from grammarlm.grammars.json_schema.strings.languages import Languages
from grammarlm.grammars.json_schema.strings.text_algebra import TextAlgebra, within
from grammarlm.grammars.regular.derivatives import Algebra
from grammarlm.grammars.regular.terms import ALT, CAT, NOTHING, Term, accepts_empty
from grammarlm.layout.json_strings import UNKNOWN_LOOPS

FIRST_CAPACITY = 32
ENDLESS, FIRST_COUNT = 1 << 40, 256
MADE_AHEAD = 16  # states made beyond those that a walk is missing, the first time
MUCH_AHEAD = 150  # states and terms after which no more are made: 1.5 ms, but the same on every machine
LETTER = 0x65  # a sample byte: where it leads back to the state, most letters do
ALL_BYTES = (1 << 256) - 1

Vector = tuple[Term, ...]


class LanguageStates:
    """States by number. 0 is dead; every other can be finished."""

    def __init__(
        self,
        algebra: Algebra,
        every: Term,
        is_alive: Callable[[Term], bool],
        max_states: int,
        *,
        is_endless: Callable[[Term], bool] = lambda term: True,
        count_of: Callable[[Term, int], int] = lambda term, most: most,
        capacity: int = FIRST_CAPACITY,
    ):
        """`every` is the term of all strings."""
        self._algebra, self._every, self._is_alive, self._max_states = algebra, every, is_alive, max_states
        self._vectors: list[Vector] = [()]
        self._numbers: dict[Vector, int] = {(): 0}
        self._made = bytearray([1])
        self.table = np.zeros((capacity, 256), np.int32)  # 0: not made yet, -1: refused
        self.accepts = np.zeros(capacity, np.int32)  # which case accepts, counted from 1
        self.universal = np.zeros(capacity, np.uint8)  # every string is accepted from here, in one case
        self.total = np.zeros(capacity, np.uint8)  # every string can be continued from here and finished
        self.loops = np.zeros(capacity, np.int64)  # written by kernels
        self.lengths_at = np.full(capacity, -1, np.int64)
        self.lengths = np.zeros(64, np.uint64)
        self._lengths_used = self._lengths_most = 0
        self._bits_of: Callable[[Term, int], int] = lambda term, most: 0
        self._is_endless, self._count_of = is_endless, count_of
        # The number of strings accepted from here; -k: at least k, 0: not counted yet.
        self.counts = np.zeros(capacity, np.int64)
        self._placed: tuple[tuple[np.ndarray, ...], tuple[int, ...]] | None = None
        self.table[0] = -1

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return (
            self.table,
            self.accepts,
            self.universal,
            self.lengths,
            self.lengths_at,
            self.counts,
            self.total,
            self.loops,
        )

    @property
    def placed(self) -> tuple[tuple[np.ndarray, ...], tuple[int, ...]]:
        """The arrays, and their addresses."""
        arrays = self.arrays
        if self._placed is None or any(a is not b for a, b in zip(self._placed[0], arrays, strict=True)):
            self._placed = arrays, tuple([int(a.ctypes.data) for a in arrays])
        return self._placed

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def alone(self, state: int, case: int) -> int:
        """The state of one of a state's cases."""
        return self.number((self._vectors[state][case],))

    def number(self, vector: Vector, counted: bool = False) -> int:
        """The state of a vector of terms; 0 where no case can be finished. `counted`: also finds out whether its
        strings are infinitely many."""
        known = self._numbers.get(vector)
        if known is not None:
            if counted and self.counts[known] == 0:
                self._note_endless(known)
            return known
        alive = tuple([term if term is NOTHING or term.sure or self._is_alive(term) else NOTHING for term in vector])
        if all(term is NOTHING for term in alive):
            self._numbers[vector] = 0
            return 0
        known = self._numbers.get(alive)
        if known is None:
            number = len(self._vectors)
            if number >= self._max_states:
                raise LimitExceeded(
                    f"the languages of strings need more than {self._max_states} states; simplify the patterns or "
                    "raise limits.max_states"
                )
            if number >= len(self.table):
                self._grow()
            living = [term for term in alive if term is not NOTHING]
            self.universal[number] = len(living) == 1 and living[0] is self._every
            self.total[number] = len(alive) == 1 and self._is_total(alive[0])
            self.accepts[number] = next((i + 1 for i, term in enumerate(alive) if accepts_empty(term)), 0)
            if self._lengths_most:
                self._add_lengths(number, alive)
            self.counts[number] = -ENDLESS if counted and self._are_endless(alive) else 0
            self._made[number:] = b"\0"
            self._vectors.append(alive)  # appended last: an interruption before this leaves no half-made state
            self._numbers[alive] = known = number
        self._numbers[vector] = known
        return known

    def _are_endless(self, vector: Vector) -> bool:
        return any(self._is_endless(term) for term in vector if term is not NOTHING)

    def _note_endless(self, state: int) -> bool:
        found = self._are_endless(self._vectors[state])
        if found:
            self.counts[state] = -ENDLESS
        return found

    def _is_total(self, term: Term) -> bool:
        """Does the form of the term prove that every string can be continued and finished?"""
        if term is self._every:
            return True
        if term.kind == ALT:
            return any(self._is_total(part) for part in term.parts if part is self._every or part.kind == CAT)
        # any string, followed by something that is not empty
        return term.kind == CAT and term.parts[0] is self._every and (term.sure or self._is_alive(term))

    def _grow(self) -> None:
        self._move(2 * len(self.table))

    def _move(self, size: int) -> None:
        """Replaces all arrays: kernels of other epochs go on with the old ones, in which no row leads to a state made later."""
        for name, empty in (  # the table last: its length is the number of states there is room for
            ("accepts", 0),
            ("universal", 0),
            ("total", 0),
            ("loops", 0),
            ("lengths_at", -1),
            ("counts", 0),
            ("table", 0),
        ):
            old = getattr(self, name)
            new = np.full((size, *old.shape[1:]), empty, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)

    def make(self, states: Iterable[int], times: int = 0, waits: bool = False) -> None:
        """Makes the rows of these states, and of some that follow them: a walk that misses one will likely miss those,
        too.

        A walk that starts over each time reports missing states one by one. So after several times it gets twice as
        many each time, and unmade states elsewhere where too few follow these. A walk that `waits` resumes instead: it
        gets as few as the first time, since of large patterns others are many and seldom needed.
        """
        self.loops[self.loops == UNKNOWN_LOOPS] = 0
        if waits:
            self._make_from(list(states), MADE_AHEAD)
            return
        left = self._make_from(list(states), MADE_AHEAD << min(times, 12))
        if times and left:
            self._make_from(np.flatnonzero(np.frombuffer(bytes(self._made), np.uint8) == 0)[:left].tolist(), 0)

    def _make_from(self, queue: list[int], ahead: int) -> int:
        """Makes these and up to `ahead` that follow them; returns how many fewer there were."""
        most, terms = len(queue) + ahead, self._algebra.size
        for made, state in enumerate(queue):
            if self._made[state]:
                continue
            try:
                targets = self._make(state)
            except UnsupportedFeature as error:  # a term that would be refused at compile is a limit within a text
                raise LimitExceeded(str(error)) from None
            if len(queue) < most and self._algebra.size - terms + made < MUCH_AHEAD:
                queue += [t for t in targets if not self._made[t]][: most - len(queue)]
            elif self.table[state, LETTER] == state or any(map(within, self._vectors[state])):
                queue += self._within(state)
        return most - len(queue)

    def _within(self, state: int) -> list[int]:
        """Unmade states within a character after this one: whether all characters keep a state depends on them."""
        after = set(self.table[state, 0x80:].tolist()) - {0, -1}
        return [t for t in after if not self._made[t] and any(map(within, self._vectors[t]))]

    def _make(self, state: int) -> list[int]:
        vector = self._vectors[state]
        row = np.full(256, -1, np.int32)
        counted, targets = bool(self.counts[state]) or len(vector) > 1, []
        for bits, terms in self._edges_of_cases(vector):
            number = self.number(terms, counted)
            if number:
                row[bytes_of(bits)] = number
                targets.append(number)
        self.table[state] = row
        self._made[state] = 1
        return targets

    def _edges_of_cases(self, vector: Vector) -> list[tuple[int, Vector]]:
        """Sets of bytes, and the terms after them."""
        parts = [(ALL_BYTES, (NOTHING,) * len(vector))]
        for case, term in enumerate(vector):
            edges, split = self._algebra.edges(term), []
            for part, terms in parts:
                left = part
                for bits, after in edges:
                    both = left & bits
                    if both:
                        split.append((both, (*terms[:case], after, *terms[case + 1 :])))
                        left ^= both
                if left:
                    split.append((left, terms))
            parts = split
        return parts

    def count(self, states: Iterable[int]) -> None:
        """Counts the strings accepted from these states, up to a bound: four times the last one (FIRST_COUNT at first)."""
        for state in states:
            if self._note_endless(state):
                continue
            most = max(FIRST_COUNT, -4 * int(self.counts[state]))
            try:
                found = sum(self._count_of(term, most) for term in self._vectors[state] if term is not NOTHING)
            except UnsupportedFeature as error:
                raise LimitExceeded(str(error)) from None
            self.counts[state] = found if found < most else -min(most, ENDLESS)

    def record_lengths(self, most: int, bits_of: Callable[[Term, int], int]) -> None:
        """From now on states store the lengths that can still come: bit k for k characters up to `most`, bit most + 1: more."""
        if most > self._lengths_most or bits_of != self._bits_of:
            self._lengths_most, self._bits_of = max(most, self._lengths_most), bits_of
            for state in range(1, len(self._vectors)):
                self._add_lengths(state, self._vectors[state])

    def _add_lengths(self, state: int, vector: Vector) -> None:
        if len(vector) != 1:
            self.lengths_at[state] = -1
            return
        most = self._lengths_most
        bits = self._bits_of(vector[0], most)
        words = most // 64 + 1
        at = self._lengths_used
        if at + 2 + words > len(self.lengths):
            room = np.zeros(len(self.lengths) + 2 + words, np.uint64)
            self.lengths = np.concatenate([self.lengths, room])
            self._move(len(self.table))  # an old table and new lengths must not be combined
        self.lengths[at], self.lengths[at + 1] = words, bits >> (most + 1) & 1
        self.lengths[at + 2 : at + 2 + words] = np.frombuffer(
            (bits & ((2 << most) - 1)).to_bytes(8 * words, "little"), np.uint64
        )
        self._lengths_used = at + 2 + words
        self.lengths_at[state] = at


_KNOWN: dict[int, np.ndarray] = {}


def bytes_of(bits: int) -> np.ndarray:
    known = _KNOWN.get(bits)
    if known is None:
        if len(_KNOWN) > 4096:
            _KNOWN.clear()
        spread = np.frombuffer(bits.to_bytes(32, "little"), np.uint8)
        known = _KNOWN[bits] = np.flatnonzero(np.unpackbits(spread, bitorder="little"))
    return known


class SchemaLanguages:
    """A schema's languages of strings, and their states, made where some string needs them."""

    def __init__(self, make_algebra: Callable[[], TextAlgebra], max_states: int):
        self.languages, self._max_states = Languages(make_algebra), max_states

    @cached_property
    def states(self) -> LanguageStates:
        languages = self.languages
        return LanguageStates(
            languages.algebra, languages.every, lambda term: not languages.is_dead(term), self._max_states,
            is_endless=languages.is_endless, count_of=languages.count_after,
        )  # fmt: skip

    @property
    def made_states(self) -> LanguageStates:
        """The states, if there are any; otherwise an empty automaton, which must not be changed."""
        return self.states if "states" in self.__dict__ else NO_STATES


_NO_LANGUAGES = Languages()
NO_STATES = LanguageStates(_NO_LANGUAGES.algebra, _NO_LANGUAGES.every, lambda term: True, 1, capacity=1)
