"""What every token does in every control, and all micro points: from the controls where rows begin until nothing is new.

Of the vectors that tokens have, those that do the same in a control are found by arrays: they have the same effect there, and,
where that waits before the first byte, they do the same to all states after it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from grammarlm.errors import LimitExceeded

from .borders import Border
from .needs import REDUCE
from .parser import Parser
from .points import DEAD_POINT, NOTHING, Outcome, Points, Rule
from .vectors import NOWHERE, SELF, TokenVectors

LEFT_BITS = 32
EVERY = -1  # the set of all symbols


class Grouped(NamedTuple):
    """Vectors of which some are alike."""

    values: np.ndarray  # int64 [n], what those of each group have
    numbers: np.ndarray  # int64 [used vectors], the group of each


def grouped(values: np.ndarray) -> Grouped:
    """By values, none of them large: ascending."""
    is_there = np.zeros(1 + int(values.max(initial=0)), bool)
    is_there[values] = True
    found = np.flatnonzero(is_there)
    return Grouped(found, (np.cumsum(is_there) - 1)[values])


class Columns:
    """By control that can be reached: the number of the outcome of each vector; all outcomes; by micro point: its rules."""

    def __init__(self, vectors: TokenVectors, points: Points, of_tokens: np.ndarray, most: int):
        self._vectors, self._points, self._most = vectors, points, most
        self.used = np.unique(of_tokens)
        self.used = self.used[self.used != NOWHERE]
        self._matrix = np.array([vectors.vectors[number] for number in self.used.tolist()], np.int32)
        self._matrix = self._matrix.reshape(len(self.used), vectors.states + vectors.atoms)
        self._by_state = np.ascontiguousarray(self._matrix.T)
        self._used: list[int] = self.used.tolist()
        self._alike: dict[tuple[int, ...], np.ndarray] = {}
        self._lefts: list[Border | None] = []  # what is left of borders, as `_left_numbers` number it
        self._left_numbers: dict[Border | None, int] = {}
        self._borders: dict[Border, Grouped] = {}
        self._states: dict[int, tuple[Grouped, np.ndarray]] = {}
        self._plain: dict[int, int] = {}  # by effect and what is left of a border: the number of an outcome
        self.controls: dict[int, int] = {}  # numbered as they are met
        self._order: list[int] = []
        self.outcomes: dict[Outcome, int] = {NOTHING: 0}  # numbered as they are met
        self.ends: list[frozenset[int]] = []  # by control: the micro points of the end of the text
        self.columns: list[np.ndarray] = []  # by control: int32 [used vectors], numbers of outcomes
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
        entered = {micro for outcome in self.outcomes for micro in outcome.micros}
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
        known = len(self.outcomes)
        effects, waits = self._by_effect(state)
        column = np.zeros(len(self.used), np.int32)
        own_effect = self._by_state[state]

        def note(where: np.ndarray) -> None:
            """Of vectors that do the same."""
            vector = self._used[where[0]]
            left = vectors.after_border(border, vector)
            if left is not None:
                outcome = self._points.outcome(int(own_effect[where[0]]), vector, left)
                column[where] = self.outcomes.setdefault(outcome, len(self.outcomes))

        rest = np.arange(len(self.used))
        if len(border) < 2 or not waits.any():
            self._read_plain(border, effects, waits, column)
            rest = rest[waits[effects.numbers]]
        like = self._like((state, *(vectors.states + atom for atom in sorted(border))))[rest] if len(rest) else rest
        for at in parted(like):
            here = rest[at]
            effect = vectors.effects[int(own_effect[here[0]])]
            if own := [need for need, vector in effect.waits if vector == SELF]:
                states = vectors.closed(s for need in own for s in machine.states_after(need.move, need.into))
                for some in parted(self._like(states)[here]):
                    note(here[some])
            elif effect.threads or effect.waits:
                note(here)
        self.columns.append(column)
        self.ends.append(self._points.ends_of(control))
        for outcome in list(itertools.islice(self.outcomes, known, None)):  # those met before have been looked at
            for target, _ in outcome.threads:
                self._meet(target)

    def _read_plain(self, border: Border, effects: Grouped, waits: np.ndarray, column: np.ndarray) -> None:
        """Writes the outcomes of vectors that do not wait before the first byte."""
        left = self._by_border(border)
        width = len(left.values)
        pairs = effects.numbers * width + left.numbers
        first = np.full(len(effects.values) * width, -1)
        first[pairs[::-1]] = np.arange(len(pairs) - 1, -1, -1)
        places = np.flatnonzero((first >= 0) & ~np.repeat(waits, width))
        if len(border) > 1:
            places = places[np.argsort(first[places], kind="stable")]
        of, rest = np.divmod(places, width)
        keys = (effects.values[of] << LEFT_BITS | left.values[rest]).tolist()
        numbers = [self._plain.get(key, -1) for key in keys]
        for place, number in enumerate(numbers):
            if number < 0:
                numbers[place] = self._plain[keys[place]] = self._plain_outcome(keys[place], int(first[places[place]]))
        found = np.zeros(len(first), np.int32)
        found[places] = numbers
        column[:] = found[pairs]

    def _plain_outcome(self, key: int, at: int) -> int:
        """The outcome of an effect and what is left of a border, of a vector that has both."""
        left = self._lefts[key & (1 << LEFT_BITS) - 1]
        outcome = NOTHING if left is None else self._points.outcome(key >> LEFT_BITS, self._used[at], left)
        return self.outcomes.setdefault(outcome, len(self.outcomes))

    def _by_effect(self, state: int) -> tuple[Grouped, np.ndarray]:
        """The vectors by their effect on a state, and which of these effects wait before the first byte."""
        known = self._states.get(state)
        if known is None:
            found = grouped(self._by_state[state])
            known = self._states[state] = found, self._vectors.wait_here(found.values)
        return known

    def _by_border(self, border: Border) -> Grouped:
        """The vectors by what they leave of a border."""
        known = self._borders.get(border)
        if known is None:
            numbers = np.zeros(len(self._used), np.int64)
            for atom in border:
                entries = self._by_state[self._vectors.states + atom]
                numbers = grouped(numbers * (self._vectors.atoms + 2) + entries).numbers
            first = np.zeros(1 + int(numbers.max(initial=-1)), np.int64)
            first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
            of = [self._left_number(self._vectors.after_border(border, self._used[at])) for at in first.tolist()]
            known = self._borders[border] = Grouped(np.array(of, np.int64), numbers)
        return known

    def _left_number(self, left: Border | None) -> int:
        number = self._left_numbers.setdefault(left, len(self._lefts))
        if number == len(self._lefts):
            self._lefts.append(left)
        return number

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
