"""Samplers with thresholds: dParallel, Dimple, CreditDecoding, Learn2PD, CCD, LocalLeap, ETE."""

import re
from dataclasses import replace

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.diffusion import SAMPLERS
from tests.decoding.diffusion.languages import LANGUAGES, LETTERS, Language, agreeing
from tests.decoding.diffusion.mock_models import Adversary, Context, Fixed, infill
from tests.decoding.diffusion.sampled import SEEDS, look_at


def test_dparallel_defers_only_positions_that_conflict() -> None:
    language = Language("(ab|ba)c(ab|ba)c", LETTERS, 6)
    rows = [
        {1: 0.999},
        {1: 0.99},
        {3: 0.99},
        {2: 0.98},
        {2: 0.999},
        {3: 0.99},
    ]  # aac bbc: each is sure, together impossible
    out = language.infill(Fixed(rows, language.width), sampler="entropy")
    first, second = out.stats.trace
    assert set(first.committed) == {0, 2, 4, 5}
    assert sorted(first.rejected) == sorted(second.committed) == [1, 3]
    assert out.text == "abcabc"


def test_dimple_keeps_the_template_and_shrinks_its_holes(gpt2_like) -> None:
    tokenizer, vocab = gpt2_like
    pieces = ['{"name": "', gl.Hole(most=6), '", "age": ', gl.Hole(most=3), "}"]
    pattern = r'\{"name": "[A-Z][a-z]+", "age": [1-9][0-9]?\}'
    found = set()
    for seed in SEEDS:
        model = Adversary(vocab.size, vocab.stop_ids, seed)
        out = gl.infill(model, pieces, tokenizer=tokenizer, mask_id=min(vocab.special_ids), regex=pattern)
        assert re.fullmatch(pattern, out.text)
        for piece in pieces[::2]:
            assert contains(out.tokens, vocab.encode(piece))
        found.add(len(out.tokens))
    given = sum(len(vocab.encode(piece)) for piece in pieces[::2])
    assert all(given + 2 <= count <= given + 9 for count in found)
    assert len(found) > 1


def contains(tokens, part) -> bool:
    return any(tokens[at : at + len(part)] == part for at in range(len(tokens)))


@pytest.fixture(scope="module")
def gpt2_like():
    _, tokenizer = gl.load_tiny()
    return tokenizer, gl.Vocabulary.from_tokenizer(tokenizer)


def test_credit_decoding_forgets_an_id_that_has_become_impossible() -> None:
    logits = np.random.default_rng(1).standard_normal((3, 32))
    allowed = np.zeros((3, 32), bool)
    allowed[:, 1:9] = True
    row = np.array([-1, 5, -1])
    before = {"credit": {0: {3: 2.0, 4: 1.0}, 2: {6: 1.5}}}
    allowed[0, 3] = False
    after = SAMPLERS["credit"](look_at(row, allowed, logits, before), beta=0.5).memory["credit"]
    assert after[0].get(3, 0) == 0
    assert after[0][4] >= 0.5
    assert after[2][6] >= 0.75
    assert before == {"credit": {0: {3: 2.0, 4: 1.0}, 2: {6: 1.5}}}  # a sampler changes nothing that it is given


def test_learn2pd_is_valid_under_any_policy() -> None:
    for name, language in LANGUAGES.items():
        for seed in SEEDS:
            random = np.random.default_rng(seed)
            holes = language.holes(random)
            model = Adversary(language.width, [0, language.stop], seed)
            out = language.infill(model, holes, sampler="policy", policy=lambda p, r=random: r.random(len(p)) < 0.5)
            assert len(agreeing(agreeing(language.rows, holes), out.tokens)) == 1, name


def test_learn2pd_cuts_the_text_only_where_it_may_end() -> None:
    language = Language(r"\[(a(,a)*)?\]", (b"[", b"]", b"a", b","), 7)
    sure_of_the_end = [{1: 0.6}, {3: 0.6}, *[{language.stop: 0.99}] * 5]
    out = language.infill(Fixed(sure_of_the_end, language.width), sampler="policy")
    first = out.stats.trace[0]
    assert out.text == "[]"  # "[a" may not end: the cut at position 2 leaves room for a closing bracket only
    assert first.committed == [2, 3, 4, 5, 6]
    assert first.notes == {"end": 2}
    opened = [1, 3, -1, -1, -1, -1, -1]  # [a
    out = language.infill(Fixed(sure_of_the_end, language.width), opened, sampler="policy")
    assert out.text == "[a]"
    never = language.infill(Fixed(sure_of_the_end, language.width), sampler="policy", end=None)
    assert len(never.stats.trace[0].committed) < 5 or never.stats.trace[0].notes == {}


def test_a_policy_with_the_wrong_number_of_answers_is_refused() -> None:
    with pytest.raises(ValueError, match="one answer for each"):
        infill(Context(0), [-1] * 4, "policy", policy=lambda p: p[:1] > 0)


def test_ccd_averages_over_what_is_allowed_now() -> None:
    """An id that was probable before and is impossible now has no weight, and the rest is renormalised."""
    logits = np.log(np.full((2, 32), 1e-6))
    logits[0, 1:4] = np.log([0.8, 0.15, 0.05])
    earlier = logits.copy()
    earlier[0, 1:4] = np.log([0.8, 0.01, 0.19])
    allowed = np.zeros((2, 32), bool)
    allowed[:, 2:4] = True
    memory = {"past": ((np.array([0, 1]), earlier.astype(np.float32)),)}
    look = look_at(np.array([-1, -1]), allowed, logits, memory)
    choice = SAMPLERS["history"](replace(look, share=2), window=2, tau=2.0)
    # Now .75 and .25, before .05 and .95: .4 and .6. Alone the first would be it, and so it would without renormalisation.
    assert list(zip(choice.positions, choice.ids, strict=True)) == [(0, 3), (1, 2)]
    assert choice.notes == {"budget": 2}
    sure = SAMPLERS["history"](look, window=2, tau=0.59)
    assert list(sure.positions) == [0]


def test_what_the_grammar_forces_is_an_anchor_of_local_leap() -> None:
    language = Language("[ab][ab]c[ab][ab]", LETTERS, 5)
    rows = [{1: 0.8, 2: 0.2}, {1: 0.8, 2: 0.2}, {1: 0.7, 3: 0.2}, {2: 0.8, 1: 0.2}, {2: 0.6, 1: 0.4}]
    model = Fixed(rows, language.width)
    assert set(language.infill(model, sampler="leap", w=1).stats.trace[0].committed) == {1, 2, 3}
    assert set(language.infill(model, sampler="leap", w=4).stats.trace[0].committed) == {0, 1, 2, 3}
    assert language.infill(model, sampler="confidence").stats.trace[0].committed == [2]


def test_ete_counts_no_bits_of_what_the_grammar_forces() -> None:
    language = Language("abcab", LETTERS, 5)
    out = language.infill(Adversary(language.width, [0], 3), sampler="explore")
    assert [step.notes["bits"] for step in out.stats.trace] == [0.0]
    free = infill(Fixed([{1: 0.5, 2: 0.5}] * 3), [-1] * 3, "explore", count=3)
    assert [round(step.notes["bits"], 6) for step in free.stats.trace] == [3.0]
