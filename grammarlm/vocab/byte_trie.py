"""All tokens of a vocabulary as one trie over bytes, in arrays.

The tokens, sorted by bytes, are the paths of a trie. Its nodes are numbered in preorder (depth first, children in byte order), so a
node's subtree is the range `node .. end[node]`. Walking an automaton over all tokens is then one loop without recursion: the state
at depth d is stored in states[d],

    node = 0
    while node < nodes:
        state = step(states[depth[node] - 1], byte[node])
        if state is dead:
            node = end[node]                     # skip every token that begins like this
        else:
            states[depth[node]] = state
            set bit token[node] of the row
            node += 1

Cost of a node: three sequential loads (depth, byte, token: 7 bytes), one load of a state from the L1 cache and one transition, and
two stores. Whether a node ends a token is unpredictable (0.47 for Llama 3.1), and a branch on it costs more than all the rest, so
there is none: a node that ends no token has the index of a bit after the end of the row. `end` is read only where a subtree is
skipped. Llama 3.1's 128,000 tokens (870 KB of bytes) have 274,520 nodes, because most tokens share a prefix with another; a state
that allows them all reads 1.9 MB sequentially (measured: 1.8 ns a node, 7 ns with a branch and a list of tokens a node), a state
that allows few reads only the children of the nodes that it reaches.

Built with numpy alone: 0.11 s for Llama 3.1, once a vocabulary and process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from grammarlm.errors import TokenizerError

LONGEST = 65_535  # bytes of a token


@dataclass(frozen=True)
class ByteTrie:
    """N nodes; the root (the empty string) is not one of them."""

    byte: np.ndarray  # uint8 [N]: the byte that leads to the node
    depth: np.ndarray  # uint16 [N]: length of the node's prefix in bytes, at least 1
    end: np.ndarray  # int32 [N]: the first node after the subtree
    token: np.ndarray  # uint32 [N]: the token that ends at the node, or `nothing`
    twins: np.ndarray  # int32 [D, 2]: a duplicate token without a node, and the token with the same bytes that has one

    @property
    def deepest(self) -> int:
        return int(self.depth.max(initial=0))

    @cached_property
    def levels(self) -> list[np.ndarray]:
        """The nodes of each depth, ascending; first those below the root."""
        order = np.argsort(self.depth, kind="stable").astype(np.int32)
        return np.split(order, np.cumsum(np.bincount(self.depth, minlength=1)[1:])[:-1])

    @cached_property
    def parent(self) -> np.ndarray:
        """int32 [N]: the parent of each node, -1: the root."""
        found = np.full(len(self.byte), -1, np.int32)
        for above, here in pairwise(self.levels):
            found[here] = above[np.searchsorted(above, here) - 1]
        return found

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for a in (self.byte, self.depth, self.end, self.token, self.twins))


def build_trie(data: np.ndarray, offsets: np.ndarray, ids: np.ndarray, nothing: int) -> ByteTrie:
    """The trie of the given ids, each with at least one byte; token i is data[offsets[i] : offsets[i + 1]].

    `nothing` marks nodes that end no token: the first bit after a mask row, so that setting it does no harm.
    """
    raw, bounds = data.tobytes(), offsets.tolist()
    spelled = [raw[bounds[i] : bounds[i + 1]] for i in ids.tolist()]
    order = sorted(range(len(spelled)), key=spelled.__getitem__)
    ordered = np.asarray(ids, np.int64)[order]
    start, length = offsets[ordered], offsets[ordered + 1] - offsets[ordered]
    if length.max(initial=0) > LONGEST:
        worst = int(ordered[np.argmax(length)])
        raise TokenizerError(f"token {worst} has {length.max()} bytes; a token may have {LONGEST} at most")
    shared = _shared_prefixes(data, start, length)
    added = length - shared  # nodes that each token adds to the path of its predecessor
    own = added > 0  # the others are duplicates of the token before them
    depth = _ranges(shared + 1, added).astype(np.uint16)
    byte = data[_ranges(start + shared, added)]
    token = np.full(len(depth), nothing, np.uint32)
    token[np.cumsum(added)[own] - 1] = ordered[own]
    carried = ordered[np.maximum.accumulate(np.where(own, np.arange(len(own)), 0))]
    twins = np.stack([ordered[~own], carried[~own]], axis=1).astype(np.int32)
    return ByteTrie(byte, depth, _subtree_ends(depth.astype(np.int32)), token, twins)


def _shared_prefixes(data: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Length of the common prefix of each sorted token and its predecessor, in bytes."""
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
    """Concatenated ranges: start[0], start[0] + 1, ... (count[0] of them), then start[1], ..."""
    ends = np.cumsum(count)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(start - (ends - count), count)


def _subtree_ends(depth: np.ndarray) -> np.ndarray:
    """For each node the next one that is not deeper. Pointer jumping skips subtrees already known, so few rounds are needed."""
    end = np.arange(1, len(depth) + 1, dtype=np.int32)
    padded = np.append(depth, 0)
    open_nodes = np.arange(len(depth))
    while len(open_nodes):
        open_nodes = open_nodes[padded[end[open_nodes]] > depth[open_nodes]]
        end[open_nodes] = end[end[open_nodes]]
    return end
