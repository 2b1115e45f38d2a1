"""RSD-S: beams are texts drawn without replacement, and stay together where the draft is sure."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.published.trees.beams import raced
from tests.decoding.speculative.draft_models import VOCAB, WIDTH

torch = pytest.importorskip("torch")

FIRST = [0.6, 0.3, 0.1]
SECOND = [[0.5, 0.3, 0.2], [0.8, 0.15, 0.05], [0.34, 0.33, 0.33]]


def in_order(random, chances):
    """The numbers of all, drawn one after another without replacement: as they arrive at these rates."""
    return np.argsort(random.exponential(size=len(chances)) / chances).tolist()


def two_beams(random):
    """The first two texts of two tokens in the race."""
    order, texts = in_order(random, FIRST), []
    places = raced(0.0, 0.0, [FIRST[token] for token in order], random.random(3))
    for token, place in zip(order, places, strict=True):
        below = in_order(random, SECOND[token])
        own = raced(math.log(FIRST[token]), place, [SECOND[token][other] for other in below], random.random(3))
        texts += [(at, (token, other)) for at, other in zip(own, below, strict=True)]
    return tuple(text for _, text in sorted(texts, reverse=True)[:2])


def test_beams_are_texts_drawn_without_replacement():
    """The law of the two best is that of two draws of whole texts, the second one among the others."""
    random, runs = np.random.default_rng(3), 20_000
    found = Counter(two_beams(random) for _ in range(runs))
    q = {(a, b): FIRST[a] * SECOND[a][b] for a in range(3) for b in range(3)}
    for one, other in itertools.permutations(q, 2):
        expected = q[one] * q[other] / (1 - q[one])
        assert abs(found[one, other] / runs - expected) < 4 * math.sqrt(expected / runs)
    assert sum(found[pair] for pair in itertools.permutations(q, 2)) == runs


class Phases:
    """Sure of its token at two places, and at each third one of several that are equally good."""

    def __init__(self, good):
        self.rows = torch.zeros(3, WIDTH)
        self.rows[0, 80], self.rows[1, 81] = 12.0, 12.0
        self.rows[2, good] = 12.0

    def __call__(self, ids):
        return self.rows[torch.arange(ids.shape[1]) % 3].expand(len(ids), -1, -1)


def test_beams_part_where_the_draft_is_not_sure():
    """Of no more nodes than a tree of fixed widths has, more are drawn."""
    target, draft = Phases(range(100, 104)), Phases(range(100, 110))
    rates = {}
    for tree, widths in (("distinct", (3, 2, 2)), ("beams", (3,))):
        accepted = drafted = forwards = 0
        for seed in range(30):
            how = gl.Draft(draft, tree=tree, widths=widths, length=4, acceptance="recursive")
            options = {"vocab": VOCAB, "max_tokens": 40, "close": False, "temperature": 1.0, "seed": seed}
            out = gl.generate(target, [5, 6], draft=how, **options)
            accepted, drafted = accepted + out.stats.accepted_tokens, drafted + out.stats.draft_tokens
            forwards += out.stats.forwards
        rates[tree] = accepted / forwards, drafted / forwards
    assert rates["beams"][1] <= 1.1 * rates["distinct"][1]
    assert rates["beams"][0] > 1.1 * rates["distinct"][0]
