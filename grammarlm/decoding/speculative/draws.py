"""Tokens out of a draft model's logits: the best ones, or draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from grammarlm.decoding.logits.sampling import uniform_of

from .draft_builder import DraftBuilder

SEVERAL = 1 << 40  # the offset between positions of independent noise


class Candidates(NamedTuple):
    """What may follow a node, best first."""

    tokens: Sequence[int]
    log_p: Sequence[float]
    row: np.ndarray | None = None  # the draft's masked logits, where it is a model
    state: Any = None  # its last hidden state, of which these are made, where somebody asks for it

    @classmethod
    def of(cls, growth: DraftBuilder, node: int, logits: np.ndarray | None, state: Any = None) -> Candidates:
        """What may come after the node, of a draft model's logits there; nothing where it has none."""
        masked = None if logits is None else growth.masked(logits, node)
        return NOTHING if masked is None else cls((), (), masked, state)


NOTHING = Candidates((), ())


def log_softmax(row: np.ndarray, growth: DraftBuilder) -> np.ndarray:
    """log q of a draft's masked logits, at the answer's temperature."""
    scaled = (row - row.max()) / np.float32(growth.row.sampling.warmth)
    return scaled - np.log(np.exp(scaled).sum())


def best_ids(logits: np.ndarray, count: int) -> np.ndarray:
    """The ids of so many of the largest logits, along the last axis: the best first, of equals the smaller."""
    count = min(count, logits.shape[-1])
    ids = np.sort(np.argpartition(-logits, count - 1, axis=-1)[..., :count], axis=-1)
    order = np.argsort(-np.take_along_axis(logits, ids, -1), axis=-1, kind="stable")
    return np.take_along_axis(ids, order, -1)


def picked(growth: DraftBuilder, node: int, row: np.ndarray, width: int) -> list[int]:
    """`width` tokens of a draft model's masked logits.

    Greedy: the best ones. Coupled: in the order in which they arrive in the race that the target holds there, so that two models
    that agree draw the same token; what is drawn in the end is the target's own draw whatever stands here. The rules that compare
    probabilities need draws that know nothing of the target's noise: those have noise of their own, and q is kept.
    """
    sampling = growth.row.sampling
    if not sampling.temperature:
        return [token for token in best_ids(row, width).tolist() if np.isfinite(row[token])]
    log_q = log_softmax(row, growth)
    position = growth.row.count + growth.depth(node)
    if growth.shape.draws == "coupled":
        return arrivals(log_q, sampling.seed, position, width)
    seed = draft_seed(sampling.seed)
    if growth.shape.draws == "distinct":
        tokens = arrivals(log_q, seed, position, width)
    else:
        tokens = [arrivals(log_q, seed, position + SEVERAL * (draw + 1), 1)[0] for draw in range(width)]
    q = np.exp(log_q.astype(np.float64))
    growth.tree.drawn[node] = tokens, q / q.sum()
    return tokens


def taken(growth: DraftBuilder, node: int, candidates: Candidates, width: int) -> Sequence[int]:
    """The tokens that may follow a node, best first: those of the draft's own choice that are probable enough."""
    row = candidates.row
    tokens = candidates.tokens if row is None else picked(growth, node, row, width)
    if not growth.shape.above:
        return tokens
    chances = np.exp(log_chances(growth, tokens, candidates))
    return [token for token, chance in zip(tokens, chances, strict=True) if chance > growth.shape.above]


def best_chance(growth: DraftBuilder, candidates: Candidates) -> float:
    """How probable the draft itself finds its best token; 0 where it says nothing."""
    return 0.0 if candidates.row is None else float(np.exp(log_softmax(candidates.row, growth).max()))


def log_chances(growth: DraftBuilder, tokens: Sequence[int], candidates: Candidates) -> list[float]:
    """How probable the draft itself finds some of its candidates."""
    if candidates.row is None:
        known = dict(zip(candidates.tokens, candidates.log_p, strict=True))
        return [known[token] for token in tokens]
    log_q = log_softmax(candidates.row, growth)
    return [float(log_q[token]) for token in tokens]


def log_accepted(growth: DraftBuilder, node: int, tokens: Sequence[int], candidates: Candidates) -> list[float]:
    """How probable some candidates are to be drawn, once the node is: what the grammar forces, surely."""
    own, accepts = log_chances(growth, tokens, candidates), growth.shape.accepts
    is_forced = candidates.row is not None and int(np.isfinite(candidates.row).sum()) == 1
    if accepts is None or is_forced or not tokens:
        return own
    with torch.no_grad():
        said = accepts([*growth.ids, *growth.tree.tokens_to(node)], tokens, np.exp(own).tolist(), candidates.state)
    return [math.log(chance) if chance > 0 else -math.inf for _, chance in zip(tokens, map(float, said), strict=True)]


def goes_on(growth: DraftBuilder, child: int, candidates: Candidates) -> bool:
    """May more follow this node? Its path ends where it is too probable that some token of it is refused."""
    stop = growth.shape.stop
    if stop is None:
        return True
    parent = growth.tree.parents[child]
    before = growth.chances.get(parent, 1.0)
    (own,) = log_accepted(growth, parent, [growth.tree.tokens[child]], candidates)
    growth.chances[child] = before * float(np.exp(own))
    return growth.chances[child] >= 1 - stop


def arrivals(log_q: np.ndarray, seed: int | None, position: int, count: int) -> list[int]:
    """The first tokens to arrive in a race at rates q."""
    tokens = np.flatnonzero(np.isfinite(log_q))
    uniform = uniform_of(tokens, seed, position).astype(np.float64)
    times = np.log(-np.log1p(-uniform)) - log_q[tokens]
    return [int(token) for token in tokens[np.argsort(times)[:count]]]


def draft_seed(seed: int | None) -> int:
    """Of the draft's own noise."""
    assert seed is not None
    return (seed * 6364136223846793005 + 1442695040888963407) % 2**63
