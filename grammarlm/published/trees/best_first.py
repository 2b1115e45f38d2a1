"""DySpec (Faster Speculative Decoding with Dynamic Token Tree Structure): the next node is the most probable one of all.

The tree grows where the draft is surest, as deep or as wide as that may be. It costs a call of the draft for each node, where a
fixed tree needs one for each depth. Of no use on a CPU, where each id read costs, or for drafts that draw: a choice among draws
is no draw.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import replace

from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.draft_builder import NODES, DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import NodeDrafter
from grammarlm.decoding.speculative.draws import log_accepted, taken
from grammarlm.decoding.speculative.shapes import BRANCHES


def best_first(drafter: NodeDrafter, growths: Sequence[DraftBuilder]) -> None:
    """Each round takes the most probable open token of each answer, and asks what may follow it."""
    heaps: dict[DraftBuilder, list[tuple[float, int, int, int]]] = {growth: [] for growth in growths}
    number = 0
    for growth in growths:  # a choice among draws is none of the rules' draws
        growth.shape = replace(growth.shape, draws="coupled")
    tips = [(growth, ROOT, 0.0) for growth in growths]
    while tips:
        found = drafter.after([(growth, node) for growth, node, _ in tips], BRANCHES)
        for (growth, node, log_p), candidates in zip(tips, found, strict=True):
            tokens = taken(growth, node, candidates, BRANCHES)
            for token, more in zip(tokens, log_accepted(growth, node, tokens, candidates), strict=True):
                heapq.heappush(heaps[growth], (-(log_p + more), number, node, token))
                number += 1
        tips = [tip for growth in growths if (tip := next_best(growth, heaps[growth])) is not None]


def next_best(growth: DraftBuilder, heap: list[tuple[float, int, int, int]]) -> tuple[DraftBuilder, int, float] | None:
    """Adds the most probable open tokens that may come, up to one that may be followed; None where the tree is finished."""
    while heap and len(growth.tree) < min(NODES, 4 * growth.shape.length):
        less, _, parent, token = heapq.heappop(heap)
        before = len(growth.tree)
        node = growth.add(token, parent)
        if node is not None and len(growth.tree) > before and math.exp(-less) >= 1 - (growth.shape.stop or 1.0):
            return growth, node, -less
    return None
