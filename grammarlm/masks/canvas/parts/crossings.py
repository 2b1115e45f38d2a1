"""The tokens that cross an exit: by token, what its prefix is to the machine that ends, and where its rest leads behind it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammarlm.masks.canvas.json.capped import Capped

from .machines import Machines
from .nodes import ROOT_NODE, NodeVocabulary

EMPTY = -1  # in place of the class of a prefix: the part ends before the token
MOST = 1 << 24


class Crossings(NamedTuple):
    """Of one exit: each way of a token once."""

    node: np.ndarray  # int64 [N]: of a token
    prefix: np.ndarray  # int64 [N]: the class of its prefix, EMPTY
    places: np.ndarray  # int64 [N]: the number of the set after its rest


def crossings(
    machines: Machines, number: int, owner: int, ends: np.ndarray, vocab: NodeVocabulary, is_capped: bool
) -> Crossings:
    """`ends`, bool [K]: the classes of prefixes after which a text of the machine `owner` may leave by this exit; `is_capped`: more
    blanks in a token than are allowed between tokens of JSON are not counted by states."""
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
    all_found = Crossings(*np.concatenate(found).T)
    return _without_long_blanks(machines, all_found, number, owner, ends, vocab) if is_capped else all_found


def _distinct(rows: np.ndarray) -> np.ndarray:
    return np.unique(rows, axis=0) if len(rows) else rows


def _after(machines: Machines, places: np.ndarray, byte: np.ndarray) -> np.ndarray:
    pairs, of = np.unique(places * 256 + byte, return_inverse=True)
    after = [machines.after(*divmod(pair, 256)) for pair in pairs.tolist()]
    return np.array(after, np.int64)[of.reshape(-1)]


def _without_long_blanks(
    machines: Machines, found: Crossings, number: int, owner: int, ends: np.ndarray, vocab: NodeVocabulary
) -> Crossings:
    """Tokens with more blanks in one place than are allowed between tokens of JSON are read again, without those."""
    of, again = machines.machines[owner].classes.of, list[tuple[int, int, int]]()
    tokens = [long for long in vocab.long_blanks if vocab.is_token[long.token]]
    capped = Capped(machines)
    for node, spelled in tokens:
        cuts, prefix, at = [(0, EMPTY)], node, len(spelled)
        while at > 1:
            prefix, at = int(vocab.trie.parent[prefix]), at - 1
            if vocab.is_cut[prefix] and ends[of[prefix]]:
                cuts.append((at, int(of[prefix])))
        for begin, kind in cuts:
            if places := capped.read(machines.begins[number], spelled[begin:]):
                again.append((node, kind, places))
    kept = ~np.isin(found.node, [long.token for long in tokens])
    rows = np.concatenate([np.stack(found, 1)[kept], np.array(again, np.int64).reshape(-1, 3)])
    return Crossings(*_distinct(rows).T)
