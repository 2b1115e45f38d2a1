"""Completions that the machine has read."""

import numpy as np

from grammarlm.masks.canvas.protocol import MASKED

MOST_KEPT, MOST_NUMBERS = 128, 1 << 18


class ReadRows:
    """Those of the last rows."""

    def __init__(self, length: int):
        self._rows, self._most = np.zeros((0, length), np.int64), max(1, min(MOST_KEPT, MOST_NUMBERS // length))

    def add(self, row: list[int]) -> None:
        self._rows = np.concatenate([[row], self._rows[: self._most - 1]])

    def of(self, given: np.ndarray) -> np.ndarray:
        """int64 [N, L]: those that are completions of a row, the latest first."""
        found: np.ndarray = self._rows[((given == MASKED) | (given == self._rows)).all(1)]
        return found
