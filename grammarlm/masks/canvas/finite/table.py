"""The edges of a deterministic automaton over token classes, in the orders in which passes need them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grammarlm.layout.table import DEAD
from grammarlm.masks.canvas.classes import FIRST, STOP
from grammarlm.masks.protocol import FINISHED


@dataclass(frozen=True)
class Edges:
    """Edges, sorted by control, then class."""

    control: np.ndarray  # int32 [E]
    token_class: np.ndarray  # int32 [E]
    target: np.ndarray  # int32 [E]


@dataclass(frozen=True)
class FiniteTable:
    """Controls are numbers; DEAD has no edges and FINISHED only that of the stop ids."""

    edges: Edges
    accepting: np.ndarray  # bool [S]: may a row end here?
    classes: int

    @property
    def controls(self) -> int:
        return len(self.accepting)

    @cached_property
    def by_class(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(controls, their targets) of each class."""
        order = np.argsort(self.edges.token_class, kind="stable")
        cuts = np.searchsorted(self.edges.token_class[order], np.arange(1, self.classes))
        controls, targets = np.split(self.edges.control[order], cuts), np.split(self.edges.target[order], cuts)
        return list(zip(controls, targets, strict=True))

    @cached_property
    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """(controls, targets), each pair once: what one token of any class does."""
        pairs = np.unique(self.edges.control.astype(np.int64) * self.controls + self.edges.target)
        return pairs // self.controls, pairs % self.controls

    @property
    def nbytes(self) -> int:
        return 6 * self.edges.control.nbytes + len(self.accepting)


def finite_table(vectors: list[np.ndarray], accepting: np.ndarray) -> FiniteTable:
    """The table of classes, FIRST on, that do what these vectors (int32 [S]) say; the stop ids are added."""
    may_end = np.array(accepting, bool)
    may_end[FINISHED] = True
    ends = np.flatnonzero(may_end)
    controls, classes, targets = [ends], [np.full(len(ends), STOP)], [np.full(len(ends), FINISHED)]
    for number, vector in enumerate(vectors, FIRST):
        alive = np.flatnonzero(vector != DEAD)
        controls.append(alive)
        classes.append(np.full(len(alive), number))
        targets.append(vector[alive])
    columns = [np.concatenate(each).astype(np.int32) for each in (controls, classes, targets)]
    order = np.lexsort((columns[1], columns[0]))
    return FiniteTable(Edges(*(column[order] for column in columns)), may_end, FIRST + len(vectors))
