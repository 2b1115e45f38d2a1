"""Token healing: tokens at the end of the prompt are removed and generated again.

A prompt that ends in `http:` ends in the token `:`, and a model that has seen `://` as one token does not expect `//` after it.
So the last tokens are removed, and the first of the answer must spell them again, but may extend over the border. `take_back`
removes as many as could matter: all from the first position where a token could begin that extends over the end.

The bytes to be spelled again are the *healed suffix*. Allowed are tokens that are a prefix of it, if tokens can spell what then
remains, and tokens that begin with it and whose remaining bytes are the beginning of a text of the grammar.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from grammarlm.masks.constraint import Constraint
from grammarlm.masks.filters import greedy
from grammarlm.masks.matcher import Matcher
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.vocabulary import Vocabulary


def take_back(ids: list[int], vocab: Vocabulary) -> tuple[list[int], bytes]:
    """The ids that stay, at least one, and the bytes of the removed ones."""
    text, deepest = set(vocab.text_ids.tolist()), vocab.trie.deepest
    tail, starts = b"", [0]  # the bytes of the last tokens, and how many bytes the last 0, 1, 2, ... tokens have
    for token in reversed(ids[1:]):
        if token not in text or len(tail) >= deepest:
            break
        tail = vocab.token_bytes(token) + tail
        starts.append(len(tail))
    longest = next((n for n in range(min(len(tail), deepest - 1), 0, -1) if _goes_on(vocab, tail[-n:])), 0)
    count, length = next((i, n) for i, n in enumerate(starts) if n >= longest)
    return (ids[: len(ids) - count], tail[len(tail) - length :]) if count else (ids, b"")


def _goes_on(vocab: Vocabulary, data: bytes) -> bool:
    """Is there a token that begins with these bytes and is longer?"""
    path = _path(vocab, data)
    return len(path) == len(data) and bool(vocab.trie.end[path[-1]] > path[-1] + 1)


def _path(vocab: Vocabulary, data: bytes) -> list[int]:
    """The trie nodes along the bytes, as far as they exist."""
    trie, path = vocab.trie, []
    node, end = 0, len(vocab.trie.byte)
    for byte in data:
        while node < end and trie.byte[node] < byte:
            node = int(trie.end[node])
        if node >= end or trie.byte[node] != byte:
            break
        path.append(node)
        node, end = node + 1, int(trie.end[node])
    return path


@lru_cache(maxsize=64)
def row_of(vocab: Vocabulary, constraint: Constraint | None, suffix: bytes) -> np.ndarray:
    """The mask while the suffix has to be spelled: what a token adds after it must be the beginning of a text of the constraint."""
    path, nothing = _path(vocab, suffix), vocab.words * 32
    inside = [node for i, node in enumerate(path, 1) if _is_spelled(vocab, suffix[i:])]
    nodes = [np.array(inside, np.int64)]
    if len(path) == len(suffix):
        start, end = path[-1] + 1, int(vocab.trie.end[path[-1]])
        nodes.append(np.arange(start, end) if constraint is None else _read(vocab, constraint.matcher(), start, end))
    tokens = vocab.trie.token[np.concatenate(nodes)]
    row = pack_ids(tokens[tokens != nothing].tolist(), vocab.words)
    for twin, same in vocab.trie.twins.tolist():
        if row.view(np.uint32)[same >> 5] >> np.uint32(same & 31) & np.uint32(1):
            row.view(np.uint32)[twin >> 5] |= np.uint32(1) << np.uint32(twin & 31)
    row.flags.writeable = False
    return row


def _read(vocab: Vocabulary, matcher: Matcher, node: int, end: int) -> np.ndarray:
    """The trie nodes in `node .. end` whose bytes the matcher accepts; the subtree of a refused node is skipped."""
    trie, read = vocab.trie, []
    depth = 0  # how many bytes the matcher has read
    top = int(trie.depth[node]) if node < end else 0
    while node < end:
        above = int(trie.depth[node]) - top
        matcher.rollback(depth - above)
        depth = above
        if matcher.advance_bytes(trie.byte[node : node + 1].tobytes()):
            read.append(node)
            depth += 1
            node += 1
        else:
            node = int(trie.end[node])
    return np.array(read, np.int64)


@lru_cache(maxsize=1024)
def _is_spelled(vocab: Vocabulary, data: bytes) -> bool:
    """Can tokens spell exactly these bytes? (memoised)"""
    if not data:
        return True
    nothing = vocab.words * 32
    return any(
        vocab.trie.token[node] != nothing and _is_spelled(vocab, data[i:])
        for i, node in enumerate(_path(vocab, data), 1)
    )


def matcher_after(constraint: Constraint, data: bytes, max_tokens: int | None) -> Matcher | None:
    """A matcher that has read the bytes a token adds after the prompt, with so many tokens left; None if they are too few."""
    if max_tokens is None:
        matcher = constraint.matcher()
        return matcher if matcher.advance_bytes(data) else None
    vocab = constraint.vocab
    cost = greedy.cost(vocab, data)  # the tokens that a budget counts for these bytes
    try:
        matcher = constraint.matcher(max_tokens=max_tokens + cost)
    except ValueError:
        return None
    return matcher if matcher.advance_bytes(data) else None
