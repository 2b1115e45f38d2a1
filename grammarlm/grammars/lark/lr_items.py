"""The items of an LR parser's states as arrays; masks/machines/stack (description, ends/spelling) reads them, a few at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .tables import Item


@dataclass(frozen=True, eq=False)
class FlatItems(Sequence[tuple[Item, ...]]):
    """The items of each state, created on access."""

    begins: np.ndarray  # int32 [states + 1]: offset of each state's first item, and the total
    items: np.ndarray  # int32 [items, 4]: origin, symbols read, offset and number of the remaining symbols
    symbols: np.ndarray  # int32: terminals, and ~n for nonterminal n

    def __len__(self) -> int:
        return len(self.begins) - 1

    def __getitem__(self, state):  # slices, too, as sequences have them
        if isinstance(state, slice):
            return [self[i] for i in range(*state.indices(len(self)))]
        place = range(len(self))[state]
        rows = self.items[self.begins[place] : self.begins[place + 1]].tolist()
        return tuple(Item(origin, read, tuple(self.symbols[at : at + n].tolist())) for origin, read, at, n in rows)
