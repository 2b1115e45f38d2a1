"""The rows of a machine with a stack by the sets of (control, stack) that they lead to: each row has one, however ambiguous.

The sets are as many as rows can be told apart by, so they are followed only while they are few; then the law of rows is a
sum-product over them, as over a deterministic automaton.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED, Draw
from grammarlm.masks.canvas.stack.closings import END, offer_costs
from grammarlm.masks.canvas.stack.pushdown import PushdownTable
from grammarlm.masks.canvas.stack.symbols import ROOT, on_top, stays

if TYPE_CHECKING:
    from .completions import Completions

Config = tuple[int, tuple[int, ...]]  # control, stack
MOST, MOST_OPERATED = 20_000, 1_000  # configs in all sets; where the table has operations


class TooMany(Exception):
    """The sets are not few."""


class Subsets:
    """All sets that completions of a row lead to, with their log weights to the right edge."""

    def __init__(self, passes: Completions, scores: np.ndarray):
        self._passes, self._grid, self._table, self._scores = passes, passes.grid, passes.grid.table, scores
        self._size, self._most = 0, MOST_OPERATED if self._table.operations else MOST
        start = frozenset((control, stack) for control, stack in self._grid.starts)
        layer: dict[frozenset[Config], int] = {start: 0}
        self._layers: list[list[list[tuple[int, int]]]] = []  # by step and set: (class, set after it)
        for step in range(self._grid.length):
            self._grid.check()
            layer = self._step(step, layer)
        self._values = [np.array([0.0 if self._ends(configs) else -np.inf for configs in layer])]
        for step in range(self._grid.length - 1, -1, -1):
            sums = [np.logaddexp.reduce(self._logs(step, edges)) if edges else -np.inf for edges in self._layers[step]]
            self._values.append(np.array(sums))
        self._values.reverse()

    def classes(self, draw: Draw) -> np.ndarray:
        if np.isneginf(self._values[0][0]):
            raise ValueError("the logits give every completion of the row the probability 0")
        found, here = self._passes.row.copy(), 0
        for step, sets in enumerate(self._layers):
            edges = sets[here]
            found[step], here = edges[draw(self._logs(step, edges))]
        return found

    def _logs(self, step: int, edges: list[tuple[int, int]]) -> np.ndarray:
        classes, after = np.array(edges).T
        scores = self._scores[step, classes] if self._passes.row[step] == MASKED else 0.0
        return np.asarray(scores + self._values_after(step)[after], np.float64)

    def _values_after(self, step: int) -> np.ndarray:
        return self._values[-1] if not self._complete else self._values[step + 1]

    @property
    def _complete(self) -> bool:
        return len(self._values) == self._grid.length + 1

    def _step(self, step: int, layer: dict[frozenset[Config], int]) -> dict[frozenset[Config], int]:
        given = int(self._passes.row[step])
        classes = np.flatnonzero(self._passes.classes_at(step)).tolist() if given == MASKED else [given]
        after: dict[frozenset[Config], int] = {}
        edges_of = []
        for configs in layer:
            by_edges: dict[tuple[int, ...], frozenset[Config]] = {}
            edges = []
            for token_class in classes:
                key = tuple(self._table.edges_by_class[token_class])
                if key not in by_edges:
                    self._grid.check()
                    by_edges[key] = following(self._table, configs, key)
                    self._size += len(by_edges[key])
                    if self._size > self._most:
                        raise TooMany
                if target := by_edges[key]:
                    edges.append((token_class, after.setdefault(target, len(after))))
            edges_of.append(edges)
        self._layers.append(edges_of)
        return after

    def _ends(self, configs: frozenset[Config]) -> bool:
        return any(self._closes(control, stack) for control, stack in configs)

    def _closes(self, control: int, stack: tuple[int, ...]) -> bool:
        closings, room = self._grid.closings, self._grid.room
        costs = {control: 0}
        for symbol in (*reversed(stack), ROOT):
            after: dict[int, int] = {}
            for point, tokens in costs.items():
                offer_costs(after, closings.of(point, symbol), tokens, room)
            costs = after
        return END in costs


def following(table: PushdownTable, configs: frozenset[Config], edges: tuple[int, ...]) -> frozenset[Config]:
    """The configs after a class that takes these edges."""
    found, seen = set(), set()
    waiting = [
        (point, stack) for e in edges for control, stack in configs for c, point in (table.edges[e],) if c == control
    ]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        point, stack = place
        if point < table.controls:
            found.add(place)
        elif point < table.first_micro:
            symbol, after = table.pushes[point - table.controls]
            waiting.append((after, (*stack, symbol)))
        else:
            top = stack[-1] if stack else ROOT
            for symbol, after in table.rules_of.get(point, ()):
                if symbol >= table.symbols:
                    operation = table.operations[symbol - table.symbols]
                    ways = [way for group in operation if top in group.symbols for way in group.ways]
                    waiting += [(after, stack[:-1] + way) for way in ways]
                elif on_top(symbol) == top:
                    waiting.append((after, stack if stays(symbol) else stack[:-1]))
    return frozenset(found)
