"""RSD-S (Recursive Speculative Decoding): beams that are drawn without replacement; for acceptance="recursive".

    gl.Draft(small, tree="beams", widths=(4,), acceptance="recursive")

At each depth the beams are so many of the draft's continuations, drawn as whole texts, none of them twice (stochastic beam search):
where the draft is sure they stay together, and part where it is not. A node's children are draws without replacement whatever
becomes of them, which is all that the rule asks. It costs what a fixed tree of as many nodes does. In greedy decoding the beams are
the most probable continuations. Of no use for chains.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.draws import draft_seed, goes_on, log_chances, taken

WIDTHS = (4,)  # beams at each depth; the last number is that of all below


def beams(drafter: NodeDrafter, growths: Sequence[DraftBuilder]) -> None:
    widths = growths[0].shape.widths or WIDTHS
    tips = [(growth, ROOT, 0.0, 0.0) for growth in growths]  # a node, its log-probability, its place in the race
    for depth in range(growths[0].shape.length):
        width = widths[min(depth, len(widths) - 1)]
        tips = [tip for tip in tips if tip[0].depth(tip[1]) < tip[0].room]
        if not tips:
            return
        found = drafter.after([(growth, node) for growth, node, _, _ in tips], width)
        reached: dict[DraftBuilder, list[tuple[float, int, float, int, Candidates]]] = {}
        for (growth, node, log_p, place), candidates in zip(tips, found, strict=True):
            tokens = taken(growth, node, candidates, width)
            logs = log_chances(growth, tokens, candidates)
            own = (
                places(growth, node, log_p, place, logs) if candidates.row is not None else np.add(log_p, logs).tolist()
            )
            reached.setdefault(growth, []).extend(
                (at, token, log_p + log, node, candidates) for at, token, log in zip(own, tokens, logs, strict=True)
            )
        tips = []
        for growth, texts in reached.items():
            for place, token, log_p, node, candidates in heapq.nlargest(width, texts, key=itemgetter(0)):
                before, child = len(growth.tree), growth.add(token, node)
                is_new = len(growth.tree) > before or candidates.row is None
                if child is not None and is_new and goes_on(growth, child, candidates):
                    tips.append((growth, child, log_p, place))


def places(growth: DraftBuilder, node: int, log_p: float, place: float, logs: Sequence[float]) -> list[float]:
    """Where the children of a node stand in the race of all texts; greedy, by how probable they are."""
    sampling = growth.row.sampling
    if not sampling.temperature:
        return [log_p + own for own in logs]
    noise = np.random.default_rng([draft_seed(sampling.seed), len(growth.ids), node + 1])
    return raced(log_p, place, np.exp(logs).tolist(), noise.random(len(logs)).tolist())


def raced(log_p: float, place: float, chances: Sequence[float], uniform: Sequence[float]) -> list[float]:
    """The perturbed log-probabilities of a node's children, drawn in this order without replacement with these chances.

    The first is its parent's own. Each after it is the greatest of what is left: a Gumbel variable around the log of the mass that
    is left, below the one before; which token it is does not depend on it.
    """
    found: list[float] = []
    left = 1.0
    for chance, number in zip(chances, uniform, strict=True):
        if found:
            middle = log_p + math.log(max(left, 1e-12))
            place = middle - math.log(math.exp(middle - place) - math.log(max(number, 1e-300)))
        found.append(place)
        left -= chance
    return found
