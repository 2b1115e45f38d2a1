"""The CPU sampler: what top-k, top-p and min-p keep, against their definition, and the law of what is drawn."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.logits.sampling import Sampling, draw, least_kept, uniform_of
from grammarlm.kernels.reference import sampling as reference_sampling
from tests.decoding.left_to_right import LEFT_TO_RIGHT, needed
from tests.rounding import LOG_P


def kept_by_definition(logits, top_k=None, top_p=None, min_p=None):
    """Each filter in its own words, over every token: how many, or how much mass, is strictly above it."""
    kept = [i for i in range(len(logits)) if logits[i] > -math.inf]
    p = np.exp(np.asarray(logits, np.float64) - max(logits))
    if top_k is not None:
        kept = [i for i in kept if sum(logits[kept] > logits[i]) < top_k]
    if top_p is not None:
        mass = p[kept].sum()
        kept = [i for i in kept if p[[j for j in kept if logits[j] > logits[i]]].sum() < top_p * mass]
    if min_p is not None:
        kept = [i for i in kept if p[i] >= min_p]
    return kept


def kept(logits, **settings):
    scaled = np.asarray(logits, np.float32) - np.float32(max(logits))
    return np.flatnonzero(scaled >= least_kept(scaled, Sampling(1.0, **settings, seed=0))).tolist()


@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0])
def test_what_is_kept_is_what_the_definition_keeps(spread):
    rng = np.random.default_rng(5)
    for case in range(120):
        size = int(rng.integers(1, 300))
        logits = np.round(rng.normal(0, spread, size), 1).astype(np.float32)  # rounded: many ties
        settings = {
            "top_k": int(rng.integers(1, 2 * size)) if case % 2 else None,
            "top_p": float(rng.uniform(0.01, 1)) if case % 3 else None,
            "min_p": float(rng.uniform(0, 1)) if case % 5 == 0 else None,
        }
        assert kept(logits, **settings) == kept_by_definition(logits, **settings)


def test_top_p_where_the_mass_is_spread():
    logits = np.linspace(0, 1, 5000).astype(np.float32)
    for top_p in (0.005, 0.02, 0.2, 0.9, 0.9999):
        p = np.exp(np.float64(logits))
        count = np.searchsorted(p[::-1].cumsum(), top_p * p.sum()) + 1
        assert kept(logits, top_p=top_p) == list(range(5000 - count, 5000))


def test_the_limits_of_the_settings():
    logits = [0, -1, -1, -2, -3]
    for settings, expected in (
        ({"top_k": 1}, [0]),
        ({"top_k": 2}, [0, 1, 2]),
        ({"top_k": 9}, [0, 1, 2, 3, 4]),
        ({"top_p": 1.0}, [0, 1, 2, 3, 4]),
        ({"top_p": 1e-9}, [0]),
        ({"min_p": 1.0}, [0]),
        ({"min_p": 0.0}, [0, 1, 2, 3, 4]),
        ({"min_p": math.exp(-1.5)}, [0, 1, 2]),
        ({"top_k": 3, "top_p": 0.57}, [0]),  # of the three kept the first has 0.576
        ({"top_p": 0.57}, [0, 1, 2]),  # of all five it has 0.521
    ):
        assert kept(logits, **settings) == expected, settings


def test_draws_are_those_of_the_reference():
    """What is left out, noise that cannot win and tokens that cannot be drawn, changes nothing."""
    rng = np.random.default_rng(6)
    compared = 0
    for case in range(300):
        size = int(rng.integers(1, 3000))
        logits = rng.normal(0, rng.choice([1, 4, 20]), size).astype(np.float32)
        logits[rng.random(size) < rng.choice([0, 0.5, 0.99])] = -np.inf
        logits[rng.integers(size)] = 1
        settings = {
            "temperature": float(rng.choice([0.01, 0.5, 1.0, 5.0])),
            "top_k": int(rng.integers(1, 60)) if case % 2 else None,
            "top_p": float(rng.uniform(0.1, 1)) if case % 3 else None,
            "min_p": float(rng.uniform(0, 0.3)) if case % 5 == 0 else None,
        }
        seed, position = int(rng.integers(2**63)), int(rng.integers(2**40))
        token, logprob = draw(logits, Sampling(**settings, seed=seed), position)
        given = {name: value for name, value in settings.items() if value is not None}
        expected = reference_sampling.sample(logits, np.ones(size, bool), seed, position, **given)
        if expected.margin > 1e-5:
            compared += 1
            assert token == expected.token
            assert logprob == pytest.approx(expected.logprob, rel=0, abs=LOG_P)
    assert compared > 250


def test_noise_of_some_tokens_is_the_noise_of_all():
    rng = np.random.default_rng(7)
    for count in (1, 3, 100, 4000):
        tokens = np.sort(rng.choice(5000, count, replace=False))
        noise = -np.log1p(-uniform_of(tokens, 9, 2**33 + 5).astype(np.float64))
        assert np.array_equal(noise, reference_sampling.noise(9, 2**33 + 5, 5000)[tokens])


def test_draws_follow_the_thinned_softmax():
    logits = np.array([1.0, -np.inf, 0.3, 0.2, -1.0, 2.0, -np.inf, -2.5], np.float32)
    settings = {"top_k": 5, "top_p": 0.97, "min_p": 0.01}
    tokens = kept_by_definition(logits / 1.3, **settings)
    p = np.exp(logits[tokens] / 1.3)
    p /= p.sum()
    draws = 4000
    drawn = [draw(logits, Sampling(1.3, **settings, seed=11), position)[0] for position in range(draws)]
    counts = np.array([drawn.count(token) for token in tokens])
    assert counts.sum() == draws
    assert ((counts - draws * p) ** 2 / (draws * p)).sum() < (len(tokens) - 1) + 4 * math.sqrt(2 * (len(tokens) - 1))


def test_greedy_takes_the_first_of_the_best():
    logits = np.array([-np.inf, 2.0, 5.0, 5.0, -1.0], np.float32)
    token, logprob = draw(logits, Sampling(top_k=1), 0)
    assert token == 2
    assert logprob == pytest.approx(-math.log(2 + math.exp(-3) + math.exp(-6)))
    assert draw(np.array([-np.inf, 3.0], np.float32), Sampling(), 0) == (1, 0.0)


@pytest.mark.parametrize("temperature", [1e-300, 1e-38, 1e-6, 1e6, 1e300])
def test_extreme_temperatures(temperature):
    logits = np.array([-np.inf, 1e4, 1e4 - 1, -1e4], np.float32)
    with np.errstate(all="raise", under="ignore"):
        drawn = {draw(logits, Sampling(temperature, seed=s), 0) for s in range(40)}
    assert {token for token, _ in drawn} == ({1} if temperature < 1 else {1, 2, 3})
    assert all(logprob == pytest.approx(0 if temperature < 1 else -math.log(3), abs=0.02) for _, logprob in drawn)


def test_a_seed_is_drawn_where_none_is_given():
    seeds = {Sampling(temperature=1.0).seed for _ in range(5)}
    assert len(seeds) == 5
    assert all(isinstance(seed, int) for seed in seeds)
    assert Sampling().seed is None
    assert Sampling(temperature=1.0, seed=3).seed == 3


def test_typical_p_keeps_what_transformers_keeps():
    from transformers import TypicalLogitsWarper

    from grammarlm.decoding.logits.sampling import typical

    rng = np.random.default_rng(3)
    for case in range(100):
        logits = rng.normal(0, rng.choice([0.3, 2, 6]), int(rng.integers(2, 200))).astype(np.float32)
        mass = float(rng.uniform(0.05, 0.99))
        theirs = TypicalLogitsWarper(mass)(None, torch.from_numpy(logits)[None])[0].numpy()
        ours = typical(logits - logits.max(), -math.inf, mass)
        assert np.array_equal(ours, theirs > -np.inf), case


def test_typical_p_counts_what_the_other_filters_left():
    logits = np.array([3.0, 2.9, 0.0, -1.0, -2.0], np.float32)
    drawn = {draw(logits, Sampling(1.0, top_k=3, typical_p=0.5, seed=4), position)[0] for position in range(200)}
    assert drawn == {0, 1}
    assert {draw(logits, Sampling(1.0, typical_p=1.0, seed=4), position)[0] for position in range(4000)} == set(
        range(5)
    )


def test_repetition_penalty_is_that_of_transformers():
    from transformers import RepetitionPenaltyLogitsProcessor

    rng = np.random.default_rng(4)
    for penalty in (1.3, 0.7, 5.0):
        logits = rng.normal(0, 3, 50).astype(np.float32)
        logits[7] = -np.inf
        seen = [3, 3, 7, 20, 49]
        theirs = RepetitionPenaltyLogitsProcessor(penalty)(torch.tensor([seen]), torch.from_numpy(logits.copy())[None])
        ours = logits.copy()
        before = Sampling(repetition_penalty=penalty).penalize(ours, [*seen, 99].__iter__)
        np.testing.assert_array_equal(ours, theirs[0].numpy())
        assert before == {i: logits[i] for i in set(seen)}
    assert Sampling().penalize(logits, lambda: [1]) == {}


EXTREMES = [5e-324, 1e-300, 1e-45, 1e-38, 1e-5, 1.5, 1e38, 3.5e38, 1e300, 1.7e308]


@pytest.mark.parametrize("penalty", EXTREMES)
def test_extreme_penalties(penalty):
    """A distribution is left, in the order that exact numbers give; who was forbidden stays so."""
    rng = np.random.default_rng(6)
    for temperature in (0.0, 5e-324, 1e-30, 1.0, 1e300):
        for scale in (1e-30, 1.0, 1e30):
            logits = (rng.normal(0, 3, 40) * scale).astype(np.float32)
            logits[[3, 5, 9]] = -np.inf, 0.0, np.finfo(np.float32).max
            sampling = Sampling(temperature, repetition_penalty=penalty, seed=1)
            exact = [Fraction(float(x)) if x > -np.inf else None for x in logits]
            for i in range(20):
                if exact[i] is not None:
                    exact[i] = exact[i] * Fraction(penalty) if exact[i] < 0 else exact[i] / Fraction(penalty)
            sampling.penalize(logits, lambda: range(20))
            assert np.isneginf(logits[3])
            assert np.isfinite(np.delete(logits, 3)).all()
            ranked = sorted((x, float(y)) for x, y in zip(exact, logits, strict=True) if x is not None)
            assert all(low <= high for (_, low), (_, high) in itertools.pairwise(ranked))
            token, logprob = draw(logits, sampling, 0)
            assert 0 <= token < 40
            assert token != 3
            assert logprob <= 0
            if not temperature:
                assert token == logits.argmax()


@pytest.mark.parametrize("method", LEFT_TO_RIGHT)
@pytest.mark.parametrize("penalty", EXTREMES)
def test_extreme_settings_in_every_method(method, penalty):
    vocab = gl.Vocabulary([b"a", b"b", b"c", b""], stop_ids=[3])
    table = np.float32([[3, -2, 0, 1], [1e30, -1e30, 0, 1], [-5, -6, -7, -8], [0, 0, 0, 0]])
    for temperature in (0.0,) if method == "beam" else (0.0, 5e-324, 1e-38, 1.0, 1e300):
        out = gl.generate(
            lambda ids: torch.from_numpy(table)[ids], [3], vocab=vocab, regex="[abc]{6}", temperature=temperature,
            repetition_penalty=penalty, seed=3, method=method, **needed(method),
        )  # fmt: skip
        assert (out.finish_reason, len(out.text), out.error) == ("stop", 6, None)


def test_seeds_of_samples():
    seeds = [Sampling(1.0, seed=5).of_sample(j).seed for j in range(1000)]
    assert seeds[0] == 5
    assert len(set(seeds)) == 1000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert seeds[1] != Sampling(1.0, seed=6).of_sample(1).seed
    assert Sampling().of_sample(3).seed is None
