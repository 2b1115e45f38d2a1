"""The result of a search over an item set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grammarlm.errors import brief


@dataclass(frozen=True, eq=False, repr=False)
class BeamResult:
    """The items of one search, best first. There may be fewer than asked for, never one that is not in the set."""

    tokens: list[tuple[int, ...]]
    scores: list[float]  # sums of log-probabilities
    items: list[int]  # row numbers
    ids: np.ndarray | None  # names of these rows, where the set has ids
    beams: int  # how many were asked for
    keys: list[float] | None = None  # the sort keys where they are not the scores: with a value, or sampled

    def __repr__(self) -> str:
        best = f", the best {brief(self.items[0])} with score {self.scores[0]:.4g}" if self.items else ""
        return f"<BeamResult: {len(self)} of {self.beams} items{best}>"

    def __len__(self) -> int:
        return len(self.items)

    @property
    def valid(self) -> np.ndarray:
        """bool [beams]: which rows of `padded` hold an item."""
        return np.arange(self.beams) < len(self.items)

    def padded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row numbers (-1 where there is none), scores (-inf) and `valid`, each with one entry a beam."""
        missing = self.beams - len(self.items)
        items = np.array([*self.items, *[-1] * missing], np.int64)
        return items, np.array([*self.scores, *[-np.inf] * missing]), self.valid


def merge_groups(results: list[BeamResult], ids: Any, beams: int) -> BeamResult:
    """The items of several groups, each once, with its best score."""
    found: dict[int, tuple[float, tuple[int, ...]]] = {}
    for result in results:
        for tokens, score, item in zip(result.tokens, result.scores, result.items, strict=True):
            if item not in found or score > found[item][0]:
                found[item] = score, tokens
    rows = sorted(found, key=lambda item: (-found[item][0], found[item][1]))
    return BeamResult(
        [found[r][1] for r in rows], [found[r][0] for r in rows], rows, None if ids is None else ids[rows], beams
    )
