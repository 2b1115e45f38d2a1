"""Acceptance rules: the law of what they return, by enumeration over all draws, is the target's."""

import itertools
import math

import numpy as np
import pytest

from grammarlm.decoding.speculative.acceptance import rule_of
from grammarlm.published.acceptance import by_probability
from grammarlm.published.acceptance.lenient import Lenient
from tests.decoding.enumeration import outcomes
from tests.decoding.speculative.noise import Chance

TOKENS = 4
LAWS = (
    [0.25, 0.25, 0.25, 0.25],
    [0.7, 0.1, 0.1, 0.1],
    [0.0, 0.5, 0.3, 0.2],
    [0.0, 0.0, 0.0, 1.0],
    [0.05, 0.0, 0.9, 0.05],
)
PAIRS = list(itertools.product(LAWS, LAWS))


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
    found = [0.0] * len(p)

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


FEW = ([0.5, 0.3, 0.2], [0.9, 0.05, 0.05], [0.0, 0.35, 0.65])


@pytest.mark.parametrize("count", range(1, 9))
@pytest.mark.parametrize(
    ("name", "three"),
    [*(("ratio", 5), ("recursive", 5), ("kseq", 5)), pytest.param("kseq", 6, marks=pytest.mark.proof)],
)
def test_a_lossless_rule_draws_from_the_target(name, three, count, monkeypatch):
    """For one to eight drafted tokens (RSD, SpecTr); of four tokens, then of three or two, at last of two."""
    rule, by_size = rule_of(name), {1: PAIRS, 2: PAIRS, 3: PAIRS}
    few = [
        pair
        for size in (3, 2)[count > three :]
        for pair in itertools.product([normed(each[:size]) for each in FEW[:2]], repeat=2)
    ]
    for p, q in PAIRS if name == "recursive" else by_size.get(count, few):
        assert law(rule.function, p, q, count, rule.draws, monkeypatch) == pytest.approx(p, abs=1e-12)


def normed(masses):
    return [mass / math.fsum(masses) for mass in masses]


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


def accepted(rule, p, q, count, monkeypatch):
    """How probable it is that one of the drafted tokens is returned as such."""
    hits = 0.0

    def run(choices):
        monkeypatch.setattr(by_probability, "drawn_from", lambda masses, uniform: -1)
        return rule(np.array(p), drafted(q, count, "iid", choices), np.array(q), lambda: Chance(choices))

    for probability, token in outcomes(run):
        hits += probability * (token >= 0)
    return hits


def best_possible(p, q, count):
    """The value of the linear program: the most that any lossless rule accepts of so many independent draws.

    It is a flow from the drafts, with their probabilities, through their tokens, with the target's. By duality that is the
    least cut: a set of tokens on the side of the drafts pays for itself, and all drafts with a token outside of it pay.
    """
    sets = itertools.chain.from_iterable(itertools.combinations(range(len(p)), size) for size in range(len(p) + 1))
    return min(math.fsum(p[i] for i in own) + 1 - math.fsum(q[i] for i in own) ** count for own in sets)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_more_draws_accept_more(count, monkeypatch):
    """SpecTr: kseq accepts at least what one ratio test does, and 1 - 1/e of the best possible; one draw accepts all of that."""
    for p, q in PAIRS:
        one = accepted(rule_of("ratio").function, p, q, 1, monkeypatch)
        several, possible = accepted(rule_of("kseq").function, p, q, count, monkeypatch), best_possible(p, q, count)
        assert one - 1e-9 <= several <= possible + 1e-9
        assert several >= (1 - 1 / math.e) * possible - 1e-9
        assert count > 1 or several == pytest.approx(possible)


def test_a_lossy_rule_returns_a_drafted_token_or_none():
    p, rule = np.array([0.6, 0.3, 0.1, 0.0]), rule_of("typical")
    assert not rule.lossless
    assert rule.function(p, [1]) == 1
    assert rule.function(p, [3]) is None
    assert rule.function(p, [2, 1]) == 2  # .1 is above .09


@pytest.mark.parametrize("lenience", [1.0, 0.5, 0.1])
def test_lenience_takes_more_of_what_the_draft_likes(lenience, monkeypatch):
    """DistillSpec: a drafted token with min(1, p / (q f)), nothing that the target forbids, and with f = 1 the target's law."""
    rule = Lenient(lenience)
    assert not rule.lossless
    assert Lenient().name == "lenient"
    for p, q in PAIRS:
        taken = accepted(rule.function, p, q, 1, monkeypatch)
        assert taken == pytest.approx(math.fsum(min(b, a / lenience) for a, b in zip(p, q, strict=True)), abs=1e-12)
        for count in (1, 2):
            found = law(rule.function, p, q, count, rule.draws, monkeypatch)
            assert not any(mass for mass, own in zip(found, p, strict=True) if not own)
            assert lenience < 1 or found == pytest.approx(p, abs=1e-12)
    for wrong in (0.0, 1.5, -1.0):
        with pytest.raises(ValueError, match="lenience="):
            Lenient(wrong)


@pytest.mark.parametrize("name", ["ratio", "recursive", "kseq"])
def test_of_what_was_not_drawn_a_rule_takes_as_much_as_the_own_draw(name, monkeypatch):
    """A copied token is one with q = 1. So where a rule leaves it to the own draw nothing is lost: both take it with p."""
    for p in LAWS:
        for token in range(TOKENS):
            q = [float(other == token) for other in range(TOKENS)]
            assert accepted(rule_of(name).function, p, q, 1, monkeypatch) == pytest.approx(p[token], abs=1e-12)
