"""The law of whole answers with drafts is the law of one token after another: by enumeration, through the decoding loop.

Every way through the random numbers of a call is taken (noise.py), and the probabilities of each answer are summed.
"""

import functools
import itertools

import pytest

import grammarlm as gl
from grammarlm.decoding.speculative import draws
from grammarlm.decoding.speculative.drafters.model import ModelDrafter
from grammarlm.published.acceptance import by_probability
from grammarlm.published.drafters.cascade import Cascade
from grammarlm.published.drafters.nested import Nested
from grammarlm.published.drafters.strided import Strided
from grammarlm.published.schedules.parallel import Parallel
from grammarlm.published.schedules.rooms import Rooms
from tests.decoding.speculative import noise
from tests.decoding.speculative.noise import (
    ENDS,
    LANGUAGES,
    LONG,
    PLAIN,
    SHORT,
    TARGET,
    A,
    B,
    C,
    Interval,
    Table,
    answer_law,
    furthest,
    member_law,
    texts,
)


def drafted(drafter, **options):
    return lambda: gl.Draft(drafter() if callable(drafter) else drafter, **options)


def small():
    return Table(2)


def tiers():
    return Cascade(Cascade(ModelDrafter(Table(3, 1)), Table(4)), Table(2))


def nested():
    return Nested([Table(3, 1), Table(2)], confidence=0.6)


SYSTEMS = {
    "DySpec": drafted(small, tree="best_first", length=2),
    "RSD": drafted(small, tree="distinct", widths=(2, 2), length=3, acceptance="recursive"),
    "RSD-S": drafted(small, tree="beams", widths=(2,), length=3, acceptance="recursive"),
    "RSD-S, three": drafted(small, tree="beams", widths=(3, 2), length=2, acceptance="recursive"),
    "SpecTr": drafted(small, tree="fixed", widths=(2,), length=2, acceptance="kseq"),
    "ratio": drafted(small, length=3, acceptance="ratio"),
    "SJD": drafted("jacobi", length=3, acceptance="ratio"),
    "SJD, own noise": drafted("jacobi", length=3),
    "I-DLM, one after another": drafted(lambda: Strided(C, 1), acceptance="ratio"),
    "I-DLM, 2": drafted(lambda: Strided(C, 2), acceptance="ratio"),
    "I-DLM, 3": drafted(lambda: Strided(C, 3), acceptance="ratio"),
    "TriForce": drafted(tiers, length=3),
    "TriForce, ratio": drafted(tiers, length=3, acceptance="ratio"),
    "S2D": drafted(nested, length=3),
    "S2D, ratio": drafted(nested, length=3, acceptance="ratio"),
    "PEARL, ratio": lambda: gl.Draft(Table(2), length=2, acceptance="ratio", schedule=Parallel(ahead=2)),
    "FASER, ratio": lambda: gl.Draft(Table(2), acceptance="ratio", schedule=Rooms()),
    "stopped": drafted(small, length=3, acceptance="ratio", stop=0.5),
}


@pytest.mark.parametrize(
    "language", ["ends", "late", *(pytest.param(name, marks=pytest.mark.proof) for name in ("long", "plain"))]
)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_law_is_that_of_one_token_after_another(system, language, monkeypatch):
    found, ways = answer_law(TARGET, LANGUAGES[language], SYSTEMS[system], monkeypatch)
    assert ways >= len(LANGUAGES[language])
    assert furthest(found, member_law(TARGET, LANGUAGES[language])) < 1e-12


@pytest.mark.parametrize(
    ("system", "branching"),
    [
        pytest.param(system, branching, marks=() if branching in few else pytest.mark.proof)
        for system, few in (("RSD", (1, 2, 3, 8)), ("SpecTr", (1, 2, 4, 6)))
        for branching in range(1, 9)
    ],
)
def test_with_one_to_eight_branches(system, branching, monkeypatch):
    """Fewer tokens than branches: RSD's node has fewer children, SpecTr draws some twice. The first choice is among three,
    then two."""
    tree, rule = ("distinct", "recursive") if system == "RSD" else ("fixed", "kseq")
    last = (A, B, C) if branching < 6 or system == "RSD" else (A, B)
    members = texts([(A,), (A,), last])
    make = drafted(small, tree=tree, widths=(branching,), length=1, acceptance=rule)
    found, ways = answer_law(TARGET, members, make, monkeypatch)
    assert ways > branching or system == "RSD"
    assert furthest(found, member_law(TARGET, members)) < 1e-12


FILTERS = ({"top_k": 2}, {"top_p": 0.6}, {"max_tokens": 2}, {"where": lambda text: text != "ab"})


@functools.cache
def plain_law(which):
    """Of answers without a draft, under one of the filters."""
    with pytest.MonkeyPatch.context() as patch:
        members = ENDS if {"max_tokens", "where"} & set(FILTERS[which]) else PLAIN
        return members, answer_law(TARGET, members, lambda: None, patch, **FILTERS[which])[0]


FILTERED = ["RSD", "RSD-S", "SpecTr", "SJD", "I-DLM, 2", "TriForce, ratio"]


@pytest.mark.parametrize(
    ("system", "which"),
    [
        pytest.param(system, which, marks=() if (at + which) % 2 else pytest.mark.proof)
        for at, system in enumerate(FILTERED)
        for which in range(len(FILTERS))
    ],
)
def test_filters_budgets_and_predicates_leave_the_same_law(system, which, monkeypatch):
    """Of what is left by filters, a budget that closes answers, or a predicate: as without a draft."""
    members, plain = plain_law(which)
    found, _ = answer_law(TARGET, members, SYSTEMS[system], monkeypatch, **FILTERS[which])
    assert furthest(found, plain) < 1e-12


# ------------------------------------------------------------------ mutants


def test_without_a_residual_the_law_is_another(monkeypatch):
    monkeypatch.setattr(by_probability, "left_over", lambda p, q: p)
    for system in ("ratio", "SJD"):
        found, _ = answer_law(TARGET, SHORT, SYSTEMS[system], monkeypatch)
        assert furthest(found, member_law(TARGET, SHORT)) > 0.01, system


def test_with_the_draft_s_noise_the_law_is_another(monkeypatch):
    """The test of a token, and the draw after its refusal, by the noise that it was drawn with."""

    class Shared:
        def __init__(self, interval):
            self.interval = interval

        def __mul__(self, by):
            return Scaled(self.interval, by)

    class Scaled(Shared):
        def __init__(self, interval, by):
            super().__init__(interval)
            self.by = by

        def __lt__(self, value):
            share = min(1.0, value / self.by) if self.by else 1.0
            return self.interval.draw([share, 1 - share] if share < 1 else [1.0]) == 0

    def patch(self, monkeypatch, of=noise.Noise.patch):
        of(self, monkeypatch)
        seed = draws.draft_seed(1)
        own = lambda row: self.known[seed, row.position + draws.SEVERAL, 0]  # noqa: E731
        monkeypatch.setattr(by_probability, "uniform_of", lambda row: lambda: Shared(own(row)))

    monkeypatch.setattr(noise.Noise, "patch", patch)
    found, _ = answer_law(TARGET, LONG, SYSTEMS["ratio"], monkeypatch)
    assert furthest(found, member_law(TARGET, LONG)) > 0.01


def test_with_q_of_a_stale_context_the_law_is_another(monkeypatch):
    """SJD with the q that a place had in the round before, of another text: not what its token was drawn from."""
    stale, kept = {}, draws.picked

    def picked(growth, node, row, width):
        tokens = kept(growth, node, row, width)
        place = len(growth.ids) + growth.depth(node)
        drawn, q = growth.tree.drawn[node]
        growth.tree.drawn[node] = drawn, stale.get(place, q)
        stale[place] = q
        return tokens

    def make():
        stale.clear()
        return SYSTEMS["SJD"]()

    monkeypatch.setattr(draws, "picked", picked)
    found, _ = answer_law(TARGET, LONG, make, monkeypatch)
    assert furthest(found, member_law(TARGET, LONG)) > 0.001


def test_noise_is_revealed_as_far_as_it_matters():
    """An interval gives each distribution its own law, and equal distributions equal tokens."""
    from tests.decoding.enumeration import outcomes

    first, second = [0.2, 0.5, 0.3], [0.6, 0.1, 0.3]
    both = dict.fromkeys(itertools.product(range(3), repeat=3), 0.0)

    def run(choices):
        interval = Interval(choices)
        return interval.draw(first), interval.draw(second), interval.draw(first)

    for probability, tokens in outcomes(run):
        both[tokens] += probability
    for which, law in enumerate((first, second, first)):
        for token in range(3):
            assert sum(p for tokens, p in both.items() if tokens[which] == token) == pytest.approx(
                law[token], abs=1e-12
            )
    assert all(tokens[0] == tokens[2] for tokens, p in both.items() if p)
