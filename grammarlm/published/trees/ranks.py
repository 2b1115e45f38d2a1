"""Medusa, PPD: a tree chosen beforehand, for each node the ranks on the way to it, among the candidates of the node above.

`tune_tree` (tree_tuner.py) finds the one that pays most. It costs nothing beside the drafter. Of no use without counts of which
ranks are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from grammarlm.decoding.readers.draft_tree import ROOT
from grammarlm.decoding.speculative.draft_builder import DraftBuilder
from grammarlm.decoding.speculative.drafters.drafter import Candidates, NodeDrafter
from grammarlm.decoding.speculative.draws import Shape, goes_on, taken

Path = tuple[int, ...]


def ranks(shape: Shape, drafter: NodeDrafter, growths: Sequence[DraftBuilder], tree: Sequence[Path]) -> None:
    """`tree`: shorter paths first."""
    for growth in growths:
        open_nodes: dict[Path, int] = {(): ROOT}
        found: dict[Path, Candidates] = {}
        tokens: dict[Path, Sequence[int]] = {}
        for *above, rank in tree:
            parent = tuple(above)
            if parent not in open_nodes:
                continue
            at = open_nodes[parent]
            if parent not in found:
                (found[parent],) = drafter.after([(growth, at)], 1)
                width = 1 + max(each[-1] for each in tree if each[:-1] == parent)
                tokens[parent] = taken(shape, growth, at, found[parent], width)
            node = growth.add(tokens[parent][rank], at) if rank < len(tokens[parent]) else None
            if node is not None and goes_on(shape, growth, node, found[parent]):
                open_nodes[(*parent, rank)] = node
