"""generate(method=...) with a function of one's own: a blend of logits, or a search over texts."""

import math
import re
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding import blend, search
from grammarlm.decoding.tree.tree import END
from tests.decoding.conftest import random_model
from tests.decoding.methods.two_models import SCHEMA
from tests.rounding import LOG_P, embedded_model

PROMPTS = ["the cat", "a 100 year old"]


@pytest.fixture(scope="module")
def other(tokenizer):
    """As the model, with other weights."""
    found = random_model("Llama", len(tokenizer))
    torch.manual_seed(5)
    for weight in found.parameters():
        weight.data += 0.1 * torch.randn_like(weight)
    return found


def averaged(*logits, weight=0.5):
    return (1 - weight) * logits[0] + weight * logits[-1]


def same(found, expected):
    assert found.tokens == expected.tokens
    assert found.logprobs == pytest.approx(expected.logprobs, rel=0, abs=LOG_P)
    assert found.model_logprobs == pytest.approx(expected.model_logprobs, rel=0, abs=LOG_P)
    assert (found.finish_reason, found.value) == (expected.finish_reason, expected.value)


def as_one(model, other):
    """The average of two models as one callable: what a blend must be equal to."""

    def both(ids):
        with torch.inference_mode():
            return averaged(model(input_ids=ids).logits, other(input_ids=ids).logits).clone()

    return both


# ------------------------------------------------------------------ blends


@pytest.mark.parametrize(
    "arguments",
    [
        {"schema": SCHEMA},
        {"schema": SCHEMA, "n": 2, "temperature": 0.9, "seed": 2},
        {"schema": SCHEMA, "forced": "off"},
        {"regex": "[a-z ]{3,9}", "heal": True},
        {"regex": "[a-z ]{3,9}", "where": lambda text: "th" not in text, "temperature": 1.0, "seed": 3},
        {"close": False, "repetition_penalty": 1.3},
        {"schema": SCHEMA, "cache": "off"},
    ],
    ids=", ".join,
)
def test_a_blend_is_a_model_that_blends(model, other, tokenizer, arguments):
    options = {"max_tokens": 40, **arguments}
    vocab = gl.Vocabulary.from_tokenizer(tokenizer, size=len(tokenizer), stop_ids=[2])
    found = gl.generate(
        model, PROMPTS, tokenizer=tokenizer, vocab=vocab, method=blend(other)(averaged), batch_size=8, **options
    )
    plain = {name: value for name, value in options.items() if name != "cache"}
    expected = gl.generate(as_one(model, other), PROMPTS, tokenizer=tokenizer, vocab=vocab, **plain)
    for one, two in zip(found, expected, strict=True):
        same(one, two)


def test_blends_stream(model, other, tokenizer):
    method = blend(other)(lambda one, two, *, weight=0.5: averaged(one, two, weight=weight))
    options = {"tokenizer": tokenizer, "schema": SCHEMA, "max_tokens": 40, "method": method, "weight": 0.3}
    *events, last = gl.stream(model, PROMPTS[0], **options)
    same(last.result, gl.generate(model, PROMPTS[0], **options))
    assert "".join(event.text for event in events) == last.result.text
    with pytest.raises(TypeError, match=re.escape("stream() has no argument wait=; did you mean weight=?")):
        gl.stream(model, PROMPTS[0], tokenizer=tokenizer, method=method, wait=0.3)
    with pytest.raises(TypeError, match=re.escape("generate() has no argument wait=; did you mean weight=?")):
        gl.generate(model, PROMPTS[0], tokenizer=tokenizer, method=method, wait=0.3)


def test_forced_tokens_and_drafts_share_a_forward():
    tiny, tokenizer = embedded_model()
    prompt = "Ada Lovelace is 36 and lives in London.\nAs JSON: "
    alone = gl.generate(tiny, prompt, tokenizer=tokenizer, schema=SCHEMA, max_tokens=40)
    found = gl.generate(tiny, prompt, tokenizer=tokenizer, schema=SCHEMA, max_tokens=40, method=blend(tiny)(averaged))
    same(found, alone)
    assert found.stats.forwards == alone.stats.forwards < len(found.tokens)


def test_another_prompt_before_the_answers(model, tokenizer):
    """Guidance: away from what the model would write anyway."""

    @blend((model, "the hat sat at"))
    def away(logits, anyway):
        return 2 * logits - anyway

    found = gl.generate(model, PROMPTS, tokenizer=tokenizer, regex="[a-z ]{3,9}", method=away)
    for prompt, one in zip(PROMPTS, found, strict=True):
        tokens = tokenizer(prompt)["input_ids"]
        alone = gl.generate(model, tokens, tokenizer=tokenizer, regex="[a-z ]{3,9}", method=away)
        same(one, alone)
        anyway = tokenizer("the hat sat at")["input_ids"]
        with torch.inference_mode():
            rows = [model(input_ids=torch.tensor([ids])).logits[0, -1] for ids in (tokens, anyway)]
        expected = torch.log_softmax(2 * rows[0] - rows[1], -1)[one.tokens[0]]
        assert one.model_logprobs[0] == pytest.approx(float(expected), rel=0, abs=LOG_P)
    with pytest.raises(ValueError, match="reads another prompt"):
        gl.generate(model, "the ca", tokenizer=tokenizer, regex="[a-z ]{3,9}", method=away, heal=True)


def test_callables_and_widths_that_differ(tokenizer):
    vocab = gl.Vocabulary([bytes([i]) for i in range(97, 107)] + [b""], stop_ids=[10])

    def wide(ids):
        return torch.arange(12.0).expand(*ids.shape, 12)

    def narrow(ids):
        return torch.arange(11.0).flip(0).expand(*ids.shape, 11)

    for models in ((wide, narrow), (narrow, wide)):
        method = blend(models[1])(lambda one, two: 2 * one + two)
        out = gl.generate(models[0], [0], vocab=vocab, regex="[a-j]{3}", method=method)
        assert out.value == ("jjj" if models[0] is wide else "aaa")


def nothing_but(value):
    return blend()(lambda logits: value)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: nothing_but(None), TypeError, "returned NoneType; it returns a tensor of logits"),
        (lambda: nothing_but(torch.zeros(3)), ValueError, "it must be a floating-point tensor [1, "),
        (lambda: blend()(lambda logits: logits.long()), ValueError, "returned torch.int64"),
        (lambda: blend(5), TypeError, "model is int; pass a transformers model"),
        (lambda: blend((5, 6, 7)), TypeError, "blend() got a tuple of 3; it takes models, or (model, prompt)"),
        (lambda: lambda logits: logits, TypeError, "put @blend(...) before a function of logits, @search before"),
        (lambda: 5, ValueError, "method=5; it takes 'masked', 'awrs'"),
        (lambda: search(lambda tree, n: [tree.root]), ValueError, "which is not over; extend it"),
        (lambda: search(lambda tree, n: tree.root), TypeError, "returned Candidate("),
        (lambda: search(lambda tree, n: tree.extend(tree.extend([tree.root], 2), 0)), ValueError, "pass those that are not"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(make, kind, message, model, tokenizer):
    options = {"tokenizer": tokenizer, "regex": "[a-z]{0,3}", "max_tokens": 9}
    with pytest.raises(kind, match=re.escape(message)):
        gl.generate(model, "the cat", method=make(), **options)


def test_a_blend_of_nan_fails_its_rows_alone(model, tokenizer):
    spoilt = blend()(lambda logits: torch.where(torch.arange(len(logits))[:, None] == 0, math.nan, logits))
    bad, good = gl.generate(model, PROMPTS, tokenizer=tokenizer, regex="[a-z]{3}", method=spoilt, batch_size=2)
    assert (bad.finish_reason, bad.value) == ("error", None)
    assert good.finish_reason in {"stop", "error"}


# ------------------------------------------------------------------ searches


@search
def best_first(tree, n, *, width=8):
    heap, found = [tree.root], []
    while heap and len(found) < n:
        best = heappop(heap)
        if best.is_over:
            found.append(best)
        else:
            for one in tree.extend([best], width):
                heappush(heap, one)
    return found


CHOICES = ["the cat", "the hat", "a year", "café", "100"]


def test_best_first_is_a_beam_that_drops_nothing(model, tokenizer):
    given = {"tokenizer": tokenizer, "choices": CHOICES}
    found = gl.generate(model, PROMPTS, method=best_first, width=300, n=3, **given)
    expected = gl.generate(model, PROMPTS, method="beam", beams=300, n=3, **given)
    for one, two in zip(found, expected, strict=True):
        same(one, two)
        assert one.score == pytest.approx(two.score, rel=0, abs=9 * LOG_P)


def test_fewer_texts_than_answers(model, tokenizer):
    found = gl.generate(model, "a", method=best_first, n=4, tokenizer=tokenizer, choices=["x", "y"], width=300)
    assert [one.text for one in found[2:]] == [found[1].text] * 2


def test_texts_of_different_lengths_are_extended_together(model, tokenizer):
    """The best of all, with penalties for tokens and ends, as each text by itself gives them."""
    seen = []

    @search
    def mixed(tree, n):
        first = [one for one in tree.extend([tree.root], 4) if not one.is_over]
        texts = [*first[1:], *tree.extend(first[:1], 3)]
        texts = [one for one in texts if not one.is_over]
        assert len({one.text.length for one in texts}) > 1
        for penalties in ({}, {texts[0].text.token: 2.0, END: 3.0, 84: 1.0}):
            together = tree.extend(texts, 9, penalties)
            alone = [one for text in texts for one in tree.extend([text], 9, penalties)]
            best = sorted(alone, key=lambda one: one.cost + penalties.get(END if one.is_over else one.text.token, 0.0))
            seen.append(([(one.text, one.is_over) for one in together], [(one.text, one.is_over) for one in best]))
        return [one for one in together if one.is_over][:n]

    gl.generate(model, "the cat", tokenizer=tokenizer, regex="[a-z ]{0,9}", method=mixed)
    for together, best in seen:
        ends = sum(is_over for _, is_over in together)
        assert ends > 1
        assert together == best[: len(together)] or set(together) >= set(best[:9])
    assert seen[0] != seen[1]


def test_a_search_that_finds_nothing(model, tokenizer):
    given = {"tokenizer": tokenizer, "regex": "[ab]{3}", "where": lambda text: len(text) < 2}
    out = gl.generate(model, "a", method=best_first, **given)
    assert (out.finish_reason, out.value) == ("unsatisfied", None)
    assert out.error.startswith("after 1 tokens where= refuses all that may come next")
    out = gl.generate(model, "a", method=search(lambda tree, n: []), tokenizer=tokenizer, regex="[ab]{3}")
    assert (out.finish_reason, out.error) == ("error", "ValueError: the search found no answer")


def test_an_independent_search_draws_each_answer_by_itself(model, tokenizer):
    seen = []

    @search(is_independent=True)
    def drawn(tree, n):
        noise = np.random.default_rng(tree.sampling.seed)
        seen.append((n, tree.sampling.seed))
        at = tree.root
        while not at.is_over:
            level = tree.extend([at], 5)
            p = np.exp([at.cost - one.cost for one in level])
            at = level[noise.choice(len(level), p=p / p.sum())]
        return [replace(tree.result_of(at), log_weight=-1.0)]

    options = {"tokenizer": tokenizer, "regex": "[a-z]{2,4}", "temperature": 1.0, "seed": 4, "method": drawn}
    found = gl.generate(model, PROMPTS, n=3, **options)
    assert {n for n, _ in seen} == {1}
    assert len({seed for _, seed in seen}) == 3
    assert all(one.value == one.text and one.log_weight == -1.0 and one.score is not None for one in found)
    again = gl.generate(model, PROMPTS[0], n=3, **options)
    assert [one.text for one in again] == [one.text for one in found[:3]]


def test_searches_refuse_what_they_cannot_do(model, tokenizer):
    given = {"tokenizer": tokenizer, "regex": "[a-z]{2,4}", "method": best_first}
    for arguments, kind, message in (
        (
            {"top_k": 5},
            ValueError,
            "top_k= with method='best_first', which goes by all that the model's distribution has",
        ),
        ({"heal": True}, ValueError, "heal=True takes tokens of this prompt back"),
        ({"widht": 5}, TypeError, "generate() has no argument widht=; did you mean width=?"),
    ):
        with pytest.raises(kind, match=re.escape(message)):
            gl.generate(model, "the ca", **{**given, **arguments})
    with pytest.raises(ValueError, match=re.escape("it takes 'masked'")):
        gl.stream(model, "the ca", **given)


def test_a_generator_takes_a_method_of_ones_own(model, other, tokenizer):
    words = gl.Generator(model, gl.Regex("[a-z]{3}"), tokenizer=tokenizer, method=best_first, width=2)
    assert re.fullmatch("[a-z]{3}", words("the").value)
    mixed = gl.Generator(model, gl.Regex("[a-z]{3}"), tokenizer=tokenizer, method=blend(other)(averaged))
    assert list(mixed.stream("the"))[-1].result.tokens == mixed("the").tokens
