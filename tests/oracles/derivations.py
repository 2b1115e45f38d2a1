"""The best completion of a row, and one drawn by weight, over derivations of a machine with a stack.

A **place** is (step, point, node): in a step the point is reached with the node on top. Its value is the sum (or the maximum) over
all ways to it *since that node was pushed*, so frames are shared: what was read within a node is worth the same on all of its
parents, and the way from a parent into it is the place of its push point on that parent.

    value(step, q, n)  =  value(step - 1, c, n) * weight(c -> q)                    an edge of the step
                       +  value(step, m, k) * value(push of k, n)                   a rule m -> q pops a node k that stands on n
                       +  1                                                          n has just been pushed, or the row begins

All of it in logs, over live places only (masks/canvas/stack/grid.py). At the right edge the frames that are still open are summed
from the top down, with what it costs to close them. What is chosen is traced back from there.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED, Draw
from grammarlm.masks.canvas.stack.nodes import Costs, Place, Way, members, offer_costs
from grammarlm.masks.canvas.stack.reference import ReferencePasses
from grammarlm.masks.canvas.stack.table import ROOT, on_top, stays
from grammarlm.masks.canvas.stack.tail import END

Sum = Callable[[Any], float]  # of log values


def log_sum(logs: Any) -> float:
    return float(np.logaddexp.reduce(logs))


class Derivations:
    """The values of all live places of one row."""

    def __init__(self, passes: ReferencePasses, scores: np.ndarray, add: Sum):
        self._passes, self._grid, self._table, self._add = passes, passes.grid, passes.grid.table, add
        self._scores = scores
        self._values: list[dict[tuple[int, int], float]] = []
        for step in range(self._grid.length):
            self._grid.check()
            self._values.append(self._step(step))
        self._open: dict[int, dict[Costs, list[tuple[float, int, int, Costs]]]] = {}
        self.total = self._close()

    # ------------------------------------------------------------------ values

    def _weight(self, step: int, edge: int) -> float:
        """The log weight of an edge: of all classes that take it, where the token is masked."""
        if self._passes.row[step] != MASKED:
            return 0.0
        return self._add(self._scores[step, list(self._table.edge_classes[edge])])

    def _value(self, place: Place) -> float:
        return 0.0 if place.step < 0 else self._values[place.step][place.point, place.node]

    def _push(self, node: int, parent: int) -> Place:
        """The place where a node is pushed onto a parent."""
        grid, kinds = self._grid, len(self._table.pushes)
        if node < grid.first:
            return Place(-1, 0, parent)
        boundary, place = divmod(node - grid.first, kinds)
        return Place(boundary, self._table.controls + kinds - 1 - place, parent)

    def _step(self, step: int) -> dict[tuple[int, int], float]:
        passes, table, live = self._passes, self._table, self._passes.backward[step]
        values: dict[tuple[int, int], float] = {}
        gathered: dict[int, dict[int, list[float]]] = {}  # by node and point
        waiting: list[int] = []

        def offer(point: int, node: int, value: float) -> None:
            if live.get(point, 0) >> node & 1:
                if node not in gathered:
                    gathered[node] = {}
                    heapq.heappush(waiting, -node)
                gathered[node].setdefault(point, []).append(value)

        for edge in passes.live_edges(step):
            control, point = table.edges[edge]
            weight = self._weight(step, edge)
            for node in members(passes.forward[step][control] & live[point]):
                offer(point, node, self._value(Place(step - 1, control, node)) + weight)
        while waiting:  # what is popped leads to lower nodes
            node = -heapq.heappop(waiting)
            symbol = self._grid.symbol_of(node)
            for point in [point for point in gathered[node] if point >= table.first_micro]:
                values[point, node] = value = self._add(gathered[node].pop(point))
                for popped, after in table.rules_of.get(point, ()):
                    if on_top(popped) != symbol:
                        continue
                    if stays(popped):
                        offer(after, node, value)
                        continue
                    for parent in members(passes.parents[node]):
                        if (below := self._value_of_push(node, parent)) > -np.inf:
                            offer(after, parent, value + below)
            for point, ways in gathered[node].items():
                values[point, node] = self._add(ways)
        for push in range(len(table.pushes) - 1, -1, -1):
            node = self._grid.node(step + 1, push)
            if any((table.controls + push, parent) in values for parent in members(passes.parents[node])):
                values[table.pushes[push][1], node] = 0.0
        return values

    def _value_of_push(self, node: int, parent: int) -> float:
        place = self._push(node, parent)
        if place.step < 0:
            return 0.0
        return self._values[place.step].get((place.point, place.node), -np.inf)

    # ------------------------------------------------------------------ the right edge

    def _close(self) -> float:
        """Sums all ways to close the frames that are open at the right edge within the room."""
        passes, grid = self._passes, self._grid
        waiting: list[int] = []

        def offer(node: int, costs: dict[int, int], value: float, source: tuple[int, int, Costs]) -> None:
            if costs:
                if node not in self._open:
                    self._open[node] = {}
                    heapq.heappush(waiting, -node)
                self._open[node].setdefault(tuple(sorted(costs.items())), []).append((value, *source))

        for control, nodes in passes.last.items():
            for node in members(nodes):
                if (control, node) in self._values[-1]:
                    closes = grid.closings.of(control, grid.symbol_of(node))
                    offer(node, closes, self._values[-1][control, node], (-1, control, ()))
        while waiting:
            node = -heapq.heappop(waiting)
            if node == 0:
                break
            for costs, ways in self._open[node].items():
                value = self._add([way[0] for way in ways])
                for parent in members(passes.parents[node]):
                    into = self._value_of_push(node, parent)
                    after: dict[int, int] = {}
                    for point, tokens in costs:
                        offer_costs(after, grid.closings.of(point, grid.symbol_of(parent)), tokens, grid.room)
                    if into > -np.inf:
                        offer(parent, after, value + into, (node, 0, costs))
        ends = [way[0] for way in self._ends()]
        return self._add(ends) if ends else -np.inf

    def _ends(self) -> list[tuple[float, int, int, Costs]]:
        """The ways on which nothing is left on the stack."""
        room = self._grid.room
        closed = [ways for costs, ways in self._open.get(0, {}).items() if dict(costs).get(END, room + 1) <= room]
        return [way for ways in closed for way in ways]

    def _first_places(self, choose: Draw) -> list[Place]:
        """Chooses how the row ends: the places at its right edge, from which the rest is traced back."""
        grid = self._grid
        ways, node, places = self._ends(), 0, list[Place]()
        while True:
            _, above, control, costs = ways[choose(np.array([way[0] for way in ways]))]
            if above < 0:
                return [*places, Place(grid.length - 1, control, node)]
            places.append(self._push(above, node))
            node, ways = above, self._open[above][costs]

    # ------------------------------------------------------------------ tracing back

    def classes(self, choose: Draw) -> np.ndarray:
        """int32 [L]: the classes of a derivation, each choice by `choose(log values)`."""
        found = self._passes.row.copy()
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
        return found

    def _ways(self, place: Place) -> list[Way]:
        """All ways to a place; none where its node has just been pushed, or the row begins."""
        step, point, node = place
        grid, table = self._grid, self._table
        if step < 0 or (node >= grid.node(step + 1, len(table.pushes) - 1) and len(table.pushes)):
            return []
        ways = []
        for edge in self._passes.live_edges(step):
            control, after = table.edges[edge]
            if after == point and self._passes.forward[step].get(control, 0) >> node & 1:
                before = Place(step - 1, control, node)
                ways.append(Way(self._value(before) + self._weight(step, edge), (before,), edge))
        for (micro, popped), value in self._values[step].items():
            if micro < table.first_micro:
                continue
            inner, symbol = Place(step, micro, popped), grid.symbol_of(popped)
            rules = table.rules_of.get(micro, ())
            if popped == node and (symbol if symbol == ROOT else ~symbol, point) in rules:
                ways.append(Way(value, (inner,)))
            if popped == 0 or not self._passes.parents[popped] >> node & 1 or (symbol, point) not in rules:
                continue
            if (into := self._value_of_push(popped, node)) > -np.inf:
                ways.append(Way(value + into, (inner, self._push(popped, node))))
        return ways
