"""The passes over one row, by kernels; what they mean is in reference.py."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of
from grammarlm.masks.canvas.protocol import MASKED, Draw

from .law import drawn_row
from .paths import Paths
from .reference import ReferencePasses

if TYPE_CHECKING:
    from .arena import Arena
    from .grid import StackGrid


class StackPasses:
    """What is known of one row."""

    def __init__(self, grid: StackGrid, row: np.ndarray):
        self.grid, self.row = grid, row
        self.arena: Arena
        self.arena, self.is_completable = grid.workshop.arena(row)

    def classes_at(self, position: int) -> np.ndarray:
        if self.row[position] != MASKED and self.is_completable:
            others = self.row.copy()
            others[position] = MASKED
            return StackPasses(self.grid, others).classes_at(position)
        found = np.zeros(self.grid.table.classes, np.uint8)
        if self.is_completable:
            entries.lattice_classes(self.arena.address, position, address_of(found))
        return found.view(bool)

    @cached_property
    def reference(self) -> ReferencePasses:
        return ReferencePasses(self.grid, self.row)

    def reads(self, position: int, token_class: int) -> bool:
        return self.reference.reads(position, token_class)

    def best(self, scores: np.ndarray) -> np.ndarray:
        return Paths(self, scores, is_sum=False).classes(lambda values: int(np.argmax(values)))

    def sample(self, scores: np.ndarray, draw: Draw) -> np.ndarray:
        return drawn_row(self, scores, draw)
