"""Beam search equals a plain one over a dictionary trie: all lengths, duplicates, prefixes, subsets, deltas, batches."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding import beam_search
from tests.counts import tiers
from tests.laws.item_models import Model, random_history, random_rows
from tests.oracles.plain_beams import plain_beams


def compare(seed):
    """One random set, searched in every way; how many searches that were."""
    rng = np.random.default_rng(seed)
    width = int(rng.integers(4, 12))
    stop = 0 if rng.random() < 0.3 else None
    items, live = random_history(rng, random_rows(rng, width, 0 if stop is None else 1))
    searches, beams = int(rng.integers(1, 4)), int(rng.choice([1, 2, 3, 5, 20]))
    normalise = str(rng.choice(["full", "allowed"]))
    chosen = [rng.random(items.count) < 0.5 if rng.random() < 0.4 else None for _ in range(searches)]
    excluded = {tuple(item) for item in list(live.values())[:2]} if rng.random() < 0.2 else set()
    model = Model(seed, width, searches)
    subsets = [None if c is None else items.subset(c) for c in chosen]
    results = beam_search(
        model.step, items, beams, stop, batch=searches, normalise=normalise, subset=subsets, exclude=excluded
    )
    for search, (flags, result) in enumerate(zip(chosen, results, strict=True)):
        first = {}
        for row in sorted(live):
            if (flags is None or flags[row]) and live[row] not in excluded:
                first.setdefault(live[row], row)
        want = plain_beams(lambda prefix, s=search: model.logits(s, prefix), first, beams, stop, normalise)
        assert result.tokens == [item for _, item in want], f"seed {seed}, search {search}"
        np.testing.assert_allclose(result.scores, [score for score, _ in want], atol=1e-9)
        assert result.items == [first[item] for _, item in want]
        assert result.valid.tolist() == [True] * len(want) + [False] * (beams - len(want))
    return searches


@tiers("first, count", (0, 150), (1_000_000, 10_000))
def test_random_sets(first, count, record_property):
    searches = sum(compare(first + seed) for seed in range(count))
    assert searches > count
    record_property("cases", searches)


def exhaustive(seed):
    """A beam as wide as the largest level finds the best of all items."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 6, (int(rng.integers(1, 60)), int(rng.integers(1, 5))))
    model = Model(seed, 6)
    widest = max(len({tuple(row[:d]) for row in matrix.tolist()}) for d in range(matrix.shape[1] + 1))
    beams = int(rng.integers(widest, 2 * widest + 1))
    result = beam_search(model.step, gl.Tokens(matrix), beams=beams)
    assert model.calls == matrix.shape[1]
    scores = {}
    for item in {tuple(row) for row in matrix.tolist()}:
        p = [model.logits(0, item[:d]).astype(np.float64) for d in range(len(item))]
        scores[item] = sum(x[t] - np.log(np.exp(x).sum()) for x, t in zip(p, item, strict=True))
    best = sorted(scores.values(), reverse=True)[:beams]
    np.testing.assert_allclose(result.scores, best, atol=1e-5)
    np.testing.assert_allclose([scores[item] for item in result.tokens], best, atol=1e-5)
    assert len(set(result.tokens)) == len(result.tokens)


@tiers("first, count", (0, 50), (5000, 2000))
def test_wide_beams_are_exhaustive(first, count):
    for seed in range(count):
        exhaustive(first + seed)


@pytest.mark.parametrize("normalise", ["full", "allowed"])
def test_six_items_and_twenty_beams(normalise):
    """Fewer items than beams give fewer rows, never one that is not in the set."""
    for seed in range(20):
        matrix = np.random.default_rng(seed).integers(0, 40, (6, 8))
        result = beam_search(Model(seed, 40).step, gl.Tokens(matrix), beams=20, normalise=normalise)
        assert sorted(result.items) == sorted(
            {tuple(r): i for i, r in reversed(list(enumerate(matrix.tolist())))}.values()
        )
        assert all(result.tokens[i] == tuple(matrix[row]) for i, row in enumerate(result.items))
        items, scores, valid = result.padded()
        assert len(items) == len(scores) == 20
        assert valid.sum() == len(result)
        assert (items[~valid] == -1).all()
        assert np.isneginf(scores[~valid]).all()
