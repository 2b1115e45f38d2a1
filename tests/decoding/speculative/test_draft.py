"""gl.Draft's arguments: what is refused by name, and the cost model that decides how much is drafted."""

import itertools
import sys

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.loop.cost import FLAT, MARGIN, Cost
from grammarlm.decoding.speculative import drafters
from grammarlm.decoding.speculative.drafters.copying import Copy
from grammarlm.published.acceptance.big_little import BigLittle
from grammarlm.published.acceptance.confident import Confident
from grammarlm.published.acceptance.iterations import Iterations
from grammarlm.published.acceptance.judge import Judge
from grammarlm.published.acceptance.reflective import Reflective
from grammarlm.published.acceptance.steps import Steps
from grammarlm.published.schedules.lengths import Lengths
from grammarlm.published.schedules.memory import Memory
from grammarlm.published.schedules.parallel import Parallel
from grammarlm.published.schedules.rooms import Rooms
from tests.decoding.random_models import random_model
from tests.decoding.speculative.draft_models import VOCAB, WIDTH, HashModel
from tests.threads import in_threads

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"drafter": "sufix"}, "no such drafter for a draft: 'sufix'; did you mean 'suffix'"),
        ({"drafter": "copy", "tree": "bush"}, "no such tree for a draft: 'bush'"),
        (
            {"drafter": "copy", "acceptance": "exacct"},
            "no such acceptance rule for a draft: 'exacct'; did you mean 'exact'",
        ),
        ({"drafter": "copy", "length": 0}, "length"),
        ({"drafter": "copy", "stop": 1.0}, "stop"),
        ({"drafter": []}, "needs at least one"),
    ],
)
def test_wrong_values_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        gl.Draft(**arguments)


def test_drafters_are_found_by_name():
    for name in dir(drafters):
        assert getattr(drafters, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Medusa'"):
        drafters.Medusa  # noqa: B018


@pytest.mark.parametrize(
    ("drafter", "options", "message"),
    [
        (
            "copy",
            {"chance": 0.2},
            r"a draft by 'copy' has no option chance=.*there are least=, and for any draft tree=",
        ),
        ("suffix", {"chanse": 0.2}, r"no option chanse= \(did you mean chance=\?\); there are chance="),
        ("copy", {"lenght": 3}, r"did you mean length=\?"),
        ("recycle", {"least": 3}, "there are none of its own"),
        ("auto", {"eta": 0.2}, "there are chance=, least="),
        (["copy", "suffix"], {"layers": 2}, "there are chance=, least="),
        (HashModel(1, 2), {"least": 3}, "has no option least=; there are cache=, context=, transfer="),
        (Copy(), {"least": 3}, "has no option least=; there are none of its own"),
        ("copy", {"vocab": VOCAB}, "vocab= and tokenizer= say what the ids of a draft model mean"),
        (Copy(), {"vocab": VOCAB}, "vocab= and tokenizer= say what the ids of a draft model mean"),
        ("exit", {"layers": 0}, "layers=0; it takes an integer of 1 or more"),
        ("copy", {"least": 1}, "least=1; it takes an integer of 2 or more"),
    ],
)
def test_options_of_a_drafter_are_its_own(drafter, options, message):
    with pytest.raises(ValueError, match=message):
        gl.Draft(drafter, **options)


@pytest.mark.parametrize(
    ("drafter", "options", "message"),
    [
        ("copy", {"least": "x"}, "least is 'x'; it takes an integer"),
        ("exit", {"layers": 2.5}, r"layers is 2\.5; it takes an integer"),
        ("skip", {"layers": "auto"}, "skip takes a list of the layers that are left out"),
        ("skip", {"layers": 3}, "skip takes a list of the layers that are left out"),
        ("exit", {"adapter": 3}, "adapter is 3; it takes a function"),
        ("exit", {"transform": 3}, "transform is 3; it takes a function"),
        (HashModel(1, 2), {"context": [5]}, r"context is \[5\]; it takes a function"),
        ("copy", {"widths": 3, "tree": "fixed"}, "widths is int; it takes a list"),
    ],
)
def test_values_of_another_type_are_told(drafter, options, message):
    with pytest.raises(TypeError, match=message):
        gl.Draft(drafter, **options)


def model(ids):
    """Is never asked."""


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Memory, "megabytes"),
        (Rooms, "of"),
        (Lengths, "pool"),
        (Parallel, "ahead"),
        (lambda x: Parallel(branches=x), "branches"),
        (Confident, "threshold"),
        (BigLittle, "fallback"),
        (lambda x: BigLittle(rollback=x), "rollback"),
        (Iterations, "most"),
        (lambda x: Judge(model, x), "threshold"),
        (Judge, "head"),
        (lambda x: Reflective([5], x), "weight"),
        (Steps, "router"),
        (lambda x: drafters.Cascade(Copy(), model, x), "ahead"),
        (lambda x: drafters.Nested([model], x), "confidence"),
        (lambda x: drafters.Strided(1, x), "stride"),
        (lambda x: drafters.Blocks(model, x), "block"),
        (lambda x: drafters.Fill(model, 0, candidates=x), "candidates"),
    ],
)
def test_numbers_and_functions_are_checked_where_they_are_given(make, message):
    for wrong in ("x", float("nan")):
        with pytest.raises((ValueError, TypeError), match=rf"^{message}(=| is ).*; it takes "):
            make(wrong)


def test_layers_that_a_model_does_not_have_are_told():
    for name, layers, message in (("skip", [9], "skip needs a model with a layer 9"), ("exit", 2, "the model has 2")):
        with pytest.raises(ValueError, match=message):
            gl.generate(random_model("Llama", WIDTH), [5], vocab=VOCAB, draft=gl.Draft(name, layers=layers))


def test_in_a_list_an_option_is_for_those_that_have_it():
    draft = gl.Draft(["copy", "suffix", HashModel(1, 2)], least=4, chance=0.3)
    copied, suffix, _ = draft.drafter.members
    assert (copied.least, suffix.chance) == (4, 0.3)
    assert gl.Draft("auto", chance=0.3).drafter.members[1].chance == 0.3


def test_what_is_no_drafter_is_refused():
    with pytest.raises(TypeError, match="a drafter is a name, a model or a list of these, not int"):
        gl.Draft(7)


@pytest.mark.parametrize("method", ["awrs", "smc", "beam", "lookahead", "trials"])
def test_searches_take_no_draft(method):
    with pytest.raises(ValueError, match=f"method='{method}' takes no draft; 'masked' and 'best_of' do"):
        gl.generate(HashModel(1, 2), [5], vocab=VOCAB, regex="[a-z]{3}", method=method, draft="copy")


def test_healing_takes_no_draft():
    model, tokenizer = gl.load_tiny()
    with pytest.raises(ValueError, match="heal=True takes no draft"):
        gl.generate(model, "The code is", tokenizer=tokenizer, heal=True, draft="copy")


def test_a_draft_model_of_another_width_says_what_it_needs():
    model, tokenizer = gl.load_tiny()
    small = random_model("Llama", 40)
    with pytest.raises(ValueError, match=r"it needs the same vocabulary, or a gl.Draft"):
        gl.generate(model, "Ada", tokenizer=tokenizer, draft=small)


def test_two_calls_with_one_draft_are_each_as_alone():
    """Nothing of one target's texts, or vocabulary, is mistaken for another's."""
    draft = gl.Draft(["copy", HashModel(2, 2)])
    for seed in (3, 4):
        model = HashModel(seed, 3)
        plain = gl.generate(model, [7, 8], vocab=VOCAB, max_tokens=20)
        assert gl.generate(model, [7, 8], vocab=VOCAB, max_tokens=20, draft=draft).tokens == plain.tokens


# ------------------------------------------------------------------ cost


def test_more_ids_never_cost_less_nor_more_than_each_by_itself():
    """The clock may say otherwise."""
    cost, rng = Cost(), np.random.default_rng(5)
    for _ in range(60):
        cost.note(int(rng.integers(1, 200)), float(rng.random()))
        seconds = [cost.of(ids) for ids in range(1, 300)]
        assert all(a <= b + 1e-12 for a, b in itertools.pairwise(seconds))
    one = Cost()
    one.note(4, 1e-3)
    one.note(64, 5.0)
    assert one.of(32) <= 8e-3 + 1e-12


def test_threads_share_a_cost():
    """One model in several threads: none asks what another one has half noted."""
    costs = [Cost() for _ in range(3000)]

    def use(number):
        for cost in costs:
            cost.note(1 << number, 1.0)
            cost.of(3)
            cost.note(1 << number, 0.1)  # the first one made things ready

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(use, 6)
    finally:
        sys.setswitchinterval(before)


def test_the_width_is_the_longest_of_those_that_write_about_most_tokens_a_second():
    """Against all widths tried one by one: tokens a second, where every row reads as much as the widest."""
    cost, rng = Cost(), np.random.default_rng(2)
    for ids in (1, 3, 1, 9, 4, 1, 16):
        cost.note(ids, 2e-3 + 5e-4 * ids)
    found = set()
    for _ in range(200):
        chains = [(int(rng.integers(0, 6)), float(rng.random())) for _ in range(int(rng.integers(1, 5)))]

        def speed(width, chains=chains):
            tokens = sum(sum(rate**k for k in range(min(width, length) + 1)) for length, rate in chains)
            return tokens / (2e-3 + 5e-4 * len(chains) * (1 + width))

        enough = max(FLAT * max(map(speed, range(6))), MARGIN * speed(0))
        best = max((each for each in range(1, 6) if speed(each) > enough), default=0)
        width, saved = cost.width(chains)
        assert width == best
        assert saved == pytest.approx((speed(best) / speed(0) - 1) * (2e-3 + 5e-4 * len(chains) * (1 + best)))
        found.add(width)
    assert len(found) > 3
