"""Tries as kernels walk them: of what remains of tokens after a quote, and tables of nodes with many children."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from grammarlm.vocab.byte_trie import ByteTrie

MANY_CHILDREN = 8  # nodes with more children get a table, in which walks look a child up


@dataclass(frozen=True)
class RemainderTrie:
    """Like ByteTrie, but several tokens may end at a node: of node i tokens[first[i + 1] : first[i + 2]], of the root node -1."""

    byte: np.ndarray  # uint8
    depth: np.ndarray  # uint16
    end: np.ndarray  # int32
    first: np.ndarray  # int32 [N + 2]
    tokens: np.ndarray  # int32


def remainder_trie(pairs: Iterable[tuple[bytes, int]]) -> RemainderTrie:
    by_rest: dict[bytes, list[int]] = {}
    for rest, token in pairs:
        by_rest.setdefault(rest, []).append(token)
    byte, depth, first = bytearray(), [], [0]
    tokens = by_rest.pop(b"", [])
    first.append(len(tokens))
    path = b""
    for rest in sorted(by_rest):
        shared = 0
        while shared < len(path) and shared < len(rest) and path[shared] == rest[shared]:
            shared += 1
        for i in range(shared, len(rest)):
            byte.append(rest[i])
            depth.append(i + 1)
            first.append(first[-1])
        tokens = tokens + by_rest[rest]
        first[-1] = len(tokens)
        path = rest
    count = len(byte)
    end = [count] * count
    open_nodes: list[int] = []
    for node, deep in enumerate(depth):
        while open_nodes and depth[open_nodes[-1]] >= deep:
            end[open_nodes.pop()] = node
        open_nodes.append(node)
    return RemainderTrie(
        np.frombuffer(bytes(byte), np.uint8).copy(), np.array(depth, np.uint16), np.array(end, np.int32),
        np.array(first, np.int32), np.array(tokens, np.int32),
    )  # fmt: skip


def wide_nodes(trie: ByteTrie) -> tuple[np.ndarray, np.ndarray]:
    """Of nodes with many children: the number of their table (-1: none; the root comes first), and the tables."""
    count = len(trie.byte)
    parent = trie.parent
    wide = np.full(count + 1, -1, np.int32)
    chosen = np.flatnonzero(np.bincount(parent + 1, minlength=count + 1) > MANY_CHILDREN)
    wide[chosen] = np.arange(len(chosen))
    children = np.full((max(len(chosen), 1), 256), -1, np.int32)
    below = np.flatnonzero(wide[parent + 1] >= 0)
    children[wide[parent[below] + 1], trie.byte[below]] = below
    return wide, children
