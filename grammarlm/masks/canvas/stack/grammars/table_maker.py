"""How a view says what token classes do to the controls and the stack of a pushdown machine.

maker = TableMaker(controls, symbols)                                  # DEAD, FINISHED and ROOT are counted
maker.effect(control, token_class, target, pops=(a,), pushes=(b, c))   # c on top of b
maker.end(control, pops=(a,))                                          # a text may end here, with just these on the stack
point = maker.micro("]]")                                              # or, where a token pops without bound:
maker.enter(control, token_class, point)
maker.pop(point, a, then=point)
maker.pop(point, b, target, pushes=(c,))
maker.keep(point, b, target, pushes=(c,))                              # asks for the symbol on top, which stays
maker.operate(point, operation, then=point)                            # or a target and pushes; operation: its number
maker.effects(control, classes, outcomes, numbers)                     # many effects at once: see there
table = maker.table(classes, operations=operations)
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.canvas.stack.operations import Operation
from grammarlm.masks.canvas.stack.symbols import ROOT, Symbols
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.protocol import FINISHED

KIND_BITS = 40


def _code(point: Any) -> int:
    """A point as an integer, in the order in which they will be numbered."""
    kind, at = point
    return ("final", "push", "micro").index(kind) << KIND_BITS | int(at)


class Outcomes(NamedTuple):
    """Points that a class may lead to."""

    starts: np.ndarray  # int64 [n + 1]: those of each
    codes: np.ndarray  # int64


class TableMaker:
    """Collects what classes do."""

    def __init__(self, controls: int, symbols: int):
        self._controls, self._symbols = controls, symbols
        self._pushes: dict[tuple[int, object], int] = {}  # (symbol, point after) -> number
        self._micros: dict[Hashable, int] = {}
        self._edges: dict[tuple[int, object], set[int]] = {}
        self._rules: set[tuple[int, int, object]] = set()
        self._many: list[tuple[int, np.ndarray, np.ndarray]] = []  # control, codes of points, kinds
        self._kinds: dict[bytes, int] = {}  # sets of classes, int32, numbered
        for control in (FINISHED,):
            self._edges[control, ("final", FINISHED)] = {STOP}

    def effect(self, control: int, token_class: int, target: int, pops: Symbols = (), pushes: Symbols = ()) -> None:
        """Reading the class: pops these symbols, the top first, then pushes; a frame that is new is the last of `pushes`."""
        point = self._after(target, pushes)
        if pops:
            point = self._popping(pops, point)
        self._edges.setdefault((control, point), set()).add(token_class)

    @staticmethod
    def outcomes(every: Iterable[Sequence[object]]) -> Outcomes:
        """Lists of points, as `point` and `micro_point` name them."""
        codes = [[_code(point) for point in points] for points in every]
        starts = np.concatenate([[0], np.cumsum([len(of) for of in codes])]).astype(np.int64)
        return Outcomes(starts, np.array(list(itertools.chain.from_iterable(codes)), np.int64))

    def effects(self, control: int, classes: np.ndarray, outcomes: Outcomes, numbers: np.ndarray) -> None:
        """What some classes (ascending) lead to in a control: for each the number of an outcome."""
        if not len(classes):
            return
        order = np.argsort(numbers, kind="stable")
        sorted_classes, of = classes[order].astype(np.int32), numbers[order]
        firsts = np.flatnonzero(np.diff(of, prepend=-1))
        ends = np.append(firsts[1:], len(of))
        held = [sorted_classes[first:end] for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)]
        of = of[firsts]
        sizes = outcomes.starts[of + 1] - outcomes.starts[of]
        which = np.repeat(np.arange(len(of)), sizes)
        codes = outcomes.codes[np.arange(len(which)) + (outcomes.starts[of] - (np.cumsum(sizes) - sizes))[which]]
        order = np.argsort(codes, kind="stable")
        codes, which = codes[order], which[order]
        begins = np.flatnonzero(np.diff(codes, prepend=-1))
        chosen = [held[first] for first in which[begins].tolist()]
        for place in np.flatnonzero(np.diff(begins, append=len(codes)) > 1).tolist():  # several outcomes have the point
            end = int(begins[place + 1]) if place + 1 < len(begins) else len(codes)
            chosen[place] = np.sort(np.concatenate([held[i] for i in which[begins[place] : end].tolist()]))
        kinds = [self._kinds.setdefault(of.tobytes(), len(self._kinds)) for of in chosen]
        self._many.append((control, codes[begins], np.array(kinds, np.int32)))

    def point(self, target: int, pushes: Symbols = ()) -> object:
        """Where a token leads that pushes these symbols."""
        return self._after(target, pushes)

    def micro_point(self, micro: int) -> object:
        return ("micro", micro)

    def end(self, control: int, pops: Symbols = ()) -> None:
        """A text may end in this control with exactly these symbols on the stack."""
        self._edges.setdefault((control, self._popping((*pops, ROOT), ("final", FINISHED))), set()).add(STOP)

    def micro(self, key: Hashable) -> int:
        """The micro point of a key: a place within a token where the symbol on top is popped."""
        return self._micros.setdefault(("own", key), len(self._micros))

    def enter(self, control: int, token_class: int, micro: int) -> None:
        """Reading the class leads to a micro point."""
        self._edges.setdefault((control, ("micro", micro)), set()).add(token_class)

    def pop(
        self, micro: int, symbol: int, target: int | None = None, pushes: Symbols = (), then: int | None = None
    ) -> None:
        """In a micro point: this symbol is popped (ROOT: the stack is empty), then another micro point, or the token ends."""
        if then is not None:
            assert symbol != ROOT, "nothing is popped of an empty stack"
            self._rules.add((micro, symbol, ("micro", then)))
        else:
            assert target is not None, "a token ends in a control"
            self._rules.add((micro, symbol, self._after(target, pushes)))

    def keep(self, micro: int, symbol: int, target: int, pushes: Symbols = ()) -> None:
        """In a micro point: this symbol is on top and stays there, and the token ends."""
        self._rules.add((micro, ~symbol if symbol != ROOT else ROOT, self._after(target, pushes)))

    def operate(
        self, micro: int, operation: int, target: int | None = None, pushes: Symbols = (), then: int | None = None
    ) -> None:
        """In a micro point: an operation, then another micro point, or the token ends."""
        assert then is not None or target is not None
        after = ("micro", then) if target is None else self._after(target, pushes)
        self._rules.add((micro, self._symbols + operation, after))

    def _after(self, target: int, pushes: Symbols) -> object:
        point: object = ("final", target)
        for symbol in reversed(pushes):
            number = self._pushes.setdefault((symbol, point), len(self._pushes))
            point = ("push", number)
        return point

    def _popping(self, pops: Symbols, point: object) -> object:
        for at in range(len(pops) - 1, -1, -1):
            here = self._micros.setdefault(("pops", pops[at:], point), len(self._micros))
            self._rules.add((here, pops[at], point))
            point = ("micro", here)
        return point

    def table(self, classes: int, one_way: bool = False, operations: tuple[Operation, ...] = ()) -> StackTable:
        def number(point: Any) -> int:
            kind, at = point
            first: int = {"final": 0, "push": self._controls, "micro": self._controls + len(self._pushes)}[kind]
            return first + int(at)

        few = sorted((control, number(point), tuple(sorted(of))) for (control, point), of in self._edges.items())
        kinds: dict[bytes, int] = {}
        control, point, kind = list[int](), list[int](), list[int]()
        for c, q, of in few:
            control.append(c)
            point.append(q)
            kind.append(kinds.setdefault(np.array(of, np.int32).tobytes(), len(kinds)))
        firsts = np.array([0, self._controls, self._controls + len(self._pushes)])
        renumbered = np.array([kinds.setdefault(of, len(kinds)) for of in self._kinds], np.int32)
        controls, points, kinds_of = [np.array(control)], [np.array(point)], [np.array(kind, np.int32)]
        for c, codes, found in self._many:
            controls.append(np.full(len(codes), c))
            points.append(firsts[codes >> KIND_BITS] + (codes & (1 << KIND_BITS) - 1))
            kinds_of.append(renumbered[found])
        edges = np.array([np.concatenate(each) for each in (controls, points, kinds_of)], np.int32)
        edges = edges[:, np.lexsort((edges[1], edges[0]))]
        assert (np.diff(edges[0].astype(np.int64) * (1 << 32) + edges[1]) > 0).all(), "an edge was given twice"
        rules = sorted((number(("micro", m)), symbol, number(point)) for m, symbol, point in self._rules)
        return StackTable(
            self._controls,
            self._symbols,
            classes,
            self._controls + len(self._pushes) + len(self._micros),
            np.ascontiguousarray(edges[0]),
            np.ascontiguousarray(edges[1]),
            np.ascontiguousarray(edges[2]),
            _bits(kinds, classes),
            np.array([(symbol, number(point)) for symbol, point in self._pushes], np.int32).reshape(-1, 2),
            np.array(rules, np.int32).reshape(-1, 3),
            one_way=one_way,
            operations=operations,
        )


def _bits(kinds: Iterable[bytes], classes: int) -> np.ndarray:
    """uint64 [kinds, words] of sets of classes (int32)."""
    sets = [np.frombuffer(of, np.int32) for of in kinds]
    found = np.zeros((len(sets), max(1, -(-classes // 64))), np.uint64)
    bytewise = found.view(np.uint8)
    for row, of in zip(bytewise, sets, strict=True):
        row[:] = np.packbits(np.bincount(of, minlength=8 * len(row)) > 0, bitorder="little")
    return found
