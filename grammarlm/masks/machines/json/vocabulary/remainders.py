"""Tries as kernels walk them: of what remains of tokens after a quote, and tables of nodes with many children."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from grammarlm.vocab.byte_trie import ByteTrie, build_trie

MANY_CHILDREN = 8  # nodes with more children get a table, in which walks look a child up


class RemainderTrie(NamedTuple):
    """A trie in which several tokens may end at a node: of node i tokens[first[i + 1] : first[i + 2]], of the root node -1."""

    trie: ByteTrie
    first: np.ndarray  # int32 [N + 2]
    tokens: np.ndarray  # int32


def remainder_trie(pairs: Sequence[tuple[bytes, int]]) -> RemainderTrie:
    """Of texts, some of them empty or equal, and their tokens."""
    texts, tokens = [text for text, _ in pairs], [token for _, token in pairs]
    lengths = np.array([*map(len, texts)], np.int64)
    data, offsets = np.array(bytearray(b"".join(texts)), np.uint8), np.append(0, np.cumsum(lengths))
    trie = build_trie(data, offsets, np.flatnonzero(lengths), nothing=len(texts))
    node_of = np.full(len(texts) + 1, -1)
    node_of[trie.token] = np.arange(len(trie.token))
    node_of[trie.twins[:, 0]] = node_of[trie.twins[:, 1]]
    order = np.argsort(node_of[:-1], kind="stable")
    first = np.searchsorted(node_of[order], np.arange(-1, len(trie.token) + 1))
    return RemainderTrie(trie, first.astype(np.int32), np.array(tokens, np.int32)[order])


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
