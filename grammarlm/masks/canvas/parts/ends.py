"""How the machine of a part leaves it: by which exit, after which pieces of tokens, and what is on its stack then."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.canvas.stack.symbols import ROOT, on_top, stays
from grammarlm.masks.protocol import FINISHED

from .crossings import EMPTY
from .machines import FIRST_CONTROL, Machines


class End(NamedTuple):
    """How a machine leaves by an exit after a piece of a token: at once, where nothing is on the stack (micro -1), by a micro point
    at the end of its text, or by one of the piece itself, after which the text ends."""

    exit: int
    micro: int = -1
    reads: bool = False  # is the micro point one of the piece?


class Ends:
    """How one machine leaves, by what has been read."""

    def __init__(self, machines: Machines, number: int):
        self._machine = machines.machines[number]
        table = self._table = self._machine.table
        self.stops = [table.edges[e] for e in table.edges_by_class[STOP] if table.edges[e][0] >= FIRST_CONTROL]
        self._of_control: dict[int, list[End]] = {}
        for control, point in self.stops:
            leaves = int(self._machine.exit_of[control])
            end = End(leaves) if point == FINISHED else End(leaves, point)
            self._of_control.setdefault(control, []).append(end)
        self._of_point: dict[int, list[End]] = {}
        self._reading = self._micros_that_end()
        # Of each control: the classes of prefixes after which it leaves, and how; first where it leaves before the token.
        self.edges: list[tuple[int, tuple[int, ...], list[End]]] = [
            (control, (EMPTY,), ends) for control, ends in self._of_control.items()
        ]
        self.classes = np.zeros((len(machines.exits), self._machine.classes.count), bool)
        for edge, (control, point) in enumerate(table.edges):
            kinds = tuple(kind for kind in table.edge_classes[edge] if kind != STOP)
            if control >= FIRST_CONTROL and kinds and (ends := self.of(point)):
                self.edges.append((control, kinds, ends))
                for end in ends:
                    self.classes[end.exit, list(kinds)] = True

    def of(self, point: int) -> list[End]:
        """How the machine leaves after a piece of a token that has led to a point."""
        known = self._of_point.get(point)
        if known is None:
            known = self._of_point[point] = self._found(point)
        return known

    def _found(self, point: int) -> list[End]:
        table = self._table
        if point < table.controls:
            return self._of_control.get(point, [])
        if point < table.first_micro:
            symbol, after = table.pushes[point - table.controls]
            return list(dict.fromkeys(e for end in self.of(after) for e in self._popping(end, symbol)))
        return [End(leaves, point, True) for leaves in sorted(self._reading.get(point, ()))]

    def _popping(self, end: End, symbol: int) -> Iterable[End]:
        """How it leaves where a symbol is on top that the piece has pushed."""
        if end.micro >= 0:
            assert not end.reads, "pops come before pushes"
            for asked, after in self._table.rules_of.get(end.micro, ()):
                assert asked == ROOT or not stays(asked), "at the end of a text nothing stays"
                if asked == symbol:
                    yield End(end.exit, after)

    def _micros_that_end(self) -> dict[int, set[int]]:
        """By micro point of a piece, the exits by which the machine may leave after it."""
        table, found, into = self._table, dict[int, set[int]](), dict[int, list[int]]()
        waiting: list[tuple[int, int]] = []
        for micro, _, after in table.rules:
            if after >= table.first_micro:
                into.setdefault(after, []).append(micro)
            else:
                waiting += [(micro, end.exit) for end in self.of(after)]
        while waiting:
            micro, leaves = waiting.pop()
            if leaves not in found.setdefault(micro, set()):
                found[micro].add(leaves)
                waiting += [(before, leaves) for before in into.get(micro, ())]
        return found

    def rules(self, end: End) -> list[tuple[int, End | None]]:
        """(symbol, how it goes on) of a micro point; None: nothing is left."""
        table, found = self._table, list[tuple[int, End | None]]()
        for symbol, after in table.rules_of.get(end.micro, ()):
            if not end.reads:
                found.append((symbol, None if after == FINISHED else End(end.exit, after)))
                continue
            for further in self.of(after):
                if further.exit != end.exit:
                    continue
                if not stays(symbol):
                    found.append((symbol, None if further.micro < 0 else further))
                elif symbol == ROOT:
                    found += [(ROOT, None)] if further.micro < 0 or self._ends_on_nothing(further) else []
                else:
                    found += [(on_top(symbol), after_it) for after_it in self._popping(further, on_top(symbol))]
        return list(dict.fromkeys(found))

    def _ends_on_nothing(self, end: End) -> bool:
        return any(symbol == ROOT for symbol, _ in self._table.rules_of.get(end.micro, ()))
