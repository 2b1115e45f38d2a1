"""The most probable path through a block of candidates that a grammar allows (DiffuSpec, DEER).

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
import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from grammarlm.decoding.speculative.draws import best_ids
from grammarlm.decoding.tree.steps import log_softmax
from grammarlm.masks.draft_tree import ROOT, MaskTree
from grammarlm.masks.matcher import Matcher

MOST_STEPS = 128  # partial paths that go on: as many from each place
Causal = Callable[[int, int], float]


@dataclass(frozen=True)
class Lattice:
    tokens: np.ndarray  # [places, candidates], best first
    log_p: np.ndarray  # [places, candidates]
    stops: np.ndarray  # [places]: the log-probability of the likeliest stop id

    @classmethod
    def of(cls, logits: np.ndarray, candidates: int, stop_ids: Sequence[int]) -> Lattice:
        """`logits` [places, V]; stop ids are candidates of their own."""
        log_p = log_softmax(logits.astype(np.float64))
        known = [stop for stop in stop_ids if stop < logits.shape[1]]
        stops = log_p[:, known].max(1) if known else np.full(len(logits), -np.inf)
        log_p[:, known] = -np.inf
        tokens = best_ids(log_p, candidates)
        return cls(tokens, np.take_along_axis(log_p, tokens, 1), stops)


def best_path(lattice: Lattice, matcher: Matcher | None, causal: Causal | None = None, last: int = -1) -> list[int]:
    """The best path; where there is no complete one, the longest.

    causal   of (a token, the one before it; at first `last`): a log-probability that is added
    """
    masks, places = None if matcher is None else MaskTree(matcher), len(lattice.tokens)
    # What the places from here on could give at best, and what stop ids would.
    left = [*np.maximum(lattice.log_p[:, 0], lattice.stops)[::-1].cumsum()[::-1].tolist(), 0.0]
    stopped = lattice.stops[::-1].cumsum()[::-1].tolist()
    futures: list[set[Hashable]] = [set() for _ in range(places)]
    numbers = itertools.count()
    # (-promise, -place, number, tokens, node after them, worth, token that comes next; None: a stop)
    heap: list[tuple[float, int, int, tuple[int, ...], int, float, int | None]] = []

    def go_on(tokens: tuple[int, ...], node: int, worth: float) -> None:
        """What may come after a path, unless one of the same future has gone on, or enough of its length."""
        place, before = len(tokens), tokens[-1] if tokens else last
        future = None if masks is None else masks.key(node), tokens[-1:]
        if future in futures[place] or len(futures[place]) == max(1, MOST_STEPS // places):
            return
        futures[place].add(future)
        options: list[tuple[int | None, float, float]] = [(None, worth, stopped[place])]
        for token, log_p in zip(lattice.tokens[place].tolist(), lattice.log_p[place].tolist(), strict=True):
            options.append((token, worth + log_p + (causal(token, before) if causal else 0.0), left[place + 1]))
        for following, own, promise in options:
            if own + promise > -np.inf:
                heapq.heappush(heap, (-own - promise, -place, next(numbers), tokens, node, own, following))

    go_on((), ROOT, 0.0)
    longest: tuple[int, ...] = ()
    while heap:
        *_, tokens, node, worth, token = heapq.heappop(heap)
        if token is None:
            if masks is None or masks.is_accepting(node):
                return list(tokens)
            continue
        after = ROOT if masks is None else masks.add(token, node)
        if after is not None:
            longest = max(longest, (*tokens, token), key=len)
            if len(longest) == places:
                return list(longest)
            go_on((*tokens, token), after, worth)
    return list(longest)
