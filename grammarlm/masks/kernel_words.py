"""What many calls of a kernel are given: words, which are numbers and the addresses of arrays, and the arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from grammarlm.kernels.entries import address_of


class KernelWords:
    """The words, as many as their layout has, and by their places the arrays that they point to, which stay as long."""

    def __init__(self, length: int):
        self.words = np.zeros(length, np.int64)
        self.address = address_of(self.words)
        self.arrays: dict[Any, np.ndarray] = {}

    def put(self, place: int, array: np.ndarray) -> np.ndarray:
        """Makes this the array of a place."""
        self.arrays[place] = array
        self.words[place] = address_of(array)
        return array

    def grow(self, place: int, shape: int | tuple[int, ...], kind: Any, used: int) -> np.ndarray:
        """An array in place of a smaller one, of which so many entries stay; the others are 0."""
        array: np.ndarray = np.zeros(shape, kind)
        if used:
            array[:used] = self.arrays[place][:used]
        return self.put(place, array)
