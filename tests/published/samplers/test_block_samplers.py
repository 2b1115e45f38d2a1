"""Samplers with blocks or regions of their own: AdaBlock, BACD and TCCF, NAP."""

import math
import re
from dataclasses import replace

import numpy as np

import grammarlm as gl
from tests.decoding.diffusion.languages import LANGUAGES, LETTERS, Language, agreeing
from tests.decoding.diffusion.mock_models import Adversary, Context, Fixed, infill
from tests.decoding.diffusion.sampled import SEEDS, same


def test_adablock_without_delimiters_has_blocks_of_one_size() -> None:
    same(
        "adablock",
        {"block": 4, "tau_d": math.inf, "delimiters": "abcdefghij"},
        "adablock",
        {"block": 4, "delimiters": ()},
    )
    for seed in SEEDS:
        out = infill(Context(seed), [-1] * 11, "adablock", block=4, tau_d=math.inf, delimiters="abcdefghij")
        assert sorted({tuple(step.notes["block"])[1] for step in out.stats.trace}) == [4, 8, 12]


def test_each_block_of_adablock_ends_where_a_matcher_can_stand() -> None:
    language = Language(r"\[(a(,a)*)?\]", (b"[", b"]", b"a", b",", b"a,"), 8)
    sizes = set()
    for seed in range(12):
        model = Adversary(language.width, [0, language.stop], seed)
        out = language.infill(model, sampler="adablock", block=4, delimiters=(",", "]"), tau_d=0.2, window=0.5)
        constraint = gl.compile(language.grammar, language.vocab)
        row = np.full(language.length, -1)
        for step in out.stats.trace:
            start, end = step.notes["block"]
            sizes.add(end - start)
            assert (row[:start] >= 0).all()  # all before the block is known
            prefix = [int(token) for token in row[:start] if token != language.stop]
            assert constraint.matcher().validate(prefix) == len(prefix)
            row[step.committed] = step.tokens
        assert re.fullmatch(language.pattern, out.text)
    assert len(sizes) > 1


def test_bacd_keeps_its_threshold_between_the_bounds_and_follows_the_model() -> None:
    seen = []
    for seed in SEEDS:
        out = infill(Context(seed, sharpness=1.0 + 2 * seed), [-1] * 12, "bounded", block=6, lo=0.3, hi=0.8)
        seen += [step.notes["threshold"] for step in out.stats.trace]
    assert all(0.3 <= threshold <= 0.8 for threshold in seen)
    assert min(seen) == 0.3
    assert max(seen) == 0.8
    assert len({*seen}) > 4


def test_tccf_thinks_in_large_blocks_and_answers_in_small_ones() -> None:
    language = Language(r"[ab]{6,12}>\[(a(,a)*)?\]", (b"[", b"]", b"a", b",", b"b", b">"), 0)
    language = replace(language, length=24)
    model = Adversary(language.width, [0], 2)
    out = language.infill(model, sampler="bounded", marker=">", think=32, block=4)
    assert re.fullmatch(language.pattern, out.text)
    marker = out.tokens.index(6)
    thinking = [step.notes["block"] for step in out.stats.trace if step.notes["block"][0] <= marker]
    assert thinking[0] == [0, 32]
    short = language.infill(
        Adversary(language.width, [0], 2),
        [*out.tokens[: marker + 1], *[-1] * (23 - marker)],
        sampler="bounded",
        marker=">",
        block=4,
    )
    assert {end - start for start, end in (step.notes["block"] for step in short.stats.trace)} == {4}
    assert re.fullmatch(language.pattern, short.text)


def test_each_open_region_of_nap_gains_a_token_at_every_step() -> None:
    language = LANGUAGES["pairs"]
    rejections = 0
    for seed in range(60):
        row = language.rows[seed % len(language.rows)].copy()
        row[[0, 1, 3, 4]] = -1
        open_regions = [{0, 1}, {3, 4}]
        out = language.infill(Adversary(language.width, [0, 4], seed), row, sampler="regions")
        for step in out.stats.trace:
            assert all(not region or region & set(step.committed) for region in open_regions)
            open_regions = [region - set(step.committed) for region in open_regions]
            rejections += len(step.rejected)
        assert len(agreeing(agreeing(language.rows, row), out.tokens)) == 1
    assert rejections > 5  # the proposals did conflict


def test_a_region_of_nap_gains_a_token_where_its_own_is_refused() -> None:
    """What one region wants is impossible with the other's: it gets the best that is left, at the same step."""
    language = Language("aacaa|bbcbb", LETTERS, 5)
    rows = [{1: 0.8}, {1: 0.4}, {3: 0.9}, {2: 0.4}, {2: 0.7}]
    out = language.infill(Fixed(rows, language.width), [-1, -1, 3, -1, -1], sampler="regions")
    first = out.stats.trace[0]
    assert (first.committed, first.tokens, first.rejected) == ([0, 4], [1, 1], [4])
