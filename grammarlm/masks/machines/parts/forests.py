"""Pieces of the vocabulary's trie, to walk an automaton over: nodes in its order, in arrays like its own
(vocab/byte_trie.py).

below      the trees below some nodes, each walked from the start: the remainders of tokens
narrowed   the nodes on the paths to some nodes: where prefixes can end
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from grammarlm.kernels import entries
from grammarlm.layout.table import DEAD, DONE, Arena
from grammarlm.masks.protocol import Epoch
from grammarlm.masks.runtime.limits import Clock
from grammarlm.masks.token_facts import pack_ids
from grammarlm.vocab.byte_trie import ByteTrie
from grammarlm.vocab.vocabulary import Vocabulary

MOST_NODES = 1 << 18  # of a forest; more nodes are walked in several forests
MOST_CLOSERS = 3  # more closing brackets on a path are not counted
CLOSERS = (0x5D, 0x7D)
QUOTE = 0x22
WHITE = (0x09, 0x0A, 0x0D, 0x20)
ROOT = -1
Piece = tuple[int, int, int]  # of a forest: the depth of the node above it, its first node, one past its last
NO_PLACES, NO_STATES = np.zeros(0, np.int64), np.zeros(0, np.int32)


def none_left_out(node: int) -> bool:
    return False


@dataclass(frozen=True)
class Forest:
    """M nodes of the vocabulary's trie."""

    node: np.ndarray  # int64 [M]: their numbers in the trie
    byte: np.ndarray  # uint8 [M]
    depth: np.ndarray  # uint16 [M]: 1 for the top nodes of a tree
    end: np.ndarray  # int32 [M]: one past the subtree

    @property
    def nbytes(self) -> int:
        return 16 * len(self.node)


@dataclass(frozen=True)
class Paths:
    """Properties of the bytes on the path to each node of a trie, and the nodes of tokens."""

    IS_SHARED: ClassVar[bool] = True  # not counted as a constraint's (object_sizes.py)

    parent: np.ndarray  # int32 [N], ROOT where a node has none
    closers: np.ndarray  # uint8 [N]: the number of closing brackets, up to MOST_CLOSERS
    quote: np.ndarray  # bool [N]: is there a quote?
    last: np.ndarray  # int16 [N]: the last byte that is not white space, -1 where all are
    node_of: np.ndarray  # int32: the node of each token
    text_row: np.ndarray  # int32 [W]: all tokens that are text

    def ancestors(self, node: int) -> Iterator[int]:
        """The nodes above, the lowest first."""
        while (node := int(self.parent[node])) != ROOT:
            yield node

    def bytes_to(self, trie: ByteTrie, node: int) -> bytes:
        """The bytes on the path to a node."""
        return bytes(trie.byte[[node, *self.ancestors(node)]][::-1])


@lru_cache(maxsize=2)
def paths_of(vocab: Vocabulary) -> Paths:
    trie = vocab.trie
    parent = trie.parent
    closers, quote = np.isin(trie.byte, CLOSERS).astype(np.uint8), trie.byte == QUOTE
    last = np.where(np.isin(trie.byte, WHITE), np.int16(-1), trie.byte.astype(np.int16))
    for nodes in trie.levels[1:]:
        above = parent[nodes]
        closers[nodes] = np.minimum(closers[nodes] + closers[above], MOST_CLOSERS)
        quote[nodes] |= quote[above]
        last[nodes] = np.where(last[nodes] < 0, last[above], last[nodes])
    text_row = pack_ids(vocab.text_ids, vocab.words)
    return Paths(parent, closers, quote, last, _nodes_of_tokens(vocab), text_row)


def _nodes_of_tokens(vocab: Vocabulary) -> np.ndarray:
    trie = vocab.trie
    found = np.full(vocab.words * 32, ROOT, np.int32)
    ends_token = np.flatnonzero(trie.token < vocab.words * 32)
    found[trie.token[ends_token]] = ends_token
    found[trie.twins[:, 0]] = found[trie.twins[:, 1]]
    return found


def below(trie: ByteTrie, nodes: np.ndarray) -> Forest:
    """The trees below nodes."""
    return _forest(trie, nodes + 1, trie.end[nodes], trie.depth[nodes])


def trees(trie: ByteTrie, nodes: np.ndarray) -> Forest:
    """The trees with these top nodes."""
    return _forest(trie, nodes, trie.end[nodes], trie.depth[nodes] - 1)


def whole(trie: ByteTrie) -> Forest:
    return Forest(np.arange(len(trie.byte)), trie.byte, trie.depth, trie.end)


def _forest(trie: ByteTrie, first: np.ndarray, end: np.ndarray, above: np.ndarray) -> Forest:
    """Concatenated ranges of nodes; `above`: the depth of the node above each range."""
    count = end - first
    moved = np.repeat(first - (np.cumsum(count) - count), count)
    node = np.arange(len(moved)) + moved
    depth = trie.depth[node] - np.repeat(above, count)
    return Forest(node, trie.byte[node], depth, (trie.end[node] - moved).astype(np.int32))


def pieces(trie: ByteTrie, nodes: np.ndarray) -> Iterator[np.ndarray]:
    """Splits the nodes into groups whose subtrees together fit into a forest."""
    total = np.cumsum(trie.end[nodes] - nodes)
    at = 0
    while at < len(nodes):
        before = total[at - 1] if at else 0
        behind = max(at + 1, int(np.searchsorted(total, before + MOST_NODES)))
        yield nodes[at:behind]
        at = behind


def narrowed(forest: Forest, marked: np.ndarray) -> tuple[Forest, np.ndarray]:
    """The nodes of a forest at which or below which a node is marked, and which of them are; bool [M]."""
    before = _counted(marked)
    kept = before[forest.end] > before[:-1]
    end = _counted(kept)[forest.end[kept]].astype(np.int32)
    return Forest(forest.node[kept], forest.byte[kept], forest.depth[kept], end), marked[kept]


def has_below(trie: ByteTrie, marked: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Is one of the marked nodes below these?"""
    flags = np.zeros(len(trie.byte), bool)
    flags[marked] = True
    before = _counted(flags)
    found: np.ndarray = before[trie.end[nodes]] > before[nodes + 1]
    return found


def _counted(marked: np.ndarray) -> np.ndarray:
    """Prefix sum: how many are marked before each place."""
    found = np.zeros(len(marked) + 1, np.int32)
    np.cumsum(marked, out=found[1:])
    return found


def walked(
    epoch: Epoch,
    state: int,
    forest: Forest,
    byte_tokens: list[int],
    clock: Clock,
    is_left_out: Callable[[int], bool],
) -> tuple[np.ndarray, np.ndarray]:
    """The places of a forest whose bytes can be read, and the state at each. Where it goes byte by byte nodes can be left out.

    A node that is left out takes all below it along; where its bytes are known to be refused nobody is asked.
    """
    if epoch.has_table:
        return walked_pieces(epoch, state, forest, [(0, 0, len(forest.node))])
    places, states = [], []
    known: dict[int, int] = {}  # by state and byte
    above = [state] * (int(forest.depth.max(initial=0)) + 1)
    node, byte, depth, end = forest.node.data, forest.byte.data, forest.depth.data, forest.end.data
    at, count = 0, len(byte)
    while at < count:
        here = depth[at]
        before = above[here - 1]
        step = before << 8 | byte[at]
        after = known.get(step)
        if after != DEAD and is_left_out(node[at]):
            at = end[at]
            continue
        if after is None:
            clock.tick()
            token = byte_tokens[byte[at]]
            after = epoch.after_token(before, token) if token >= 0 else epoch.after_bytes(before, bytes([byte[at]]))
            known[step] = after
        if after:
            above[here] = after
            places.append(at)
            states.append(after)
            at += 1
        else:
            at = end[at]
    return np.array(places, np.int64), np.array(states, np.int64)


def walked_pieces(epoch: Any, state: int, forest: Forest, pieces: Iterable[Piece]) -> tuple[np.ndarray, np.ndarray]:
    """`walked` in an epoch with a table, for pieces of a forest. The kernel that finds the states after tokens takes
    the piece as its trie, and each node as a token. No piece is empty."""
    places, states = [], []
    scratch = np.zeros(int(forest.depth.max(initial=0)) + 2, np.int32)
    for above, first, end in pieces:
        count, ends = end - first, forest.end[first:end] - first
        numbers, found = np.arange(count, dtype=np.uint32), np.zeros(count + 1, np.int32)
        scratch[above], scratch[-1] = state, 0
        while True:
            tables = epoch.tables
            arena = tables.arena.copy()
            for place, array in (
                (Arena.BYTE, forest.byte[first:end]),
                (Arena.DEPTH, forest.depth[first:end]),
                (Arena.END, ends),
                (Arena.TOKEN, numbers),
            ):
                arena[place] = array.ctypes.data
            arena[Arena.NODES] = arena[Arena.NOTHING] = count
            arena[Arena.TWIN_COUNT] = 0
            missing = entries.fill_targets(arena.ctypes.data, scratch.ctypes.data, len(scratch), found.ctypes.data)
            if missing == DONE:
                break
            epoch.expand(missing)
        alive = np.flatnonzero(found[:-1])
        places.append(alive + first)
        states.append(found[alive])
    return np.concatenate([NO_PLACES, *places]), np.concatenate([NO_STATES, *states])
