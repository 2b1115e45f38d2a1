"""ZIP-RC (Zero-Overhead Introspection for Adaptive Test-Time Compute): which answers are worth going on with.

A predictor reads from a path's logits, as a rule those of reserved ids, the joint law of how good the answer will be and how many
tokens it still takes. Before each forward the subset of the paths goes on whose utility is the largest:

    E[max reward] - alpha E[sum of the remaining lengths] - beta E[the longest of them]

with paths independent of each other; answers that are over take part in the first term. It costs a prediction a path and a look at
all subsets. Of no use without a trained predictor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from grammarlm.decoding.failures import RowFailure, message_of
from grammarlm.decoding.methods.pools.candidates import is_complete
from grammarlm.decoding.methods.pools.paths import Moves, Path, Paths
from grammarlm.decoding.result import Result

MOST = 8  # paths of which all subsets are compared
TIE = 1e-12


class BestSubset:
    """The controller of one call of generate()."""

    def __init__(self, predictor: Callable[[np.ndarray], Any], alpha: float, beta: float):
        self._predictor, self._alpha, self._beta = predictor, alpha, beta
        self._rewards: dict[Path, np.ndarray] = {}  # of each path the law of its reward, as it was predicted last

    def __call__(self, paths: Paths) -> Moves:
        logits = [path.logits for path in paths.running if path.logits is not None]
        if len(logits) < len(paths.running):  # the end of the prompt is being healed
            return Moves()
        grids = list(map(self._grid, logits))
        self._rewards.update(zip(paths.running, (grid.sum(axis=1) for grid in grids), strict=True))
        complete = [path for path in paths if path.result is not None and is_complete(path.result)]
        done = [self._rewards[path] for path in complete if path in self._rewards]
        kept = best_subset(grids, done, self._alpha, self._beta)
        return Moves(drop=[path for at, path in enumerate(paths.running) if at not in kept])

    def weight(self, result: Result) -> float:
        """The expected reward of an answer."""
        law = next((law for path, law in self._rewards.items() if path.result is result), np.ones(1))
        return float(law @ np.linspace(0.0, 1.0, len(law)))

    def _grid(self, logits: np.ndarray) -> np.ndarray:
        try:
            grid = np.array(self._predictor(logits), np.float64)
        except Exception as error:
            raise RowFailure(f"predictor= raised {message_of(error)}") from error
        rewards = next((law.shape for law in self._rewards.values()), grid.shape[:1])
        if grid.ndim != 2 or grid.shape[:1] != rewards or not (grid >= 0).all() or abs(grid.sum() - 1) > 1e-3:
            raise RowFailure(
                f"ValueError: predictor= returned {str(grid.tolist())[:80]}; it returns probabilities that sum to 1, of rewards "
                "from 0 to 1 (rows, for each path as many) and of remaining tokens from 0 (columns)"
            )
        return np.asarray(grid / grid.sum())


def best_subset(grids: Sequence[np.ndarray], done: Sequence[np.ndarray], alpha: float, beta: float) -> tuple[int, ...]:
    """Which of the paths go on; at least one, where none is done. The smallest and first one of equally good subsets."""
    longest = max(grid.shape[1] for grid in grids)
    laws = [np.pad(grid.sum(axis=0), (0, longest - grid.shape[1])) for grid in grids]
    chosen = subsets(len(grids))[0 if done else 1 :]
    masks = np.array([[at in subset for at in range(len(grids))] for subset in chosen])
    reward = expected_largest(masks, np.array([grid.sum(axis=1) for grid in grids]), np.array(done))
    steps = np.arange(longest)
    value = reward @ np.linspace(0.0, 1.0, len(grids[0]))
    value -= alpha * (masks @ (np.array(laws) @ steps)) + beta * (expected_largest(masks, np.array(laws)) @ steps)
    return chosen[int(np.argmax(value >= value.max() - TIE))]


def expected_largest(masks: np.ndarray, laws: np.ndarray, others: Sequence[np.ndarray] | np.ndarray = ()) -> np.ndarray:
    """[subsets, values]: the law of the largest value of a subset's paths and of all others; 0 is that of none."""
    below = np.where(masks[:, :, None], laws.cumsum(axis=1), 1.0).prod(axis=1)
    for law in others:
        below = below * law.cumsum()
    return np.diff(below, axis=1, prepend=0.0)


@lru_cache(maxsize=MOST + 1)
def subsets(count: int) -> list[tuple[int, ...]]:
    return [one for size in range(count + 1) for one in combinations(range(count), size)]
