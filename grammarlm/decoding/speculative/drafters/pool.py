"""What the model would have written after each two tokens that it has read, whether they were drawn or refused (Jacobi Forcing).

Drafts that were refused are not lost: what the model made of their tokens may be right elsewhere. Together with "jacobi", whose wrong
guesses fill the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from grammarlm.decoding.readers.draft_tree import ROOT, DraftTree

from .drafter import RunDrafter

if TYPE_CHECKING:
    from grammarlm.decoding.loop.row import Row
    from grammarlm.decoding.speculative.growth import Growth

MOST = 65_536  # pairs that are remembered


class Pool(RunDrafter):
    length = 6

    def __init__(self) -> None:
        self._after: dict[tuple[int, int], int] = {}

    def observe(self, row: Row, tree: DraftTree, before: Sequence[int], logits: np.ndarray) -> None:
        guesses, read = logits.argmax(1).tolist(), len(before) - len(tree)
        for at in range(1, read):
            self._note(before[at - 1], before[at], guesses[at])
        if read:
            for node, parent in enumerate(tree.parents):
                above = before[read - 1] if parent == ROOT else tree.tokens[parent]
                self._note(above, tree.tokens[node], guesses[read + node])

    def _note(self, first: int, second: int, after: int) -> None:
        if len(self._after) >= MOST and (first, second) not in self._after:
            del self._after[next(iter(self._after))]
        self._after[first, second] = after

    def runs(self, growth: Growth, length: int, count: int) -> list[list[int]]:
        found: list[int] = []
        first, second = growth.ids[-2:] if len(growth.ids) > 1 else (-1, growth.ids[-1])
        while len(found) < length and (token := self._after.get((first, second))) is not None:
            found.append(token)
            first, second = second, token
        return [found] if found else []
