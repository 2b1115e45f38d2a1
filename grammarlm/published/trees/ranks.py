"""Medusa, PPD: a tree chosen beforehand, for each node the ranks on the way to it, among the candidates of the node above.

    gl.Draft(drafter, tree=[(0,), (1,), (0, 0)])

`tune_tree` (tree_tuner.py) finds the one that pays most. It costs nothing beside the drafter. Of no use without counts of which
ranks are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.draft_builder import DraftBuilder, Path
from grammarlm.decoding.speculative.drafters.drafter import NodeDrafter
from grammarlm.decoding.speculative.draws import goes_on, taken


def ranks(drafter: NodeDrafter, growths: Sequence[DraftBuilder]) -> None:
    below: dict[Path, list[int]] = {}  # of each path the ranks with which it goes on
    for path in growths[0].shape.paths:
        below.setdefault(path[:-1], []).append(path[-1])
    tips: list[tuple[DraftBuilder, int, Path]] = [(growth, ROOT, ()) for growth in growths]
    while tips:
        width = 1 + max(max(below[path]) for _, _, path in tips)
        found = drafter.after([(growth, node) for growth, node, _ in tips], width)
        further = []
        for (growth, node, path), candidates in zip(tips, found, strict=True):
            tokens = taken(growth, node, candidates, 1 + max(below[path]))
            if candidates.row is None:  # ranks are counted among those that may come
                tokens = [token for token in tokens if growth.may_add(token, node)]
            for rank in below[path]:
                child = growth.add(tokens[rank], node) if rank < len(tokens) else None
                if child is not None and goes_on(growth, child, candidates) and (*path, rank) in below:
                    further.append((growth, child, (*path, rank)))
        tips = further
