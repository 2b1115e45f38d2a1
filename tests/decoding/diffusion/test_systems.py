"""Each published system under its name: what makes it that system, and what it does under a constraint."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.diffusion import SAMPLERS
from grammarlm.decoding.diffusion.boards import Boards
from grammarlm.decoding.diffusion.free import FreeCanvas
from grammarlm.decoding.diffusion.look import Look
from tests.decoding.diffusion.languages import LANGUAGES, LETTERS, Language, agreeing
from tests.decoding.diffusion.mock_models import (
    MASK,
    VOCAB,
    Adversary,
    Context,
    Counting,
    Fixed,
    infill,
    random_holes,
    steps_of,
)

SEEDS = range(6)


def same(name, options, plain, plain_options=None) -> None:
    for seed in SEEDS:
        holes = random_holes(np.random.default_rng(seed), 11)
        steps = seed or None
        have = infill(Context(seed), holes, name, steps=steps, **options)
        want = infill(Context(seed), holes, plain, steps=steps, **(plain_options or {}))
        assert (steps_of(have), have.tokens) == (steps_of(want), want.tokens)


def scores(rows, holes, logits):
    masked = np.flatnonzero(np.asarray(holes) < 0)
    return logits[masked, rows[:, masked]].sum(1)


def best_row(language, holes, logits):
    rows = agreeing(language.rows, holes)
    return rows[scores(rows, holes, logits.astype(np.float32)).argmax()].tolist()


# ------------------------------------------------------------------ SchED, Prophet


def test_sched_never_leaves_its_schedule_at_an_infinite_threshold() -> None:
    same("sched", {"tau": math.inf}, "fixed")


@pytest.mark.parametrize("name", LANGUAGES)
def test_sched_leaves_by_the_best_row_of_the_language(name) -> None:
    language = LANGUAGES[name]
    for seed in SEEDS:
        holes = language.holes(np.random.default_rng(seed))
        model = Context(seed, language.width)
        out = language.infill(model, holes, sampler="sched", tau=-1.0, floor=-1.0)
        logits = Context(seed, language.width).row([max(token, 0) for token in holes])
        assert out.tokens == best_row(language, holes, logits)
        assert model.calls == len(out.stats.trace) == 1


def test_prophet_takes_the_plain_argmax_where_it_is_in_the_language() -> None:
    language, counts = LANGUAGES["words"], {True: 0, False: 0}
    for seed in range(40):
        logits = np.random.default_rng(seed).standard_normal((language.length, language.width)) * 4
        logits[:, 0] = -30
        if seed % 2:
            logits[np.arange(language.length), language.rows[seed % len(language.rows)]] += 9
        out = language.infill(Table(logits), sampler="prophet", gaps=(-1, -1, -1))
        plain = logits.argmax(1)
        is_in = bool((language.rows == plain).all(1).any())
        counts[is_in] += 1
        assert out.tokens == (plain.tolist() if is_in else best_row(language, [-1] * language.length, logits))
    assert min(counts.values()) >= 3


class Table(Counting):
    """The same logits at every call."""

    def __init__(self, logits):
        super().__init__(logits.shape[1])
        self.logits = logits

    def row(self, ids):
        return self.logits[: len(ids)]


# ------------------------------------------------------------------ CreditDecoding


def test_credit_decoding_without_credit_is_confidence() -> None:
    same("credit", {"alpha": 0.0}, "confidence")


def look_at(row, allowed_rows, logits, memory) -> Look:
    positions = np.flatnonzero(row < 0)

    class Allowed:
        def row(self, position):
            return np.packbits(allowed_rows[position], bitorder="little").view(np.int32)

        def test(self, position, ids):
            return allowed_rows[position][list(ids)]

    return Look(positions, logits.astype(np.float32), Allowed(), 0, 4, 1, row, VOCAB, memory=memory)


def test_the_credit_of_an_id_that_has_become_impossible_is_gone() -> None:
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


def test_credit_saves_steps_where_confidence_rises_slowly() -> None:
    rows = [{1 + at: 0.75} for at in range(8)]
    counts = {name: infill(Fixed(rows), [-1] * 8, name, tau=0.85).stats.forwards for name in ("credit", "confidence")}
    assert counts["confidence"] == 8
    assert counts["credit"] < 8


# ------------------------------------------------------------------ dParallel, Dimple


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


# ------------------------------------------------------------------ Learn2PD


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


# ------------------------------------------------------------------ CCD, LocalLeap, ETE


def test_ccd_with_a_window_of_one_is_confidence() -> None:
    same("history", {"window": 1}, "confidence")


def test_ccd_averages_over_what_is_allowed_now() -> None:
    """An id that was probable before and is impossible now has no weight, and the rest is renormalised."""
    logits = np.log(np.full((2, 32), 1e-6))
    logits[0, 1:4] = np.log([0.8, 0.15, 0.05])
    earlier = logits.copy()
    earlier[0, 1:4] = np.log([0.8, 0.05, 0.15])
    allowed = np.zeros((2, 32), bool)
    allowed[:, 2:4] = True
    memory = {"past": ((np.array([0, 1]), earlier.astype(np.float32)),)}
    look = look_at(np.array([-1, -1]), allowed, logits, memory)
    choice = SAMPLERS["history"](replace(look, share=2), window=2, tau=2.0)
    assert list(zip(choice.positions, choice.ids, strict=True)) == [
        (0, 2),
        (1, 2),
    ]  # .75 / .25 and .25 / .75: even, so the first
    assert choice.notes == {"budget": 2}


def test_local_leap_without_neighbours_is_confidence() -> None:
    same("leap", {"w": 0}, "confidence")


def test_what_the_grammar_forces_is_an_anchor_of_local_leap() -> None:
    language = Language("[ab][ab]c[ab][ab]", LETTERS, 5)
    rows = [{1: 0.8, 2: 0.2}, {1: 0.8, 2: 0.2}, {1: 0.7, 3: 0.2}, {2: 0.8, 1: 0.2}, {2: 0.6, 1: 0.4}]
    model = Fixed(rows, language.width)
    assert set(language.infill(model, sampler="leap", w=1).stats.trace[0].committed) == {1, 2, 3}
    assert set(language.infill(model, sampler="leap", w=4).stats.trace[0].committed) == {0, 1, 2, 3}
    assert language.infill(model, sampler="confidence").stats.trace[0].committed == [2]


class Hub(Counting):
    """Position 0 is uncertain; once it is known, all others are. Until then they look easier than they are."""

    def row(self, ids):
        rows = [{1: 0.3, 2: 0.29, 3: 0.28}, *[{4: 0.5, 5: 0.45}] * (len(ids) - 1)]
        if ids[0] != MASK:
            rows[1:] = [{4 + ids[0]: 0.99}] * (len(ids) - 1)
        return Fixed(rows).table


def test_ete_needs_fewer_steps_where_much_depends_on_one_position() -> None:
    out = infill(Hub(), [-1] * 10, "explore")
    assert out.stats.forwards == 2
    assert out.stats.trace[0].committed == [0] == out.stats.trace[0].notes["explored"]
    assert infill(Hub(), [-1] * 10, "confidence").stats.forwards > 5


def test_what_the_grammar_forces_carries_no_bits() -> None:
    language = Language("abcab", LETTERS, 5)
    out = language.infill(Adversary(language.width, [0], 3), sampler="explore")
    assert [step.notes["bits"] for step in out.stats.trace] == [0.0]
    free = infill(Fixed([{1: 0.5, 2: 0.5}] * 3), [-1] * 3, "explore", count=3)
    assert [round(step.notes["bits"], 6) for step in free.stats.trace] == [3.0]


# ------------------------------------------------------------------ AdaBlock, BACD / TCCF, NAP


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


def test_both_sizes_of_blocks_occur_in_one_row() -> None:
    language = Language(r"[ab]{5}>\[[ab,]{7}\]", (b"[", b"]", b"a", b",", b"b", b">"), 15)
    out = language.infill(Context(4, language.width, 8.0), sampler="bounded", marker=">", think=6, block=3)
    blocks = list(dict.fromkeys(tuple(step.notes["block"]) for step in out.stats.trace))
    assert blocks == [(0, 6), (6, 9), (9, 12), (12, 15)]
    assert re.fullmatch(language.pattern, out.text)


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


def test_nap_takes_regions_that_are_given() -> None:
    out = infill(Fixed([{1: 0.3}] * 9), [-1] * 9, "regions", regions=[(0, 3), (3, 6)])
    assert [len(step.committed) for step in out.stats.trace] == [2, 2, 2, 1, 1, 1]
    assert all(at < 6 for step in out.stats.trace[:3] for at in step.committed)


# ------------------------------------------------------------------ drivers


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("inner", ["fixed", "confidence", "history", "credit"])
def test_freedave_writes_the_schedules_row_in_fewer_calls(inner, temperature) -> None:
    saved = 0
    for seed in SEEDS:
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
    assert saved > 20


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


@pytest.mark.parametrize(("driver", "options"), [("blocks", {"block": 1}), ("stream", {"window": 1})])
def test_blocks_and_windows_of_one_are_greedy_one_at_a_time(driver, options) -> None:
    for seed in SEEDS:
        holes = random_holes(np.random.default_rng(seed), 10)
        out = infill(Context(seed), holes, driver, **options)
        assert out.tokens == greedy(Context(seed), holes)
        assert steps_of(out) == [[at] for at, token in enumerate(holes) if token < 0]


def test_blocks_read_nothing_after_the_block_unless_it_is_given() -> None:
    model = Context(3)
    infill(model, [-1] * 12, "blocks", block=4)
    assert set(model.lengths) == {4, 8, 12}
    model = Context(3)
    infill(model, [*[-1] * 10, 5, -1], "blocks", block=4)
    assert set(model.lengths) == {11, 12}


LONG = Language(r"\[(a|b)(,(a|b))*\](a|b)*", (b"[", b"]", b"a", b",", b"b", b",a", b"a,b"), 40)


@pytest.mark.parametrize("window", [8, 16, 32, 64])
@pytest.mark.parametrize("driver", ["window", "stream", "blocks"])
def test_a_part_of_the_row_is_decided_as_on_the_whole_canvas(driver, window, monkeypatch) -> None:
    size = {"block": window} if driver == "blocks" else {"window": window}
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


def test_a_window_over_all_is_the_sampler_inside() -> None:
    same("window", {"window": 99, "inner": "entropy", "tau": 1.0}, "entropy", {"tau": 1.0})
    same("full", {"inner": "leap", "w": 2}, "leap", {"w": 2})


def test_the_matcher_of_a_stream_moves_over_contiguous_commits_only() -> None:
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


def test_s2d2_that_never_verifies_is_confidence() -> None:
    same("s2d2", {"verify": "never"}, "confidence")
    same("s2d2", {"verify": "never", "inner": "entropy"}, "entropy")


def test_s2d2_that_always_verifies_is_greedy_at_temperature_0() -> None:
    for seed in SEEDS:
        holes = random_holes(np.random.default_rng(seed), 10)
        model = Context(seed)
        out = infill(model, holes, "s2d2", verify="always")
        row = list(holes)
        for at in [at for at, token in enumerate(row) if token < 0]:
            row[at] = 1 + int(np.argmax(Context(seed).row([max(token, 0) for token in row])[at][1:21]))
        assert out.tokens == row
        notes = [step.notes for step in out.stats.trace]
        assert sum(note["accepted"] for note in notes) + sum(
            len(step.rejected) for step in out.stats.trace
        ) == holes.count(-1)


def test_s2d2_verifies_where_that_pays() -> None:
    sure = infill(
        Fixed([{1 + at: 0.89} for at in range(8)]), [-1] * 8, "s2d2"
    )  # too unsure to commit, sure enough to draft
    assert sure.stats.trace[0].notes == {"drafted": 8, "accepted": 8}
    assert sure.stats.forwards == 2
    unsure = infill(Fixed([{1: 0.2, 2: 0.1}] * 6), [-1] * 6, "s2d2")
    assert all(step.notes == {} for step in unsure.stats.trace)


def test_free_canvas_is_used_without_a_constraint() -> None:
    canvas = FreeCanvas(3, VOCAB)
    assert not canvas.allowed([-1, 4, -1]).test(0, [MASK, 21]).any()
    assert canvas.allowed([-1, 4, -1]).test(2, range(1, 21)).all()
