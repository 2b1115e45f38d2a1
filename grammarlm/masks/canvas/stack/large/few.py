"""The few classes of tokens by which narrow passes (narrow.py) lead through masked positions.

Which they are decides how much these passes know, never what a canvas says: the shortest tokens of each sort of byte, those that
most ids belong to, those that lead to each thing that may be done to the stack, and what leads into places where nearly every token
may stand (comments, strings), out of them, and out of the middle of words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.classes import FIRST, STOP, TokenClasses
from grammarlm.masks.canvas.stack.bits import any_of, bits

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.pushdown import PushdownTable
    from grammarlm.vocab.vocabulary import Vocabulary

LARGEST = 12  # classes with most ids
NEARLY_ALL = 0.9  # of all classes
MOST_SEAS = 6  # groups of such controls
WAYS = 6  # controls from which an operation is followed back
LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
ASCII = 128


def shortest_classes(vocab: Vocabulary, kinds: TokenClasses) -> np.ndarray:
    """int32, ascending: of the shortest tokens of each sort of byte, and those with most ids."""
    largest = np.argsort(-kinds.sizes[FIRST:], kind="stable")[:LARGEST] + FIRST
    found = {STOP, *largest.tolist()}
    for token_class in range(FIRST, kinds.count):
        token = vocab.token_bytes(int(kinds.members(token_class)[0]))
        if all(byte >= ASCII for byte in token) or (len(token) == 1 and token[0] not in LETTERS):
            found.add(token_class)
    return np.array(sorted(found), np.int32)


class FewClasses:
    """What leads through a table; `finals`: uint64 [points, words], the controls that each point can lead to."""

    def __init__(self, table: PushdownTable, finals: np.ndarray):
        size = len(table.edge_point) - table.given_edges
        self._table = table
        self._control, self._point = table.edge_control[:size], table.edge_point[:size]
        self._kind = table.edge_kind[:size]
        self._finals, self._takes = finals, bits(table.kind_classes, table.classes)
        kinds, self._classes = np.nonzero(self._takes)
        self._class_start = np.searchsorted(kinds, np.arange(len(self._takes) + 1))
        self._is_free = self._point < table.controls
        self.found: set[int] = set() if table.few is None else {*table.few.tolist()}
        self._is_taken = any_of(self._takes[:, sorted(self.found)])  # bool [kinds]: by a class that has been found
        self._shift()
        self._into_and_out()
        self._on()

    def _shift(self) -> None:
        """For each operation the classes that lead to a control after which it may come, and few others."""
        table, control, point = self._table, self._control, self._point
        first = np.zeros((table.points, len(table.operations)), bool)
        for micro, symbol, _ in table.rules:
            if symbol >= table.symbols:
                first[micro, symbol - table.symbols] = True
        begins, packed = np.flatnonzero(np.diff(control, prepend=-1)), np.packbits(first, axis=1, bitorder="little")
        may = np.zeros((table.controls, len(table.operations)), bool)
        may[control[begins]] = bits(np.bitwise_or.reduceat(packed[point], begins, axis=0), len(table.operations))
        others, into = may.sum(1), np.bincount(point[self._is_free], minlength=table.controls)
        for operation in range(len(table.operations)):
            of = np.flatnonzero(may[:, operation] & (into > 0))
            for best in of[np.lexsort((-into[of], others[of]))][:WAYS].tolist():
                self._cover(np.flatnonzero(point == best))
            self._add(np.flatnonzero(first[point, operation]))

    def _into_and_out(self) -> None:
        """Of controls at which nearly all classes may stand, and which lead to each other: the classes that lead there from others,
        those that lead from each of them to others, and the one that leads to most."""
        every = bits(self._table.control_classes, self._table.classes)
        most = every.sum(1)
        seas = np.flatnonzero(most >= NEARLY_ALL * every.any(0).sum())
        is_sea = np.zeros(len(most), bool)
        is_sea[seas] = True
        free = np.zeros((len(most), len(most)), bool)
        free[self._control[self._is_free], self._point[self._is_free]] = True
        waiting = seas[np.argsort(-most[seas], kind="stable")].tolist()
        for _ in range(MOST_SEAS):
            if not waiting:
                break
            group = free[waiting[0]] & free[:, waiting[0]] & is_sea
            group[waiting[0]] = True
            self._cover(np.flatnonzero(any_of(self._led_to(group))[self._point] & ~is_sea[self._control]))
            others = self._led_to(~is_sea)
            leaving = np.flatnonzero(group[self._control] & any_of(others)[self._point])
            self._cover(leaving)
            self._add(leaving, bits(others[self._point[leaving]], len(most)).sum(1))
            waiting = [sea for sea in waiting if not group[sea]]

    def _on(self) -> None:
        """From each control, as few tokens as lead to one that is led on from already: the class that does from most."""
        takes = self._is_taken[self._kind]
        leads_on = np.zeros(self._table.controls, bool)
        leads_on[self._control[takes & ~self._is_free]] = True
        while True:
            edges = np.flatnonzero(~leads_on[self._control] & any_of(self._led_to(leads_on))[self._point])
            if not len(edges):
                return
            self._cover(edges)
            leads_on[self._control[edges]] = True

    def _led_to(self, controls: np.ndarray) -> np.ndarray:
        """uint64 [points, words]: those of some controls (bool [controls]) that each point can lead to."""
        chosen = np.zeros(64 * self._finals.shape[1], np.uint8)
        chosen[: len(controls)] = controls
        found: np.ndarray = self._finals & np.packbits(chosen, bitorder="little").view(np.uint64)
        return found

    def _cover(self, edges: np.ndarray) -> None:
        """Classes that take an edge of each control that has one of these."""
        known = self._is_taken[self._kind[edges]]
        edges = edges[~np.isin(self._control[edges], self._control[edges[known]])]
        while len(edges):
            taken = self._takes[self._kind[edges], self._add(edges)]
            edges = edges[~np.isin(self._control[edges], self._control[edges[taken]])]

    def _add(self, edges: np.ndarray, weights: np.ndarray | None = None) -> int:
        """The class that takes most of some edges; of several the first, which has the shortest tokens."""
        counts = np.bincount(self._kind[edges], weights, len(self._takes))
        kinds = np.flatnonzero(counts)
        if not len(kinds):
            return STOP
        sizes = self._class_start[kinds + 1] - self._class_start[kinds]
        taken = np.arange(sizes.sum()) + np.repeat(self._class_start[kinds] - (np.cumsum(sizes) - sizes), sizes)
        best = int(np.argmax(np.bincount(self._classes[taken], np.repeat(counts[kinds], sizes))))
        self.found.add(best)
        self._is_taken |= self._takes[:, best]
        return best
