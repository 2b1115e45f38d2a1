"""The best completion of a row, and one drawn by weight, by kernels: tests/oracles/derivations.py defines both."""

from __future__ import annotations

import heapq
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.canvas import DONE, MASKED, Lattice
from grammarlm.masks.canvas.protocol import Draw
from grammarlm.masks.protocol import FINISHED

from .nodes import Costs, Place, Way, offer_costs
from .table import on_top, stays
from .tail import END

if TYPE_CHECKING:
    from .passes import StackPasses

STEPS = 4  # between two looks at the clock: one can take half a second
FIRST_VALUES, MOST_VALUES = 1 << 20, 1 << 27  # memory that is never written costs nothing


class Paths:
    """The values of all live places of one row."""

    def __init__(self, passes: StackPasses, scores: np.ndarray, is_sum: bool):
        self._passes, self._grid, self._table, self._is_sum = passes, passes.grid, passes.grid.table, is_sum
        self._arena, self._steps = passes.arena, int(passes.arena.words[Lattice.STEPS])
        padding = np.zeros((self._steps - len(scores), scores.shape[1]))
        self._scores = np.ascontiguousarray(np.concatenate([scores, padding]), np.float64)
        self._row = passes.arena.arrays[Lattice.ROW]
        capacity = FIRST_VALUES
        while True:
            words, self._arrays = self._prepared(capacity)
            if self._has_values(address_of(words)):
                break
            capacity *= 4
            if capacity > MOST_VALUES:
                raise LimitExceeded("a canvas: the completions of this row do not fit into memory; give more tokens")
        self._counts = self._arena.arrays[Lattice.NODE_COUNT]
        self._symbols = self._arena.arrays[Lattice.NODE_SYMBOL]
        self._before: dict[int, dict[tuple[int, int], float]] = {}
        self._open: dict[int, dict[Costs, list[tuple[float, int, int, Costs]]]] = {}
        if int(self._arena.words[Lattice.ROOM]) < 0:
            self.total = self._value(Place(self._steps - 1, FINISHED, 0))
        else:
            self.total = self._close()

    def _has_values(self, address: int) -> bool:
        """Is there room for all of them?"""
        for first in range(0, self._steps, STEPS):
            if entries.lattice_values(address, first, first + STEPS) != DONE:
                return False
            self._grid.check()
        return True

    def _prepared(self, capacity: int) -> tuple[np.ndarray, dict[Lattice, np.ndarray]]:
        """The arena with room for so many values."""
        arena, grid = self._arena, self._grid
        words = arena.words.copy()
        nodes, points, controls = (int(words[at]) for at in (Lattice.NODES, Lattice.POINTS, Lattice.CONTROLS))
        arrays: dict[Lattice, np.ndarray] = {
            Lattice.SCORES: self._scores,
            Lattice.VALUE_START: np.zeros(self._steps + 2, np.int64),
            Lattice.VALUE_POINT: np.empty(capacity, np.int32),
            Lattice.VALUE_NODE: np.empty(capacity, np.int32),
            Lattice.VALUE: np.empty(capacity),
            Lattice.MICRO_START: np.zeros(self._steps + 1, np.int64),
            Lattice.MICRO_POINT: np.empty(capacity, np.int32),
            Lattice.MICRO_NODE: np.empty(capacity, np.int32),
            Lattice.MICRO_VALUE: np.empty(capacity),
            Lattice.INTO_START: np.zeros(nodes, np.int64),
            Lattice.INTO_END: np.zeros(nodes, np.int64),
            Lattice.INTO_NODE: np.empty(capacity, np.int32),
            Lattice.INTO_VALUE: np.empty(capacity),
            Lattice.HIGHEST: np.full((points, nodes), -np.inf),
            Lattice.SUM: np.zeros((points, nodes)),
            Lattice.CURRENT: np.full((controls, nodes), -np.inf),
        }
        known = 0
        for node, parents in enumerate(grid.first_parents):
            arrays[Lattice.INTO_START][node] = known
            if node:
                arrays[Lattice.INTO_NODE][known], arrays[Lattice.INTO_VALUE][known] = parents.bit_length() - 1, 0.0
                known += 1
            arrays[Lattice.INTO_END][node] = known
        entry = 0
        for control, on_it in sorted(grid.begin.items()):
            for node in range(grid.first):
                if on_it >> node & 1:
                    for place, value in (
                        (Lattice.VALUE_POINT, control),
                        (Lattice.VALUE_NODE, node),
                        (Lattice.VALUE, 0),
                    ):
                        arrays[place][entry] = value
                    entry += 1
        arrays[Lattice.VALUE_START][1] = entry
        words[Lattice.IS_SUM], words[Lattice.VALUE_CAPACITY] = self._is_sum, capacity
        for place, array in arrays.items():
            words[place] = address_of(array)
        return words, arrays

    # ------------------------------------------------------------------ values

    def _add(self, values: list[float]) -> float:
        return float(np.logaddexp.reduce(values)) if self._is_sum else max(values)

    def _at(self, boundary: int) -> dict[tuple[int, int], float]:
        """The values of controls at a boundary."""
        known = self._before.get(boundary)
        if known is None:
            here = slice(*self._arrays[Lattice.VALUE_START][boundary : boundary + 2].tolist())
            places = zip(
                self._arrays[Lattice.VALUE_POINT][here].tolist(),
                self._arrays[Lattice.VALUE_NODE][here].tolist(),
                strict=True,
            )
            known = self._before[boundary] = dict(zip(places, self._arrays[Lattice.VALUE][here].tolist(), strict=True))
        return known

    def _value(self, place: Place) -> float:
        """Of a control after a step."""
        return self._at(place.step + 1).get((place.point, place.node), -np.inf)

    def _parents(self, node: int) -> tuple[np.ndarray, np.ndarray]:
        """The nodes on which a node was pushed, and the values of these ways."""
        ways = slice(int(self._arrays[Lattice.INTO_START][node]), int(self._arrays[Lattice.INTO_END][node]))
        return self._arrays[Lattice.INTO_NODE][ways], self._arrays[Lattice.INTO_VALUE][ways]

    def _push(self, node: int, parent: int) -> Place:
        step = int(np.searchsorted(self._counts, node, "right")) - 1
        if step < 0:
            return Place(-1, 0, parent)
        return Place(step, self._table.controls + int(self._arena.arrays[Lattice.NODE_PUSH][node]), parent)

    def _weight(self, step: int, edge: int) -> float:
        if self._row[step] != MASKED:
            return 0.0
        return self._add(self._scores[step, list(self._table.edge_classes[edge])].tolist())

    # ------------------------------------------------------------------ the right edge

    def _close(self) -> float:
        grid = self._grid
        waiting: list[int] = []

        def offer(node: int, costs: dict[int, int], value: float, source: tuple[int, int, Costs]) -> None:
            if costs:
                if node not in self._open:
                    self._open[node] = {}
                    heapq.heappush(waiting, -node)
                self._open[node].setdefault(tuple(sorted(costs.items())), []).append((value, *source))

        for (control, node), value in self._at(self._steps).items():
            offer(node, grid.closings.of(control, int(self._symbols[node])), value, (-1, control, ()))
        while waiting and (node := -heapq.heappop(waiting)):
            grid.check()
            parents, into = self._parents(node)
            for costs, ways in self._open[node].items():
                value = self._add([way[0] for way in ways])
                for parent, more in zip(parents.tolist(), into.tolist(), strict=True):
                    after: dict[int, int] = {}
                    for point, tokens in costs:
                        offer_costs(after, grid.closings.of(point, int(self._symbols[parent])), tokens, grid.room)
                    offer(parent, after, value + more, (node, 0, costs))
        ends = [way[0] for way in self._ends()]
        return self._add(ends) if ends else -np.inf

    def _ends(self) -> list[tuple[float, int, int, Costs]]:
        room = self._grid.room
        closed = [ways for costs, ways in self._open.get(0, {}).items() if dict(costs).get(END, room + 1) <= room]
        return [way for ways in closed for way in ways]

    def _first_places(self, choose: Draw) -> list[Place]:
        if int(self._arena.words[Lattice.ROOM]) < 0:
            return [Place(self._steps - 1, FINISHED, 0)]
        ways, node, places = self._ends(), 0, list[Place]()
        while True:
            _, above, control, costs = ways[choose(np.array([way[0] for way in ways]))]
            if above < 0:
                return [*places, Place(self._steps - 1, control, node)]
            places.append(self._push(above, node))
            node, ways = above, self._open[above][costs]

    # ------------------------------------------------------------------ tracing back

    def classes(self, choose: Draw) -> np.ndarray:
        """int32 [L]: the classes of a derivation, each choice by `choose(log values)`."""
        found = self._row.copy()
        places = self._first_places(choose)
        while places:
            place = places.pop()
            ways = self._ways(place)
            if not ways:
                continue
            way = ways[choose(np.array([way.value for way in ways]))]
            places += way.places
            if way.edge >= 0 and found[place.step] == MASKED:
                classes = list(self._table.edge_classes[way.edge])
                found[place.step] = classes[choose(self._scores[place.step, classes])]
        return found[: self._grid.length]

    @cached_property
    def _rules_to(self) -> dict[int, list[tuple[int, int]]]:
        """(micro point, symbol) of the rules by the point after."""
        found: dict[int, list[tuple[int, int]]] = {}
        for point, symbol, after in self._table.rules:
            found.setdefault(after, []).append((point, symbol))
        return found

    def _ways(self, place: Place) -> list[Way]:
        step, point, node = place
        if step < 0 or node >= self._counts[step]:
            return []
        token_class, ways, before = int(self._row[step]), [], self._at(step)
        for edge in self._table.edges_to(point):
            control = int(self._table.edge_control[edge])
            value = before.get((control, node))
            if value is not None and (token_class == MASKED or self._table.takes(edge, token_class)):
                ways.append(Way(value + self._weight(step, edge), (Place(step - 1, control, node),), edge))
        if rules := self._rules_to.get(point):
            here = slice(*self._arrays[Lattice.MICRO_START][step : step + 2].tolist())
            points, popped = self._arrays[Lattice.MICRO_POINT][here], self._arrays[Lattice.MICRO_NODE][here]
            values, symbols = self._arrays[Lattice.MICRO_VALUE][here], self._symbols[popped]
            for micro, symbol in rules:
                for at in np.flatnonzero((points == micro) & (symbols == on_top(symbol))).tolist():
                    inner = Place(step, micro, int(popped[at]))
                    if stays(symbol):
                        ways += [Way(float(values[at]), (inner,))] if node == inner.node else []
                        continue
                    parents, into = self._parents(inner.node)
                    for more in into[parents == node].tolist():
                        ways.append(Way(float(values[at]) + more, (inner, self._push(inner.node, node))))
        return ways
