"""What draws ask of the passes over a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from grammarlm.masks.canvas.scores import SoftmaxDraw
    from grammarlm.masks.canvas.stack.rows import StackRows


class Completions(Protocol):
    """Those of one row."""

    grid: StackRows
    row: np.ndarray

    def classes_at(self, position: int) -> np.ndarray: ...

    def tried(self, scores: np.ndarray, draw: SoftmaxDraw, is_single: bool) -> np.ndarray | None: ...

    def of_row(self, row: np.ndarray) -> Completions: ...
