"""What token classes do to the controls and the stack of a pushdown machine. A view says it to a TableMaker (table_maker.py).

Reading a class, a machine goes through **points** within one token: from a control an edge leads to a point; a *micro* point pops
the symbol on top and goes on; a *push* point pushes one and goes on; a *final* point is the control after the token. Pops come
before pushes, since what a token pushes and pops again never shows.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.masks.canvas.classes import stable_order
from grammarlm.masks.protocol import FINISHED

from .operations import Operation
from .symbols import Rule, on_top, stays


@dataclass(frozen=True, eq=False)
class PushdownTable:
    """Points are numbered: the controls (as final points), the push points, the micro points. The point after a push has a
    lower number than the push."""

    controls: int
    symbols: int
    classes: int
    points: int
    edge_control: np.ndarray  # int32 [E], ascending
    edge_point: np.ndarray  # int32 [E]; each pair of control and point once
    edge_kind: np.ndarray  # int32 [E]: edges of one kind are taken by the same classes
    kind_classes: np.ndarray  # uint64 [kinds, words]: the classes of each kind as bits
    push_pairs: np.ndarray  # int32 [P, 2]: of each push point: the symbol, the point after
    rule_rows: (
        np.ndarray
    )  # int32 [R, 3]: a micro point, the symbol that it pops or an operation, the point after; sorted
    given_edges: int = 0  # the last of the edges, ascending for themselves: masked tokens do not take them
    one_way: bool = False  # does who made it know that each row has one derivation at most?
    operations: tuple[Operation, ...] = ()
    few: np.ndarray | None = None  # int32: classes for narrow passes (few.py); None: there are no such passes

    @cached_property
    def edges(self) -> list[tuple[int, int]]:
        """(control, point)."""
        return list(zip(self.edge_control.tolist(), self.edge_point.tolist(), strict=True))

    @cached_property
    def edge_classes(self) -> list[tuple[int, ...]]:
        """Of each edge the classes that take it."""
        bits = np.unpackbits(self.kind_classes.view(np.uint8), axis=1, bitorder="little")
        of = [tuple(np.flatnonzero(one).tolist()) for one in bits]
        return [of[kind] for kind in self.edge_kind.tolist()]

    @cached_property
    def pushes(self) -> list[tuple[int, int]]:
        return [(symbol, after) for symbol, after in self.push_pairs.tolist()]

    @cached_property
    def rules(self) -> list[Rule]:
        return [(point, symbol, after) for point, symbol, after in self.rule_rows.tolist()]

    @property
    def first_micro(self) -> int:
        return self.controls + len(self.push_pairs)

    @cached_property
    def point_order(self) -> tuple[int, ...]:
        """The micro points, each before those that its rules lead to; where they go round in a circle, before as many as can be."""
        found, seen = list[int](), set[int]()
        for root in range(self.first_micro, self.points):
            waiting = [root]
            while waiting:
                point = waiting.pop()
                if point < 0:
                    found.append(~point)
                elif point not in seen:
                    seen.add(point)
                    waiting.append(~point)  # behind all that it leads to
                    waiting += [after for _, after in self.rules_of.get(point, ()) if after >= self.first_micro]
        return tuple(reversed(found))

    @cached_property
    def has_circles(self) -> bool:
        """Do micro points go round in a circle? Then what a token pops may have no bound (circles.py)."""
        place = {point: at for at, point in enumerate(self.point_order)}
        return any(after in place and place[after] <= place[point] for point, _, after in self.rules)

    @cached_property
    def class_edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the edges of each class start, int32 [K + 1], and these edges."""
        entries.load("stack_sets")
        wide = self.kind_classes.shape[1]
        bits = np.unpackbits(self.kind_classes.view(np.uint8), axis=1, bitorder="little", count=self.classes)
        ways = np.bincount(self.edge_kind, minlength=len(bits))
        starts = np.concatenate([[0], np.cumsum(ways @ bits.astype(np.int64))]).astype(np.int32)
        given = address_of(self.edge_kind), address_of(self.kind_classes), len(self.edge_kind), wide, self.classes
        found = np.zeros(max(1, int(starts[-1])), np.int32)
        entries.edges_by_class(*given, address_of(starts), address_of(found))
        return starts, found

    def edges_of(self, classes: Collection[int]) -> tuple[np.ndarray, np.ndarray]:
        """The same as if only some classes had any."""
        found = [self._edges_of(one) for one in sorted(classes)]
        starts = np.zeros(self.classes + 1, np.int32)
        starts[np.array(sorted(classes)) + 1] = [len(edges) for edges in found]
        return np.cumsum(starts, dtype=np.int32), np.concatenate([*found, np.zeros(1, np.int32)])

    def _edges_of(self, token_class: int) -> np.ndarray:
        """int32, ascending."""
        if token_class not in self._known_edges:
            order, starts = self._by_kind
            takes = self.kind_classes[:, token_class >> 6] >> np.uint64(token_class & 63) & np.uint64(1) != 0
            found = [order[starts[kind] : starts[kind + 1]] for kind in np.flatnonzero(takes).tolist()]
            self._known_edges[token_class] = np.sort(np.concatenate([np.zeros(0, np.int32), *found]))
        return self._known_edges[token_class]

    @cached_property
    def _by_kind(self) -> tuple[np.ndarray, list[int]]:
        """All edges, int32, kind by kind, and where each kind begins."""
        ways = np.bincount(self.edge_kind, minlength=len(self.kind_classes))
        return stable_order(self.edge_kind).astype(np.int32), np.concatenate([[0], np.cumsum(ways)]).tolist()

    @cached_property
    def _known_edges(self) -> dict[int, np.ndarray]:
        """Of some classes."""
        return {}

    @cached_property
    def edges_from_controls(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the edges of each control start, int32 [C + 1], and these edges."""
        order = stable_order(self.edge_control)
        starts = np.searchsorted(self.edge_control[order], np.arange(self.controls + 1))
        return starts.astype(np.int32), order.astype(np.int32)

    @cached_property
    def inner_edges(self) -> np.ndarray:
        """int32: the edges that lead to points which are no controls."""
        return np.flatnonzero(self.edge_point >= self.controls).astype(np.int32)

    @cached_property
    def edges_by_class(self) -> list[list[int]]:
        """The edges that each class takes."""
        starts, found = self.class_edges
        return [found[start:end].tolist() for start, end in itertools.pairwise(starts.tolist())]

    def takes(self, edge: int, token_class: int) -> bool:
        """Does the class take the edge?"""
        word = int(self.kind_classes[self.edge_kind[edge], token_class >> 6])
        return bool(word >> (token_class & 63) & 1)

    @cached_property
    def edges_from(self) -> list[list[int]]:
        """The edges of each control."""
        found: list[list[int]] = [[] for _ in range(self.controls)]
        for edge, (control, _) in enumerate(self.edges):
            found[control].append(edge)
        return found

    @cached_property
    def rules_of(self) -> dict[int, list[tuple[int, int]]]:
        """(symbol, point after) of each micro point."""
        found: dict[int, list[tuple[int, int]]] = {}
        for point, symbol, after in self.rules:
            found.setdefault(point, []).append((symbol, after))
        return found

    @cached_property
    def is_deterministic(self) -> bool:
        """Has each row one derivation at most, whatever is on the stack?"""
        if self.one_way or self.operations:  # ways of operations are not looked at: who made it knows
            return self.one_way
        apart: set[tuple[int, int]] = (
            set()
        )  # pairs of points that no stack lets go on together, or that are being looked at

        def meet(points: list[int]) -> bool:
            return any(self._meet(a, b, apart) for a, b in itertools.combinations(points, 2))

        if any(self._meet(a, b, apart) for a, b in self._rivals()):
            return False
        afters: dict[tuple[int, int], list[int]] = {}
        for point, symbol, after in self.rules:
            afters.setdefault((point, on_top(symbol)), []).append(FINISHED if stays(symbol) else after)
        return not any(map(meet, afters.values()))

    @cached_property
    def control_classes(self) -> np.ndarray:
        """uint64 [controls, words]: the classes of all edges of each control, but of those that only given tokens take."""
        entries.load("stack_sets")
        found = np.zeros((self.controls, self.kind_classes.shape[1]), np.uint64)
        given = address_of(self.edge_control), address_of(self.edge_kind), len(self.edge_control) - self.given_edges
        entries.classes_by_control(*given, address_of(self.kind_classes), found.shape[1], address_of(found))
        return found

    def _rivals(self) -> set[tuple[int, int]]:
        """The pairs of points to which edges with a class in common lead from one control."""
        found = set[tuple[int, int]]()
        sizes, held = _counts(self.kind_classes)[self.edge_kind], _counts(self.control_classes)
        shares = np.bincount(self.edge_control, sizes, self.controls) > held  # or only given tokens take some
        edges = np.flatnonzero(shares[self.edge_control])
        edges = edges[np.argsort(self.edge_control[edges], kind="stable")]
        control, kind, point = self.edge_control[edges], self.edge_kind[edges], self.edge_point[edges]
        for apart in range(1, len(edges)):
            first = np.flatnonzero(control[apart:] == control[:-apart])
            if not len(first):
                break
            other = first + apart
            shared = (self.kind_classes[kind[first]] & self.kind_classes[kind[other]]).any(1)
            found.update(zip(point[first[shared]].tolist(), point[other[shared]].tolist(), strict=True))
        return found

    def _meet(self, a: int, b: int, apart: set[tuple[int, int]]) -> bool:
        """Is there a stack on which both points go on?"""
        waiting = [(a, b)]
        while waiting:
            pair = a, b = waiting.pop()
            if a == b or min(pair) < self.first_micro:
                return True
            if pair not in apart:
                apart.add(pair)
                ways = itertools.product(self.rules_of.get(a, ()), self.rules_of.get(b, ()))
                for (s, after), (t, other) in ways:
                    if on_top(s) == on_top(t):
                        if stays(s) or stays(t):
                            return True
                        waiting.append((after, other))
        return False

    @property
    def nbytes(self) -> int:
        arrays = self.edge_control, self.edge_point, self.edge_kind, self.kind_classes, self.push_pairs, self.rule_rows
        return sum(array.nbytes for array in arrays) + 12 * len(self.edge_kind) + 100 * self.points


def _counts(sets: np.ndarray) -> np.ndarray:
    """How many numbers are in each set, uint64 [sets, words]."""
    counts: np.ndarray = np.unpackbits(sets.view(np.uint8), axis=1).sum(1, dtype=np.int64)
    return counts
