"""The stack table of a JSON Schema: classes of tokens, and what they do to states and symbols."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from grammarlm.layout.json_canvas import NONE, POP, STEP
from grammarlm.masks.canvas.classes import FIRST, STOP
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.protocol import FINISHED

from .automaton import ByteAutomaton
from .tokens import TokenEffects

FIRST_CONTROL = 2  # the control of state 0
FIRST_SYMBOL = 1  # after ROOT


class JsonTable:
    """Makes the table; points are numbered as they are met, and renumbered at the end."""

    def __init__(self, automaton: ByteAutomaton, effects: TokenEffects, vectors: Sequence[int]):
        """`vectors`: that of each class from FIRST on."""
        self._automaton, self._effects = automaton, effects
        self.symbol_of = {state: FIRST_SYMBOL + i for i, state in enumerate(automaton.returns.tolist())}
        self._controls = FIRST_CONTROL + automaton.states
        self._pushes: dict[tuple[int, Hashable], int] = {}
        self._micros: dict[int, int] = {}  # by vector
        self._rules: list[tuple[int, int, Hashable]] = []
        self._edges: dict[tuple[int, Hashable], list[int]] = {(FINISHED, ("final", FINISHED)): [STOP]}
        for state in np.flatnonzero(automaton.accepts).tolist():
            self._edges[FIRST_CONTROL + state, ("final", FINISHED)] = [STOP]
        self._add_classes(np.array([effects.vectors[v] for v in vectors], np.int32).reshape(len(vectors), -1))
        self.table = self._finished(FIRST + len(vectors))

    def _add_classes(self, matrix: np.ndarray) -> None:
        """Edges: of each (state, effect) the classes."""
        classes, states = np.nonzero(matrix != NONE)
        found = matrix[classes, states]
        order = np.lexsort((classes, found, states))
        classes, states, found = classes[order], states[order], found[order]
        cuts = np.flatnonzero((np.diff(states, prepend=-1) != 0) | (np.diff(found, prepend=-1) != 0))
        for first, end in zip(cuts.tolist(), [*cuts[1:].tolist(), len(classes)], strict=True):
            state, members = FIRST_CONTROL + int(states[first]), (classes[first:end] + FIRST).tolist()
            for point in self._points(int(found[first])):
                known = self._edges.get((state, point))
                self._edges[state, point] = members if known is None else sorted({*known, *members})

    def _points(self, effect: int) -> list[Hashable]:
        return [self._point(way) for way in self._effects.ways_of(effect)]

    def _point(self, way: tuple) -> Hashable:  # type: ignore[type-arg]
        if way[0] == STEP:
            return "final", FIRST_CONTROL + way[1]
        if way[0] == POP:
            return "micro", self._micro(way[1])
        point: Hashable = ("final", FIRST_CONTROL + way[2])
        for state in reversed(way[1]):
            point = "push", self._pushes.setdefault((self.symbol_of[state], point), len(self._pushes))
        return point

    def _micro(self, vector: int) -> int:
        """The point after a pop, with its rules."""
        number = self._micros.get(vector)
        if number is None:
            number = self._micros[vector] = len(self._micros)
            effects = self._effects.vectors[vector]
            for state, symbol in self.symbol_of.items():
                if effects[state] != NONE:
                    self._rules += [(number, symbol, point) for point in self._points(int(effects[state]))]
        return number

    def _finished(self, classes: int) -> StackTable:
        firsts = {"final": 0, "push": self._controls, "micro": self._controls + len(self._pushes)}

        def number(point: Hashable) -> int:
            kind, at = point  # type: ignore[misc]
            return firsts[kind] + int(at)

        edges = sorted((control, number(point), members) for (control, point), members in self._edges.items())
        return StackTable(
            self._controls,
            FIRST_SYMBOL + len(self.symbol_of),
            classes,
            tuple((control, point) for control, point, _ in edges),
            tuple(tuple(members) for _, _, members in edges),
            tuple((symbol, number(point)) for symbol, point in self._pushes),
            tuple(sorted((number(("micro", m)), symbol, number(point)) for m, symbol, point in self._rules)),
            self._controls + len(self._pushes) + len(self._micros),
        )
