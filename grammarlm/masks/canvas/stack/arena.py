"""The arrays that a lattice's kernels read and write (layout/canvas.py): the table's, those of one grid, and what a row leaves."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.canvas import DONE, ENTRIES_FULL, FAR, NODES_FULL, POOL_FULL, ROOT, Lattice
from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.protocol import FINISHED

from .closing import closing_costs

if TYPE_CHECKING:
    from .grid import StackGrid
    from .table import StackTable

MOST_WORDS = 1 << 27  # of a pool
MOST_COSTS = 1 << 22  # entries of CLOSING; beyond, the room is made of masked steps


class TableArrays:
    """A table as kernels over nodes read it, made when it is first needed. One for a table."""

    def __init__(self, table: StackTable):
        self._table = table

    @cached_property
    def arrays(self) -> dict[Lattice, np.ndarray]:
        table = self._table
        if table.operations:
            raise LimitExceeded("a canvas: the completions of this row are too many to weigh; give more tokens")
        rules, pushes, (class_start, class_edges) = table.rule_rows, table.push_pairs, table.class_edges
        inverse = np.argsort(rules[:, 2], kind="stable")
        micros = np.arange(table.first_micro, table.points + 1)
        edge_start, edge_classes = classes_by_edge(table)
        columns = {
            Lattice.EDGE_CONTROL: table.edge_control,
            Lattice.EDGE_POINT: table.edge_point,
            Lattice.CONTROL_START: np.searchsorted(table.edge_control, np.arange(table.controls + 1)),
            Lattice.CLASS_START: class_start,
            Lattice.CLASS_EDGES: class_edges,
            Lattice.PUSH_SYMBOL: pushes[:, 0],
            Lattice.PUSH_AFTER: pushes[:, 1],
            Lattice.RULE_START: np.searchsorted(rules[:, 0], micros),
            Lattice.RULE_POINT: rules[:, 0],
            Lattice.RULE_SYMBOL: rules[:, 1],
            Lattice.RULE_AFTER: rules[:, 2],
            Lattice.INVERSE_START: np.searchsorted(rules[inverse, 2], np.arange(table.points + 1)),
            Lattice.INVERSE_RULES: inverse,
            Lattice.EDGE_START: edge_start,
            Lattice.EDGE_CLASSES: edge_classes,
        }
        return {place: np.ascontiguousarray(column, np.int32) for place, column in columns.items()}

    @cached_property
    def numbers(self) -> dict[Lattice, int]:
        table = self._table
        return {
            Lattice.CONTROLS: table.controls,
            Lattice.PUSHES: len(table.push_pairs),
            Lattice.POINTS: table.points,
            Lattice.EDGES: len(table.edge_point),
            Lattice.SYMBOLS: table.symbols,
            Lattice.CLASSES: table.classes,
            Lattice.RULES: len(table.rule_rows),
        }

    @cached_property
    def reached(self) -> np.ndarray:
        """The points that are reached by a pop."""
        rules = self._table.rule_rows
        return np.unique(rules[rules[:, 1] > ROOT, 2])

    @property
    def has_costs(self) -> bool:
        """Is the table of costs small enough?"""
        return self._table.points * self._table.symbols * (len(self.reached) + 1) <= MOST_COSTS

    @cached_property
    def costs(self) -> np.ndarray:
        """uint16 [CONTROLS + REACHED, SYMBOLS, REACHED + 1], as layout/canvas.py has it."""
        every = closing_costs(self._table, self.reached)
        chosen = np.concatenate([every[: self._table.controls], every[self.reached]])
        return np.ascontiguousarray(np.minimum(chosen, FAR), np.uint16)


@dataclass(frozen=True)
class Arena:
    """The arena of one row and all that it points to. After the passes nothing in it changes."""

    words: np.ndarray  # int64 [Lattice.LENGTH]
    arrays: dict[Lattice, np.ndarray]

    @property
    def address(self) -> int:
        return address_of(self.words)

    def steps(self, place: Lattice) -> np.ndarray:
        return self.arrays[place]


class Workshop:
    """Makes the arenas of a grid's rows: scratch memory, and how large what rows leave has been so far."""

    def __init__(self, grid: StackGrid):
        self._grid, self._table = weakref.proxy(grid), grid.arrays
        room = grid.room
        self._by_costs = room > 0 and self._table.has_costs
        self._masked_room = 0 if self._by_costs else room
        self.spells_room = self._masked_room > 0  # then a row has a derivation for each way to fill its room
        self.length = grid.length if self._by_costs else grid.length + self._masked_room + 1
        self._nodes, self._pool, self._entries, self._back = 1024, 1 << 15, 1 << 12, 1 << 15
        self._scratch: dict[Lattice, np.ndarray] = {}
        self._last_live: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # row, LIVE_CONTROLS, LIVE_POINTS
        entries.load("lattice")

    def arena(self, row: np.ndarray) -> tuple[Arena, bool]:
        """The arena after both passes over a row of classes, and whether the row can be completed."""
        steps = row.astype(np.int32)
        if not self._by_costs:
            masked = np.full(self._masked_room, -1, np.int32)
            steps = np.concatenate([steps, masked, [STOP]]).astype(np.int32)
        while True:
            arena = self._prepared(steps)
            full = entries.lattice_forward(arena.address)
            if full == DONE:
                full = entries.lattice_backward(arena.address)
                if full == POOL_FULL:
                    self._back = _doubled(self._back)
            elif full == POOL_FULL:
                self._pool = _doubled(self._pool)
            if full == DONE:
                arrays = arena.arrays
                self._last_live = steps, arrays[Lattice.LIVE_CONTROLS], arrays[Lattice.LIVE_POINTS]
                return arena, bool(arena.arrays[Lattice.HAS_BEFORE].any())
            if full == NODES_FULL:
                self._nodes = _doubled(self._nodes)
            elif full == ENTRIES_FULL:
                self._entries = _doubled(self._entries)
            self._grid.check()

    def _prepared(self, row: np.ndarray) -> Arena:
        grid, numbers = self._grid, self._table.numbers
        steps, controls, points = len(row), numbers[Lattice.CONTROLS], numbers[Lattice.POINTS]
        live, points_live, first, last = self._live(row, steps, controls, points)
        arrays = {
            **self._table.arrays,
            **self._scratch_arrays(numbers),
            Lattice.ROW: row,
            Lattice.LIVE_CONTROLS: live,
            Lattice.LIVE_POINTS: points_live,
            Lattice.NODE_SYMBOL: np.empty(self._nodes, np.int32),
            Lattice.NODE_PUSH: np.empty(self._nodes, np.int32),
            Lattice.NODE_OFFSET: np.empty(self._nodes, np.int64),
            Lattice.NODE_COUNT: np.empty(steps + 1, np.int64),
            Lattice.POOL: np.empty(self._pool, np.uint64),
            Lattice.REACH: np.empty(self._pool, np.uint64),
            Lattice.ON_TOP_START: np.zeros(steps + 2, np.int64),
            Lattice.ON_TOP_CONTROL: np.empty(self._entries, np.int32),
            Lattice.ON_TOP_OFFSET: np.empty(self._entries, np.int64),
            Lattice.CLOSED_START: np.zeros(steps + 1, np.int64),
            Lattice.CLOSED_POINT: np.empty(self._entries, np.int32),
            Lattice.CLOSED_OFFSET: np.empty(self._entries, np.int64),
            Lattice.BACK_POOL: np.empty(self._back, np.uint64),
            Lattice.BACK_START: np.zeros(steps, np.int64),
            Lattice.BACK_END: np.zeros(steps, np.int64),
            Lattice.BACK_POINT: np.empty(self._entries, np.int32),
            Lattice.BACK_OFFSET: np.empty(self._entries, np.int64),
            Lattice.HAS_BEFORE: np.zeros(controls, np.uint8),
        }
        words = np.zeros(Lattice.LENGTH, np.int64)
        for place, number in numbers.items():
            words[place] = number
        words[Lattice.STEPS], words[Lattice.NODE_CAPACITY], words[Lattice.WORDS] = steps, self._nodes, self._wide
        words[Lattice.POOL_CAPACITY], words[Lattice.ENTRY_CAPACITY] = self._pool, self._entries
        words[Lattice.BACK_CAPACITY], words[Lattice.LIST_CAPACITY] = self._back, len(arrays[Lattice.LISTED])
        words[Lattice.LIVE_UNTIL], words[Lattice.LIVE_FROM] = first, last
        words[Lattice.ROOM] = grid.room if self._by_costs else -1
        if self._by_costs:
            words[Lattice.REACHED] = len(self._table.reached)
            arrays[Lattice.CLOSING] = self._table.costs
        self._begin(arrays, words)
        for place, array in arrays.items():
            words[place] = address_of(array)
        return Arena(words, arrays)

    def _live(self, row: np.ndarray, steps: int, controls: int, points: int) -> tuple[np.ndarray, np.ndarray, int, int]:
        """LIVE_CONTROLS and LIVE_POINTS, as far as they are known from the row before, and the first and last steps that differ."""
        if self._last_live is not None:
            before, live, points_live = self._last_live
            changed = np.flatnonzero(before != row)
            first, last = (int(changed[0]), int(changed[-1])) if len(changed) else (steps, -1)
            return live.copy(), points_live.copy(), first, last
        live = np.zeros((steps + 1, controls), np.uint8)
        live[steps] = 1
        if not self._by_costs:
            live[steps] = np.arange(controls) == FINISHED
        return live, np.zeros((steps, points), np.uint8), -1, steps - 1

    @property
    def _wide(self) -> int:
        return self._nodes // 64 + 2

    def _scratch_arrays(self, numbers: dict[Lattice, int]) -> dict[Lattice, np.ndarray]:
        """What no row leaves: kept from row to row."""
        if not self._scratch or self._scratch[Lattice.LINE].size != self._wide:
            points, wide, symbols = numbers[Lattice.POINTS], self._wide, numbers[Lattice.SYMBOLS]
            rows = max(numbers[Lattice.RULES], points)
            self._scratch = {
                Lattice.SETS: np.empty((points, wide), np.uint64),
                Lattice.HAS: np.zeros(points, np.uint8),
                Lattice.LISTED: np.empty(8 * points + 64, np.int32),
                Lattice.WITH_SYMBOL: np.empty((symbols, wide), np.uint64),
                Lattice.LAST: np.empty((rows, wide), np.uint64),
                Lattice.RESULT: np.empty((rows, wide), np.uint64),
                Lattice.LINE: np.empty(wide, np.uint64),
                Lattice.NUMBERS: np.empty(max(wide, symbols, points), np.int64),
                Lattice.BEFORE: np.empty((numbers[Lattice.CONTROLS], wide), np.uint64),
                Lattice.PLACE: np.full(points, -1, np.int64),
            }
        self._scratch[Lattice.HAS][:] = 0
        self._scratch[Lattice.PLACE][:] = -1
        return self._scratch

    def _begin(self, arrays: dict[Lattice, np.ndarray], words: np.ndarray) -> None:
        """The nodes and sets of the left edge."""
        grid = self._grid
        nodes = len(grid.first_symbols)
        while nodes >= self._nodes or self._pool < nodes * (nodes // 64 + 2):
            raise LimitExceeded(f"a canvas after a text with {nodes} open frames")
        wide, used = -(-nodes // 64), 0
        sets = [(n, parents) for n, parents in enumerate(grid.first_parents)]
        arrays[Lattice.WITH_SYMBOL][:, :wide] = 0
        for node, parents in sets:
            symbol = grid.first_symbols[node]
            arrays[Lattice.NODE_SYMBOL][node], arrays[Lattice.NODE_OFFSET][node] = symbol, used
            arrays[Lattice.WITH_SYMBOL][symbol, node >> 6] |= np.uint64(1 << (node & 63))
            length = max(1, -(-node // 64))
            arrays[Lattice.POOL][used : used + length] = _words(parents, length)
            arrays[Lattice.REACH][used : used + length] = 0
            used += length
        for entry, (control, on_top) in enumerate(grid.begin.items()):
            arrays[Lattice.ON_TOP_CONTROL][entry], arrays[Lattice.ON_TOP_OFFSET][entry] = control, used
            arrays[Lattice.POOL][used : used + wide] = _words(on_top, wide)
            used += wide
        arrays[Lattice.ON_TOP_START][1] = len(grid.begin)
        arrays[Lattice.NODE_COUNT][0] = nodes
        words[Lattice.NODES], words[Lattice.POOL_USED] = nodes, used


def _words(nodes: int, length: int) -> np.ndarray:
    return np.frombuffer(nodes.to_bytes(8 * length, "little"), np.uint64)


def _doubled(size: int) -> int:
    if 2 * size > MOST_WORDS:
        raise LimitExceeded(
            "a canvas: what may be open at each position of this row does not fit into memory; give more tokens"
        )
    return 2 * size


def classes_by_edge(table: StackTable) -> tuple[np.ndarray, np.ndarray]:
    """Where the classes of each edge start, int64 [E + 1], and these."""
    bits = np.unpackbits(table.kind_classes.view(np.uint8), axis=1, bitorder="little")
    sizes, (_, classes) = bits.sum(1, dtype=np.int64), np.nonzero(bits)
    first = np.cumsum(sizes) - sizes
    edge_start = np.cumsum([0, *sizes[table.edge_kind]])
    inside = np.arange(edge_start[-1]) - np.repeat(edge_start[:-1], sizes[table.edge_kind])
    return edge_start, classes[np.repeat(first[table.edge_kind], sizes[table.edge_kind]) + inside]
