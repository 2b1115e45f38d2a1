"""Random item sets, histories and models of logits for searches over items."""

import itertools
import zlib

import numpy as np

import grammarlm as gl
from grammarlm.retrieval.item_set import ItemSet


class Model:
    """Logits that depend on the whole prefix, so that wrong parents show. Several searches read through one `step`."""

    def __init__(self, seed, width, searches=1):
        self.seed, self.width, self.known, self.calls = seed, width, {}, 0
        self.prefixes = [(search,) for search in range(searches)]

    def logits(self, search, prefix):
        key = (search, *prefix)
        if key not in self.known:
            rng = np.random.default_rng(zlib.crc32(repr((self.seed, key)).encode()))
            self.known[key] = (rng.standard_normal(self.width) * 2).astype(np.float32)
        return self.known[key]

    def step(self, tokens, parents):
        above = self.prefixes
        self.prefixes = [above[p] if tokens is None else (*above[p], tokens[i]) for i, p in enumerate(parents)]
        self.calls += 1
        return np.stack([self.logits(prefix[0], prefix[1:]) for prefix in self.prefixes])


def random_rows(rng, width, low):
    """Items of one length or of several, many of them twice, or beginnings of others."""
    count, longest = int(rng.integers(0, 30)), int(rng.integers(1, 7))
    tokens = rng.integers(low, width, max(1, int(rng.integers(1, 6))))
    if rng.random() < 0.4:
        return [tuple(rng.choice(tokens, longest).tolist()) for _ in range(count)]
    rows = [tuple(rng.choice(tokens, rng.integers(0, longest + 1)).tolist()) for _ in range(count)]
    return rows + [row[:-1] for row in rows[: count // 3]] + rows[: count // 4]


def random_history(rng, rows):
    """(the set, {row number: item} of what is there): all rows at once, or some first and others later, some removed."""
    live = dict(enumerate(rows))
    if rng.random() < 0.5:
        return ItemSet(gl.Tokens([list(r) for r in rows])), live
    cuts = sorted(int(c) for c in rng.integers(0, len(rows) + 1, rng.integers(0, 4)))
    edges = [0, *cuts, len(rows)]
    items = ItemSet(gl.Tokens([list(r) for r in rows[: edges[1]]]))
    for low, high in itertools.pairwise(edges[1:]):
        assert items.add(gl.Tokens([list(r) for r in rows[low:high]])) == range(low, high)
        there = [row for row in live if row < high]
        gone = [int(r) for r in rng.choice(there, min(len(there), 3), replace=False)] if there else []
        assert items.remove(rows=gone) == len(gone)
        live = {row: item for row, item in live.items() if row not in gone}
    return items, live
