"""Sequential Monte Carlo on languages that can be listed: every outcome of small runs, and the law that large ones come to."""

import math

import numpy as np
import pytest

from grammarlm.published.methods.particles import Extension, run_particles
from grammarlm.published.methods.rejection import Rejection
from grammarlm.published.methods.resampling import effective_size, in_place, law_of, log_mean, normalized, systematic
from tests.decoding.enumeration import outcomes
from tests.decoding.toy_language import LANGUAGES, masked_extension, offsets, rejecting_extension


def named(options):
    """The same in every process: a function's own text has its address."""
    return " ".join(f"{name} {getattr(value, '__name__', value)}" for name, value in options.items()) or "as it is"


def critic(texts):
    """No good one: it must not matter."""
    return [0.9 * len(text) - 1.7 * sum(text) for text in texts]


def enumerated_run(choices, language, how, count, **options):
    """A run whose every draw and every offset is a choice."""

    def extend(texts, places):
        if how is None:
            return [masked_extension(language, text, choices.among) for text in texts]
        return [rejecting_extension(language, text, choices, how) for text in texts]

    def resample(weights):
        pieces = offsets(weights)
        return systematic(weights, pieces[choices.among([share for share, _ in pieces])][1])

    return run_particles([()] * count, extend, resample, **options)


def assert_unbiased(language, how, count, **options):
    """The evidence itself, and each text's part of it, is on average what the model gives to it."""
    evidence, whole, parts, has_resampled = 0.0, 0.0, {}, False
    for probability, particles in outcomes(lambda choices: enumerated_run(choices, language, how, count, **options)):
        whole += probability
        mean = math.exp(log_mean(particles.log_weights))
        evidence += probability * mean
        has_resampled |= bool(particles.resampled)
        for text, share in law_of(particles.texts, particles.log_weights).items():
            parts[text] = parts.get(text, 0.0) + probability * mean * share
    assert whole == pytest.approx(1, abs=1e-12)
    assert evidence == pytest.approx(sum(language.law().values()), abs=1e-12)
    assert parts == pytest.approx(language.law(), abs=1e-12)
    return has_resampled


@pytest.mark.parametrize(
    "options", [{}, {"threshold": 1}, {"threshold": 0}, {"threshold": 1, "critic": critic}], ids=named
)
@pytest.mark.parametrize("language", ["a dead end", "one text"])
def test_the_evidence_is_unbiased(language, options):
    has_resampled = assert_unbiased(LANGUAGES[language], None, 2, **options)
    assert has_resampled == (options.get("threshold") == 1 and language == "a dead end")


HOW = [Rejection(extra=1), Rejection(), Rejection(clip=2)]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_the_evidence_is_unbiased_under_a_predicate(how):
    assert_unbiased(LANGUAGES["a dead end"], how, 1)


@pytest.mark.proof
@pytest.mark.parametrize("how", [None, *HOW[:1]], ids=str)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_evidence_is_unbiased_with_more_particles(language, how, record_property):
    count = 2 if how else 3
    assert_unbiased(LANGUAGES[language], how, count, threshold=0.9)
    assert_unbiased(LANGUAGES[language], how, count, threshold=0.9, critic=critic)
    record_property("cases", 2)


def law_at_the_end(particles):
    return law_of(particles.texts, particles.log_weights)


def sampled_run(language, count, seed, **options):
    rng = np.random.default_rng(seed)

    def extend(texts, places):
        return [masked_extension(language, text, lambda p: int(rng.choice(3, p=p))) for text in texts]

    return run_particles([()] * count, extend, lambda weights: systematic(weights, rng.random()), **options)


@pytest.mark.parametrize("seeds", [6, pytest.param(12, marks=pytest.mark.proof)])
@pytest.mark.parametrize("options", [{}, {"critic": critic}, {"threshold": 0}], ids=named)
def test_the_weighted_law_converges(options, seeds):
    """The error falls as 1 / sqrt(N), and what masking alone draws is another law."""
    language = LANGUAGES["a dead end"]
    exact = language.law()
    evidence = sum(exact.values())

    def error(law):
        return sum(abs(law.get(text, 0.0) - p / evidence) for text, p in exact.items()) / 2

    errors = [
        np.mean([error(law_at_the_end(sampled_run(language, n, seed, **options))) for seed in range(seeds)])
        for n in (8, 128, 2048)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[2] < 0.03
    masked = {}
    for text in sampled_run(language, 2048, 0, threshold=0).texts:
        masked[text] = masked.get(text, 0.0) + 1 / 2048
    assert error(masked) > 0.1


def test_systematic_resampling():
    rng = np.random.default_rng(0)
    for _ in range(300):
        weights = rng.random(int(rng.integers(1, 12))) ** 3
        weights[rng.random(len(weights)) < 0.3] = 0
        weights[0] += 1e-9
        weights /= weights.sum()
        mean = np.zeros(len(weights))
        for share, offset in offsets(weights):
            counts = systematic(weights, offset)
            assert counts.sum() == len(weights)
            assert np.all(np.abs(counts - len(weights) * weights) < 1 + 1e-9)
            assert not counts[weights == 0].any()
            mean += share * counts
            parents = in_place(counts)
            assert np.array_equal(np.bincount(parents, minlength=len(counts)), counts)
            assert all(parents[i] == i for i in np.flatnonzero(counts))
        assert mean == pytest.approx(len(weights) * weights, abs=1e-9)
    assert systematic(np.array([0.5, 0.5, 0.0]), np.nextafter(1, 0)).tolist() == [1, 2, 0]


def test_weights():
    logs = np.log([0.5, 0.25, 0.25]) - 900
    assert log_mean(logs) == pytest.approx(-900 - math.log(3))
    assert normalized(logs) == pytest.approx([0.5, 0.25, 0.25])
    assert effective_size(logs) == pytest.approx(1 / 0.375)
    nothing = np.full(3, -np.inf)
    assert log_mean(nothing) == -math.inf
    assert effective_size(nothing) == 0


def test_where_nothing_survives_the_evidence_is_0():
    particles = run_particles([()] * 3, lambda texts, _: [Extension(text, -math.inf, True) for text in texts], None)
    assert log_mean(particles.log_weights) == -math.inf
    assert law_at_the_end(particles) == {}
    assert particles.ess == [0]
