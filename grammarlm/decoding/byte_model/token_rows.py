"""The model of tokens below a model of bytes: logits after texts of a tree, several on a path in one forward.

As text_logits.py of the tree, but a text is read together with those that it goes on from, where their logits are missing, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from grammarlm.decoding.readers.reader import Reader
from grammarlm.decoding.tree.text_logits import shared_beginnings
from grammarlm.decoding.tree.text_node import TextNode

Opener = Callable[[list[list[int]]], Reader]


class TokenRows:
    def __init__(self, opener: Opener, start: list[int]):
        """`start`: the ids before each text"""
        self._opener, self._start = opener, start
        self._reader: Reader | None = None
        self._texts: list[TextNode] = []  # those that the reader has read, row by row

    def read(self, nodes: Collection[TextNode]) -> dict[TextNode, np.ndarray]:
        """The logits after each of these texts; one forward. Where one has a text of them above it, so have all between."""
        inner = {node.parent for node in nodes}
        leaves = [node for node in nodes if node not in inner]
        paths = [path_of(leaf, nodes) for leaf in leaves]
        shared = shared_beginnings(self._texts, [path[-1] for path in paths])
        if self._reader is None or shared is None:
            self._reader = self._opener([self._start for _ in leaves])
            chunks = [[*begin, *leaf.tokens()] for begin, leaf in zip(self._reader.beginnings, leaves, strict=True)]
        else:
            self._reader.select([row for row, _ in shared])
            self._reader.rollback([self._texts[row].length - known.length for row, known in shared])
            chunks = [leaf.tokens(known.length) for leaf, (_, known) in zip(leaves, shared, strict=True)]
        self._texts = leaves
        logits = self._reader.read(chunks, list(map(len, paths))).split(list(map(len, paths)))
        return {
            node: row.numpy()
            for path, rows in zip(paths, logits, strict=True)
            for node, row in zip(path, rows.flip(0), strict=True)
        }


def path_of(leaf: TextNode, nodes: Collection[TextNode]) -> list[TextNode]:
    """The text, and those above it that are among the nodes."""
    path = [leaf]
    while path[-1].parent is not None and path[-1].parent in nodes:
        path.append(path[-1].parent)
    return path
