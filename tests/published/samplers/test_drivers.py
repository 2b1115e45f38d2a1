"""Drivers: FreeDave, Fast-dLLM v2 (blocks), Window-Diffusion, WeDLM (streams)."""

import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.diffusion.boards import Boards
from tests.decoding.diffusion.languages import LANGUAGES, Language
from tests.decoding.diffusion.mock_models import Adversary, Context, infill, random_holes, steps_of
from tests.decoding.diffusion.sampled import SEEDS


@pytest.mark.parametrize("seeds", [SEEDS[::2], pytest.param(SEEDS, marks=pytest.mark.proof)], ids=["some", "all"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("inner", ["fixed", "confidence", "history", "credit"])
def test_freedave_writes_the_schedules_row_in_fewer_calls(inner, temperature, seeds) -> None:
    saved = 0
    for seed in seeds:
        holes = random_holes(np.random.default_rng(seed), 12)
        drawn = {"temperature": temperature, "seed": seed}
        plain = Context(seed)
        want = infill(plain, holes, inner, **drawn)
        for d in range(1, 9):
            model = Context(seed)
            have = infill(model, holes, "freedave", d=d, inner=inner, **drawn)
            assert (have.tokens, steps_of(have)) == (want.tokens, steps_of(want))
            assert model.calls <= plain.calls
            assert d > 1 or model.calls == plain.calls
            saved += plain.calls - model.calls
    assert saved > 20 * len(seeds) / len(SEEDS)


def test_freedave_under_a_constraint() -> None:
    for seed in SEEDS:
        for language in LANGUAGES.values():
            holes = language.holes(np.random.default_rng(seed))
            want = language.infill(Context(seed, language.width), holes, sampler="fixed", block=3)
            for d in (2, 4, 8):
                have = language.infill(Context(seed, language.width), holes, sampler="freedave", d=d, block=3)
                assert have.tokens == want.tokens


def greedy(model, row):
    """One id after another, from left to right; nothing after it is read."""
    row = [int(token) for token in row]
    for at in [at for at, token in enumerate(row) if token < 0]:
        seen = max([at + 1] + [k + 1 for k, token in enumerate(row) if token >= 0])
        logits = model.row([max(token, 0) for token in row[:seen]])[at]
        row[at] = 1 + int(np.argmax(logits[1:21]))
    return row


@pytest.mark.parametrize(
    ("driver", "options"), [("blocks", {"block": 1}), ("stream", {"window": 1})], ids=["fast_dllm_v2", "wedlm"]
)
def test_fast_dllm_v2_and_wedlm_of_one_are_greedy_one_at_a_time(driver, options) -> None:
    for seed in SEEDS:
        holes = random_holes(np.random.default_rng(seed), 10)
        out = infill(Context(seed), holes, driver, **options)
        assert out.tokens == greedy(Context(seed), holes)
        assert steps_of(out) == [[at] for at, token in enumerate(holes) if token < 0]


def test_fast_dllm_v2_reads_nothing_after_the_block_unless_it_is_given() -> None:
    model = Context(3)
    infill(model, [-1] * 12, "blocks", block=4)
    assert set(model.lengths) == {4, 8, 12}
    model = Context(3)
    infill(model, [*[-1] * 10, 5, -1], "blocks", block=4)
    assert set(model.lengths) == {11, 12}


@pytest.mark.parametrize("sub", [1, 2, 3, 8])
def test_fast_dllm_v2_fills_sub_blocks_one_after_another_and_reads_whole_blocks(sub) -> None:
    """A part is full before the next one begins, its positions in any order; with few steps parts are filled together."""
    for seed in SEEDS:
        model = Context(seed)
        out = infill(model, [-1] * 16, "blocks", block=8, sub=sub, inner="fixed")
        parts = [(at // 8, at % 8 // sub) for (at,) in steps_of(out)]
        assert parts == sorted(parts)
        assert set(model.lengths) == {8, 16}
        assert model.calls == 16
        if sub == 8:
            assert out.tokens == infill(Context(seed), [-1] * 16, "blocks", block=8, inner="fixed").tokens
        few = infill(Context(seed), [-1] * 16, "blocks", block=8, sub=sub, inner="fixed", steps=4)
        assert len(few.stats.trace) <= 4
    orders = [
        sum(infill(Context(seed), [-1] * 8, "blocks", block=8, sub=sub).stats.trace[0].committed) for seed in range(20)
    ]
    assert (len(set(orders)) > 1) == (sub > 1)


LONG = Language(r"\[(a|b)(,(a|b))*\](a|b)*", (b"[", b"]", b"a", b",", b"b", b",a", b"a,b"), 40)


@pytest.mark.parametrize("window", [8, 16, 32, 64])
@pytest.mark.parametrize("driver", ["window", "stream", "blocks", "sub-blocks"])
def test_window_diffusion_wedlm_and_blocks_decide_as_on_the_whole_canvas(driver, window, monkeypatch) -> None:
    sizes = {"blocks": {"block": window}, "sub-blocks": {"block": window, "sub": 4}}
    driver, size = driver.replace("sub-", ""), sizes.get(driver, {"window": window})
    for seed in range(3):
        drawn = {"temperature": float(seed > 1), "seed": seed}
        have_model, want_model = (Adversary(LONG.width, [0, LONG.stop], seed) for _ in range(2))
        have = LONG.infill(have_model, sampler=driver, **size, **drawn)
        with monkeypatch.context() as patch:
            patch.setattr(Boards, "part", lambda self, row, end: self.whole)
            want = LONG.infill(want_model, sampler=driver, **size, **drawn)
        assert (have.tokens, steps_of(have)) == (want.tokens, steps_of(want))
        assert [step.rejected for step in have.stats.trace] == [step.rejected for step in want.stats.trace]
        assert re.fullmatch(LONG.pattern, have.text)
        if window < 32:
            assert min(have_model.lengths) <= window + 16 < LONG.length


def test_the_matcher_of_wedlm_moves_over_contiguous_commits_only() -> None:
    language = LANGUAGES["words"]
    constraint = gl.compile(language.grammar, language.vocab)
    boards = Boards(constraint.canvas(5), 5, constraint, [language.stop])
    boards.part(np.array([-1, 3, -1, -1, -1]), 3)
    assert boards.read == 0
    board = boards.part(np.array([1, 2, -1, 3, -1]), 3)
    assert (boards.read, board.first, board.end) == (2, 2, 4)  # to the last id that is given
    boards.part(np.array([1, 2, 3, 3, -1]), 5)
    assert boards.read == 4
    boards.part(np.array([1, 2, 3, 3, language.stop]), 5)
    assert boards.read == 4  # a stop id is the canvas's, not the matcher's
