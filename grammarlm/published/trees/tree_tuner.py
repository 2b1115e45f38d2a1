"""Which tree of candidates pays most, by how often the candidate of each rank is right, and by what a forward costs (PPD).

    tree = tune_tree(rates, seconds)
    gl.Draft(Rows(ahead), tree=tree)

`rates[depth][rank]`: how often the candidate of that rank is drawn at that depth, where what leads to it was. A node is drawn as
often as the product of the rates on the way to it, and a round draws one token more than nodes, on average their sum. Since no node
is drawn more often than the one above it, the best tree of n nodes is the n likeliest ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from grammarlm.decoding.speculative.draft_builder import Path


def tune_tree(rates: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[Path]:
    """The tree with the most expected tokens a second; `seconds[n]`: of a forward with n draft tokens, which bounds its size.

    Each node is the ranks on the way to it. No node: a draft does not pay.
    """
    nodes = likeliest(rates, len(seconds) - 1)
    tokens, best, size = 1.0, 1.0 / seconds[0], 0
    for count, (chance, _) in enumerate(nodes, 1):
        tokens += chance
        if tokens / seconds[count] > best:
            best, size = tokens / seconds[count], count
    return [path for _, path in nodes[:size]]


def likeliest(rates: Sequence[Sequence[float]], count: int) -> list[tuple[float, Path]]:
    """The likeliest nodes, each after the one above it and after its better ranks."""
    order = [sorted(range(len(each)), key=lambda rank: (-each[rank], rank)) for each in map(list, rates)]
    open_nodes: list[tuple[float, tuple[int, ...]]] = [(-rates[0][order[0][0]], (0,))] if rates and order[0] else []
    found: list[tuple[float, Path]] = []
    while open_nodes and len(found) < count:
        less, places = heapq.heappop(open_nodes)
        if less >= 0:
            break
        depth = len(places) - 1
        found.append((-less, tuple(order[at][place] for at, place in enumerate(places))))
        own = rates[depth][order[depth][places[-1]]]
        if places[-1] + 1 < len(order[depth]):
            next_rate = rates[depth][order[depth][places[-1] + 1]]
            heapq.heappush(open_nodes, (less / own * next_rate, (*places[:-1], places[-1] + 1)))
        if depth + 1 < len(rates) and order[depth + 1]:
            heapq.heappush(open_nodes, (less * rates[depth + 1][order[depth + 1][0]], (*places, 0)))
    return found
