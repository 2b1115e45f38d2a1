"""Policies of beam search: which entries of a level are kept: the best, those with the best value, or a sample.

A policy chooses among what one level's kernel has written, for all searches at once. Its per-entry state moves with the entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grammarlm.layout.items import FINISHED, NO_TOKEN, Beams, Level, Sets

from .item_step import item_step
from .search import Searched

Opened = tuple[np.ndarray, np.ndarray]
UNKNOWN_END = (
    "an item is the beginning of another, and nothing says how probable it is that it ends there; sampling from such a set needs "
    "stop="
)


class Best:
    """Keeps the highest scores."""

    keys: np.ndarray | None = None

    def choose(self, sets: Sets, beams: Beams, level: Level, out: Beams) -> Opened:
        return item_step(sets, beams, level, out)


class Guided:
    """Keeps the highest sums of score and value among the `proposals` best by score.

    `value` rates lists of prefixes, all new proposals of a level at once, at most `budget` of each search. A search without enough
    budget left for a level goes on by its scores alone. The value of the empty prefix is 0.
    """

    def __init__(self, searched: Searched, value: Callable[..., Any], proposals: int, budget: int | None):
        self.searched, self.value, self.proposals = searched, value, proposals
        searches = len(searched.sets.selections)
        self.left = np.full(searches, np.iinfo(np.int64).max if budget is None else budget, np.int64)
        self.keys: np.ndarray | None = None
        self.values = np.zeros((searches, 2))

    def choose(self, sets: Sets, beams: Beams, level: Level, out: Beams) -> Opened:
        wide = proposed(sets, beams, level, max(self.proposals, level.width))
        values = self._values(wide)
        kept = []
        for search, count in enumerate(wide.counts):
            keys = wide.scores[search, :count] + values[search, :count]
            possible = int((keys > -np.inf).sum())
            kept.append(np.argsort(-keys, kind="stable")[: min(level.width, possible)])
        opened = keep(wide, kept, beams, out)
        self.values = gathered(values, kept, level.width)
        self.keys = out.scores + self.values
        return opened

    def _values(self, wide: Beams) -> np.ndarray:
        """[B, K] values of all proposals; those that were finished before keep theirs."""
        values = np.zeros(wide.scores.shape)
        asked: list[tuple[int, int]] = []
        for search, count in enumerate(wide.counts):
            is_old = (wide.tokens[search, :count] == NO_TOKEN) & (wide.rows[search, :count] == FINISHED)
            new = np.flatnonzero(~is_old)
            if len(new) > self.left[search]:
                self.left[search] = 0
                continue
            self.left[search] -= len(new)
            values[search, :count][is_old] = self.values[search, wide.parents[search, :count][is_old]]
            asked += [(search, int(place)) for place in new]
        if asked:
            searches, slots = np.array(asked).T
            prefixes = self.searched.tokens(wide.ranges[searches, slots], wide.depths[searches, slots])
            values[searches, slots] = checked(self.value(prefixes), len(prefixes))
        return values


def checked(values: Any, count: int) -> np.ndarray:
    found = np.asarray(values, np.float64)
    if found.shape != (count,):
        raise ValueError(
            f"value returned an array of shape {list(found.shape)} for {count} prefixes; it returns one number each"
        )
    if np.isnan(found).any() or (found == np.inf).any():
        raise ValueError(
            f"value returned {found[np.isnan(found) | (found == np.inf)][0]}; values are numbers, or -inf for never"
        )
    return found


class Sampled:
    """Sampling without replacement: Gumbel-top-k (Kool, van Hoof and Welling, 2019).

    An entry's key is its log-probability plus Gumbel noise, drawn top-down: the largest key among the children of an entry is the
    entry's own. So the kept items are those that k draws without replacement would give, in their order.
    """

    def __init__(self, searches: int, seed: int):
        self.generators = [np.random.default_rng([seed, search]) for search in range(searches)]
        roots = np.array([generator.gumbel() for generator in self.generators])
        self.keys: np.ndarray = np.repeat(roots[:, None], 2, axis=1)

    def choose(self, sets: Sets, beams: Beams, level: Level, out: Beams) -> Opened:
        if level.depth == 0 and beams.counts.max() > 1:
            raise ValueError(UNKNOWN_END)
        wide = proposed(sets, beams, level, most_children(beams, level.logits.shape[1]))
        keys = np.zeros(wide.scores.shape)
        kept = []
        for search, count in enumerate(wide.counts):
            keys[search, :count] = self._keys(wide, search, int(count))
            kept.append(np.argsort(-keys[search, :count], kind="stable")[: level.width])
        opened = keep(wide, kept, beams, out)
        self.keys = gathered(keys, kept, level.width)
        return opened

    def _keys(self, wide: Beams, search: int, count: int) -> np.ndarray:
        parents, tokens = wide.parents[search, :count], wide.tokens[search, :count]
        order = np.lexsort((tokens, parents))  # noise depends on an entry's index among its siblings, not on its score
        if ((np.diff(tokens[order]) == 0) & (np.diff(parents[order]) == 0)).any():
            raise ValueError(UNKNOWN_END)
        noise = np.empty(count)
        noise[order] = self.generators[search].gumbel(size=count)
        own = wide.scores[search, :count] + noise
        above = self.keys[search][parents]
        largest = np.full(self.keys.shape[1], -np.inf)
        np.maximum.at(largest, parents, own)
        with np.errstate(divide="ignore"):
            lower = above - own + np.log1p(-np.exp(own - largest[parents]))
        return above - np.maximum(0, lower) - np.log1p(np.exp(-np.abs(lower)))


def most_children(beams: Beams, vocabulary: int) -> int:
    """Upper bound on the entries of a search on the next level: each has at least one row, and its parent has a child for each
    token and one that ends.
    """
    most = 1
    for search, count in enumerate(beams.counts):
        rows = (beams.ranges[search, :count, :, 1] - beams.ranges[search, :count, :, 0]).sum(axis=1)
        most = max(most, int(np.minimum(rows, vocabulary + 1).sum()))
    return most


def proposed(sets: Sets, beams: Beams, level: Level, width: int) -> Beams:
    """The best entries of the next level, more than will be kept."""
    wide = Beams.empty(len(sets.selections), width, len(sets.segments))
    item_step(sets, beams, Level(level.depth, width, level.stop, level.logits, level.norms, level.penalties), wide)
    return wide


def keep(wide: Beams, kept: Sequence[np.ndarray], beams: Beams, out: Beams) -> Opened:
    """Writes the kept entries of a level to `out`, in the order given."""
    tokens: list[int] = []
    parents: list[int] = []
    for search, slots in enumerate(kept):
        count = out.counts[search] = len(slots)
        for name in ("scores", "depths", "ranges", "parents", "tokens"):
            getattr(out, name)[search, :count] = getattr(wide, name)[search, slots]
        is_open = wide.rows[search, slots] != FINISHED
        out.rows[search, :count] = FINISHED
        out.rows[search, :count][is_open] = np.arange(len(tokens), len(tokens) + is_open.sum())
        tokens += out.tokens[search, :count][is_open].tolist()
        parents += beams.rows[search, out.parents[search, :count][is_open]].tolist()
    return np.array(tokens, np.int64), np.array(parents, np.int64)


def gathered(values: np.ndarray, kept: Sequence[np.ndarray], width: int) -> np.ndarray:
    """[B, width]: the values of the kept entries."""
    found = np.zeros((len(kept), width))
    for search, slots in enumerate(kept):
        found[search, : len(slots)] = values[search, slots]
    return found
