"""Arrays between two borders of a number that no kernel writes: whoever writes beside its output is caught."""

import numpy as np

WIDTH = 64  # entries on either side
POISON = 0x5A


class Guarded:
    """`inner` is the array that a kernel may write; `assert_intact` after the call."""

    def __init__(self, length: int, dtype: type, value: int = 0):
        self._outer = np.zeros(length + 2 * WIDTH, dtype)
        self._outer.view(np.uint8)[:] = POISON
        self.inner = self._outer[WIDTH : WIDTH + length]
        self.inner[:] = value
        self.address = int(self.inner.ctypes.data)

    def assert_intact(self) -> None:
        before, after = self._outer[:WIDTH], self._outer[WIDTH + len(self.inner) :]
        assert (before.view(np.uint8) == POISON).all(), "written before the first entry"
        assert (after.view(np.uint8) == POISON).all(), "written after the last entry"
