"""The sets of stacks of one table: interned, with all that was ever asked about them, shared by the canvases of a view.

    sets = StackSets(table)
    begin = sets.state({control: [(symbol, ...), ...]})              # stacks, the top last
    forward = sets.forward(begin, row)                               # int32 [L + 1]: a state at each boundary
    backward, inner = sets.backward(row, sets.end(room))             # and those within each token
    sets.classes(forward[i], inner[i])                               # bool [K]

A state says of each control (or of each point within a token) which stacks it may have. What the kernels mean by it: reference.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.stack_sets import Record, Walk
from grammarlm.layout.stack_sets import StackSets as At
from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.protocol import FINISHED

if TYPE_CHECKING:
    from .table import StackTable

MOST_RECORDS = 1 << 24
MANY_RECORDS = 1 << 20  # from here on what was asked is forgotten as soon as a row begins
MANY_WORDS = 1 << 25
FIRST_RECORDS, FIRST_WORDS, FIRST_PAIRS, FIRST_FRAMES = 1 << 16, 1 << 20, 1 << 16, 1 << 12
STEPS = 64  # of a row between two looks at the clock
ROWS_KEPT = 4096
MOST_PUSHED = 4  # symbols a token, at first
EMPTY_STATE = 2  # words of a state without sets
Stack = tuple[int, ...]


class StackSets:
    """One arena; `lock` is held wherever it is used."""

    def __init__(self, table: StackTable, check: Callable[[], None] = lambda: None):
        entries.load("stack_sets")
        self.table, self.lock = table, threading.RLock()
        self._arena = np.zeros(At.LENGTH, np.int64)
        self._arrays: dict[At, np.ndarray] = {}
        self._put_table(table)
        self._put_scratch()
        self._grow_pairs(FIRST_PAIRS, FIRST_FRAMES)
        self.forget()

    def forget(self) -> None:
        """All records; numbers of before mean nothing from now on, which `generation` says."""
        self.generation = object()
        self._arena[At.RECORDS], self._arena[At.WORDS] = 1, 0
        self._grow_records(FIRST_RECORDS, FIRST_WORDS)
        self._ends: list[int] = []
        self._rows: dict[tuple[int, int], np.ndarray] = {}
        self._arena[At.EMPTY_STACK] = self._record([Record.SET, 0, 0])

    # ------------------------------------------------------------------ the arena

    def _put(self, place: At, array: np.ndarray) -> np.ndarray:
        self._arrays[place] = array
        self._arena[place] = address_of(array)
        return array

    def _put_table(self, table: StackTable) -> None:
        micros, (class_start, class_edges) = table.points - table.first_micro, table.class_edges
        pushes, rules = table.push_pairs, table.rule_rows
        open_edges = len(table.edge_point) - table.given_edges
        for place, array in (
            (At.EDGE_CONTROL, table.edge_control), (At.EDGE_POINT, table.edge_point), (At.EDGE_KIND, table.edge_kind),
            (At.CONTROL_START, np.searchsorted(table.edge_control[:open_edges], np.arange(table.controls + 1))),
            (At.CLASS_START, class_start), (At.CLASS_EDGES, class_edges),
            (At.PUSH_SYMBOL, pushes[:, 0]), (At.PUSH_AFTER, pushes[:, 1]),
            (At.RULE_START, np.searchsorted(rules[:, 0], np.arange(table.first_micro, table.points + 1))),
            (At.RULE_SYMBOL, rules[:, 1]), (At.RULE_AFTER, rules[:, 2]),
            (At.MICRO_ORDER, np.array(table.micro_order or (), np.int32)),
        ):  # fmt: skip
            self._put(place, np.ascontiguousarray(array, np.int32))
        afters = np.unique(np.concatenate([pushes[:, 1], rules[:, 2]]))
        landings = afters[afters < table.controls].astype(np.int32)
        of = np.full(table.controls, -1, np.int32)
        of[landings] = np.arange(len(landings))
        self._put(At.LANDING, landings)
        self._put(At.LANDING_OF, of)
        self._put(At.KIND_CLASSES, table.kind_classes)
        for number, value in (
            (At.CONTROLS, table.controls), (At.PUSHES, len(pushes)), (At.POINTS, table.points),
            (At.EDGES, open_edges), (At.CLASSES, table.classes), (At.MICROS, micros), (At.LANDINGS, len(landings)),
            (At.KINDS, len(table.kind_classes)), (At.KIND_WORDS, table.kind_classes.shape[1]),
        ):  # fmt: skip
            self._arena[number] = value

    def _put_scratch(self) -> None:
        edges, points = len(self.table.edge_point), int(self._arena[At.POINTS])
        every = edges + points + 2
        for place, size in (
            (At.BODY, 3 * every + 2 * points + 64), (At.EDGE_ORDER, edges), (At.COUNTS, points + 2), (At.GROUP_OF, points),
            (At.REFINED, every), (At.STAMP, every), (At.TOUCHED, points), (At.SETS, every), (At.HERE, points),
            (At.CHOSEN, every), (At.PLACE, points),
        ):  # fmt: skip
            self._put(place, np.zeros(size, np.int32))
        self._arena[At.BODY_CAPACITY] = len(self._arrays[At.BODY])

    def _grow_pairs(self, pairs: int, frames: int) -> None:
        self._put(At.PAIRS, np.zeros(pairs, np.int32))
        self._put(At.FRAMES, np.zeros((frames, 6), np.int64))
        self._arena[At.PAIR_CAPACITY], self._arena[At.FRAME_CAPACITY] = pairs, frames

    def _grow_records(self, records: int, words: int) -> None:
        """Copies what is used into larger arrays."""
        used, used_words = int(self._arena[At.RECORDS]), int(self._arena[At.WORDS])
        for place, size, kept, kind in (
            (At.START, records + 1, used + 1, np.int64), (At.HASH, records, used, np.uint64),
            (At.VALUE, records, used, np.int32), (At.WORD, words, used_words, np.int32),
        ):  # fmt: skip
            array = np.zeros(size, kind)
            if place in self._arrays and used > 1:
                array[:kept] = self._arrays[place][:kept]
            self._put(place, array)
        self._put(At.NUMBER, np.zeros(records, np.int32))
        self._put(At.SLOT, np.zeros(4 * records, np.int32))
        self._arena[At.RECORD_CAPACITY], self._arena[At.WORD_CAPACITY] = records, words
        self._arena[At.SLOTS], self._arena[At.FULL] = 4 * records, 0
        entries.sets_rehash(self.address)

    @property
    def address(self) -> int:
        """Of the arena, for kernels that only read; the lock is held."""
        return address_of(self._arena)

    def _make_room(self) -> None:
        arena = self._arena
        if arena[At.FULL] == 2:
            self._grow_pairs(2 * int(arena[At.PAIR_CAPACITY]), 2 * int(arena[At.FRAME_CAPACITY]))
            arena[At.FULL] = 0
            return
        if arena[At.RECORDS] >= MOST_RECORDS:
            raise LimitExceeded(
                "a canvas: what may be open at each position of this row does not fit into memory; give more tokens"
            )
        self._grow_records(2 * int(arena[At.RECORD_CAPACITY]), 2 * int(arena[At.WORD_CAPACITY]))

    def _asked(self, ask: Callable[[], int], check: Callable[[], None] = lambda: None) -> int:
        while True:
            found = ask()
            if not self._arena[At.FULL]:
                return found
            check()
            self._make_room()

    def _record(self, words: Iterable[int]) -> int:
        array = np.array(list(words), np.int32)
        return self._asked(lambda: entries.sets_record(self.address, address_of(array), len(array)))

    # ------------------------------------------------------------------ states

    def begin_row(self) -> None:
        """Forgets where there is too much."""
        if self._arena[At.RECORDS] > MANY_RECORDS or self._arena[At.WORDS] > MANY_WORDS:
            self.forget()

    def state(self, stacks: dict[int, set[Stack]]) -> int:
        """The state of some stacks by control."""
        pattern, sets = np.zeros(self.table.points, np.int32), dict[int, int]()
        for control in sorted(stacks):
            found = self._set(frozenset(stacks[control]))
            pattern[control] = sets.setdefault(found, len(sets) + 1)
        return self._record([Record.STATE, self._record([Record.PATTERN, *pattern.tolist()]), *sets])

    def _set(self, stacks: frozenset[Stack]) -> int:
        """The set of some stacks, by their tops."""
        by_top: dict[int, set[Stack]] = {}
        for stack in stacks:
            if stack:
                by_top.setdefault(stack[-1], set()).add(stack[:-1])
        words = [0, 0] if () in stacks else []
        for symbol, rest in sorted(by_top.items()):
            words += [symbol, self._set(frozenset(rest))]
        return self._record([Record.SET, *words])

    def end(self, room: int, check: Callable[[], None] = lambda: None) -> int:
        """The state at the right edge, where up to `room` tokens may follow."""
        if not self._ends:
            stop = self.backward(np.array([STOP], np.int32), self.state({FINISHED: {()}}), check)[0]
            self._ends.append(int(stop[0]))
        while len(self._ends) <= room:
            before = self.backward(np.array([MASKED], np.int32), self._ends[-1], check)[0]
            if before[0] == self._ends[-1]:
                return int(before[0])
            self._ends.append(int(before[0]))
        return self._ends[room]

    def forward(self, begin: int, row: np.ndarray, check: Callable[[], None] = lambda: None) -> np.ndarray:
        states = np.zeros(len(row) + 1, np.int32)
        states[0] = begin
        for first in range(0, len(row), STEPS):
            part = row[first : first + STEPS]
            here = address_of(states[first:])
            self._asked(lambda: entries.sets_forward(self.address, address_of(part), len(part), here), check)  # noqa: B023
        return states

    def backward(
        self, row: np.ndarray, end: int, check: Callable[[], None] = lambda: None
    ) -> tuple[np.ndarray, np.ndarray]:
        states, inner = np.zeros(len(row) + 1, np.int32), np.zeros(len(row), np.int32)
        states[-1] = end
        for last in range(len(row), 0, -STEPS):
            first = max(0, last - STEPS)
            places = address_of(row[first:]), last - first, address_of(states[first:]), address_of(inner[first:])
            self._asked(lambda: entries.sets_backward(self.address, *places), check)  # noqa: B023
        return states, inner

    def has_stacks(self, state: int) -> bool:
        """Is there any stack in a state?"""
        starts = self._arrays[At.START]
        return bool(starts[state + 1] - starts[state] > EMPTY_STATE)

    def meet(self, left: int, right: int) -> bool:
        """Has some control the same stack in both states?"""
        return self._asked(lambda: entries.sets_meet(self.address, left, right)) == 1

    def classes(self, before: int, inner: int) -> np.ndarray:
        """bool [K]: the classes that lead from a state before a token to one within it (read only)."""
        known = self._rows.get((before, inner))
        if known is None:
            words = np.zeros(int(self._arena[At.KIND_WORDS]), np.uint64)
            self._asked(lambda: entries.sets_classes(self.address, before, inner, address_of(words)))
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
            if entries.sets_walk(self.address, *given):
                return found
            if place[Walk.DEPTH] < capacity:
                return None
            capacity *= 2

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())
