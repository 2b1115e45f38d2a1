"""HyPER (Bridging Exploration and Exploitation for Scalable LLM Reasoning with Hypothesis Path Expansion and Reduction): answers
are forked early and dropped late.

Early, until half of the budget is spent or a path is over, a path is forked where the model was as uncertain as between two equally
good tokens, the most uncertain one first, up to twice as many paths as began. Late, a path is dropped whose merit is far below the
best one's: the mean probability of its last tokens after masking, times one more than the share of the other paths that agree with
all it has written. All are dropped once their votes could not change what is elected. A vote weighs as much as the answer is
confident and long. (Refinement inside a path, of mixtures of experts, is not here.)
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable

from grammarlm.decoding.methods.pools.candidates import is_complete
from grammarlm.decoding.methods.pools.paths import Moves, Path, Paths, mean_probability
from grammarlm.decoding.methods.pools.vote import ballot_of
from grammarlm.decoding.result import Result

UNSURE = math.log(2)  # nats: as between two equally good tokens
WORSE = 0.5  # a path is dropped whose merit is below this share of the best one's
RECENT = 16  # tokens that confidence is about; a vote of so many weighs half of what a long one does
WIDEST = 2  # times as many paths as began


def expand_and_reduce(paths: Paths) -> Moves:
    """Forks early, drops late."""
    assert paths.budget is not None
    running = paths.running
    if 2 * paths.spent < paths.budget and len(running) == len(paths):
        room = WIDEST * sum(not path.is_fork for path in paths) - len(running)
        unsure = [path for path in running if path.entropies and path.entropies[-1] >= UNSURE]
        return Moves(fork=sorted(unsure, key=lambda path: (-path.entropies[-1], path.number))[: max(room, 0)])
    if is_decided(paths):
        return Moves(stop=True)
    merits = {path: merit(path, paths) for path in running}
    least = WORSE * max(merits.values())
    return Moves(drop=[path for path, own in merits.items() if own < least])


def merit(path: Path, paths: Paths) -> float:
    """How sure the model is of a path, and how many of the others say the same."""
    others = [one for one in paths if one is not path]
    agreeing = sum(one.tokens[: len(path.tokens)] == path.tokens for one in others)
    return mean_probability(path.logprobs[-RECENT:]) * (1 + agreeing / max(len(others), 1))


def is_decided(paths: Paths) -> bool:
    """Could the votes of all that run, 1 each at most, not change what is elected?"""
    votes: defaultdict[Hashable, float] = defaultdict(float)
    for path in paths:
        if path.result is not None and is_complete(path.result):
            ballot = ballot_of(path.result, None, confident)
            if not isinstance(ballot, Result):
                votes[ballot[0]] += ballot[1]
    best, second = sorted([0.0, 0.0, *votes.values()])[:-3:-1]
    return best - second > len(paths.running)


def confident(result: Result) -> float:
    """How much an answer's vote weighs, at most 1: the mean probability of its tokens, and more the longer it is."""
    length = len(result.tokens)
    return mean_probability(result.logprobs) * length / (length + RECENT)
