"""Acceptance rules: the law of what they return, by enumeration over all draws, is the target's."""

import itertools
import math

import numpy as np
import pytest

from grammarlm.decoding.speculative.acceptance import by_probability
from grammarlm.decoding.speculative.acceptance.registry import RULES
from tests.decoding.enumeration import Choices, outcomes

TOKENS = 4
LAWS = (
    [0.25, 0.25, 0.25, 0.25],
    [0.7, 0.1, 0.1, 0.1],
    [0.0, 0.5, 0.3, 0.2],
    [0.0, 0.0, 0.0, 1.0],
    [0.05, 0.0, 0.9, 0.05],
)
PAIRS = list(itertools.product(LAWS, LAWS))


class Chance:
    """A uniform number that is only ever compared: each comparison is a choice of its two outcomes."""

    def __init__(self, choices: Choices, scale: float = 1.0):
        self.choices, self.scale = choices, scale

    def __mul__(self, by: float) -> "Chance":
        return Chance(self.choices, self.scale * by)

    def __lt__(self, value: float) -> bool:
        below = 1.0 if self.scale == 0 else min(1.0, max(0.0, value / self.scale))
        return self.choices.among([below, 1 - below]) == 0


def drafted(q, count, how, choices):
    """`count` tokens drawn from q, independently or without replacement."""
    tokens, left = [], list(q)
    for _ in range(count):
        total = math.fsum(left)
        if total <= 0:
            break
        tokens.append(choices.among([mass / total for mass in left]))
        if how == "distinct":
            left[tokens[-1]] = 0.0
    return tokens


def law(rule, p, q, count, how, monkeypatch):
    """The probability of each token that the rule returns, over all draws of the draft and of the rule."""
    found = [0.0] * TOKENS

    def run(choices):
        def enumerated(masses, uniform):
            total = float(masses.sum())
            return choices.among([float(mass) / total for mass in masses])

        monkeypatch.setattr(by_probability, "drawn_from", enumerated)
        tokens = drafted(q, count, how, choices)
        return rule(np.array(p), tokens, np.array(q), lambda: Chance(choices))

    for probability, token in outcomes(run):
        found[token] += probability
    return found


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("name", ["ratio", "recursive", "kseq"])
def test_a_lossless_rule_draws_from_the_target(name, count, monkeypatch):
    rule = RULES[name]
    for p, q in PAIRS:
        assert law(rule.function, p, q, count, rule.draws, monkeypatch) == pytest.approx(p, abs=1e-12)


def wrong_residual(p, tokens, q, uniform):
    """The commonest mistake: after a refusal p is drawn from, not what it has more than q."""
    for token in tokens:
        if uniform() * q[token] < p[token]:
            return token
    return by_probability.drawn_from(p, uniform)


def stale_q(p, tokens, q, uniform):
    """q of a token drawn without replacement, as if the earlier ones could still come."""
    for token in tokens:
        if uniform() * q[token] < p[token]:
            return token
        p = by_probability.left_over(p, q)
    return by_probability.drawn_from(p, uniform)


@pytest.mark.parametrize(("mutant", "how"), [(wrong_residual, "iid"), (stale_q, "distinct")])
def test_wrong_rules_are_told_apart(mutant, how, monkeypatch):
    off = [max(abs(a - b) for a, b in zip(law(mutant, p, q, 2, how, monkeypatch), p, strict=True)) for p, q in PAIRS]
    assert max(off) > 0.01


def test_a_rule_needs_the_draws_that_it_says(monkeypatch):
    """Tokens without replacement under the rule for independent ones, and the other way round: another law."""
    for name, how in (("kseq", "distinct"), ("recursive", "iid")):
        laws = [(p, law(RULES[name].function, p, q, 2, how, monkeypatch)) for p, q in PAIRS]
        assert max(abs(a - b) for p, found in laws for a, b in zip(found, p, strict=True)) > 0.01


def test_more_draws_accept_more(monkeypatch):
    """kseq accepts more of k draws than one ratio test, and at least 1 - 1/e of what is possible."""

    def accepted(rule, p, q, count):
        hits = 0.0

        def run(choices):
            monkeypatch.setattr(by_probability, "drawn_from", lambda masses, uniform: -1)
            return rule(np.array(p), drafted(q, count, "iid", choices), np.array(q), lambda: Chance(choices))

        for probability, token in outcomes(run):
            hits += probability * (token >= 0)
        return hits

    for p, q in PAIRS:
        one = accepted(RULES["ratio"].function, p, q, 1)
        for count in (2, 4):
            several = accepted(RULES["kseq"].function, p, q, count)
            assert several >= one - 1e-9
            possible = sum(min(mass, 1 - (1 - other) ** count) for mass, other in zip(p, q, strict=True))
            assert several >= (1 - 1 / math.e) * possible - 1e-9


def test_lossy_rules_return_drafted_tokens_or_draws(monkeypatch):
    monkeypatch.setattr(by_probability, "drawn_from", lambda masses, uniform: -1)
    p = np.array([0.6, 0.3, 0.1, 0.0])
    for name in ("typical", "lenient"):
        assert not RULES[name].lossless
        assert RULES[name].function(p, [1], p, float) == 1
        assert RULES[name].function(p, [3], p, float) == -1
    assert RULES["lenient"].function(p, [2, 1], p, float) == 1
