"""White space between tokens of JSON, as states have it: they do not count its blanks, where a cap alone bounds their number."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from grammarlm.masks.machines.json.vocabulary.blanks import Blanks, blanks_of


def has_cap(blanks: Blanks) -> bool:
    """Is the number of blanks in a gap bounded by LONGEST_RUN alone? The states of a pattern say more."""
    return blanks.is_natural or blanks is blanks_of("flexible")


@lru_cache(maxsize=64)
def folded_blanks(blanks: Blanks) -> np.ndarray:
    """int16 [W]: of white space states that differ only in the number of blanks or tabs read, the one that stands for all. The cap
    on those is left to what a row needs (grid.py)."""
    table, found = blanks.table, np.arange(len(blanks.table), dtype=np.int16)
    can = table >= 0
    for state in range(len(table)):
        for after in table[state, :2].tolist():
            goes_on = not can[after, :2].any() or (can[after, :2] == can[state, :2]).all()  # at the cap it does not
            same_ends = (can[after, 2:4] == can[state, 2:4]).all() and table[after, 4] == table[state, 4]
            if after > state and goes_on and same_ends:
                found[after] = found[state]
    found.setflags(write=False)
    return found
