"""The stack table of an automaton over bytes: classes of tokens, and what they do to states and symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.layout.json_canvas import NONE, POP, STEP
from grammarlm.layout.stack_sets import Effects
from grammarlm.masks.canvas.classes import FIRST, STOP
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.kernel_words import KernelWords
from grammarlm.masks.protocol import FINISHED

from .automaton import ByteAutomaton, Way
from .tokens import TokenEffects

FIRST_CONTROL = 2  # the control of state 0
FIRST_SYMBOL = 1  # after ROOT
EDGES_FULL = 1  # of what the kernel says is full
EDGE_ARRAYS = Effects.EDGE_CONTROL, Effects.EDGE_POINT, Effects.EDGE_KIND
FIRST_EDGES, FIRST_KINDS = 8, 1024  # a state, and in all: memory that is not used costs nothing
Point = tuple[str, int]  # the kind of a point, and its number among those


class TableMaker:
    """Makes the table; push and micro points are numbered as they are met, and renumbered at the end."""

    def __init__(
        self,
        automaton: ByteAutomaton,
        effects: TokenEffects,
        vectors: Sequence[int],
        has_tokens: np.ndarray | None = None,
        marks: Sequence[int] = (),
        check: Callable[[], None] = lambda: None,
    ):
        """`vectors`: that of each class from FIRST on. `has_tokens`, bool [K]: classes that masked tokens can have; None: all.
        `marks`: classes that may stand behind the end of a text."""
        self._automaton, self._effects, self._has_tokens, self._marks = automaton, effects, has_tokens, marks
        self._check = check
        self.symbol_of = {state: FIRST_SYMBOL + i for i, state in enumerate(automaton.returns.tolist())}
        self._controls = FIRST_CONTROL + automaton.states
        self._pushes: dict[tuple[int, Point], int] = {}
        self._micros: dict[int, int] = {}  # by vector
        self._rules: list[tuple[int, int, Point]] = []
        self._numbers = np.array(vectors, np.int64)
        self._special: dict[int, list[Point]] = {effect: self._points(effect) for effect in self._met()}
        self.table = self._finished()

    def _met(self) -> list[int]:
        """The special effects that classes have on states."""
        entries.load("stack_sets")
        states, found = self._automaton.states, np.zeros(len(self._effects.effects) + 1, np.uint8)
        given = self._effects.address, address_of(self._numbers), len(self._numbers), states
        entries.special_effects(*given, address_of(found))
        return (states + np.flatnonzero(found)).tolist()

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
        control, point, kind, kinds = self._edges(points)
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

    def _edges(self, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The control, the point and the kind of each edge, and the classes of each kind as bits."""
        states, classes = self._automaton.states, len(self._numbers)
        most = max(self._special, default=states - 1) + 1 - states
        ways = [[self._number(p) for p in self._special.get(states + i, ())] for i in range(most)]
        starts = np.cumsum([0, *map(len, ways)]).astype(np.int32)
        ends = np.array([p for of in ways for p in of], np.int32)
        accepts, edge_of = (self._automaton.accepts != 0).astype(np.uint8), np.full(points, -1, np.int32)
        wide = -(-(FIRST + classes) // 64)
        found = Written(wide, FIRST_EDGES * states, FIRST_KINDS)
        for place, number in (
            (Effects.STATES, states), (Effects.CLASSES, classes), (Effects.SPECIALS, most),
            (Effects.NUMBERS, address_of(self._numbers)),
            (Effects.SPECIAL_START, address_of(starts)), (Effects.SPECIAL_POINTS, address_of(ends)),
            (Effects.ACCEPTS, address_of(accepts)), (Effects.FIRST_CONTROL, FIRST_CONTROL), (Effects.FIRST_CLASS, FIRST),
            (Effects.FINISHED, FINISHED), (Effects.STOP, STOP), (Effects.POINTS, points), (Effects.WORDS, wide),
            (Effects.EDGE_OF, address_of(edge_of)),
        ):  # fmt: skip
            found.words[place] = number
        found.first(FINISHED, FINISHED, [STOP, *self._marks])
        while full := entries.table_edges(self._effects.address, found.address):
            self._check()
            found.make_room(full)
        return found.edges()


class Written(KernelWords):
    """The edges that the kernel writes down."""

    def __init__(self, wide: int, edges: int, kinds: int):
        super().__init__(Effects.LENGTH)
        self._wide = wide
        self._put_edges(edges + 1)
        self._put_kinds(kinds)

    def first(self, control: int, point: int, classes: Sequence[int]) -> None:
        """An edge before all others."""
        kept = self.arrays
        kept[Effects.EDGE_CONTROL][0], kept[Effects.EDGE_POINT][0], kept[Effects.EDGE_KIND][0] = control, point, 0
        for token_class in classes:
            kept[Effects.KIND_CLASSES][0, token_class >> 6] |= np.uint64(1 << (token_class & 63))
        self.words[Effects.EDGES], self.words[Effects.KINDS] = 1, 1
        entries.rehash_kinds(self.address)

    def make_room(self, full: int) -> None:
        if full == EDGES_FULL:
            self._put_edges(2 * int(self.words[Effects.CAPACITY]))
        else:
            self._put_kinds(2 * int(self.words[Effects.KIND_CAPACITY]))
            entries.rehash_kinds(self.address)

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        count, kinds = int(self.words[Effects.EDGES]), int(self.words[Effects.KINDS])
        control, point, kind = (self.arrays[at][:count].copy() for at in EDGE_ARRAYS)
        return control, point, kind, self.arrays[Effects.KIND_CLASSES][:kinds].copy()

    def _put_edges(self, capacity: int) -> None:
        used = int(self.words[Effects.EDGES])
        for at in EDGE_ARRAYS:
            self.grow(at, capacity, np.int32, used)
        self.words[Effects.CAPACITY] = capacity

    def _put_kinds(self, capacity: int) -> None:
        used, slots = int(self.words[Effects.KINDS]), 4 << (capacity - 1).bit_length()
        self.grow(Effects.KIND_CLASSES, (capacity, self._wide), np.uint64, used)
        self.put(Effects.KIND_SLOT, np.zeros(slots, np.int32))
        self.words[Effects.KIND_CAPACITY], self.words[Effects.KIND_SLOTS] = capacity, slots


def only_given(kinds: np.ndarray, has_tokens: np.ndarray) -> np.ndarray:
    """bool [kinds]: those of classes without tokens."""
    bits = np.zeros(64 * kinds.shape[1], np.uint8)
    bits[: len(has_tokens)] = has_tokens
    found: np.ndarray = np.bitwise_or.reduce(kinds & np.packbits(bits, bitorder="little").view(np.uint64), axis=1) == 0
    return found
