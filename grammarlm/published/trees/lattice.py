"""The most probable path through a block of candidates that a grammar allows.

A model that fills in several places at once says what is likely at each of them, not which tokens go together. The best path
takes one candidate of each place, from left to right, such that the grammar reads them one after another. It is found by A*: a
partial path is worth its own probability times the best that the places after it could give, so that the first complete one
taken is the best. Paths that came to equal states of the grammar by equal last tokens have equal futures, and only the better
one goes on. Where the best candidates fit together the search is one step a place; where they do not, at most MOST_STEPS paths
go on, as many from each place, and what is found is the best of these.

A stop id ends a path; the places after it then hold stop ids, as the rows of a diffusion model do, and count as such.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from grammarlm.masks.draft_tree import ROOT, MaskTree
from grammarlm.masks.matcher import Matcher

MOST_STEPS = 128  # partial paths that go on: as many from each place
NOWHERE = -np.inf
Causal = Callable[[int, int], float]


@dataclass(frozen=True)
class Lattice:
    tokens: np.ndarray  # [places, candidates], best first
    log_p: np.ndarray  # [places, candidates]
    stops: np.ndarray  # [places]: the log-probability of the likeliest stop id

    @classmethod
    def of(cls, logits: np.ndarray, candidates: int, stop_ids: Sequence[int]) -> Lattice:
        """`logits` [places, V]; stop ids are candidates of their own."""
        logits = logits.astype(np.float64)
        best = logits.max(1, keepdims=True)
        log_p = logits - best - np.log(np.exp(logits - best).sum(1, keepdims=True))
        known = [stop for stop in stop_ids if stop < logits.shape[1]]
        stops = log_p[:, known].max(1) if known else np.full(len(logits), NOWHERE)
        log_p[:, known] = NOWHERE
        count = min(candidates, log_p.shape[1])
        tokens = np.argpartition(-log_p, count - 1, axis=1)[:, :count]
        tokens = np.take_along_axis(tokens, np.argsort(-np.take_along_axis(log_p, tokens, 1), 1, kind="stable"), 1)
        return cls(tokens, np.take_along_axis(log_p, tokens, 1), stops)

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Partial:
    """A path so far; `options` are what it may go on with, the best one first: (worth of the longer path, token; None: a stop)."""

    tokens: tuple[int, ...]
    node: int  # of the mask tree
    options: tuple[tuple[float, int | None], ...] = ()


def best_paths(
    lattice: Lattice, matcher: Matcher | None, count: int = 1, causal: Causal | None = None, last: int = -1
) -> list[list[int]]:
    """The `count` best paths, the best one first; where there is no complete one, the longest.

    causal   of (a token, the one before it; at first `last`): a log-probability that is added, of a model that
             reads from left to right
    """
    search = Search(lattice, matcher, count, causal, last)
    found: list[tuple[int, ...]] = []
    while search.open_paths and len(found) < count:
        complete = search.step()
        if complete is not None:
            found.append(complete)
    return [list(tokens) for tokens in found or [search.longest]]


class Search:
    def __init__(self, lattice: Lattice, matcher: Matcher | None, count: int, causal: Causal | None, last: int):
        self._lattice, self._count, self._causal, self._last = lattice, count, causal, last
        self._masks = None if matcher is None else MaskTree(matcher)
        best = np.maximum(lattice.log_p[:, 0], lattice.stops)
        # What the places from here on could give at best, and what stop ids would.
        self._left = [*np.cumsum(best[::-1])[::-1].tolist(), 0.0]
        self._stopped = np.cumsum(lattice.stops[::-1])[::-1].tolist()
        self._candidates = [
            list(zip(log_p, tokens, strict=True))
            for log_p, tokens in zip(lattice.log_p.tolist(), lattice.tokens.tolist(), strict=True)
        ]
        self._came: dict[Hashable, int] = {}
        self._room = [max(1, MOST_STEPS // len(lattice))] * len(lattice)
        # (-promise, -places, number, path, which of its options)
        self.open_paths: list[tuple[float, int, int, Partial, int]] = []
        self.steps = 0
        self.longest: tuple[int, ...] = ()
        self._open((), 0.0, ROOT)

    def step(self) -> tuple[int, ...] | None:
        """Takes the most promising option of all: its path, where that is complete."""
        *_, partial, number = heapq.heappop(self.open_paths)
        self._push(partial, number + 1)
        worth, token = partial.options[number]
        if token is None:
            return partial.tokens if self._masks is None or self._masks.is_accepting(partial.node) else None
        node = ROOT if self._masks is None else self._masks.add(token, partial.node)
        if node is None:
            return None
        tokens = (*partial.tokens, token)
        if len(tokens) == len(self._lattice):
            return tokens
        self._open(tokens, worth, node)
        return None

    def _open(self, tokens: tuple[int, ...], worth: float, node: int) -> None:
        """A path that goes on, unless enough of the same future have, or enough of its length."""
        place = len(tokens)
        if place > len(self.longest):
            self.longest = tokens
        key = (place, None if self._masks is None else self._masks.key(node), tokens[-1:])
        self._came[key] = self._came.get(key, 0) + 1
        if self._came[key] > self._count or not self._room[place]:
            return
        self._room[place] -= 1
        before = tokens[-1] if tokens else self._last
        options: list[tuple[float, int | None]] = [
            (worth + log_p + (self._causal(token, before) if self._causal else 0.0), token)
            for log_p, token in self._candidates[place]
        ]
        if self._causal:
            options.sort(key=lambda option: -option[0])
        stop = worth + self._stopped[place]
        at = next((at for at, each in enumerate(options) if self._promise(*each, place) < stop), len(options))
        options.insert(at, (stop, None))
        self._push(Partial(tokens, node, tuple(options)), 0)

    def _promise(self, worth: float, token: int | None, place: int) -> float:
        return worth if token is None else worth + self._left[place + 1]

    def _push(self, partial: Partial, number: int) -> None:
        if number < len(partial.options):
            promise = self._promise(*partial.options[number], len(partial.tokens))
            if promise > NOWHERE:
                self.steps += 1
                heapq.heappush(self.open_paths, (-promise, -len(partial.tokens), self.steps, partial, number))
