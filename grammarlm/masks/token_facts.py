"""What all automata over one vocabulary share."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from grammarlm.vocab.vocabulary import Vocabulary

ALL_BYTES = (1 << 256) - 1  # as in single_bytes
FEW = 128  # ids that are set one by one


@dataclass(frozen=True)
class TokenFacts:
    """Tables about the ids of a vocabulary."""

    stops: frozenset[int]
    stop_row: np.ndarray  # int32 [W]: the stop ids only
    everything: np.ndarray | None  # int32 [W]: all ids, where there can be such a row (no special ids, no padding)
    is_text: np.ndarray  # uint8: may a mask allow this id for its bytes?
    single_bytes: int  # the bytes that are tokens of their own, as a 256-bit integer
    deepest: int  # bytes of the longest token
    trees: np.ndarray  # int64 [256, 2]: of the trie, for each first byte: the first node and one past the last
    byte_tokens: np.ndarray  # int64 [256]: for each byte the token that is this byte alone, -1 where there is none


@functools.lru_cache(maxsize=16)
def token_facts(vocab: Vocabulary) -> TokenFacts:
    is_text = np.zeros(len(vocab.offsets) - 1, np.uint8)
    is_text[vocab.text_ids] = 1
    stops = frozenset(vocab.stop_ids)
    complete = len(vocab.text_ids) + len(stops) == vocab.size
    everything = pack_ids(range(vocab.size), vocab.words) if complete else None
    byte_tokens = _byte_tokens(vocab)
    single_bytes = sum(1 << b for b in np.flatnonzero(byte_tokens >= 0).tolist())
    stop_row, trie = pack_ids(stops, vocab.words), vocab.trie
    tops = np.flatnonzero(trie.depth == 1)
    trees = np.zeros((256, 2), np.int64)
    trees[trie.byte[tops]] = np.stack([tops, trie.end[tops]], axis=1)
    return TokenFacts(stops, stop_row, everything, is_text, single_bytes, trie.deepest, trees, byte_tokens)


def _byte_tokens(vocab: Vocabulary) -> np.ndarray:
    ids, offsets = vocab.text_ids, vocab.offsets
    alone = ids[offsets[ids + 1] - offsets[ids] == 1]
    found = np.full(256, -1)
    found[vocab.data[offsets[alone]]] = alone
    return found


def tokens_at(vocab: Vocabulary, nodes: np.ndarray) -> np.ndarray:
    """int32 [W]: the tokens that end at these nodes of the trie: numbers, or a flag for each node."""
    trie, bits = vocab.trie, np.zeros(vocab.words * 32 + 1, np.uint8)
    bits[trie.token[nodes]] = 1
    bits[trie.twins[:, 0]] = bits[trie.twins[:, 1]]
    return np.packbits(bits[:-1], bitorder="little").view(np.int32)


def allowed_bytes(row: np.ndarray, byte_tokens: np.ndarray) -> np.ndarray:
    """bool [256]: the bytes whose tokens a row allows."""
    bits = row[byte_tokens >> 5] >> (byte_tokens & 31) & 1
    found: np.ndarray = (bits != 0) & (byte_tokens >= 0)
    return found


def pack_ids(ids: Iterable[int], words: int) -> np.ndarray:
    """A mask row in which exactly these ids are allowed."""
    found = ids if isinstance(ids, np.ndarray) else np.array(list(ids), np.int64)
    if len(found) <= FEW:
        row = np.zeros(words, np.uint32)
        np.bitwise_or.at(row, found >> 5, np.uint32(1) << (found & 31).astype(np.uint32))
        return row.view(np.int32)
    bits = np.zeros(words * 32, np.uint8)
    bits[found] = 1
    return np.packbits(bits, bitorder="little").view(np.int32)
