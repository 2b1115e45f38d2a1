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

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.protocol import FINISHED

from .operations import Operation
from .table import ROOT, StackTable, Symbols

KIND_BITS = 40


def _code(point: Any) -> int:
    """A point as an integer, in the order in which they will be numbered."""
    kind, at = point
    return ("final", "push", "micro").index(kind) << KIND_BITS | int(at)


class TableMaker:
    """Collects what classes do."""

    def __init__(self, controls: int, symbols: int):
        self._controls, self._symbols = controls, symbols
        self._pushes: dict[tuple[int, object], int] = {}  # (symbol, point after) -> number
        self._micros: dict[Hashable, int] = {}
        self._edges: dict[tuple[int, object], set[int]] = {}
        self._rules: set[tuple[int, int, object]] = set()
        self._many: list[tuple[int, np.ndarray, list[bytes]]] = []  # control, codes of points, classes as bits
        for control in (FINISHED,):
            self._edges[control, ("final", FINISHED)] = {STOP}

    def effect(self, control: int, token_class: int, target: int, pops: Symbols = (), pushes: Symbols = ()) -> None:
        """Reading the class: pops these symbols, the top first, then pushes; a frame that is new is the last of `pushes`."""
        point = self._after(target, pushes)
        if pops:
            point = self._popping(pops, point)
        self._edges.setdefault((control, point), set()).add(token_class)

    def effects(
        self, control: int, classes: np.ndarray, outcomes: Sequence[Sequence[object]], numbers: np.ndarray
    ) -> None:
        """What some classes lead to in a control: for each the number of an outcome, which has points as `point` names them."""
        rows = np.zeros((len(outcomes), 64 * (1 + int(classes.max(initial=0)) // 64)), np.uint8)
        rows[numbers, classes] = 1
        sizes = [len(outcome) for outcome in outcomes]
        of = np.repeat(np.arange(len(outcomes)), sizes)
        codes = np.array([_code(point) for outcome in outcomes for point in outcome], np.int64)
        is_taken = np.asarray(rows.any(axis=1))[of]
        codes, of = codes[is_taken], of[is_taken]
        if not len(codes):
            return
        order = np.argsort(codes, kind="stable")
        codes, packed = codes[order], np.packbits(rows, axis=1, bitorder="little")[of[order]]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        bits = packed if len(starts) == len(codes) else np.bitwise_or.reduceat(packed, starts, axis=0)
        wide, whole = bits.shape[1], bits.tobytes()
        self._many.append((control, codes[starts], [whole[at : at + wide] for at in range(0, len(whole), wide)]))

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
        words = max(1, -(-classes // 64))
        control, point, kind = list[int](), list[int](), list[int]()
        for c, q, of in few:
            bits = np.zeros(64 * words, np.uint8)
            bits[list(of)] = 1
            control.append(c)
            point.append(q)
            kind.append(kinds.setdefault(np.packbits(bits, bitorder="little").tobytes(), len(kinds)))
        firsts = np.array([0, self._controls, self._controls + len(self._pushes)])
        for c, codes, found in self._many:
            control += [c] * len(codes)
            point += (firsts[codes >> KIND_BITS] + (codes & (1 << KIND_BITS) - 1)).tolist()
            kind += [kinds.setdefault(bits.ljust(8 * words, b"\0"), len(kinds)) for bits in found]
        order = np.lexsort((point, control))
        edges = np.array([control, point, kind], np.int32)[:, order]
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
            np.frombuffer(b"".join(kinds), np.uint64).reshape(len(kinds), words),
            np.array([(symbol, number(point)) for symbol, point in self._pushes], np.int32).reshape(-1, 2),
            np.array(rules, np.int32).reshape(-1, 3),
            one_way=one_way,
            operations=operations,
        )
