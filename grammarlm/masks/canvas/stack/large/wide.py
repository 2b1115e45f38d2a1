"""The best completion of a row of a large table, without all stacks that are possible.

The search of guided.py goes from the left with one stack at a time, and a completion that it finds is one whatever led it there. So
states that know too many stacks do as well as exact ones, as long as each step is right where the row ends. The wide states of
narrow.py do: what holds a search up is seldom the stack, but which token may stand where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grammarlm.masks.canvas.stack.guided import Guided

from .spot_bounds import SpotBounds

if TYPE_CHECKING:
    from grammarlm.masks.canvas.stack.rows import StackRows

    from .narrow_states import Sides


PLACES = 1 << 15, 1 << 18, 1 << 20  # of a search, between two looks at the clock


def best_by_bounds(grid: StackRows, row: np.ndarray, wide: Sides, scores: np.ndarray) -> np.ndarray | None:
    """int32 [L]: its classes; None where that takes too long. The lock of the sets is held."""
    guide = widely_guided(grid, row, wide, scores)
    for most in PLACES:
        grid.check()
        found = guide.best(most)
        if found is not None:
            return found
    return None


def widely_guided(grid: StackRows, row: np.ndarray, wide: Sides, scores: np.ndarray) -> Guided:
    """Bounds of what its completions score."""
    sets, states = grid.table.sets, dict[bytes, int]()
    left, right = wide

    def state_of(numbers: np.ndarray) -> int:
        key = numbers.tobytes()
        if key not in states:
            states[key] = sets.state_of(
                {control: int(numbers[control]) for control in np.flatnonzero(numbers).tolist()}
            )
        return states[key]

    both = (left > 0) & (right > 0)
    before = np.array([state_of(np.where(both[at], left[at], 0)) for at in range(len(row) + 1)], np.int32)
    inner, end = np.zeros(len(row), np.int32), grid.borders()[1]
    for at in range(len(row) - 1, -1, -1):
        inner[at] = sets.backward(row[at : at + 1], end, grid.check)[1][0]
        end = state_of(np.where(both[at], right[at], 0))
    spots = SpotBounds(grid, row, wide, scores, is_sum=False)
    return Guided(grid, row, before, inner, scores, is_sum=False, stacks=PLACES[-1], spots=spots)
