"""The shortest completion of an item: the fewest tokens that complete one from a node.

The rows below a node are adjacent, and after an item's last token its row holds END. So the shortest item below a node
is found column by column: the first column in which a row has END after a token.
"""

from __future__ import annotations

import numpy as np

from .index import END, ItemIndex, Node

Path = tuple[int, ...]


def nearest(index: ItemIndex, path: Path, node: Node, but: frozenset[Path]) -> list[int]:
    """The fewest tokens from a node to the end of an item not in `but`; there is one. `path` leads to the node."""
    if index.is_end(node) and path not in but:
        return []
    for depth in range(node.depth + 1, index.length + 1):
        low = node.low
        while (row := _first_of_length(index, depth, low, node.high)) >= 0:
            rest = [int(index.cells(d, row, row + 1)[0]) - index.shift for d in range(node.depth, depth)]
            if (*path, *rest) not in but:
                return rest
            low = _row_after(index, node, rest)
    raise AssertionError("no item is left below a node that was entered")


def _first_of_length(index: ItemIndex, length: int, low: int, high: int) -> int:
    """The first of some rows whose item has this length, -1 where there is none."""
    if not index.shift:
        return low if length == index.length and low < high else -1
    is_whole = index.cells(length - 1, low, high) != END
    if length < index.length:
        is_whole &= index.cells(length, low, high) == END
    found = int(np.argmax(is_whole)) if len(is_whole) else 0
    return low + found if len(is_whole) and is_whole[found] else -1


def _row_after(index: ItemIndex, node: Node, rest: list[int]) -> int:
    """The first row after those that begin with these tokens, below a node."""
    here: Node | None = node
    for token in rest:
        here = here and index.child(here, token)
    assert here is not None
    return int(here.high)
