"""Words in memory that grows where it lies, if the system can move pages: a copy of what a step has so far takes longer than it."""

from __future__ import annotations

import contextlib
import mmap
import sys

import numpy as np

WORD = 4  # bytes
MOVES_PAGES = sys.platform == "linux"


class Words:
    """int32 `array`, zeros at first; what is not used takes no memory."""

    def __init__(self, count: int):
        self._pages: mmap.mmap | None = None
        if MOVES_PAGES:
            self._pages = mmap.mmap(-1, WORD * count, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._take(count)

    def grow(self, count: int, used: int) -> None:
        """Keeps the first `used` words. Nobody else has `array` then, nor a part of it."""
        if self._pages is None:
            old = self.array
            self._take(count)
            self.array[:used] = old[:used]
            return
        del self.array
        self._pages.resize(WORD * count)
        self._take(count)

    def _take(self, count: int) -> None:
        if self._pages is not None:
            with contextlib.suppress(OSError):  # where the system has pages of one size alone
                self._pages.madvise(mmap.MADV_HUGEPAGE)
        self.array = np.zeros(count, np.int32) if self._pages is None else np.frombuffer(self._pages, np.int32)
