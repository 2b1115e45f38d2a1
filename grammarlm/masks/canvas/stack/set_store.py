"""The memory of a table's sets of stacks: the arena that kernels/cpu/canvas read and write, made larger where they say it is full.

store = SetStore(table)
number = store.asked(lambda: entries.sets_meet(store.address, a, b))       # asked again until there is room for all it writes
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.stack_sets import StackSets as At
from grammarlm.masks.canvas.classes import STOP, stable_order
from grammarlm.masks.kernel_words import KernelWords

from .memory import Words
from .operations import arrays_of

if TYPE_CHECKING:
    from .pushdown import PushdownTable

MOST_RECORDS, MOST_ANSWERS = 1 << 23, 1 << 25
MANY_RECORDS, MANY_ANSWERS = 1 << 21, 1 << 23  # from here on what was asked is forgotten as soon as a row begins
MANY_WORDS, MANY_OPERATED = (
    1 << 26,
    1 << 27,
)  # with operations: 256 masked tokens to the right of a block take 71,000,000
FIRST_RECORDS, FIRST_WORDS, FIRST_ANSWERS = 1 << 15, 1 << 24, 1 << 16
FIRST_PAIRS, FIRST_FRAMES = 1 << 16, 1 << 12
MOST_COMMON = 8  # words of common points
COMMON_SHARE = (
    256  # of the controls, one in so many has to lead to a common point: then to look at a word takes less time
)
FEW_CLASSES = 64  # whose edges are found one class after the other
RECORDS_FULL, SCRATCH_FULL, ANSWERS_FULL = 1, 2, 3  # FULL


class SetStore(KernelWords):
    """One arena (layout/stack_sets.py), and the arrays that it points to."""

    def __init__(self, table: PushdownTable):
        super().__init__(At.LENGTH)
        self._kept: Words
        self._table, self._has_classes, self._few_classes = table, False, frozenset[int]()
        self._put_table(table)
        self._put_scratch()
        self._put_pairs(FIRST_PAIRS, FIRST_FRAMES)
        self.forget()

    @property
    def has_much(self) -> bool:
        words, many = self.words, MANY_OPERATED if self._table.operations else MANY_WORDS
        return bool(words[At.RECORDS] > MANY_RECORDS or words[At.WORDS] > many or words[At.ANSWERS] > MANY_ANSWERS)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def forget(self) -> None:
        """All records and answers."""
        self.words[At.RECORDS], self.words[At.WORDS], self.words[At.SPREAD] = 1, 0, 0
        self.put(At.INNER_OF, np.zeros(int(self.words[At.POINTS]), np.int32))
        self._put_words(FIRST_WORDS)
        self._put_records(FIRST_RECORDS)
        self._put_answers(FIRST_ANSWERS)

    def asked(self, ask: Callable[[], int], check: Callable[[], None] = lambda: None) -> int:
        while True:
            found = ask()
            if not self.words[At.FULL]:
                return found
            check()
            self._make_room()

    def record(self, words: Iterable[int]) -> int:
        """The number of a record."""
        array = np.array(list(words), np.int32)
        return self.asked(lambda: entries.sets_record(self.address, address_of(array), len(array)))

    def read(self, number: int) -> list[int]:
        """The words of a record."""
        start, stop = self.arrays[At.START][number : number + 2].tolist()
        words: list[int] = self.arrays[At.WORD][start:stop].tolist()
        return words

    # ------------------------------------------------------------------ what a table has

    def _put_table(self, table: PushdownTable) -> None:
        micros = table.points - table.first_micro
        pushes, rules = table.push_pairs, table.rule_rows
        edges = len(table.edge_point) - table.given_edges
        control, point = table.edge_control[:edges], table.edge_point[:edges]
        by_point = stable_order(point)
        afters = np.unique(np.concatenate([pushes[:, 1], rules[:, 2]]))
        landings = afters[afters < table.controls].astype(np.int32)
        landing_of = np.full(table.controls, -1, np.int32)
        landing_of[landings] = np.arange(len(landings))
        for place, array in (
            (At.EDGE_CONTROL, table.edge_control), (At.EDGE_POINT, table.edge_point), (At.EDGE_KIND, table.edge_kind),
            (At.CONTROL_START, np.searchsorted(control, np.arange(table.controls + 1))),
            (At.POINT_START, np.searchsorted(point[by_point], np.arange(table.points + 1))),
            (At.POINT_FROM, control[by_point]),
            (At.PUSH_SYMBOL, pushes[:, 0]), (At.PUSH_AFTER, pushes[:, 1]),
            (At.RULE_START, np.searchsorted(rules[:, 0], np.arange(table.first_micro, table.points + 1))),
            (At.RULE_SYMBOL, rules[:, 1]), (At.RULE_AFTER, rules[:, 2]),
            (At.MICRO_ORDER, np.array(table.point_order, np.int32)),
            (At.LANDING, landings), (At.LANDING_OF, landing_of),
        ):  # fmt: skip
            self.put(place, np.ascontiguousarray(array, np.int32))
        operations = arrays_of(table.operations, table.symbols)
        for place, array in (
            (At.OPERATION_START, operations.starts), (At.GROUP_START, operations.symbol_starts),
            (At.GROUP_SYMBOL, operations.symbols), (At.WAY_START, operations.way_starts),
            (At.PUSHED_START, operations.pushed_starts), (At.PUSHED, operations.pushed),
            (At.GROUP_BY_SYMBOL, operations.group_of), (At.IS_FILTER, operations.is_filter),
            (At.BY_SYMBOL, np.zeros(table.symbols, np.int32)),
        ):  # fmt: skip
            self.put(place, array)
        self.put(At.KIND_CLASSES, table.kind_classes)
        for number, value in (
            (At.CONTROLS, table.controls), (At.PUSHES, len(pushes)), (At.POINTS, table.points),
            (At.EDGES, edges), (At.EVERY_EDGE, len(table.edge_point)), (At.CLASSES, table.classes), (At.MICROS, micros),
            (At.LANDINGS, len(landings)), (At.HAS_CIRCLES, table.has_circles),
            (At.KINDS, len(table.kind_classes)), (At.KIND_WORDS, table.kind_classes.shape[1]),
            (At.OPERATIONS, len(table.operations)), (At.GROUPS, len(operations.symbol_starts) - 1),
            (At.WAYS, len(operations.pushed_starts) - 1),
            (At.SYMBOLS, table.symbols), (At.SYMBOL_WORDS, -(-table.symbols // 64)),
        ):  # fmt: skip
            self.words[number] = value
        self.put(At.CONTROL_CLASSES, table.control_classes)
        self._put_classes(*table.edges_of([STOP]))
        self._put_common(control, point, table.controls, table.points)
        self.put_symbols(~np.uint64(0))

    def _put_classes(self, starts: np.ndarray, edges: np.ndarray) -> None:
        self.put(At.CLASS_START, starts)
        self.put(At.CLASS_EDGES, edges)

    def need_classes(self, row: np.ndarray | None = None) -> None:
        """For a row of classes, or for any. The edges of each are many, and rows of masks need those of the stop ids alone, or of
        few classes beside them."""
        if self._has_classes or (row is not None and row.max(initial=STOP) <= STOP):
            return
        needed = None if row is None else self._few_classes.union(row[row > STOP].tolist())
        if needed is None or len(needed) > FEW_CLASSES:
            self._put_classes(*self._table.class_edges)
            self._has_classes = True
        elif len(needed) > len(self._few_classes):
            self._put_classes(*self._table.edges_of([STOP, *needed]))
            self._few_classes = needed

    def _put_common(self, control: np.ndarray, point: np.ndarray, controls: int, points: int) -> None:
        """Parts the edges into those to common points and the rest."""
        ways = np.bincount(point, minlength=points)
        order = np.argsort(-ways, kind="stable")[: 64 * MOST_COMMON]
        blocks = np.add.reduceat(ways[order], np.arange(0, len(order), 64))
        words = int((blocks * COMMON_SHARE > 64 * controls).sum())
        rank = np.full(points, -1)
        rank[order[: 64 * words]] = np.arange(len(order[: 64 * words]))
        is_common = rank[point] >= 0
        bits = np.zeros((controls, 64 * words), bool)
        bits[control[is_common], rank[point[is_common]]] = True
        self.words[At.COMMON_WORDS] = words
        self.put(At.COMMON_POINT, np.ascontiguousarray(order[: 64 * words], np.int32))
        self.put(At.COMMON, np.packbits(bits, axis=1, bitorder="little").view(np.uint64))
        starts = np.searchsorted(control[~is_common], np.arange(controls + 1))
        self.put(At.REST_START, starts.astype(np.int32))
        self.put(At.REST_POINT, np.ascontiguousarray(point[~is_common], np.int32))

    def put_symbols(self, bits: np.uint64) -> None:
        """All words of TOPS, BELOWS and OPERATED_TOPS are these bits."""
        wide = int(self.words[At.SYMBOL_WORDS])
        self.put(At.TOPS, np.full((int(self.words[At.POINTS]), wide), bits))
        self.put(At.BELOWS, np.full((int(self.words[At.SYMBOLS]), wide), bits))
        self.put(At.OPERATED_TOPS, np.full((int(self.words[At.OPERATIONS]), wide), bits))

    # ------------------------------------------------------------------ what grows

    def _put_scratch(self) -> None:
        edges, points = int(self.words[At.EVERY_EDGE]), int(self.words[At.POINTS])
        every = edges + points + 2
        for place, size in (
            (At.BODY, 3 * every + 3 * points + 64), (At.EDGE_ORDER, edges), (At.SOURCES, points), (At.COUNTS, points + 2),
            (At.NUMBER_OF, points), (At.GROUP_OF, points), (At.TOUCHED, points), (At.REFINED, every), (At.STAMP, every),
            (At.SETS, every), (At.HERE, points), (At.CHOSEN, every), (At.REACHED, points), (At.PLACE, points),
        ):  # fmt: skip
            self.put(place, np.zeros(size, np.int32))
        self.put(At.MET, np.zeros(points // 64 + 1, np.uint64))
        self.words[At.BODY_CAPACITY] = len(self.arrays[At.BODY])

    def _put_pairs(self, pairs: int, frames: int) -> None:
        self.put(At.PAIRS, np.zeros(pairs, np.int32))
        self.put(At.FRAMES, np.zeros((frames, 6), np.int64))
        self.words[At.PAIR_CAPACITY], self.words[At.FRAME_CAPACITY] = pairs, frames

    def _put_words(self, capacity: int) -> None:
        used = int(self.words[At.WORDS])
        self.arrays.pop(At.WORD, None)
        if used:
            self._kept.grow(capacity, used)
        else:
            self._kept = Words(capacity)
        self.put(At.WORD, self._kept.array)
        self.words[At.WORD_CAPACITY] = capacity

    def _put_records(self, capacity: int) -> None:
        used = int(self.words[At.RECORDS])
        kept = used if used > 1 else 0
        for place, size, more, kind in (
            (At.START, capacity + 1, 1, np.int64), (At.HASH, capacity, 0, np.uint64), (At.VALUE, capacity, 0, np.int32),
        ):  # fmt: skip
            self.grow(place, size, kind, kept and kept + more)
        self.put(At.NUMBER, np.zeros(capacity, np.int32))
        self.put(At.SLOT, np.zeros(4 * capacity, np.int32))
        self.words[At.RECORD_CAPACITY], self.words[At.SLOTS] = capacity, 4 * capacity
        entries.sets_rehash(self.address)

    def _put_answers(self, slots: int) -> None:
        self.put(At.ASKED, np.zeros(slots, np.uint64))
        self.put(At.ANSWER, np.zeros(slots, np.int32))
        self.words[At.ANSWER_SLOTS], self.words[At.ANSWERS] = slots, 0

    def _make_room(self) -> None:
        words, full = self.words, int(self.words[At.FULL])
        if full != SCRATCH_FULL and (words[At.RECORDS] >= MOST_RECORDS or words[At.ANSWERS] >= MOST_ANSWERS):
            raise LimitExceeded(
                "a canvas: what may be open at each position of this row does not fit into memory; give more tokens"
            )
        words[At.FULL] = 0
        if full == SCRATCH_FULL:
            self._put_pairs(2 * int(words[At.PAIR_CAPACITY]), 2 * int(words[At.FRAME_CAPACITY]))
        elif full == ANSWERS_FULL:
            asked, answers = self.arrays[At.ASKED], self.arrays[At.ANSWER]
            self._put_answers(2 * len(asked))
            entries.sets_remember(self.address, address_of(asked), address_of(answers), len(asked))
        elif words[At.RECORDS] == words[At.RECORD_CAPACITY]:
            self._put_records(2 * int(words[At.RECORD_CAPACITY]))
        else:
            self._put_words(4 * int(words[At.WORD_CAPACITY]))
