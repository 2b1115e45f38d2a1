"""Passes of a machine without a stack.

F[i] are the controls that the first i tokens can lead to, B[i] those from which the tokens from i on can end a row. Class k may
stand at i iff an edge k leads from F[i] to B[i + 1]. Where a row differs from the one before, F is made again from the first
change on, and B from the last one back, until they are what they were; a run of masked positions that has stopped changing is
copied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from grammarlm.masks.canvas.classes import TokenClasses
from grammarlm.masks.canvas.protocol import MASKED, Draw, Passes

from . import paths
from .table import FiniteTable


class FinitePasses:
    """F and B of one row."""

    def __init__(self, table: FiniteTable, classes: np.ndarray, forward: np.ndarray, backward: np.ndarray):
        self.table, self.row, self.forward, self.backward = table, classes, forward, backward
        self.is_completable = bool((forward[0] & backward[0]).any())

    def classes_at(self, position: int) -> np.ndarray:
        allowed = np.zeros(self.table.classes, bool)
        if self.is_completable:
            edges = self.table.edges
            live = self.forward[position][edges.control] & self.backward[position + 1][edges.target]
            allowed[edges.token_class[live]] = True
        return allowed

    def reads(self, position: int, token_class: int) -> bool:
        controls, _ = self.table.by_class[token_class]
        return bool(self.forward[position][controls].any())

    def best(self, scores: np.ndarray) -> np.ndarray:
        return paths.best(self.table, self.live, int(np.flatnonzero(self.forward[0])[0]), scores)

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        return paths.sample(self.table, self.live, int(np.flatnonzero(self.forward[0])[0]), scores, draw)

    @cached_property
    def live(self) -> list[np.ndarray]:
        """For each position the edges that some completion uses."""
        edges = self.table.edges
        found = []
        for i, token_class in enumerate(self.row.tolist()):
            uses = self.forward[i][edges.control] & self.backward[i + 1][edges.target]
            if token_class != MASKED:
                uses &= edges.token_class == token_class
            found.append(np.flatnonzero(uses))
        return found


class FiniteGrid:
    """Rows of one length from one start."""

    def __init__(
        self,
        table: FiniteTable,
        classes: TokenClasses,
        length: int,
        start: int,
        room: int,
        check: Callable[[], None],
    ):
        self.table, self.classes, self.length, self._check = table, classes, length, check
        self._first = np.zeros(table.controls, bool)
        self._first[start] = True
        self._last = table.accepting
        for _ in range(room):
            before = self._before(self._last, MASKED)
            if (before == self._last).all():
                break
            self._last = before

    def passes(self, classes: np.ndarray, before: Passes | None) -> FinitePasses:
        assert before is None or isinstance(before, FinitePasses)
        length, table = self.length, self.table
        changed = np.arange(length) if before is None else np.flatnonzero(before.row != classes)
        if before is not None and not len(changed):
            return before
        first, last = int(changed[0]), int(changed[-1])
        shape = (length + 1, table.controls)
        forward = np.zeros(shape, bool) if before is None else before.forward.copy()
        backward = np.zeros(shape, bool) if before is None else before.backward.copy()
        forward[0], backward[length] = self._first, self._last
        for i in range(first, length):
            self._check()
            here = self._after(forward[i], int(classes[i]))
            if i >= last and before is not None and (here == forward[i + 1]).all():
                break
            forward[i + 1] = here
        for i in range(last, -1, -1):
            self._check()
            here = self._before(backward[i + 1], int(classes[i]))
            if i <= first and before is not None and (here == backward[i]).all():
                break
            backward[i] = here
        return FinitePasses(table, classes, forward, backward)

    def _after(self, controls: np.ndarray, token_class: int) -> np.ndarray:
        sources, targets = self.table.steps if token_class == MASKED else self.table.by_class[token_class]
        found = np.zeros(len(controls), bool)
        found[targets[controls[sources]]] = True
        return found

    def _before(self, controls: np.ndarray, token_class: int) -> np.ndarray:
        sources, targets = self.table.steps if token_class == MASKED else self.table.by_class[token_class]
        found = np.zeros(len(controls), bool)
        found[sources[controls[targets]]] = True
        return found
