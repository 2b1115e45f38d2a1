"""What each id may see where draft trees are read together with their texts: a mask of four dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .draft_tree import ROOT, DraftTree


def layout(chunks: Sequence[Sequence[int]], trees: Sequence[DraftTree]) -> tuple[int, list[int]]:
    """(width of a row of pads, chunk and nodes; how many pads each row begins with)"""
    lengths = [len(chunk) + len(tree) for chunk, tree in zip(chunks, trees, strict=True)]
    return max(lengths), [max(lengths) - length for length in lengths]


def depths(tree: DraftTree) -> list[int]:
    """How many ids after the last of the text each node comes, less one."""
    found: list[int] = []
    for parent in tree.parents:
        found.append(0 if parent == ROOT else found[parent] + 1)
    return found


def tree_mask(
    slots: Sequence[Sequence[int]], chunks: Sequence[Sequence[int]], trees: Sequence[DraftTree], dtype: torch.dtype
) -> torch.Tensor:
    """[B, 1, width, slots + width], 0 where an id may look and the least number of the dtype where not.

    `slots` are those read before, 1: an id, 0: a pad. An id of a chunk sees the text before it; a node sees the text and the nodes
    that lead to it. A pad sees itself, so that no row of the attention is empty.
    """
    width, pads = layout(chunks, trees)
    before = len(slots[0])
    sees = torch.zeros(len(chunks), width, before + width, dtype=torch.bool)
    for row, (chunk, tree, pad) in enumerate(zip(chunks, trees, pads, strict=True)):
        first = pad + len(chunk)
        sees[row, pad:, :before] = torch.tensor(slots[row], dtype=torch.bool)
        own = sees[row, :, before:]
        own[pad:first, pad:first] = torch.ones(len(chunk), len(chunk), dtype=torch.bool).tril()
        own[first:, pad:first] = True
        for node, parent in enumerate(tree.parents):
            if parent != ROOT:
                own[first + node, first:] = own[first + parent, first:]
            own[first + node, first + node] = True
        own[:pad, :pad] = torch.eye(pad, dtype=torch.bool)
    return torch.zeros(sees.shape, dtype=dtype).masked_fill_(~sees, torch.finfo(dtype).min)[:, None]
