"""The sets of stacks of one table: interned, with all that was ever asked about them, shared by the canvases of a view.

    sets = StackSets(table)
    sets.admit([(control, (symbol, ...)), ...])                      # where rows begin: stacks that nothing leads to are left out
    begin = sets.state({control: [(symbol, ...), ...]})              # stacks, the top last
    forward = sets.forward(begin, row)                               # int32 [L + 1]: a state at each boundary
    backward, inner = sets.backward(row, sets.end(room))             # and those within each token
    sets.classes(forward[i], inner[i])                               # bool [K]

A state says of each control (or of each point within a token) which stacks it may have.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.stack_sets import Record, Walk
from grammarlm.layout.stack_sets import StackSets as At
from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.protocol import FINISHED

from .circles import rounds_of
from .set_store import SetStore
from .symbols import Stack

if TYPE_CHECKING:
    from .pushdown import PushdownTable

STEPS, OPERATED_STEPS = 64, 4  # of a row between two looks at the clock; where tables have operations
ROWS_KEPT = 4096
MOST_PUSHED = 4  # symbols a token, at first
EMPTY_STATE = 2  # words of a state without sets


class StackSets:
    """One store; `lock` is held wherever it is used."""

    def __init__(self, table: PushdownTable):
        entries.load("stack_sets")
        table = weakref.proxy(table)  # which has these sets: neither is to wait for the garbage collector
        self.table, self.lock, self._store = table, threading.RLock(), SetStore(table)
        self._is_restricted = False
        self._steps = OPERATED_STEPS if table.operations else STEPS
        self._begin()

    def forget(self) -> None:
        """All records; numbers of before mean nothing from now on, which `generation` says."""
        self._store.forget()
        self._begin()

    def _begin(self) -> None:
        self.generation = object()
        self._ends: dict[int, list[int]] = {}  # by height, with 0, 1, ... tokens behind
        self._ends_of_ends = set[int]()  # heights of which the last state stays as it is
        self._rounds: int | None = None
        self._rows: dict[tuple[int, int], np.ndarray] = {}
        self._store.words[At.EMPTY_STACK] = self._store.record([Record.SET, ROOT, 0])

    @property
    def address(self) -> int:
        """Of the arena, for kernels that only read; the lock is held."""
        return self._store.address

    def admit(self, starts: Iterable[tuple[int, Stack]]) -> None:
        """Rows begin at these places (and those admitted before): stacks that nothing leads to from there are left out, where until
        the first are admitted all are followed. Numbers of before mean nothing where this adds any within tokens."""
        is_first = is_new = not self._is_restricted
        if is_first:
            self._store.put_symbols(np.uint64(0))
            self._is_restricted = True
        inner = self.table.first_micro
        before = self.tops[inner:].copy(), self.belows.copy()  # what passes look at
        for control, stack in starts:
            below = (ROOT, *stack)
            for bits, row, symbol in (
                (self.tops, control, below[-1]),
                *((self.belows, above, under) for above, under in zip(stack, below, strict=False)),
            ):
                word, bit = symbol >> 6, np.uint64(1 << (symbol & 63))
                is_new = is_new or not bits[row, word] & bit
                bits[row, word] |= bit
        if is_new:
            entries.feasible_symbols(self._store.address)
            is_same = (before[0] == self.tops[inner:]).all() and (before[1] == self.belows).all()
            if is_first or not is_same:
                self.forget()

    @property
    def tops(self) -> np.ndarray:
        """uint64 [points, words]: the symbols that can be on top at each point, as bits."""
        return self._store.arrays[At.TOPS]

    @property
    def belows(self) -> np.ndarray:
        """uint64 [symbols, words]: those that each can stand on."""
        return self._store.arrays[At.BELOWS]

    @property
    def rounds(self) -> int:
        """How many micro points a token may go through one after another, where these go round in a circle; 0: any
        number. Elsewhere 1: each is looked at once."""
        if self._rounds is None:
            self._rounds = rounds_of(self.table, self.tops, self.belows) if self.table.has_circles else 1
        return self._rounds

    @property
    def records(self) -> int:
        """Numbers in use."""
        return int(self._store.words[At.RECORDS])

    # ------------------------------------------------------------------ states

    def begin_row(self) -> None:
        """Forgets where there is too much."""
        if self._store.has_much:
            self.forget()

    def state(self, stacks: dict[int, set[Stack]]) -> int:
        """The state of some stacks by control."""
        return self.state_of({control: self._set(frozenset(of)) for control, of in stacks.items() if of})

    def state_of(self, sets: dict[int, int]) -> int:
        """The state of some sets by control."""
        points, numbers = sorted(sets), dict[int, int]()
        of = np.array([numbers.setdefault(sets[point], len(numbers) + 1) for point in points], np.int64)
        pattern = self._store.record([Record.PATTERN, *runs_of(np.array(points, np.int64), of)])
        return self._store.record([Record.STATE, pattern, *numbers])

    def sets_of(self, state: int) -> list[tuple[int, int]]:
        """The points of a state, and the set of each."""
        points, sets = self._points(state)
        return list(zip(points.tolist(), sets.tolist(), strict=True))

    def _points(self, state: int) -> tuple[np.ndarray, np.ndarray]:
        """The same as arrays."""
        _, pattern, *sets = self._store.read(state)
        points, numbers = points_of(self._store.read(pattern)[1:])
        return points, np.array(sets, np.int64)[numbers - 1]

    def record(self, words: Iterable[int]) -> int:
        return self._store.record(words)

    def need_classes(self) -> None:
        """For kernels that follow the edges of single classes."""
        self._store.need_classes()

    def asked(self, ask: Callable[[int], int], check: Callable[[], None]) -> int:
        """What a kernel answers that is given the arena, asked again where there was no room."""
        return self._store.asked(lambda: ask(self._store.address), check)

    def rows_meet(self, first: np.ndarray, second: np.ndarray) -> bool:
        """Has some control the same stack in two rows of sets by control (int32)?"""
        given = address_of(first), address_of(second)
        return self._store.asked(lambda: entries.narrow_meet(self._store.address, *given)) == 1

    def _set(self, stacks: frozenset[Stack]) -> int:
        """The set of some stacks, by their tops."""
        by_top: dict[int, set[Stack]] = {}
        for stack in stacks:
            if stack:
                by_top.setdefault(stack[-1], set()).add(stack[:-1])
        words = [0, 0] if () in stacks else []
        for symbol, rest in sorted(by_top.items()):
            words += [symbol, self._set(frozenset(rest))]
        return self._store.record([Record.SET, *words])

    def end(self, room: int, check: Callable[[], None] = lambda: None, height: int = 0) -> int:
        """The state at the right edge, where up to `room` tokens may follow. `height`: as of backward."""
        ends = self._ends.setdefault(height, [])
        if not ends:
            stop = self.backward(np.array([STOP], np.int32), self.state({FINISHED: {()}}), check, height)[0]
            ends.append(int(stop[0]))
        known = len(ends)
        while known <= room and height not in self._ends_of_ends:
            masked = np.full(min(room + 1 - known, STEPS), MASKED, np.int32)
            more = self.backward(masked, ends[-1], check, height)[0][-2::-1].tolist()
            same = next((i for i, (a, b) in enumerate(itertools.pairwise([ends[-1], *more])) if a == b), None)
            if same is not None:
                self._ends_of_ends.add(height)
            ends += more[:same]
            known = len(ends)
        return ends[min(room, known - 1)]

    def forward(
        self,
        begin: int,
        row: np.ndarray,
        check: Callable[[], None] = lambda: None,
        height: int = 0,
    ) -> np.ndarray:
        """`height`: stacks of more symbols are left out, unless it is 0."""
        states = np.zeros(len(row) + 1, np.int32)
        states[0] = begin
        self._store.need_classes(row)
        for first in range(0, len(row), self._steps):
            part = row[first : first + self._steps]
            places = address_of(part), len(part), address_of(states[first:]), height
            self._store.asked(lambda: entries.sets_forward(self._store.address, *places), check)  # noqa: B023
            check()
        return states

    def backward(
        self,
        row: np.ndarray,
        end: int,
        check: Callable[[], None] = lambda: None,
        height: int = 0,
    ) -> tuple[np.ndarray, np.ndarray]:
        assert height or self.rounds, "stacks of any number of symbols"
        states, inner = np.zeros(len(row) + 1, np.int32), np.zeros(len(row), np.int32)
        states[-1] = end
        self._store.need_classes(row)
        for last in range(len(row), 0, -self._steps):
            first = max(0, last - self._steps)
            places = (
                address_of(row[first:]),
                last - first,
                address_of(states[first:]),
                address_of(inner[first:]),
                height,
            )
            self._store.asked(lambda: entries.sets_backward(self._store.address, *places), check)  # noqa: B023
            check()
        return states, inner

    def has_stacks(self, state: int) -> bool:
        """Is there any stack in a state?"""
        starts = self._store.arrays[At.START]
        return bool(starts[state + 1] - starts[state] > EMPTY_STATE)

    def has_height(self, state: int, height: int) -> bool:
        """Have all stacks of a state at most so many symbols?"""
        return all(self._is_low(number, height) for _, number in self.sets_of(state))

    def _is_low(self, number: int, height: int) -> bool:
        _, *words = self._store.read(number)
        rest = zip(words[::2], words[1::2], strict=True)
        return all(symbol == ROOT or (height > 0 and self._is_low(below, height - 1)) for symbol, below in rest)

    def meet(self, left: int, right: int) -> bool:
        """Has some control the same stack in both states?"""
        return self._store.asked(lambda: entries.sets_meet(self._store.address, left, right)) == 1

    def classes(self, before: int, inner: int) -> np.ndarray:
        """bool [K]: the classes that lead from a state before a token to one within it (read only)."""
        known = self._rows.get((before, inner))
        if known is None:
            words = np.zeros(int(self._store.words[At.KIND_WORDS]), np.uint64)
            self._store.asked(lambda: entries.sets_classes(self._store.address, before, inner, address_of(words)))
            bits = np.unpackbits(words.view(np.uint8), bitorder="little")
            known = bits[: self.table.classes].view(bool)
            if len(self._rows) >= ROWS_KEPT:
                self._rows.clear()
            self._rows[before, inner] = known
        return known

    def walk(
        self, start: tuple[int, Stack], row: np.ndarray, inner: np.ndarray, scores: np.ndarray
    ) -> np.ndarray | None:
        """The classes of a completion, at each masked position the best of those that lead on; None if none begins like this."""
        control, stack = start
        capacity = len(stack) + MOST_PUSHED * (len(row) + 1)
        while True:
            found, place = row.copy(), np.zeros(Walk.SYMBOLS + capacity, np.int64)
            place[: Walk.SYMBOLS] = control, len(stack), capacity
            place[Walk.SYMBOLS : Walk.SYMBOLS + len(stack)] = stack
            given = address_of(found), len(row), address_of(inner), address_of(scores), address_of(place)
            if entries.sets_walk(self._store.address, *given):
                return found
            if place[Walk.DEPTH] < capacity:
                return None
            capacity *= 2

    @property
    def nbytes(self) -> int:
        return self._store.nbytes


def runs_of(points: np.ndarray, numbers: np.ndarray) -> list[int]:
    """The words of a pattern: (first, end, number) of each run of points, ascending, that have the same number."""
    if not len(points):
        return []
    is_first = np.ones(len(points), bool)
    is_first[1:] = (np.diff(points) != 1) | (np.diff(numbers) != 0)
    begins = np.flatnonzero(is_first)
    ends = points[np.concatenate([begins[1:], [len(points)]]) - 1] + 1
    found: list[int] = np.stack([points[begins], ends, numbers[begins]], 1).ravel().tolist()
    return found


def points_of(words: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The points of such words, int64 [N], and their numbers."""
    first, end, number = np.array(words, np.int64).reshape(-1, 3).T
    sizes = end - first
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(first, sizes) + inside, np.repeat(number, sizes)
