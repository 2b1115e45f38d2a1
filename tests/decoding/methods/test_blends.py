"""contrast, grounded and anchored: their numbers by brute force, and what they say where there is nothing to say."""

import math

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.loop.blending import BlendRow
from grammarlm.decoding.methods.blends.anchored import anchored
from grammarlm.decoding.methods.blends.contrast import contrast
from grammarlm.decoding.methods.blends.grounded import grounded
from grammarlm.decoding.methods.blends.mixture import Mixture
from grammarlm.decoding.request import prepare
from grammarlm.decoding.settings import Settings
from tests.counts import tiers
from tests.decoding.methods.two_models import (
    FIRST,
    OTHER,
    PROMPTS,
    STOP,
    TEXTS,
    VOCAB,
    WIDTH,
    allowed_after,
    generate,
    greedy,
    log_softmax,
    row_after,
    same,
    softmax,
    tabled,
    wrong_after,
)  # fmt: skip
from tests.rounding import LOG_P

DRAWN = {"temperature": 1.0, "seed": 4}
DESCRIPTION = [1, 3, 0]
METHODS = {
    "contrast": {"against": OTHER},
    "grounded": {"description": DESCRIPTION},
    "anchored": {"safe": OTHER, "budget": 2.0, "max_tokens": 8},
}


def random_rows(noise, width, share):
    """Logits of which a share is -inf, at least one is not."""
    row = noise.normal(0, 3, width).astype(np.float32)
    row[noise.random(width) < share] = -np.inf
    row[noise.integers(width)] = noise.normal()
    return row


def cut_of(row, cut):
    """bool [V]: by probabilities, in float64."""
    p = softmax(row.astype(np.float64))
    return (p >= cut * p.max() * (1 - 1e-6)) & (row > -np.inf)


def is_near_the_cut(row, cut):
    p = np.sort(softmax(row.astype(np.float64)))
    return bool(cut) and (np.abs(p[:-1] / (cut * p[-1]) - 1) < 1e-5).any()


# ------------------------------------------------------------------ contrast


@tiers("count", 200, 10_000)
def test_contrast_is_its_formula(count):
    noise = np.random.default_rng(1)
    for _ in range(count):
        alpha, cut = float(noise.choice([-1, -0.5, 0.3, 1, 4])), float(noise.choice([0, 0.01, 0.1, 0.5, 1]))
        own, other = random_rows(noise, 30, 0.3), random_rows(noise, 30, 0)
        if is_near_the_cut(own, cut):
            continue
        kept = cut_of(own, cut)
        logs = [log_softmax(row.astype(float)) for row in (own, other)]
        with np.errstate(invalid="ignore"):
            expected = np.where(kept, (1 + alpha) * logs[0] - alpha * logs[1], -np.inf)
        rows = torch.tensor(np.array([[own], [other]]))
        found = contrast.function([], *rows, alpha=alpha, cut=cut)[0].numpy()
        assert (np.isfinite(found) == kept).all()
        np.testing.assert_allclose(log_softmax(found.astype(float))[kept], log_softmax(expected)[kept], atol=2e-5)  # fmt: skip


@pytest.mark.parametrize("cut", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("alpha", [-0.5, 0.4, 3.0])
def test_contrast_by_forwards_of_whole_texts(alpha, cut):
    for prompt in PROMPTS:

        def score(tokens, allowed, prompt=prompt):
            own, other = (
                log_softmax(np.where(allowed, row_after(model, [*ids, *tokens]), -math.inf))
                for model, ids in ((FIRST, prompt), (OTHER, [3, 1]))
            )
            with np.errstate(invalid="ignore"):
                return np.where(
                    own >= own.max() + math.log(cut or 1e-300), (1 + alpha) * own - alpha * other, -math.inf
                )

        found = generate("contrast", prompt, against=(OTHER, [3, 1]), alpha=alpha, cut=cut)
        assert found.tokens == greedy(score)


def test_what_the_other_one_excludes_cannot_be_contrasted():
    """Its logit is -inf, and minus that is no logit; by name. Where the cut takes the token it does not matter."""

    def without_a(ids):
        return torch.where(torch.arange(WIDTH) == 0, -math.inf, OTHER(ids))

    out = generate("contrast", [2], against=without_a, alpha=1.0, cut=0.0)
    assert (out.finish_reason, out.value) == ("error", None)
    assert "the blend contrast made inf of the logits of id 0" in out.error

    def seldom_a(ids):
        return torch.where(torch.arange(WIDTH) == 0, -20.0, FIRST(ids))

    texts = [text for text in TEXTS if "a" not in text]
    assert generate("contrast", [2], seldom_a, against=without_a, choices=[*texts, "aa"]).value in texts


# ------------------------------------------------------------------ grounded


def laws_of(model, ids):
    """float64 [ids, V]: log of the law of the next token after each beginning, a forward each."""
    return np.array([log_softmax(row_after(model, ids[: end + 1])) for end in range(len(ids))])


@pytest.mark.parametrize("cut", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("weight", [0.3, 1.0, 5.0])
def test_grounded_by_forwards_of_whole_texts(weight, cut):
    descriptions = [[1, 3, 0], [2], [0, 0, 1, 3, 2, 1]]
    found = generate("grounded", description=descriptions, weight=weight, cut=cut, batch_size=2)
    for prompt, description, one in zip(PROMPTS, descriptions, found, strict=True):
        divergences = -laws_of(FIRST, description)  # of a token alone from the law: -log q

        def score(tokens, allowed, prompt=prompt, divergences=divergences):
            own = log_softmax(np.where(allowed, row_after(FIRST, [*prompt, *tokens]), -math.inf))
            return np.where(own >= own.max() + math.log(cut or 1e-300), own - weight * divergences.min(0), -math.inf)

        assert one.tokens == greedy(score)


@tiers("count", 100, 5_000)
def test_grounded_is_its_formula(count):
    noise = np.random.default_rng(2)
    for _ in range(count):
        weight, cut = float(noise.choice([0.2, 1, 6])), float(noise.choice([0, 0.01, 0.1, 0.5, 1]))
        own, best = random_rows(noise, 30, 0.3), random_rows(noise, 30, 0.2)
        if is_near_the_cut(own, cut):
            continue
        kept = cut_of(own, cut) & (best > -np.inf)
        row = BlendRow([], {"best": torch.tensor(best)}, [], 9, 1.0)
        found = grounded.function([row], torch.tensor(own[None]), description=None, weight=weight, cut=cut)[0].numpy()
        assert (np.isfinite(found) == kept).all()
        np.testing.assert_allclose(found[kept], (own.astype(float) + weight * best)[kept], atol=2e-5)


def test_long_descriptions_are_read_in_parts(model, tokenizer):
    text = " ".join(["the cat and the hat sat at 2024-10-12 in a 100 year old café"] * 4)
    ids = tokenizer(text)["input_ids"]
    assert len(ids) > 64
    seen = {}

    def looking(request, **options):
        seen["best"] = grounded_begin(request, **options)
        return seen["best"]

    grounded_begin, grounded.begin = grounded.begin, looking
    try:
        gl.generate(model, ["a", "the"], tokenizer=tokenizer, regex="[a-z ]{3}", method="grounded", description=text)
    finally:
        grounded.begin = grounded_begin
    with torch.inference_mode():
        expected = model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1).amax(0)
    for memory in seen["best"]:
        np.testing.assert_allclose(memory["best"].numpy(), expected.numpy(), atol=LOG_P)


def test_grounding_brings_the_words_of_the_description():
    """A model that knows nothing of the order: what the description says decides."""
    follows = {0: 1, 1: 2, 2: 0}

    def model(ids):
        logits = torch.zeros(*ids.shape, WIDTH)
        for at in range(3):
            logits[ids == at] = torch.where(torch.arange(WIDTH) == follows[at], 6.0, 0.0)
        return logits

    plain = {generate("masked", [3], model, choices=["a", "b", "c"], seed=s, temperature=1.0).text for s in range(20)}
    assert plain == {"a", "b", "c"}
    for description, word in (([0], "b"), ([1], "c"), ([2], "a")):
        for seed in range(20):
            options = {"description": description, "weight": 3.0, "seed": seed, "temperature": 1.0}
            assert generate("grounded", [3], model, choices=["a", "b", "c"], **options).text == word


def test_a_description_that_gives_no_law_fails_its_answers_alone():
    wrong = wrong_after(math.nan, [0, 1, 2, 3], FIRST)
    found = generate("grounded", [[0], [1], [3]], wrong, description=[[0, 1], [2, 2], [3]], batch_size=8)
    expected = generate("grounded", [[0], [3]], FIRST, description=[[0, 1], [3]])
    assert [found[0].tokens, found[2].tokens] == [one.tokens for one in expected]
    assert (found[1].finish_reason, found[1].value) == ("error", None)
    assert "the blend grounded made nan" in found[1].error


# ------------------------------------------------------------------ nothing to change, nothing left


@pytest.mark.parametrize("options", [{}, {"n": 3, **DRAWN}, {"choices": None, "max_tokens": 6, **DRAWN}], ids=str)
def test_weight_0_is_masked(options):
    """And so is a budget without end; nothing is the safe model."""
    expected = generate("masked", **options)
    neutral = [
        generate("contrast", against=OTHER, alpha=0, cut=0.5, **options),
        generate("grounded", description=DESCRIPTION, weight=0, cut=0.5, **options),
        generate("anchored", safe=OTHER, budget=math.inf, **options),
    ]
    for found in neutral:
        for one, two in zip(found, expected, strict=True):
            same(one, two)
    for one, two in zip(
        generate("anchored", safe=OTHER, budget=0, **options), generate("masked", model=OTHER, **options), strict=True
    ):
        assert (one.tokens, one.value, one.finish_reason) == (two.tokens, two.value, two.finish_reason)
        assert one.logprobs == pytest.approx(two.logprobs, rel=0, abs=LOG_P)


def test_a_cut_that_leaves_nothing():
    """The best of its own is never cut; what the description excludes besides is: then the allowed set wins."""

    def excluding(ids):
        """After 1, which only the description has, nothing but STOP, which no description grounds."""
        return torch.where((ids == 1)[..., None] & (torch.arange(WIDTH) != STOP), -math.inf, FIRST(ids))

    options = {"choices": ["cd", "cc", "dd", "dc"], "n": 4, **DRAWN}
    found = generate("grounded", [0], excluding, description=[1], weight=2.0, cut=0.9, **options)
    for one, two in zip(found, generate("masked", [0], excluding, **options), strict=True):
        assert one.tokens == two.tokens
    for cut in (0.0, 1.0):
        for out in generate("contrast", against=OTHER, alpha=2.0, cut=cut, n=5, **DRAWN):
            assert out.value in TEXTS


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{"n": 2, **DRAWN}, {}], ids=str)
def test_batches(method, options):
    """Alone, together, in batches of any size, streamed, with every token read by itself: the same answers."""
    given = {**METHODS[method], **options}
    expected = [one for prompt in PROMPTS for one in np.ravel(generate(method, prompt, **given)).tolist()]
    for more in ({}, {"batch_size": 2}, {"forced": "off"}):
        found = generate(method, **given, **more)
        for one, two in zip(found, expected, strict=True):
            assert (one.tokens, one.finish_reason, one.value) == (two.tokens, two.finish_reason, two.value)
            assert one.logprobs == pytest.approx(two.logprobs, rel=0, abs=1e-5)
            assert [[*each.values()] for each in one.stats.log] == [
                pytest.approx([*each.values()], rel=0, abs=1e-5) for each in two.stats.log
            ]
    *_, last = gl.stream(FIRST, PROMPTS, vocab=VOCAB, choices=TEXTS, method=method, **given)
    assert [one.tokens for one in last.result] == [one.tokens for one in expected]


@pytest.mark.parametrize("method", ["contrast", "anchored"])
def test_a_row_fails_alone_where_the_other_model_fails(method):
    option = {"contrast": "against", "anchored": "safe"}[method]
    options = {**METHODS[method], option: wrong_after(math.nan, [1, 2]), "choices": ["aaaa", "abab", "baba", "bbaa"]}
    found = generate(method, [[0], [2], [3]], **options)
    expected = generate(method, [[0], [3]], **{**options, option: OTHER})
    assert [found[0].tokens, found[2].tokens] == [one.tokens for one in expected]
    assert (found[1].finish_reason, found[1].value) == ("error", None)
    assert f"{option}= of <blend {method}>: ValueError: after" in found[1].error


# ------------------------------------------------------------------ anchored


def divergence(p, q):
    """KL(p, q) by its definition."""
    used = p > 0
    return float((p[used] * (np.log(p[used]) - np.log(q[used]))).sum()) if (q[used] > 0).all() else math.inf


def mixed(safe, risky, x):
    with np.errstate(divide="ignore"):
        both = (safe > 0) & (risky > 0)
        return softmax(
            np.where(both, (1 - x) * np.log(np.where(both, safe, 1)) + x * np.log(np.where(both, risky, 1)), -np.inf)
        )


@tiers("count", 150, 3_000)
def test_the_largest_share_within_what_is_granted(count):
    noise = np.random.default_rng(3)
    for _ in range(count):
        share, width = float(noise.choice([0, 0.3, 0.8])), int(noise.choice([2, 5, 40]))
        rows = [random_rows(noise, width, share) for _ in range(2)]
        warmth, granted = (
            float(noise.choice([0.5, 1, 3])),
            float(noise.choice([-1, 0, 1e-6, 1e-3, 0.1, 1, 10, math.inf])),
        )
        safe, risky = (softmax(row.astype(float) / warmth) for row in rows)
        mixture = Mixture.of(*rows, warmth)
        x, kl = mixture.largest(granted)
        assert 0 <= x <= 1
        if x == 0:
            assert kl == 0
        elif granted < math.inf:
            p = mixed(safe, risky, x)
            np.testing.assert_allclose(np.exp(mixture.row(x)), p, atol=1e-9)
            assert kl == pytest.approx(divergence(p, safe), rel=1e-6, abs=1e-12)
            assert kl <= granted
        else:
            assert x == 1
        more = mixed(safe, risky, min(1.0, x + 1e-3)) if ((safe > 0) & (risky > 0)).any() else None
        if (
            granted > 0 and x < 1 and more is not None
        ):  # a little more would be too much, or what is left over is too little to count
            assert divergence(more, safe) > granted or granted - kl <= 1e-3 * granted


@tiers("count", 60, 500)
def test_each_step_is_within_its_grant(count):
    """Judged by the rows that tokens are drawn from and the models' own forwards; the account is kept by this test again."""
    noise = np.random.default_rng(5)
    for number in range(count):
        risky, safe = tabled(100 + number), tabled(5000 + number)
        budget, most, debt = (
            float(noise.choice([0, 0.1, 1, 5, 40])),
            int(noise.integers(4, 9)),
            float(noise.choice([0, 0, 0.5])),
        )
        temperature = float(noise.choice([0, 0.7, 1.0]))
        held = {"regex": "[abcd]*"} if number % 2 else {"choices": TEXTS}
        settings = Settings(
            vocab=VOCAB, max_tokens=most, temperature=temperature, seed=number, method=anchored, n=2, close=bool(number % 3), **held
        )  # fmt: skip
        prompts = [[0, 1], [2]]
        decoding = anchored.start(prepare(risky, prompts, settings), safe=safe, budget=budget, debt=[debt, 0.0])
        texts, used = [[] for _ in range(4)], [debt, debt, 0.0, 0.0]
        places = [[] for _ in range(4)]
        for step in decoding:
            tokens, prompt, warmth = texts[step.row], prompts[step.row // 2], temperature or 1.0
            is_allowed = step.logits > -np.inf
            if not step.is_forced and is_allowed.sum() > 1:
                granted = (len(tokens) + 1) * budget / most - used[step.row]
                own = row_after(safe, [*prompt, *tokens])
                exact = np.where(is_allowed, own, -np.inf) / warmth
                kl = divergence(softmax(step.logits.astype(float) / warmth), softmax(exact))
                assert kl <= max(granted, 0) + 1e-5
                used[step.row] += kl
                places[step.row].append((len(tokens), kl))
            tokens.append(step.token)
        for row, out in enumerate(decoding.results()):
            assert out.tokens == texts[row]
            assert used[row] <= max(budget, (debt, debt, 0.0, 0.0)[row]) + 1e-4
            log = {int(each["token"]): each["kl"] for each in out.stats.log}
            assert sum(log.values()) <= budget + 1e-9
            for at, kl in places[row]:
                assert log[at] == pytest.approx(kl, abs=1e-5)


def test_the_law_of_whole_answers_is_within_the_budget():
    """By enumeration: every text with its probability under the fused law, and under the safe model."""
    budget, prompt, texts = 0.8, [0], [text for text in TEXTS if text != "c"]  # none goes on another: no end is drawn
    options = {"choices": texts, "max_tokens": 5, "temperature": 1.0, "n": 300, "seed": 1}
    found = {one.text: one for one in generate("anchored", prompt, safe=OTHER, budget=budget, **options)}
    fused = {text: math.exp(sum(one.logprobs)) for text, one in found.items()}
    assert sum(fused.values()) > 0.99
    safe = {}
    for text in fused:
        tokens = [*map("abcd".index, text)]
        rows = [row_after(OTHER, [*prompt, *tokens[:at]]) for at in range(len(tokens))]
        held = [np.where(allowed_after(texts, tokens[:at]), row, -math.inf) for at, row in enumerate(rows)]
        safe[text] = sum(log_softmax(row)[token] for row, token in zip(held, tokens, strict=True))
    assert 0.3 * budget < sum(p * (math.log(p) - safe[text]) for text, p in fused.items()) <= budget + 0.01
