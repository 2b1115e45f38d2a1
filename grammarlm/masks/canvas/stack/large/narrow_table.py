"""What narrow passes (narrow.py) need of a stack table, as kernels read it (layout/narrow.py)."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.canvas import ROOT
from grammarlm.layout.narrow import Narrow as At
from grammarlm.layout.stack_sets import Record
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.bits import any_of, bits, packed

from .few import FewClasses

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.pushdown import PushdownTable
    from grammarlm.masks.canvas.stack.sets import StackSets

NEAR_ROOM = 8  # of the tokens that may follow a row so many are followed exactly
MOST_EDGES, NONE = 4096, -1  # of the controls before (behind) a masked token, which is then taken to be of any class
LARGE_CLASSES, MOST_LARGE = 16, 8  # edges that so many classes take are looked at first, so many of a control


class RightEdge(NamedTuple):
    """Controls at the right edge of a row, and for each a set of stacks."""

    surely: list[tuple[int, int]]  # that can be completed
    perhaps: list[tuple[int, int]]  # all others cannot


class NarrowTable:
    """What narrow passes need of a table."""

    def __init__(self, table: PushdownTable, sets: StackSets):
        self._table, self._sets = weakref.proxy(table), sets
        self._arrays: list[np.ndarray] = []
        self._generation: object = None
        self._edges: dict[int, RightEdge] = {}  # by room
        shared = np.zeros(At.LENGTH, np.int64)
        finals = _finals(table)
        size = len(table.edge_point) - table.given_edges
        control, point, kind = table.edge_control[:size], table.edge_point[:size], table.edge_kind[:size]
        is_free = point < table.controls
        looks = np.flatnonzero(~is_free)
        first = np.flatnonzero(np.diff(control[looks], prepend=-1))
        reaches = np.zeros((table.controls, finals.shape[1]), np.uint64)
        reaches[control[looks[first]]] = np.bitwise_or.reduceat(finals[point[looks]], first, axis=0)
        ranks = np.zeros(table.points - table.first_micro, np.int32)
        ranks[np.array(table.point_order, np.int64) - table.first_micro] = np.arange(len(ranks))
        self._wide: np.ndarray = np.zeros((2, table.controls), np.int32)
        large, starts = self._large(control, point, kind)
        held = bits(table.control_classes, table.classes).sum(1)
        for place, array in (
            (At.RANK, ranks), (At.FINALS, finals), (At.REACHES, reaches), (At.WIDE, self._wide),
            (At.LARGE_START, starts.astype(np.int32)), (At.LARGE_EDGE, large.astype(np.int32)),
            (At.CONTROL_ORDER, np.argsort(-held, kind="stable").astype(np.int32)),
            (At.FREE_CONTROL, control[is_free]), (At.FREE_POINT, point[is_free]),
            (At.EVERY_START, np.searchsorted(control, np.arange(table.controls + 1)).astype(np.int32)),
            (At.MET, np.zeros(len(ranks) // 64 + 1, np.uint64)),
            (At.HERE, np.zeros(table.points, np.int32)), (At.OTHER, np.zeros(table.points, np.int32)),
            (At.WAITING, np.zeros(len(table.rule_rows) + len(table.push_pairs) + 1, np.int32)),
        ):  # fmt: skip
            self._put(shared, place, array)
        shared[At.WORDS], shared[At.FREE_EDGES] = finals.shape[1], is_free.sum()
        shared[At.MOST_EDGES] = MOST_EDGES
        self._looking, self.words = shared.copy(), shared
        self._looking[At.MOST_EDGES] = NONE
        self._put_edges(self._looking, looks)
        self._put_edges(self.words, np.flatnonzero(_takes(table, FewClasses(table, finals).found)[kind]))

    def _put_edges(self, words: np.ndarray, edges: np.ndarray) -> None:
        """Those that masked tokens take."""
        table = self._table
        plain = edges[table.edge_point[edges] < table.controls]
        words[At.EDGES], words[At.PLAIN_EDGES] = len(edges), len(plain)
        for place, array in (
            (At.EDGE_CONTROL, table.edge_control[edges]), (At.EDGE_POINT, table.edge_point[edges]),
            (At.PLAIN_CONTROL, table.edge_control[plain]), (At.PLAIN_POINT, table.edge_point[plain]),
        ):  # fmt: skip
            self._put(words, place, array)

    def _put(self, words: np.ndarray, place: At, array: np.ndarray) -> None:
        self._arrays.append(np.ascontiguousarray(array))
        words[place] = address_of(self._arrays[-1])

    def _large(self, control: np.ndarray, point: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The edges of each control that leave the stack as it is and that most classes take, and where those of each begin."""
        table = self._table
        sizes = bits(table.kind_classes, table.classes).sum(1)[kind]
        edges = np.flatnonzero((point < table.controls) & (sizes >= LARGE_CLASSES))
        edges = edges[np.lexsort((-sizes[edges], control[edges]))]
        starts = np.searchsorted(control[edges], np.arange(table.controls + 1))
        kept = [np.arange(begin, min(end, begin + MOST_LARGE)) for begin, end in itertools.pairwise(starts.tolist())]
        edges = edges[np.concatenate(kept)]
        return edges, np.searchsorted(control[edges], np.arange(table.controls + 1))

    def begin_row(self, check: Callable[[], None]) -> None:
        """Wide states are those of the sets' numbers; the lock is held."""
        sets = self._sets
        if self._generation is sets.generation:
            return
        state = sets.state_of(dict.fromkeys(range(self._table.controls), _every_stack(sets, self._table.symbols)))
        token = np.array([MASKED], np.int32)
        for which, is_right in enumerate((True, False)):
            # A token follows wherever a row goes on, a stop id at least, but rows may begin where none has been read.
            before = state if is_right else int(sets.backward(token, state, check)[0][0])
            states = np.zeros((2, self._table.controls), np.int32)
            for control, number in sets.sets_of(before):
                states[1 - is_right, control] = number
            place, others = np.array([1 - is_right, is_right], np.int64), np.ones_like(states)
            given = (
                address_of(self._looking), address_of(token), 1, address_of(states), address_of(others), address_of(place),
                int(is_right), 0,
            )  # fmt: skip
            sets.asked(lambda address: entries.narrow_pass(address, *given), check)  # noqa: B023
            self._wide[which] = states[int(is_right)]
        self._generation = sets.generation
        self._edges = {}

    def right_edge(self, room: int, check: Callable[[], None]) -> RightEdge:
        """Of rows that `room` tokens may follow; after `begin_row`, the lock is held.

        All stacks that many tokens can complete are as many symbols deep, and texts hardly ever are: so the few that need few
        tokens are known, and of the others what wide passes know.
        """
        known = self._edges.get(room)
        if known is None:
            sets = self._sets
            surely = sets.sets_of(sets.end(min(room, NEAR_ROOM), check))
            token, states = np.array([MASKED], np.int32), np.zeros((2, self._table.controls), np.int32)
            for control, number in surely:
                states[1, control] = number
            for _ in range(NEAR_ROOM, room):
                place, others = np.array([1, 0], np.int64), np.ones_like(states)
                given = (
                    address_of(self.words), address_of(token), 1, address_of(states), address_of(others), address_of(place),
                    0, 1,
                )  # fmt: skip
                sets.asked(lambda address: entries.narrow_pass(address, *given), check)  # noqa: B023
                check()
                if (states[0] == states[1]).all():
                    break
                states[1] = states[0]
            perhaps = [(control, int(states[1, control])) for control in np.flatnonzero(states[1]).tolist()]
            known = self._edges[room] = RightEdge(surely, perhaps)
        return known


def _takes(table: PushdownTable, classes: set[int]) -> np.ndarray:
    """bool [kinds]: is each taken by one of some classes?"""
    return any_of(table.kind_classes & packed(np.array(sorted(classes), np.int64), table.kind_classes.shape[1]))


def _finals(table: PushdownTable) -> np.ndarray:
    """uint64 [points, words]: the controls that each point can lead to."""
    words = -(-table.controls // 64)
    found = [1 << point for point in range(table.controls)] + [0] * (table.points - table.controls)
    for push, (_, after) in enumerate(table.pushes):
        found[table.controls + push] = found[after]
    for micro in reversed(table.point_order):
        for _, after in table.rules_of.get(micro, ()):
            found[micro] |= found[after]
    data = b"".join(controls.to_bytes(8 * words, "little") for controls in found)
    return np.frombuffer(data, np.uint64).reshape(table.points, words)


def _every_stack(sets: StackSets, symbols: int) -> int:
    """The set of all stacks: below each symbol it stands itself."""
    while True:
        number = sets.records
        below = itertools.chain.from_iterable((symbol, number) for symbol in range(1, symbols))
        found = sets.record([Record.SET, ROOT, 0, *below])
        if found == number:
            return found
