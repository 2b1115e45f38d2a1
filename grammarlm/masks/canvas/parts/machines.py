"""The machines of a text's parts, numbered as one, and what bytes do from where a part has ended.

Parts without rules are one machine already (joined.py); each grammar with rules is a machine of its own. An **exit** is an end of a
part after which another machine may begin: it says in which places that is.

A **place** is (control, symbols of the stack), where nothing is below: what texts begin with is known to the bottom. So what a
token does behind an exit is a set of places, read byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.classes import STOP, TokenClasses
from grammarlm.masks.canvas.stack.draws.subsets import following
from grammarlm.masks.canvas.stack.table import StackTable

FIRST_CONTROL, FIRST_SYMBOL = 2, 1  # of every machine, and of all as one
MOST_SETS = 1 << 15
Place = tuple[int, tuple[int, ...]]
Places = frozenset[Place]
NOWHERE: Places = frozenset()


@dataclass(frozen=True, eq=False)
class Machine:
    table: StackTable
    classes: TokenClasses  # of nodes (nodes.py)
    exit_of: np.ndarray  # int [controls]: the exit where a text may end, -1: not


@dataclass(frozen=True)
class Exit:
    """Of a machine: where others begin, as (machine, place within it)."""

    machine: int
    begins: tuple[tuple[int, Place], ...]
    is_last: bool  # may the whole text end there?


class Machines:
    """All machines as one: controls and symbols of one after those of another; DEAD, FINISHED and ROOT are shared."""

    def __init__(
        self, machines: Sequence[Machine], exits: Sequence[Exit], byte_nodes: list[int], check: Callable[[], None]
    ):
        self.machines, self.exits, self.check = list(machines), list(exits), check
        self._byte_nodes = byte_nodes
        sizes = [m.table.controls - FIRST_CONTROL for m in machines]
        self.first_control = (FIRST_CONTROL + np.cumsum([0, *sizes])).tolist()
        self.first_symbol = (
            FIRST_SYMBOL + np.cumsum([0, *(m.table.symbols - FIRST_SYMBOL for m in machines)])
        ).tolist()
        self.controls, self.symbols = self.first_control[-1], self.first_symbol[-1]
        self._owner = np.repeat(np.arange(len(sizes)), sizes).tolist()
        self.sets: list[Places] = [NOWHERE]
        self._numbers: dict[Places, int] = {NOWHERE: 0}
        self._after: dict[tuple[int, int], int] = {}
        self._place_after: dict[tuple[Place, int], Places] = {}
        self._is_end: dict[Place, bool] = {}
        self.begins = [self.number(frozenset(self.joint(k, place) for k, place in e.begins)) for e in exits]

    # ------------------------------------------------------------------ numbers

    def owner(self, control: int) -> int:
        """The machine of a control."""
        return int(self._owner[control - FIRST_CONTROL])

    def joint(self, machine: int, place: Place) -> Place:
        control, stack = place
        symbols = tuple(self.symbol(machine, symbol) for symbol in stack)
        return self.control(machine, control), symbols

    def control(self, machine: int, control: int) -> int:
        return control if control < FIRST_CONTROL else int(self.first_control[machine]) + control - FIRST_CONTROL

    def symbol(self, machine: int, symbol: int) -> int:
        """Also of a rule that asks for a symbol which stays."""
        if symbol < 0:
            return ~self.symbol(machine, ~symbol)
        return symbol if symbol < FIRST_SYMBOL else int(self.first_symbol[machine]) + symbol - FIRST_SYMBOL

    def number(self, places: Places) -> int:
        """That of a set, 0 for none."""
        found = self._numbers.setdefault(places, len(self.sets))
        if found == len(self.sets):
            self.sets.append(places)
            if found > MOST_SETS:
                raise LimitExceeded(
                    "a canvas: tokens can cross the end of a part in too many ways; let the part end where only one can"
                )
        return found

    # ------------------------------------------------------------------ bytes

    def after(self, places: int, byte: int) -> int:
        """The number of the set after a byte, which may be the first behind the end of a part, or of several."""
        key = places, byte
        known = self._after.get(key)
        if known is None:
            self.check()
            known = self._after[key] = self.number(self._read(self.sets[places], byte))
        return known

    def _read(self, places: Places, byte: int) -> Places:
        found, seen = set[Place](), set[Place]()
        waiting = list(places)
        while waiting:
            place = waiting.pop()
            if place not in seen:
                seen.add(place)
                found |= self._read_one(place, byte)
                if self._ends(place):
                    waiting += self.sets[self.begins[self.exit_of(place[0])]]
        return frozenset(found)

    def exit_of(self, control: int) -> int:
        machine = self.owner(control)
        return int(self.machines[machine].exit_of[self._inner(machine, control)])

    def _read_one(self, place: Place, byte: int) -> Places:
        key = place, byte
        known = self._place_after.get(key)
        if known is None:
            machine = self.owner(place[0])
            node = self._byte_nodes[byte]
            read = int(self.machines[machine].classes.of[node]) if node >= 0 else 0
            known = self._place_after[key] = self._following(machine, place, read)
        return known

    def _ends(self, place: Place) -> bool:
        known = self._is_end.get(place)
        if known is None:
            known = self._is_end[place] = bool(self._following(self.owner(place[0]), place, STOP))
        return known

    def _following(self, machine: int, place: Place, token_class: int) -> Places:
        table = self.machines[machine].table
        symbols = int(self.first_symbol[machine]) - FIRST_SYMBOL
        inner = self._inner(machine, place[0]), tuple(symbol - symbols for symbol in place[1])
        edges = tuple(e for e in table.edges_from[inner[0]] if table.takes(e, token_class))
        return frozenset(self.joint(machine, found) for found in following(table, frozenset([inner]), edges))

    def _inner(self, machine: int, control: int) -> int:
        return control - int(self.first_control[machine]) + FIRST_CONTROL
