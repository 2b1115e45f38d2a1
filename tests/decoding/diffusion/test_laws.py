"""Laws by enumeration: every way that the draws can go, with its exact probability."""

import itertools

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.diffusion.denoiser import Denoiser
from grammarlm.decoding.diffusion.draws import Draws
from grammarlm.decoding.diffusion.filling import Filling, Plan
from grammarlm.decoding.diffusion.holes import Holes
from grammarlm.decoding.logits.sampling import Sampling
from tests.decoding.diffusion.languages import LANGUAGES, LETTERS, Language, agreeing
from tests.decoding.diffusion.mock_models import Joint
from tests.decoding.diffusion.outcomes import distance, outcomes

SMALL = Language("(ab|ba|c)(ab|ba|c)?", LETTERS, 4)


def law_over(rows, seed, sharpness=1.0):
    weights = np.exp(sharpness * np.random.default_rng(seed).standard_normal(len(rows)))
    return {tuple(row): p for row, p in zip(rows.tolist(), (weights / weights.sum()).tolist(), strict=True)}


def conditioned(law, holes):
    kept = {row: p for row, p in law.items() if all(h in (-1, t) for h, t in zip(holes, row, strict=True))}
    return {row: p / sum(kept.values()) for row, p in kept.items()}


class Scripted(Draws):
    """Draws that go as a script says. A position where the same logits are looked at again gives the same id, as noise does."""

    def __init__(self, script):
        super().__init__(Sampling(temperature=1.0, seed=0))
        object.__setattr__(self, "script", script)
        object.__setattr__(self, "known", {})

    def token(self, ids, logits, position):
        place = position, ids.tobytes(), logits.tobytes()
        if place not in self.known:
            self.known[place] = int(ids[self.script.pick(np.exp(logits.astype(np.float64) - logits.max()))])
        return self.known[place]

    def index(self, masses, position, purpose):
        return self.script.pick(masses)

    def happens(self, p, position, purpose):
        return self.script.pick([max(0.0, 1 - p), min(p, 1.0)]) == 1


def law_of(language, model, holes, sampler, steps=None, block=None, **options):
    """The law of the rows, over all that the draws can be."""
    constraint = gl.compile(language.grammar, language.vocab)
    plan = Plan.of(sampler, block, options)

    def play(script):
        reader = Denoiser(model, language.width, 0)
        filling = Filling(reader, language.vocab, constraint, Scripted(script), plan, steps)
        return tuple(filling.run(Holes(np.array(holes))).row.tolist())

    return outcomes(play)


def rightmost(look):
    return look.choose(np.arange(len(look.positions))[::-1], 1)


def middle(look):
    return look.choose(np.array([len(look.positions) // 2]), 1)


ONE_A_STEP = {
    "fixed": {"sampler": "fixed"},
    "confidence": {"sampler": "confidence", "tau": 2.0},
    "entropy": {"sampler": "entropy", "tau": -1.0},
    "right to left": {"sampler": rightmost},
    "from the middle": {"sampler": middle},
    "blocks": {"sampler": "blocks", "block": 1},
    "sub-blocks": {"sampler": "blocks", "block": 4, "sub": 2, "inner": "fixed"},
    "stream": {"sampler": "stream", "window": 1},
    "window": {"sampler": "window", "window": 2, "buffer": 0, "inner": "fixed"},
    "s2d2, never": {"sampler": "s2d2", "verify": "never", "tau": 2.0},
    "s2d2, always": {"sampler": "s2d2", "verify": "always"},
    "freedave": {"sampler": "freedave", "d": 2},
    "s2d2, bandit": {"sampler": "s2d2", "verify": "bandit", "tau": 2.0, "span": 2},
    "s2d2, hysteresis": {"sampler": "s2d2", "verify": "hysteresis", "tau": 2.0, "on": -0.3},
    "s2d2, runs of two": {"sampler": "s2d2", "verify": "always", "span": 2},
}


@pytest.mark.parametrize("name", ONE_A_STEP)
def test_one_token_a_step_has_the_joint_law_in_any_order(name) -> None:
    for seed, holes in enumerate(([-1] * 4, [-1, 2, -1, -1], [-1, -1, -1, 4])):
        law = law_over(agreeing(SMALL.rows, holes), seed)
        found = law_of(SMALL, Joint(law, SMALL.width), holes, **ONE_A_STEP[name])
        assert distance(found, law) < 1e-5


def test_a_joint_law_given_what_is_fixed() -> None:
    """The law is over all rows of the language; the ids that are given condition it."""
    law = law_over(SMALL.rows, 5)
    for holes in ([1, -1, -1, -1], [-1, -1, -1, 2], [-1, 1, -1, -1]):
        found = law_of(SMALL, Joint(law, SMALL.width), holes, sampler="confidence", tau=2.0)
        assert distance(found, conditioned(law, holes)) < 1e-5


def marginals(law, row):
    """P(id | what is known) at each masked position."""
    left = conditioned(law, row)
    found = {}
    for at in (at for at, token in enumerate(row) if token < 0):
        found[at] = {}
        for other, p in left.items():
            found[at][other[at]] = found[at].get(other[at], 0.0) + p
    return found


def several_a_step(law, rows, row, k):
    """The law of `fixed` with k a step: ids drawn alone, committed in order; a refused one is drawn again among what is left."""
    if -1 not in row:
        return {tuple(row): 1.0}
    each = marginals(law, row)
    order = sorted(each, key=lambda at: (-round(max(each[at].values()), 6), at))[:k]
    found = {}
    for ids in itertools.product(*(each[at] for at in order)):
        p, after, refused = 1.0, list(row), []
        for at, token in zip(order, ids, strict=True):
            p *= each[at][token]
            tried = [*after[:at], token, *after[at + 1 :]]
            after, refused = (tried, refused) if len(agreeing(rows, tried)) else (after, [*refused, at])
        for state, q in drawn_again(each, rows, after, refused).items():
            for end, r in several_a_step(law, rows, list(state), k).items():
                found[end] = found.get(end, 0.0) + p * q * r
    return found


def drawn_again(each, rows, row, refused):
    if not refused:
        return {tuple(row): 1.0}
    at, found = refused[0], {}
    possible = {token: each[at].get(token, 0.0) for token in {int(other[at]) for other in agreeing(rows, row)}}
    for token, mass in possible.items():
        after = [*row[:at], token, *row[at + 1 :]]
        for end, p in drawn_again(each, rows, after, refused[1:]).items() if mass else ():
            found[end] = found.get(end, 0.0) + p * mass / sum(possible.values())
    return found


@pytest.mark.parametrize("steps", [1, 2])
def test_several_tokens_a_step_have_the_law_that_their_independence_gives(steps) -> None:
    full = Language("[abc]{4}", LETTERS, 4)  # the law is over the language's rows, the constraint is the language
    for seed in range(2):
        law = law_over(SMALL.rows, seed)
        assert len(full.rows) > len(SMALL.rows)
        found = law_of(SMALL, Joint(law, SMALL.width), [-1] * 4, sampler="fixed", steps=steps)
        want = several_a_step(law, SMALL.rows, [-1] * 4, 4 // steps)
        assert distance(found, want) < 1e-5
        assert distance(found, law) > 0.02  # that is not the joint law


def test_the_constraint_brings_several_a_step_nearer_to_the_law() -> None:
    """Without it rows outside of the language are written."""
    law = law_over(SMALL.rows, 1)
    anything = Language("(?s).*", LETTERS, 4)
    free = law_of(anything, Joint(law, SMALL.width), [-1] * 4, sampler="fixed", steps=1)
    held = law_of(SMALL, Joint(law, SMALL.width), [-1] * 4, sampler="fixed", steps=1)
    assert sum(p for row, p in free.items() if row not in law) > 0.1
    assert all(row in law for row in held)
    assert distance(held, law) < distance(free, law)


def test_masking_one_by_one_is_the_chain_rule_where_the_model_leaves_the_language() -> None:
    """A law with mass outside of the language: each step renormalises what is left, which is not P given the language."""
    rows = np.array(list(itertools.product(range(1, 4), repeat=2)))
    language = Language("ab|ba|bb", LETTERS, 2)
    law = law_over(rows, 3)
    found = law_of(language, Joint(law, language.width), [-1, -1], sampler="blocks", block=1)
    inside = [tuple(row) for row in language.rows.tolist()]
    first = {a: sum(law[a, b] for b in range(1, 4)) for a in {row[0] for row in inside}}
    want = {}
    for a, b in inside:
        second = {d: law[a, d] for c, d in inside if c == a}
        want[a, b] = first[a] / sum(first.values()) * second[b] / sum(second.values())
    assert distance(found, want) < 1e-5


@pytest.mark.parametrize(
    "options",
    [{"sampler": "confidence", "tau": 2.0}, {"sampler": "s2d2", "verify": "always"}],
    ids=["confidence", "s2d2"],
)
@pytest.mark.parametrize("n", [400, pytest.param(800, marks=pytest.mark.proof)])
def test_real_draws_follow_the_law(options, n) -> None:
    """The noise is a hash of seed and position; ten seeds in a row are no pattern."""
    law = law_over(SMALL.rows, 7)
    counts = {}
    for seed in range(n):
        row = tuple(SMALL.infill(Joint(law, SMALL.width), temperature=1.0, seed=seed, **options).tokens)
        counts[row] = counts.get(row, 0) + 1
    chi = sum((counts.get(row, 0) - n * p) ** 2 / (n * p) for row, p in law.items())
    free = len(law) - 1
    assert set(counts) <= set(law)
    assert chi < free + 5 * (2 * free) ** 0.5  # five standard deviations


def test_a_joint_fill_at_a_temperature_follows_the_joint_law_of_the_scores() -> None:
    """Everything at once: softmax of the sum of the logits, over the rows of the language."""
    language = LANGUAGES["pairs"]
    logits = np.random.default_rng(2).standard_normal((5, language.width)).astype(np.float32)

    class Model(Joint):
        def row(self, ids):
            return logits

    scores = logits[np.arange(5), language.rows].sum(1).astype(np.float64)
    law = dict(zip(map(tuple, language.rows.tolist()), np.exp(scores) / np.exp(scores).sum(), strict=True))
    counts, n = {}, 700
    for seed in range(n):
        row = tuple(
            language.infill(
                Model({}, language.width), sampler="sched", tau=-1, floor=-1, temperature=1.0, seed=seed
            ).tokens
        )
        counts[row] = counts.get(row, 0) + 1
    chi = sum((counts.get(row, 0) - n * p) ** 2 / (n * p) for row, p in law.items())
    assert set(counts) <= set(law)
    assert chi < len(law) + 5 * (2 * len(law)) ** 0.5
