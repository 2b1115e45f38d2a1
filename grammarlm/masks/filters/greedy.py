"""Longest-match tokenization of bytes: an upper bound on the tokens that a text needs (kernels/cpu/tokens/greedy.py)."""

from __future__ import annotations

import functools

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.table import Arena
from grammarlm.vocab.vocabulary import Vocabulary


def cut(vocab: Vocabulary, data: bytes) -> list[int] | None:
    """The tokens; None where no token fits at some byte."""
    tokens, count = _cut(vocab, data)
    return tokens[:count].tolist() if count >= 0 else None


def cost(vocab: Vocabulary, data: bytes) -> int:
    """The number of tokens of the bytes; a byte at which no token fits counts as one."""
    total = 0
    while data:
        _, count = _cut(vocab, data)
        if count >= 0:
            return total + count
        stuck = -1 - count
        total += _cut(vocab, data[:stuck])[1] + 1
        data = data[stuck + 1 :]
    return total


def _cut(vocab: Vocabulary, data: bytes) -> tuple[np.ndarray, int]:
    arena, read = _arena(vocab), np.frombuffer(data, np.uint8)
    tokens = np.empty(len(data), np.int32)
    return tokens, entries.cut(arena.ctypes.data, read.ctypes.data, len(data), tokens.ctypes.data)


@functools.lru_cache(maxsize=16)
def _arena(vocab: Vocabulary) -> np.ndarray:
    """The vocabulary's part of a kernel's arena; the vocabulary, which is the key, keeps the arrays alive."""
    trie = vocab.trie
    arena = np.zeros(Arena.LENGTH, np.int64)
    for place, array in (
        (Arena.BYTE, trie.byte),
        (Arena.DEPTH, trie.depth),
        (Arena.END, trie.end),
        (Arena.TOKEN, trie.token),
    ):
        arena[place] = array.ctypes.data
    arena[Arena.NODES], arena[Arena.NOTHING] = len(trie.byte), vocab.words * 32
    return arena
