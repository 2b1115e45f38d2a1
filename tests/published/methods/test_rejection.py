"""Rejection sampling is proved by going through all of its outcomes: E[w 1{t = a}] = p(a) f(a) for every token a."""

import itertools
import math

import numpy as np
import pytest

from grammarlm.decoding.predicate import run_together
from grammarlm.published.methods.exponential_race import arrivals
from grammarlm.published.methods.rejection import NO_TOKEN, Drawn, Rejection
from tests.counts import tiers
from tests.decoding.enumeration import enumerated_race, outcomes

SMALL = [[0.5, 0.3, 0.2], [0.98, 0.015, 0.005], [0.4, 0.3, 0.2, 0.1], [0.25] * 4, [0.9, 1e-6, 0.1 - 2e-6, 1e-6]]
FIVE, SIX = [0.1, 0.15, 0.2, 0.25, 0.3], [0.35, 0.25, 0.2, 0.1, 0.06, 0.04]
CLIPS = (None, 1, 2, 3)
# Every variant whose outcomes are finitely many.
FINITE = [
    *(
        Rejection(extra=extra, share=0, clip=clip, batch=batch)
        for extra in (1, 2, 3)
        for clip in CLIPS
        for batch in (1, 2, 3)
    ),
    *(Rejection(extra=1, share=share, clip=clip) for share in (0.5, 2) for clip in (None, 3)),
]


def name(how):
    return "-".join(f"{field}{getattr(how, field)}" for field in ("extra", "share", "batch", "clip"))


def answered(questions, f):
    """What the sampler returns where the predicate is f; and all it asked about, in order."""
    asked, answers = [], None
    try:
        while True:
            tokens = questions.send(answers)
            asked += tokens
            answers = [bool(f[token]) for token in tokens]
    except StopIteration as end:
        return end.value, asked


def weighted_law(p, f, how, total=1.0):
    """For each token E[w 1{t = a}], and the probability of all outcomes together."""
    law, whole = np.zeros(len(p)), 0.0
    for probability, (drawn, asked) in outcomes(
        lambda choices: answered(how.draw(enumerated_race(p, choices, total)), f)
    ):
        whole += probability
        assert len(asked) == len(set(asked))  # nothing is asked twice
        if drawn.token == NO_TOKEN:
            assert drawn.log_weight == -math.inf
        else:
            assert f[drawn.token]
            law[drawn.token] += probability * math.exp(drawn.log_weight)
    return law, whole


def assert_proper(p, how, predicates, total=1.0):
    for f in predicates:
        law, whole = weighted_law(p, f, how, total)
        assert whole == pytest.approx(1, abs=1e-12)
        assert law == pytest.approx(np.multiply(p, f) / total, abs=1e-12), (p, f)


@pytest.mark.parametrize("how", FINITE, ids=name)
@tiers("laws", SMALL, [FIVE, SIX])
def test_every_variant_is_properly_weighted(laws, how):
    for p in laws:
        assert_proper(p, how, itertools.product((0, 1), repeat=len(p)))


@pytest.mark.parametrize("how", [how for how in FINITE if how.clip is None], ids=name)
def test_five_tokens_under_a_mask(how):
    """A grammar's mask leaves five of seven tokens; the weights count what it took away, too."""
    assert_proper(FIVE, how, [(1, 0, 1, 0, 1), (0, 0, 0, 1, 0), (0, 1, 1, 1, 1), (0, 0, 0, 0, 0)], total=1.6)


def test_a_wrong_weight_is_noticed():
    """The enumeration can fail: the weight of a draw with replacement, whose number of rejections is not that of this one."""

    def biased(race):
        for checks, arrival in enumerate(race, 1):
            if (yield [arrival.token])[0]:
                return Drawn(arrival.token, -math.log(checks))
        return Drawn()

    p, f = SMALL[0], (0, 1, 1)
    law = np.zeros(3)
    for probability, (drawn, _) in outcomes(lambda choices: answered(biased(enumerated_race(p, choices)), f)):
        law[drawn.token] += probability * math.exp(drawn.log_weight)
    assert abs(law.sum() - 0.5) > 0.01


def noise(logits, seed, position):
    """Log-probabilities, and the uniform numbers of the race."""
    from grammarlm.kernels.entries import fill_uniform

    words = np.empty(-(-len(logits) // 4) * 4, np.float32)
    fill_uniform(words.ctypes.data, len(words) // 4, seed, position)
    top = logits.max()
    return logits - top - np.log(np.exp(logits - top).sum()), words[: len(logits)]


def race(logits, seed=0, position=0):
    return arrivals(*noise(logits, seed, position))


@pytest.mark.parametrize("how", [Rejection(), Rejection(extra=1, share=0)], ids=name)
@pytest.mark.parametrize("log_z", [-14, -40, -500])
def test_a_predicate_that_takes_nearly_all_of_the_mass(how, log_z):
    """1 - (sum of what is rejected) would be nothing but rounding from 1e-7 on, and the weight 0."""
    logits = np.array([5.0, 4.0, 4.5] + [log_z + 5.0] * 3)
    f = [False] * 3 + [True] * 3
    log_whole = math.log(sum(math.exp(x) for x in logits))
    for position in range(20):
        drawn, _ = answered(how.draw(race(logits, 1, position)), f)
        assert drawn.log_weight == pytest.approx(math.log(3) + log_z + 5.0 - log_whole, abs=1e-9)


def test_a_race_comes_in_the_order_of_all_arrivals():
    """Against all arrivals, computed and sorted; and each mass against the sum of what is left."""
    rng = np.random.default_rng(4)
    for spread in (0.0, 1.0, 8.0, 40.0):
        logits = rng.normal(0, spread, 700)
        logits[rng.random(700) < 0.3] = -np.inf
        running = race(logits, 5, int(spread))
        log_p, uniform = noise(logits, 5, int(spread))
        with np.errstate(invalid="ignore"):
            times = np.where(log_p > -np.inf, np.log(-np.log1p(-uniform.astype(float))) - log_p, np.inf)
        left = sorted(log_p[log_p > -np.inf].tolist())
        for token in np.argsort(times, kind="stable")[: len(left)].tolist():
            arrival = next(running)
            assert arrival.token == token
            mass = left[-1] + math.log(math.fsum(math.exp(x - left[-1]) for x in left))
            assert arrival.log_mass == pytest.approx(mass, abs=1e-9)
            left.remove(arrival.log_p)
        assert next(running, None) is None


def test_samplers_together_ask_each_question_once_and_return_what_each_returns_alone():
    rng = np.random.default_rng(9)
    logits = {state: rng.normal(0, 2, 50) for state in "ab"}
    fine = {state: rng.random(50) < 0.3 for state in "ab"}
    asked = []

    def check(pairs):
        asked.append(pairs)
        return [fine[state][token] for state, token in pairs]

    states, how = "abbaabba", Rejection(extra=3)
    drawn = run_together([(state, how.draw(race(logits[state], seed))) for seed, state in enumerate(states)], check)
    both = [answered(how.draw(race(logits[state], seed)), fine[state]) for seed, state in enumerate(states)]
    alone = [drawn for drawn, _ in both]
    assert [(one.token, one.log_weight) for one in drawn] == [(one.token, one.log_weight) for one in alone]
    pairs = [pair for call in asked for pair in call]
    assert len(pairs) == len(set(pairs)) < sum(len(asked) for _, asked in both)
    assert len(asked[0]) > 1  # the first question of all is one call
    assert run_together([], check) == []


def test_arguments():
    for options in ({"extra": 0}, {"share": -1}, {"clip": 0}, {"batch": 0}, {"weights": "simple"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            Rejection(**options)
