"""The stack table of a JSON Schema: classes of tokens, and what they do to states and symbols."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grammarlm.layout.json_canvas import NONE, POP, STEP
from grammarlm.masks.canvas.classes import FIRST, STOP
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.protocol import FINISHED

from .automaton import ByteAutomaton, Way
from .tokens import TokenEffects

FIRST_CONTROL = 2  # the control of state 0
FIRST_SYMBOL = 1  # after ROOT
Point = tuple[str, int]  # the kind of a point, and its number among those


class JsonTable:
    """Makes the table; points are numbered as they are met, and renumbered at the end."""

    def __init__(self, automaton: ByteAutomaton, effects: TokenEffects, vectors: Sequence[int]):
        """`vectors`: that of each class from FIRST on."""
        self._automaton, self._effects = automaton, effects
        self.symbol_of = {state: FIRST_SYMBOL + i for i, state in enumerate(automaton.returns.tolist())}
        self._controls = FIRST_CONTROL + automaton.states
        self._pushes: dict[tuple[int, Point], int] = {}
        self._micros: dict[int, int] = {}  # by vector
        self._rules: list[tuple[int, int, Point]] = []
        self._finals: list[tuple[int, int, list[int]]] = []  # edges that lead to a control alone
        self._edges: dict[tuple[int, Point], list[int]] = {(FINISHED, ("final", FINISHED)): [STOP]}
        for state in np.flatnonzero(automaton.accepts).tolist():
            self._edges[FIRST_CONTROL + state, ("final", FINISHED)] = [STOP]
        self._add_classes(np.array([effects.vectors[v] for v in vectors], np.int32).reshape(len(vectors), -1))
        self.table = self._finished(FIRST + len(vectors))

    def _add_classes(self, matrix: np.ndarray) -> None:
        """Edges: of each (state, effect) the classes."""
        classes, states = np.nonzero(matrix != NONE)
        key = states * (int(matrix.max(initial=0)) + 1) + matrix[classes, states]
        order = np.argsort(key, kind="stable")  # classes ascend within a key
        classes, states, key = classes[order], states[order], key[order]
        found = matrix[classes, states]
        cuts = np.flatnonzero(np.diff(key, prepend=-1)).tolist()
        members = (classes + FIRST).tolist()
        controls, effects = (states + FIRST_CONTROL).tolist(), found.tolist()
        for first, end in zip(cuts, [*cuts[1:], len(members)], strict=True):
            control, effect = controls[first], effects[first]
            if effect < self._automaton.states:
                self._finals.append((control, FIRST_CONTROL + effect, members[first:end]))
            else:
                for point in self._points(effect):
                    self._edges.setdefault((control, point), []).extend(members[first:end])

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
            effects = self._effects.vectors[vector]
            for state, symbol in self.symbol_of.items():
                if effects[state] != NONE:
                    self._rules += [(number, symbol, point) for point in self._points(int(effects[state]))]
        return number

    def _finished(self, classes: int) -> StackTable:
        firsts = {"final": 0, "push": self._controls, "micro": self._controls + len(self._pushes)}

        def number(point: Point) -> int:
            kind, at = point
            return firsts[kind] + int(at)

        edges = _merged([*self._finals, *((c, number(point), sorted(of)) for (c, point), of in self._edges.items())])
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


def _merged(edges: list[tuple[int, int, list[int]]]) -> list[tuple[int, int, list[int]]]:
    """Sorted, each (control, point) once."""
    found: list[tuple[int, int, list[int]]] = []
    for control, point, members in sorted(edges):
        if found and found[-1][:2] == (control, point):
            found[-1] = (control, point, sorted({*found[-1][2], *members}))
        else:
            found.append((control, point, members))
    return found
