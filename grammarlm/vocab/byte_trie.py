"""All tokens of a vocabulary as one trie over bytes, in arrays.

The tokens, sorted by bytes, are the paths of a trie. Its nodes are numbered depth first, children in byte order, so a node's
subtree is the range `node .. end[node]` and the tokens below it are one slice of `tokens`. Walking an automaton over all tokens
is then one loop without a stack of its own: the state at depth d is kept in states[d],

    node = 0
    while node < nodes:
        state = step(states[depth[node] - 1], byte[node])
        if state is dead:
            node = end[node]                                    # skip every token that begins like this
        else:
            states[depth[node]] = state
            allow tokens[first[node] : first[node + 1]]
            node += 1

What a node costs: one byte and one depth read in order, one transition (a table in the first-level cache), and `end` or `first`,
five loads in all, nearly all sequential; nothing is written but a state and the bits of the tokens found. Llama 3.1's 128,000
tokens (870 KB of bytes) have 274,000 nodes, because most tokens share their beginning with another; a state that allows all of
them reads each node once, a state that allows few reads the children of the nodes that it reaches and nothing else.

Built with numpy alone in a fraction of a second, kept on disk by the vocabulary's fingerprint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..cache import cache_folder, write_atomically

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

FORMAT = 1  # part of the file's name: a change of the arrays' meaning makes new files


@dataclass(frozen=True)
class ByteTrie:
    """N nodes, T tokens; the root (the empty string) is no node."""

    byte: np.ndarray  # uint8 [N]: the byte that leads to the node
    depth: np.ndarray  # int32 [N]: how many bytes the node stands for, at least 1
    end: np.ndarray  # int32 [N]: the first node behind the subtree
    first: np.ndarray  # int32 [N + 1]: tokens[first[i] : first[i + 1]] are the tokens that node i stands for
    tokens: np.ndarray  # int32 [T]: token ids by their bytes

    @property
    def deepest(self) -> int:
        return int(self.depth.max(initial=0))

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self.byte, self.depth, self.end, self.first, self.tokens))


def build_trie(data: np.ndarray, offsets: np.ndarray, ids: np.ndarray) -> ByteTrie:
    """The trie of the given ids, each with at least one byte; token i is data[offsets[i] : offsets[i + 1]]."""
    raw, bounds = data.tobytes(), offsets.tolist()
    spelled = [raw[bounds[i] : bounds[i + 1]] for i in ids.tolist()]
    order = sorted(range(len(spelled)), key=spelled.__getitem__)
    tokens = np.asarray(ids, np.int32)[order]
    start, length = offsets[tokens], (offsets[tokens.astype(np.int64) + 1] - offsets[tokens])
    shared = _shared_prefixes(data, start, length)

    added = length - shared  # nodes that each token adds to the path of the one before
    last = np.cumsum(added)  # behind the last node of each token
    depth = _ranges(shared + 1, added).astype(np.int32)
    byte = data[_ranges(start + shared, added)] if len(tokens) else np.empty(0, np.uint8)
    first = np.searchsorted(last - 1, np.arange(len(depth) + 1)).astype(np.int32)
    return ByteTrie(byte, depth, _subtree_ends(depth), first, tokens)


def _shared_prefixes(data: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """How many bytes each sorted token shares with the one before it."""
    shared = np.zeros(len(start), np.int64)
    pairs = np.arange(1, len(start))
    position = 0
    while len(pairs):
        pairs = pairs[np.minimum(length[pairs], length[pairs - 1]) > position]
        pairs = pairs[data[start[pairs] + position] == data[start[pairs - 1] + position]]
        position += 1
        shared[pairs] = position
    return shared


def _ranges(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """start[0], start[0] + 1, ... (count[0] of them), then start[1], ..."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(start - (ends - count), count)


def _subtree_ends(depth: np.ndarray) -> np.ndarray:
    """For each node the next one that is not deeper. Pointers jump over subtrees already known, so few rounds are needed."""
    end = np.arange(1, len(depth) + 1, dtype=np.int32)
    padded = np.append(depth, 0)
    open_nodes = np.arange(len(depth))
    while len(open_nodes):
        open_nodes = open_nodes[padded[end[open_nodes]] > depth[open_nodes]]
        end[open_nodes] = end[end[open_nodes]]
    return end


def load_or_build(vocabulary: Vocabulary) -> ByteTrie:
    """The vocabulary's trie, from the disk cache where it is there and sound."""
    path = cache_folder("tries") / f"{vocabulary.fingerprint}-{FORMAT}.npz"
    try:
        with np.load(path, allow_pickle=False) as arrays:
            trie = ByteTrie(*(arrays[name] for name in ("byte", "depth", "end", "first", "tokens")))
        if _is_sound(trie, vocabulary):
            return trie
    except (OSError, ValueError, KeyError, EOFError):
        pass  # missing, cut short or of another making: build it again
    except Exception as damage:  # zipfile and zlib raise their own kinds on damaged files
        if type(damage).__module__ not in ("zipfile", "zlib"):
            raise
    trie = build_trie(vocabulary.data, vocabulary.offsets, vocabulary.text_ids)
    write_atomically(path, lambda file: np.savez(file, **trie.__dict__))
    return trie


def _is_sound(trie: ByteTrie, vocabulary: Vocabulary) -> bool:
    """Everything that a kernel relies on, since kernels check no bounds: shapes, ranges, and loops that end."""
    n = len(trie.byte)
    kinds = {"byte": np.uint8, "depth": np.int32, "end": np.int32, "first": np.int32, "tokens": np.int32}
    if any(getattr(trie, name).dtype != kind or getattr(trie, name).ndim != 1 for name, kind in kinds.items()):
        return False
    if not (len(trie.depth) == len(trie.end) == n == len(trie.first) - 1 and len(trie.tokens) == len(vocabulary.text_ids)):
        return False
    nodes = np.arange(n)
    steps = np.diff(trie.depth, prepend=0)
    return bool(
        (trie.end > nodes).all()
        and (trie.end <= n).all()
        and (trie.depth >= 1).all()
        and (steps <= 1).all()
        and trie.first[0] == 0
        and trie.first[-1] == len(trie.tokens)
        and (np.diff(trie.first) >= 0).all()
        and np.array_equal(np.sort(trie.tokens), vocabulary.text_ids)
    )
