"""The tokens that cross an exit: by token, what its prefix is to the machine that ends, and where its rest leads behind it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .machines import Machines
from .nodes import ROOT_NODE, NodeVocabulary

EMPTY = -1  # in place of the class of a prefix: the part ends before the token
MOST = 1 << 24


class Crossings(NamedTuple):
    """Of one exit: each way of a token once."""

    node: np.ndarray  # int64 [N]: of a token
    prefix: np.ndarray  # int64 [N]: the class of its prefix, EMPTY
    places: np.ndarray  # int64 [N]: the number of the set after its rest


def crossings(machines: Machines, number: int, owner: int, ends: np.ndarray, vocab: NodeVocabulary) -> Crossings:
    """`ends`, bool [K]: the classes of prefixes after which a text of the machine `owner` may leave by this exit."""
    of, trie, begin = machines.machines[owner].classes.of, vocab.trie, machines.begins[number]
    order, starts = vocab.children
    if not begin:
        return Crossings(*np.zeros((3, 0), np.int64))
    found: list[np.ndarray] = []
    waiting = np.array([[ROOT_NODE, EMPTY, begin]], np.int64)  # node, class of the prefix, set of places
    for level in trie.levels:
        parent = waiting[:, 0] + 1
        counts = starts[parent + 1] - starts[parent]
        which = np.repeat(np.arange(len(waiting)), counts)
        place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        node = order[starts[parent[which]] + place]
        here = _distinct(np.stack([node, waiting[which, 1], _after(machines, waiting[which, 2], trie.byte[node])], 1))
        here = here[here[:, 2] > 0]
        found.append(here[vocab.is_token[here[:, 0]]])
        cut = level[vocab.is_cut[level] & ends[of[level]]]
        new = np.stack([cut, of[cut], np.full(len(cut), begin)], 1).astype(np.int64)
        waiting = np.concatenate([here, new])
    return Crossings(*np.concatenate(found).T)


def _distinct(rows: np.ndarray) -> np.ndarray:
    return np.unique(rows, axis=0) if len(rows) else rows


def _after(machines: Machines, places: np.ndarray, byte: np.ndarray) -> np.ndarray:
    pairs, of = np.unique(places * 256 + byte, return_inverse=True)
    after = [machines.after(*divmod(pair, 256)) for pair in pairs.tolist()]
    return np.array(after, np.int64)[of.reshape(-1)]
