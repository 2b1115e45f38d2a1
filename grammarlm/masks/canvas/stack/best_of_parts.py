"""The best completions of parts of a row's. A part has lower scores at some positions and fewer controls at some boundaries.

To the right of these all parts are alike. So the bounds that lead to the best completions (guided.py), which are made from the
right, are made once for all of the row; for a part those at its last difference and to the left of it are made again:

    row                  bounds  bounds  bounds  bounds  bounds
    no [60 blanks] here          again   -----the same--------->
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .guided import Guided, best_led

if TYPE_CHECKING:
    from .passes import RowStates, StackPasses


class BestOfParts:
    def __init__(self, passes: StackPasses, scores: np.ndarray):
        """`scores`: those of the row; no part has higher ones."""
        self._passes, self._scores = passes, scores
        self._guide: Guided | None = None
        self._states: RowStates | None = None
        self._first_like_row = 0  # from this boundary on bounds are those of the row

    def best(self, scores: np.ndarray, only: dict[int, np.ndarray]) -> np.ndarray | None:
        """int32 [L]: the classes of the best completion with only some controls (bool [controls]) at some boundaries. None where
        there is none, or it takes too long."""
        grid = self._passes.grid
        with grid.table.sets.lock:
            states = self._passes.known_states()
            before = states.only(only)
            if not states.goes_on(before, max(only, default=0)):
                return None
            lower = np.flatnonzero((scores != self._scores).any(1))
            steps = max([*only, *(lower + 1).tolist(), 0])
            if self._guide is None or self._states is not states:
                self._states, self._guide = states, states.guided(scores, is_sum=False, before=before)
                made = len(before)
            else:
                made = max(steps, self._first_like_row)
                self._guide.again(scores, before, min(made, len(before) - 1))
            contexts = self._guide.contexts
            found = best_led(self._guide, grid.check)
            if self._guide.contexts is not contexts:
                made = len(before)
            self._first_like_row = made + 1 if only else steps  # bounds of a control that a part has not are none
            return None if found is None else found.copy()
