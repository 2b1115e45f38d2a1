"""What every token does in every control, and all micro points: from the controls where rows begin until nothing is new.

Of the vectors that tokens have, those that do the same in a control are found by arrays: they have the same effect there, and,
where that waits before the first byte, they do the same to all states after it.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from grammarlm.errors import LimitExceeded

from .borders import FREE, Border
from .needs import REDUCE
from .parser import Parser
from .points import DEAD_POINT, NOTHING, Outcome, Points, Rule
from .vectors import NOWHERE, SELF, TokenVectors

EVERY = -1  # the set of all symbols


class Columns:
    """By control that can be reached: the number of the outcome of each vector, and the outcomes; by micro point: its rules."""

    def __init__(self, vectors: TokenVectors, points: Points, of_tokens: np.ndarray, most: int):
        self._vectors, self._points, self._most = vectors, points, most
        self.used = np.unique(of_tokens)
        self.used = self.used[self.used != NOWHERE]
        self._matrix = np.array([vectors.vectors[number] for number in self.used.tolist()], np.int32)
        self._matrix = self._matrix.reshape(len(self.used), vectors.states + vectors.atoms)
        self._used: list[int] = self.used.tolist()
        self._alike: dict[tuple[int, ...], np.ndarray] = {}
        self._plain: dict[int, Outcome] = {}  # by effect and what is left of a border
        self.controls: dict[int, int] = {}  # numbered as they are met
        self._order: list[int] = []
        self.outcomes: list[list[Outcome]] = []  # by control; outcome 0 is that of nothing
        self.ends: list[frozenset[int]] = []  # by control: the micro points of the end of the text
        self.columns: list[np.ndarray] = []  # by control: int32 [used vectors], numbers of its outcomes
        self.rules: list[tuple[Rule, ...]] = []

    def explore(self, controls: Iterable[int]) -> None:
        """Adds what can be reached from some controls."""
        for control in controls:
            self._meet(control)
        while len(self.columns) < len(self.controls) or len(self.rules) < len(self._points.micros):
            self._points.check()
            if len(self.columns) < len(self.controls):
                self._read(self._order[len(self.columns)])
            else:
                rules = self._points.rules(len(self.rules))
                self.rules.append(rules)
                for rule in rules:
                    if rule.control >= 0:
                        self._meet(rule.control)
            if len(self.controls) + len(self._points.micros) > self._most:
                raise LimitExceeded(
                    f"a canvas: the grammar's tokens do more than {self._most:,} different things; simplify it"
                )

    def _meet(self, control: int) -> None:
        if control not in self.controls:
            self.controls[control] = len(self._order)
            self._order.append(control)

    def revealed(self) -> list[int]:
        """By micro point: the symbols that may be on top there, as a set. Reductions pop what the parser has pushed, so below a
        symbol are those from which it is reached."""
        parser, micros = self._points.machine.parser, self._points.micros
        entered = {micro for outcomes in self.outcomes for outcome in outcomes for micro in outcome.micros}
        found = [
            0 if micro.move[0] == REDUCE and number not in entered else EVERY for number, micro in enumerate(micros)
        ]
        waiting = [number for number, symbols in enumerate(found) if symbols]
        while waiting:
            number = waiting.pop()
            for rule in self.rules[number]:
                if rule.micro != DEAD_POINT and found[rule.micro] != EVERY and isinstance(parser, Parser):
                    more = parser.below(rule.symbols & found[number]) & ~found[rule.micro]
                    if more:
                        found[rule.micro] |= more
                        waiting.append(rule.micro)
        return found

    def _read(self, control: int) -> None:
        """The outcomes of all vectors in a control."""
        machine, vectors = self._points.machine, self._vectors
        state, border = machine.controls[control]
        numbers = {NOTHING: 0}
        column = np.zeros(len(self.used), np.int32)

        used, own_effect = self._used, self._matrix[:, state]

        def note(where: np.ndarray) -> None:
            """Of vectors that do the same."""
            vector = used[where[0]]
            left = vectors.after_border(border, vector)
            if left is not None:
                effect = int(own_effect[where[0]])
                outcome = self._points.outcome(effect, vector, left)
                column[where] = numbers.setdefault(outcome, len(numbers))

        rest = self._read_plain(state, border, own_effect, column, numbers) if len(border) < 2 else None
        entries = (state, *(vectors.states + atom for atom in sorted(border)))
        like = (
            self._like(entries) if rest is None else self._like(entries)[rest] if len(rest) else np.zeros(0, np.int64)
        )
        for at in parted(like):
            here = at if rest is None else rest[at]
            effect = vectors.effects[int(self._matrix[here[0], state])]
            if own := [need for need, vector in effect.waits if vector == SELF]:
                states = vectors.closed(s for need in own for s in machine.states_after(need.move, need.into))
                for some in parted(self._like(states)[here]):
                    note(here[some])
            elif effect.threads or effect.waits:
                note(here)
        self.columns.append(column)
        self.ends.append(self._points.ends_of(control))
        self.outcomes.append(list(numbers))
        for outcome in numbers:
            for target, _ in outcome.threads:
                self._meet(target)

    def _read_plain(
        self, state: int, border: Border, own_effect: np.ndarray, column: np.ndarray, numbers: dict[Outcome, int]
    ) -> np.ndarray:
        """Writes the outcomes of vectors that do not wait before the first byte. Returns the places of the others."""
        vectors, width = self._vectors, self._vectors.atoms + 2
        left = vectors.atoms  # nothing is left of a border
        keys = own_effect.astype(np.int64) * width + left
        for atom in border:
            keys = own_effect.astype(np.int64) * width + self._matrix[:, vectors.states + atom]
        values, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        found, waits = np.zeros(len(values), np.int32), np.zeros(len(values), bool)
        for place, (key, at) in enumerate(zip(values.tolist(), first.tolist(), strict=True)):
            outcome = self._plain.get(key)
            if outcome is None:
                effect, left = divmod(key, width)
                if vectors.waits_here(effect):
                    waits[place] = True
                    continue
                outcome = NOTHING
                if left <= vectors.atoms:
                    rest = frozenset((left,)) if left < vectors.atoms else FREE
                    outcome = self._points.outcome(effect, self._used[at], rest)
                self._plain[key] = outcome
            found[place] = numbers.setdefault(outcome, len(numbers))
        column[:] = found[inverse]
        return np.flatnonzero(waits[inverse])

    def _like(self, entries: tuple[int, ...]) -> np.ndarray:
        """int [used vectors]: equal where vectors have the same entries."""
        known = self._alike.get(entries)
        if known is None:
            known = self._alike[entries] = row_numbers(self._matrix[:, list(entries)])
        return known


def row_numbers(rows: np.ndarray) -> np.ndarray:
    """int64 [n]: equal for rows that are equal."""
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] == 0:
        return np.zeros(len(rows), np.int64)
    if rows.shape[1] == 1:
        return np.unique(rows[:, 0], return_inverse=True)[1]
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], np.int64)


def parted(numbers: np.ndarray) -> list[np.ndarray]:
    """The places of each number."""
    if not len(numbers):
        return []
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
