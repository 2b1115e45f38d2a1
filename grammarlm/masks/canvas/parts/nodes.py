"""The nodes of a vocabulary's trie as tokens: a prefix of a token may end a part, and what follows it begin another."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from grammarlm.layout.json_canvas import MARKS
from grammarlm.vocab.vocabulary import Vocabulary

ROOT_NODE = -1


class NodeVocabulary:
    """As far as views ask for one: ids are nodes, then the stop id; nodes that are no token and no prefix of interest have none."""

    special_ids: tuple[int, ...] = ()

    def __init__(self, vocab: Vocabulary, firsts: np.ndarray):
        """`firsts`, bool [256]: the bytes before which a token may be cut."""
        self.vocab, trie = vocab, vocab.trie
        nodes = len(trie.byte)
        is_token = trie.token < vocab.size
        is_cut, below = np.zeros(nodes, bool), trie.parent >= 0
        is_cut[trie.parent[below & firsts[trie.byte]]] = True
        self.words, self.size, self.stop_ids = -(-(nodes + 1) // 32), nodes + 1, (nodes,)
        self.is_token, self.is_cut = is_token, is_cut
        named = np.where(is_token | is_cut, np.arange(nodes), self.words * 32).astype(np.uint32)
        self.trie = replace(trie, token=named, twins=np.zeros((0, 2), np.int32))

    @cached_property
    def children(self) -> tuple[np.ndarray, np.ndarray]:
        """The nodes by parent, and where those of each begin: of the root, then of each node."""
        order = np.argsort(self.trie.parent, kind="stable")
        return order, np.searchsorted(self.trie.parent[order], np.arange(-1, len(self.trie.byte) + 1))

    @cached_property
    def node_of(self) -> np.ndarray:
        """int32 [V]: the node of each token that is text, -1 for others."""
        trie = self.vocab.trie
        found = np.full(self.vocab.words * 32 + 1, -1, np.int32)
        found[trie.token] = np.arange(len(trie.byte))
        found[trie.twins[:, 0]] = found[trie.twins[:, 1]]
        found[self.vocab.words * 32] = -1
        return found[: self.vocab.size]

    @cached_property
    def marked(self) -> np.ndarray:
        """The nodes with a byte that is a mark."""
        found = np.zeros(len(self.trie.byte) + 1, bool)  # the last is that of the root
        for level in self.trie.levels:
            found[level] = found[self.trie.parent[level]] | np.isin(self.trie.byte[level], MARKS)
        return np.flatnonzero(found)

    @cached_property
    def byte_nodes(self) -> list[int]:
        """By byte, the node of the token that is that byte alone; -1 where there is none."""
        found = [-1] * 256
        for node in self.trie.levels[0].tolist():
            if self.is_token[node]:
                found[int(self.trie.byte[node])] = node
        return found

    def spelled(self, node: int) -> bytes:
        found = bytearray()
        while node != ROOT_NODE:
            found.append(int(self.trie.byte[node]))
            node = int(self.trie.parent[node])
        return bytes(reversed(found))
