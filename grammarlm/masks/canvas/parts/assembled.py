"""One stack table of several machines, with the tokens that cross from one to another.

A token that crosses an exit is read in two pieces. The first is read by the machine that ends: what is on its stack then is popped
by micro points, as at the end of a text. Where nothing is left, the second piece has led to places that are known to the bottom
(machines.py): these are pushed. So a crossing is an edge of the control before the token, and its micro points are made of those of
the machine, each with the set of places that it comes to.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from grammarlm.errors import LimitExceeded
from grammarlm.layout.json_canvas import MARKS, MARKS_BEHIND
from grammarlm.masks.canvas.classes import NEVER, STOP, TokenClasses, classes_of
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.protocol import FINISHED

from .crossings import Crossings, crossings
from .ends import End, Ends
from .machines import FIRST_CONTROL, Machines
from .nodes import NodeVocabulary

CONTROL, PUSH, MICRO = range(3)
MOST_EDGES, MOST_POINTS = 1 << 21, 1 << 17
Point = tuple[int, int]  # its kind, and its number among those


class Assembly:
    """Makes the table."""

    def __init__(self, machines: Machines, vocab: NodeVocabulary, marked: np.ndarray | None):
        """`marked`: the classes of bytes and marks of the first machine, where it knows marks."""
        self._machines, self._vocab, self._marked = machines, vocab, marked
        tables = [machine.table for machine in machines.machines]
        self._first_push = np.cumsum([0, *(len(t.push_pairs) for t in tables)]).tolist()
        self._first_micro = np.cumsum([0, *(t.points - t.first_micro for t in tables)]).tolist()
        self._pushes: dict[tuple[int, Point], int] = {}  # new ones, after those of all machines
        self._micros: dict[tuple[int, End, int], int] = {}
        self._rules: list[tuple[int, int, Point]] = []
        self._ways = [Ends(machines, k) for k in range(len(tables))]
        self._crossings = [
            crossings(machines, e, owner, self._ways[owner].classes[e], vocab)
            for e, owner in enumerate(each.machine for each in machines.exits)
        ]
        self.classes, self._class_of = self._token_classes()
        self.byte_classes = np.zeros(256, np.int32)
        if marked is not None:
            self._add_marks(marked)
        self.table = self._table()

    # ------------------------------------------------------------------ classes

    def _token_classes(self) -> tuple[TokenClasses, list[np.ndarray]]:
        """Those of all nodes that are tokens, and of each machine its class of each of them."""
        machines, nodes = self._machines.machines, self._vocab.size
        rng, columns = np.random.default_rng(0), [m.classes.of.astype(np.uint64) for m in machines]
        for found in self._crossings:
            weights = rng.integers(1, 1 << 63, 3, np.uint64) | np.uint64(1)
            with np.errstate(over="ignore"):
                mixed = found.prefix.astype(np.uint64) * weights[0] + found.places.astype(np.uint64) * weights[1]
                mixed = (mixed ^ mixed >> np.uint64(31)) * weights[2]
                mixed ^= mixed >> np.uint64(29)
                sums = np.zeros(nodes, np.uint64)
                np.add.at(sums, found.node, mixed)
            columns.append(sums)
        rows = np.stack(columns, 1)
        rows[: nodes - 1][~self._vocab.is_token] = 0
        _, first, kinds = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        kinds = kinds.reshape(-1) + 1
        kinds[(rows == NEVER).all(1)] = 0
        kinds[list(self._vocab.stop_ids)] = 0
        classes, found_kinds = classes_of(kinds, self._vocab.stop_ids)
        samples = first[found_kinds - 1]
        of = [np.concatenate([[NEVER, STOP], m.classes.of[samples]]) for m in machines]
        return classes, of

    def _add_marks(self, marked: np.ndarray) -> None:
        """Classes of the marks, which have no tokens, and of single bytes."""
        first, bytes_of = self.classes.count, np.array(self._vocab.byte_nodes)
        self.byte_classes = np.where(bytes_of >= 0, self.classes.of[bytes_of], NEVER).astype(np.int32)
        self.byte_classes[list(MARKS)] = first + np.arange(len(MARKS))
        self.classes = TokenClasses(self.classes.of, first + len(MARKS))
        of_first, *others = self._class_of
        never = np.zeros(len(MARKS), np.int64)
        self._class_of = [
            np.concatenate([of_first, marked[list(MARKS)]]),
            *(np.concatenate([of, never]) for of in others),
        ]

    # ------------------------------------------------------------------ points

    def _joint(self, machine: int, point: int) -> Point:
        table = self._machines.machines[machine].table
        if point < table.controls:
            return CONTROL, self._machines.control(machine, point)
        if point < table.first_micro:
            return PUSH, int(self._first_push[machine]) + point - table.controls
        return MICRO, int(self._first_micro[machine]) + point - table.first_micro

    @cached_property
    def _points_of(self) -> dict[int, list[Point]]:
        return {}

    def _places(self, number: int) -> list[Point]:
        """The points at which a set of places is pushed on nothing."""
        known = self._points_of.get(number)
        if known is None:
            known = self._points_of[number] = []
            for control, stack in self._machines.sets[number]:
                point: Point = (CONTROL, control)
                for symbol in reversed(stack):
                    new = len(self._pushes) + int(self._first_push[-1])
                    point = PUSH, self._pushes.setdefault((symbol, point), new)
                known.append(point)
        return known

    def _leaving(self, machine: int, end: End, places: int) -> list[Point]:
        """The points at which a machine leaves, and comes to a set of places."""
        if end.micro < 0:
            return self._places(places)
        key = machine, end, places
        number = self._micros.get(key)
        if number is None:
            number = self._micros[key] = len(self._micros) + int(self._first_micro[-1])
            if len(self._micros) > MOST_POINTS:
                raise _too_many()
            self._machines.check()
            for symbol, after in self._ways[machine].rules(end):
                points = self._places(places) if after is None else self._leaving(machine, after, places)
                joint = self._machines.symbol(machine, symbol)
                self._rules += [(number, joint, point) for point in points]
        return [(MICRO, number)]

    # ------------------------------------------------------------------ edges

    def _crossing_edges(self) -> dict[tuple[int, Point], np.ndarray]:
        """By control and point the classes, bool [K]."""
        found: dict[tuple[int, Point], np.ndarray] = {}
        bits = [self._bits(each) for each in self._crossings]
        count = 0
        for machine, ways in enumerate(self._ways):
            for control, kinds, ends in ways.edges:
                at = self._machines.control(machine, control)
                for end in ends:
                    for places, classes in _united(bits[end.exit], kinds).items():
                        count += 1
                        if count > MOST_EDGES:
                            raise _too_many()
                        for point in self._leaving(machine, end, places):
                            known = found.get((at, point))
                            found[at, point] = classes if known is None else known | classes
        return found

    def _bits(self, found: Crossings) -> dict[int, dict[int, np.ndarray]]:
        """The classes, bool [K], of the tokens with a prefix of some class that come to some set of places."""
        of = self.classes.of[found.node]
        rows = np.unique(np.stack([found.prefix, found.places, of], 1), axis=0) if len(of) else np.zeros((0, 3), int)
        bits: dict[int, dict[int, np.ndarray]] = {}
        for prefix, places, token_class in rows.tolist():
            sets = bits.setdefault(prefix, {})
            if places not in sets:
                sets[places] = np.zeros(self.classes.count, bool)
            sets[places][token_class] = True
        return bits

    def _table(self) -> StackTable:
        machines, count = self._machines, self.classes.count
        passed = np.zeros(count, bool)  # the marks that leave places as they are
        if self._marked is not None:
            passed[self.byte_classes[list(MARKS_BEHIND)]] = True
        crossing = self._crossing_edges()
        edges = [(at, point) for at, point in crossing]
        rows = [*crossing.values()]
        pushes: list[tuple[int, Point]] = []
        rules: list[tuple[int, int, Point]] = []
        for machine, each in enumerate(machines.machines):
            table = each.table
            kinds = np.unpackbits(table.kind_classes.view(np.uint8), axis=1, bitorder="little").astype(bool)
            kinds = kinds[:, self._class_of[machine]]
            kinds[:, STOP] = False
            for (control, point), kind in zip(table.edges, table.edge_kind.tolist(), strict=True):
                if control >= FIRST_CONTROL and kinds[kind].any():
                    edges.append((machines.control(machine, control), self._joint(machine, point)))
                    rows.append(kinds[kind])
            if machine and self._marked is not None:
                own = range(machines.first_control[machine], machines.first_control[machine + 1])
                edges += [(control, (CONTROL, control)) for control in own]
                rows += [passed] * len(own)
            for control, point in self._ways[machine].stops:
                if machines.exits[each.exit_of[control]].is_last:
                    edges.append((machines.control(machine, control), self._joint(machine, point)))
                    rows.append(np.arange(count) == STOP)
            pushes += [
                (machines.symbol(machine, symbol), self._joint(machine, after)) for symbol, after in table.pushes
            ]
            first = int(self._first_micro[machine]) - table.first_micro
            rules += [
                (first + micro, machines.symbol(machine, symbol), self._joint(machine, after))
                for micro, symbol, after in table.rules
            ]
        edges.append((FINISHED, (CONTROL, FINISHED)))
        rows.append(passed | (np.arange(count) == STOP))
        return self._numbered(edges, rows, [*pushes, *self._pushes], [*rules, *self._rules])

    def _numbered(
        self, edges: list[tuple[int, Point]], rows: list[np.ndarray], pushes: list[tuple[int, Point]],
        rules: list[tuple[int, int, Point]],
    ) -> StackTable:  # fmt: skip
        controls = self._machines.controls
        first = controls, controls + len(pushes)

        def number(point: Point) -> int:
            kind, at = point
            return at if kind == CONTROL else first[kind - PUSH] + at

        united: dict[tuple[int, int], np.ndarray] = {}
        for (control, point), row in zip(edges, rows, strict=True):
            key = control, number(point)
            united[key] = united[key] | row if key in united else row
        has_tokens = self.classes.sizes > 0 if self._marked is not None else np.ones(self.classes.count, bool)
        given = {key for key, row in united.items() if not (row & has_tokens).any()}
        keys = [*sorted(set(united) - given), *sorted(given)]
        matrix = np.array([united[key] for key in keys], bool).reshape(len(keys), -1)
        packed = np.packbits(np.pad(matrix, ((0, 0), (0, -matrix.shape[1] % 64))), axis=1, bitorder="little").view(
            np.uint64
        )
        kinds, kind = np.unique(packed, axis=0, return_inverse=True)
        numbered = sorted({(first[1] + micro, symbol, number(point)) for micro, symbol, point in rules})
        return StackTable(
            controls,
            self._machines.symbols,
            self.classes.count,
            first[1] + int(self._first_micro[-1]) + len(self._micros),
            np.array([control for control, _ in keys], np.int32),
            np.array([point for _, point in keys], np.int32),
            kind.reshape(-1).astype(np.int32),
            np.ascontiguousarray(kinds),
            np.array([(symbol, number(point)) for symbol, point in pushes], np.int32).reshape(-1, 2),
            np.array(numbered, np.int32).reshape(-1, 3),
            len(given),
        )


def _united(sets: dict[int, dict[int, np.ndarray]], kinds: Iterable[int]) -> dict[int, np.ndarray]:
    """By set of places, the classes of tokens with a prefix of one of these classes."""
    found: dict[int, np.ndarray] = {}
    for kind in kinds:
        for places, classes in sets.get(kind, {}).items():
            found[places] = found[places] | classes if places in found else classes
    return found


def _too_many() -> LimitExceeded:
    return LimitExceeded(
        "a canvas: too many tokens cross the end of a part in different ways; let the part end where only one can"
    )
