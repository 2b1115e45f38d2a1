"""The stack table of a JSON Schema: classes of tokens, and what they do to states and symbols."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.json_canvas import NONE, POP, STEP
from grammarlm.layout.stack_sets import Effects
from grammarlm.masks.canvas.classes import FIRST, STOP
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.protocol import FINISHED

from .automaton import ByteAutomaton, Way
from .tokens import TokenEffects

FIRST_CONTROL = 2  # the control of state 0
FIRST_SYMBOL = 1  # after ROOT
Point = tuple[str, int]  # the kind of a point, and its number among those


class JsonTable:
    """Makes the table; push and micro points are numbered as they are met, and renumbered at the end."""

    def __init__(
        self,
        automaton: ByteAutomaton,
        effects: TokenEffects,
        vectors: Sequence[int],
        has_tokens: np.ndarray | None = None,
        marks: Sequence[int] = (),
    ):
        """`vectors`: that of each class from FIRST on. `has_tokens`, bool [K]: classes that masked tokens can have; None: all.
        `marks`: classes that may stand behind the end of a text."""
        self._automaton, self._effects, self._has_tokens, self._marks = automaton, effects, has_tokens, marks
        self.symbol_of = {state: FIRST_SYMBOL + i for i, state in enumerate(automaton.returns.tolist())}
        self._controls = FIRST_CONTROL + automaton.states
        self._pushes: dict[tuple[int, Point], int] = {}
        self._micros: dict[int, int] = {}  # by vector
        self._rules: list[tuple[int, int, Point]] = []
        self._numbers = np.array(vectors, np.int64)
        self._entries = self._by_state()
        met = np.unique(self._entries[2][self._entries[2] >= automaton.states]).tolist()
        self._special: dict[int, list[Point]] = {effect: self._points(effect) for effect in met}
        self.table = self._finished()

    def _by_state(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What classes do to states: where those of each state begin; the classes, counted from FIRST; what they do."""
        entries.load("stack_sets")
        arena, starts = np.zeros(Effects.LENGTH, np.int64), np.empty(self._automaton.states + 1, np.int64)
        arena[Effects.STATES], arena[Effects.CLASSES] = self._automaton.states, len(self._numbers)
        arena[Effects.ENTRY_START] = address_of(starts)
        entries.entries_by_state(self._effects.address, address_of(arena), address_of(self._numbers))
        classes, done = np.empty(int(starts[-1]) + 1, np.int32), np.empty(int(starts[-1]) + 1, np.int32)
        arena[Effects.ENTRY_CLASS], arena[Effects.ENTRY_EFFECT] = address_of(classes), address_of(done)
        entries.entries_by_state(self._effects.address, address_of(arena), address_of(self._numbers))
        return starts, classes[:-1], done[:-1]

    def _points(self, effect: int) -> list[Point]:
        return [self._point(way) for way in self._effects.ways_of(effect)]

    def _point(self, way: Way) -> Point:
        if way[0] == STEP:
            return "final", FIRST_CONTROL + way[1]
        if way[0] == POP:
            return "micro", self._micro(way[1])
        point: Point = ("final", FIRST_CONTROL + way[2])
        for state in reversed(way[1]):
            point = "push", self._pushes.setdefault((self.symbol_of[state], point), len(self._pushes))
        return point

    def _micro(self, vector: int) -> int:
        """The point after a pop, with its rules."""
        number = self._micros.get(vector)
        if number is None:
            number = self._micros[vector] = len(self._micros)
            effects = self._effects.vector(vector)
            for state, symbol in self.symbol_of.items():
                if effects[state] != NONE:
                    self._rules += [(number, symbol, point) for point in self._points(int(effects[state]))]
        return number

    def _number(self, point: Point) -> int:
        kind, at = point
        first = {"final": 0, "push": self._controls, "micro": self._controls + len(self._pushes)}[kind]
        return first + int(at)

    def _finished(self) -> StackTable:
        points = self._controls + len(self._pushes) + len(self._micros)
        control, point, bits = self._edges(points)
        kinds, kind = distinct_rows(bits)
        given = 0
        if self._has_tokens is not None:
            is_given = only_given(kinds, self._has_tokens)[kind]
            order, given = np.argsort(is_given, kind="stable"), int(is_given.sum())
            control, point, kind = control[order], point[order], kind[order]
        rules = sorted((self._number(("micro", m)), symbol, self._number(after)) for m, symbol, after in self._rules)
        return StackTable(
            self._controls,
            FIRST_SYMBOL + len(self.symbol_of),
            FIRST + len(self._numbers),
            points,
            control,
            point,
            kind,
            kinds,
            np.array([(symbol, self._number(after)) for symbol, after in self._pushes], np.int32).reshape(-1, 2),
            np.array(rules, np.int32).reshape(-1, 3),
            given,
        )

    def _edges(self, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The control and the point of each edge, and its classes as bits."""
        states, classes = self._automaton.states, len(self._numbers)
        entry_start, entry_class, entry_effect = self._entries
        most = max(self._special, default=states - 1) + 1 - states
        ways = [[self._number(p) for p in self._special.get(states + i, ())] for i in range(most)]
        starts = np.cumsum([0, *map(len, ways)]).astype(np.int32)
        ends = np.array([p for of in ways for p in of], np.int32)
        accepts, edge_of = (self._automaton.accepts != 0).astype(np.uint8), np.empty(points, np.int32)
        wide, arena = -(-(FIRST + classes) // 64), np.zeros(Effects.LENGTH, np.int64)
        for place, number in (
            (Effects.STATES, states), (Effects.CLASSES, classes), (Effects.SPECIALS, most),
            (Effects.ENTRY_START, address_of(entry_start)), (Effects.ENTRY_CLASS, address_of(entry_class)),
            (Effects.ENTRY_EFFECT, address_of(entry_effect)),
            (Effects.SPECIAL_START, address_of(starts)), (Effects.SPECIAL_POINTS, address_of(ends)),
            (Effects.ACCEPTS, address_of(accepts)), (Effects.FIRST_CONTROL, FIRST_CONTROL), (Effects.FIRST_CLASS, FIRST),
            (Effects.FINISHED, FINISHED), (Effects.STOP, STOP), (Effects.POINTS, points), (Effects.WORDS, wide),
            (Effects.EDGE_OF, address_of(edge_of)),
        ):  # fmt: skip
            arena[place] = number
        count = entries.table_edges(address_of(arena))
        control, point = np.zeros(count + 1, np.int32), np.zeros(count + 1, np.int32)
        bits = np.zeros((count + 1, wide), np.uint64)
        arena[Effects.CAPACITY] = count
        for place, array in ((Effects.EDGE_CONTROL, control), (Effects.EDGE_POINT, point), (Effects.EDGE_BITS, bits)):
            arena[place] = address_of(array[1:])
        entries.table_edges(address_of(arena))
        control[0], point[0], bits[0, STOP >> 6] = FINISHED, FINISHED, 1 << (STOP & 63)
        for mark in self._marks:
            bits[0, mark >> 6] |= np.uint64(1 << (mark & 63))
        return control, point, bits


def only_given(kinds: np.ndarray, has_tokens: np.ndarray) -> np.ndarray:
    """bool [kinds]: those of classes without tokens."""
    bits = np.zeros(64 * kinds.shape[1], np.uint8)
    bits[: len(has_tokens)] = has_tokens
    found: np.ndarray = np.bitwise_or.reduce(kinds & np.packbits(bits, bitorder="little").view(np.uint64), axis=1) == 0
    return found


def distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of words, and which of them each row is."""
    entries.load("stack_sets")
    of, first = np.empty(len(rows), np.int32), np.empty(len(rows), np.int64)
    slots = np.zeros(4 << len(rows).bit_length(), np.int32)
    count = entries.number_rows(
        address_of(rows), len(rows), rows.shape[1], address_of(of), address_of(first), address_of(slots), len(slots)
    )
    return rows[first[:count]], of
