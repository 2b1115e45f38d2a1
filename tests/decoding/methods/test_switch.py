"""method="switch": judged by the runs of its two models alone, and by the definition of its turns over listed texts."""

import json
import math
import re

import numpy as np
import pytest
import torch

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.decoding.methods.two_models import (
    FIRST,
    OTHER,
    PROMPTS,
    SCHEMA,
    STOP,
    TEXTS,
    allowed_after,
    generate,
    log_softmax,
    row_after,
    same,
    wrong_after,
)
from tests.decoding.random_models import Forwards, random_model

DRAWN = {"temperature": 1.0, "seed": 4}


@pytest.fixture(scope="module")
def large(tokenizer):
    """As the model, with other weights."""
    found = random_model("Llama", len(tokenizer))
    torch.manual_seed(9)
    for weight in found.parameters():
        weight.data += 0.2 * torch.randn_like(weight)
    return found


@tiers("prompts", 12, 200)
@pytest.mark.parametrize("options", [{}, {"n": 2, **DRAWN}, {"forced": "off"}], ids=["greedy", "drawn", "unforced"])
def test_at_its_ends_it_is_one_of_the_models(model, large, tokenizer, options, prompts):
    """EAD: above=0 is the large model alone, infinity the small one, in every figure."""
    words = ["the", "cat", "and", "hat", "sat", "at", "in", "a", "100", "year", "old"]
    asked = [" ".join(words[(at + k * 3) % len(words)] for k in range(1 + at % 4)) for at in range(prompts)]
    given = {"tokenizer": tokenizer, "schema": SCHEMA, "max_tokens": 40, "batch_size": 8, **options}
    for above, alone in ((0, large), (math.inf, model)):
        expected = gl.generate(alone, asked, **given)
        found = gl.generate(model, asked, method="switch", large=large, above=above, **given)
        for one, two in zip(found, expected, strict=True):
            same(one, two)
            assert {step["large"] for step in one.stats.log} <= {1.0 if above == 0 else 0.0}


def by_definition(prompt, above, window):
    """(tokens, turns): the greedy answer, and who was asked at each choice."""
    tokens, entropies, turns = [], [], []
    while True:
        allowed = allowed_after(TEXTS, tokens)
        if allowed.sum() == 1:
            if allowed[STOP]:
                return tokens, turns
            tokens.append(int(allowed.argmax()))
            entropies.append(0.0)
            continue
        is_large = math.fsum(entropies[-window:]) / window >= above
        row = np.where(allowed, row_after(OTHER if is_large else FIRST, [*prompt, *tokens]), -math.inf)
        log_p = log_softmax(row)[allowed]
        entropies.append(-float((np.exp(log_p) * log_p).sum()))
        turns.append((len(tokens), entropies[-1], float(is_large)))
        token = int(row.argmax())
        if token == STOP:
            return tokens, turns
        tokens.append(token)


@pytest.mark.parametrize("above", [0.1, 0.3, 0.5, 0.7])
@pytest.mark.parametrize("window", [1, 2, 3])
def test_turns_by_their_definition(above, window):
    for found, prompt in zip(generate("switch", large=OTHER, above=above, window=window), PROMPTS, strict=True):
        tokens, turns = by_definition(prompt, above, window)
        assert found.tokens == tokens
        assert [(step["token"], step["large"]) for step in found.stats.log] == [(at, turn) for at, _, turn in turns]
        assert [step["entropy"] for step in found.stats.log] == pytest.approx([nats for _, nats, _ in turns], abs=1e-5)


def counted(model):
    """The model, and a list that grows by the ids of each text that it reads anew."""
    calls = []

    def found(ids):
        calls.append(ids.tolist())
        return model(ids)

    return found, calls


def test_forced_tokens_never_call_the_large_model():
    """EAD: it is called for choices alone: after texts that have several continuations."""
    for window in (1, 2, 4):
        large, calls = counted(OTHER)
        outs = generate("switch", large=large, above=0.2, window=window, n=4, **DRAWN)
        choices = {
            (*PROMPTS[at // 4], *out.tokens[: int(step["token"])])
            for at, out in enumerate(outs)
            for step in out.stats.log
            if step["large"]
        }
        assert choices
        for ids in [ids for batch in calls for ids in batch]:  # padded on the right by their last id
            assert any(tuple(ids[: len(each)]) == each and set(ids[len(each) :]) <= {each[-1]} for each in choices)


def test_each_model_reads_an_id_once(model, large, tokenizer):
    """EAD: turns of both, and no more ids than prompt, answer and one."""
    small = random_model("Llama", len(tokenizer))
    watched = [Forwards(small), Forwards(large)]
    seen = 0
    for seed in range(6):
        for each in watched:
            each.shapes.clear()
        out = gl.generate(
            small, "the cat", tokenizer=tokenizer, schema=SCHEMA, max_tokens=40, method="switch", large=large, above=0.8,
            window=2, temperature=1.0, seed=seed,
        )  # fmt: skip
        most = len(tokenizer("the cat")["input_ids"]) + len(out.tokens) + 1
        for each in watched:
            assert sum(rows * width for rows, width in each.shapes) <= most
        turns = [step["large"] for step in out.stats.log]
        seen += 0 < sum(turns) < len(turns)
        assert out.stats.forwards == sum(len(each.shapes) for each in watched)
    assert seen


@tiers("count", 8, 200)
@pytest.mark.parametrize("n", [1, 3])
def test_turns_at_random_are_valid_and_do_not_hang_on_the_company(model, large, tokenizer, n, count, record_property):
    """EAD: batches, n and prompts of unequal length; each answer is the one of its prompt alone."""
    prompts = ["the cat", "a 100 year old", "in"]
    outcomes = {"cases": 0, "large": 0, "choices": 0}
    for seed in range(max(1, count // (3 * n))):
        given = {
            "tokenizer": tokenizer, "schema": SCHEMA, "max_tokens": 40, "method": "switch", "large": large, "above": 1.0,
            "window": 1 + seed % 4, "temperature": 1.0, "seed": seed, "n": n,
        }  # fmt: skip
        found = gl.generate(model, prompts, **given)
        alone = [gl.generate(model, prompt, **given) for prompt in prompts]
        alone = alone if n == 1 else [out for outs in alone for out in outs]
        for one, two in zip(found, alone, strict=True):
            same(one, two)
            value = json.loads(one.text)
            assert 0 <= value["age"] <= 99
            assert len(value["name"]) <= 6
            outcomes["cases"] += 1
            outcomes["choices"] += len(one.stats.log)
            outcomes["large"] += int(sum(step["large"] for step in one.stats.log))
    assert 0 < outcomes["large"] < outcomes["choices"]
    record_counts(record_property, outcomes, cases="cases")


def test_a_row_of_either_model_fails_alone():
    options = {"choices": ["aaaa", "abab", "abba", "bbaa", "baba"], "method": "switch", "above": 0.0, **DRAWN}
    method = options.pop("method")
    outs = generate(method, [[0], [2], [3]], large=wrong_after(math.nan, [1]), **options)
    others = generate(method, [[0], [3]], large=OTHER, **options)
    for found, expected in zip([outs[0], outs[2]], others, strict=True):
        same(found, expected)
    assert (outs[1].finish_reason, outs[1].value) == ("error", None)
    assert "after 1 tokens the model's logits are no distribution" in outs[1].error
    options["above"] = math.inf
    outs = generate(method, [[0], [2], [3]], model=wrong_after(math.nan, [1], FIRST), large=OTHER, **options)
    assert [out.finish_reason for out in outs] == ["stop", "error", "stop"]


def test_streams():
    *told, end = gl.stream(FIRST, PROMPTS[0], vocab=gl.Vocabulary([b"a", b"b", b"c", b"d", b""], stop_ids=[4]), choices=TEXTS,
                           method="switch", large=OTHER, above=0.3)  # fmt: skip
    assert "".join(event.text for event in told) == end.result.text
    assert end.result.tokens == generate("switch", large=OTHER, above=0.3)[0].tokens


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({}, TypeError, "the method switch needs the argument large=: a model whose ids mean the same"),
        ({"large": OTHER}, TypeError, "the method switch needs the argument above="),
        ({"large": OTHER, "above": -1}, ValueError, "above=-1; it takes a number, 0 (the large model alone) or more"),
        ({"large": OTHER, "above": math.nan}, ValueError, "above=nan"),
        ({"large": OTHER, "above": "1"}, TypeError, "above is '1'"),
        ({"large": OTHER, "above": 1, "window": 0}, ValueError, "window=0; it takes an integer of 1 or more"),
        ({"large": None, "above": 1}, TypeError, "large= is None; it takes a model"),
        ({"large": OTHER, "above": 1, "draft": "copy"}, ValueError, "method='switch' takes no draft"),
    ],
)
def test_what_cannot_be_done_is_said(options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate("switch", **options)


def test_a_model_of_another_vocabulary(model, tokenizer):
    wide = random_model("Llama", 2000)
    with pytest.raises(ValueError, match="large=: its model's logits are 2,000 wide, and the vocabulary has 29"):
        gl.generate(model, "a", tokenizer=tokenizer, regex="[a-z]{3}", method="switch", large=wide, above=1)
