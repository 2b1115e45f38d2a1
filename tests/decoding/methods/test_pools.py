"""vote and first_finish: judged by the masked draws that they choose among; beams in groups, by their definition."""

import json
import math
import re
from collections import Counter

import jsonschema
import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.decoding.methods.pools.vote import frozen
from tests.counts import tiers
from tests.decoding.methods.two_models import (
    PROMPTS,
    STOP,
    TEXTS,
    WIDTH,
    allowed_after,
    generate,
    log_softmax,
    row_after,
    tabled,
)
from tests.decoding.random_models import Forwards, random_model

DRAWN = {"temperature": 1.0, "seed": 4}
COMPLETE = ("stop", "closed")
SCHEMA = {
    "type": "object",
    "properties": {"a": {"enum": [1, 2, True]}, "b": {"enum": ["x", None]}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
ANY_ORDER = gl.JsonSchema(SCHEMA, property_order="any")

# ------------------------------------------------------------------ vote


def elected(answers, key, weight=lambda out: 1.0):
    """(first text, share) of what has the most votes, by comparing each with each."""
    voters = [out for out in answers if out.finish_reason in COMPLETE]
    votes = [sum(weight(two) for two in voters if key(two) == key(one)) for one in voters]
    best = max(range(len(voters)), key=lambda at: (votes[at], -at))
    return voters[best].text, votes[best] / sum(map(weight, voters))


@tiers("seeds", 4, 100)
@pytest.mark.parametrize(
    ("key", "weight"),
    [
        (None, None),
        (lambda out: len(out.text), None),
        (lambda out: out.text[0], lambda out: math.exp(sum(out.model_logprobs))),
        (lambda out: [out.text[-1], {"n": len(out.text)}], lambda out: len(out.text)),
    ],
    ids=["text", "length", "beginning", "unhashable"],
)
def test_the_vote_is_a_count_of_the_draws(key, weight, seeds):
    for seed in range(seeds):
        options = {"temperature": 1.3, "seed": seed}
        draws = np.array(generate("masked", n=9, batch_size=99, **options), dtype=object).reshape(len(PROMPTS), 9)
        found = generate("vote", candidates=9, key=key, weight=weight, **options)
        for own, out in zip(draws, found, strict=True):
            text, share = elected(own, key or (lambda out: out.text), weight or (lambda out: 1.0))
            assert (out.text, out.score) == (text, pytest.approx(share))


def test_several_answers_are_those_with_the_most_votes():
    found = generate("vote", [2], candidates=40, n=6, temperature=2.0, seed=3)
    draws = Counter(out.text for out in generate("masked", [2], n=40, temperature=2.0, seed=3))
    assert [round(40 * out.score) for out in found] == [count for _, count in draws.most_common(6)]
    assert len({out.text for out in found}) == 6
    few = generate("vote", [2], candidates=4, n=3, choices=["a"], **DRAWN)
    assert [out.text for out in few] == ["a"] * 3


def spelled(*texts):
    """A model of bytes that writes these texts, one after the prompt [number] each."""
    vocab = gl.Vocabulary([*(bytes([byte]) for byte in range(256)), b""], stop_ids=[256])

    def model(ids):
        logits = torch.full((*ids.shape, 257), -9.0)
        for row, line in enumerate(ids.tolist()):
            written = bytes(token for token in line[1:] if token < 256)
            for end in range(len(line)):
                going = [text for text in texts if text.startswith(written[:end])]
                for text in going:
                    logits[row, end, text[end] if end < len(text) else 256] = 9.0
        return logits

    return model, vocab


def test_two_spellings_are_one_vote():
    """Those of one value count together against another one, which is spelled in one way."""
    model, vocab = spelled(b'{"a":1,"b":"x"}', b'{"b":"x","a":1}', b'{"a":2,"b":null}')
    options = {"vocab": vocab, "grammar": ANY_ORDER, "temperature": 1.0, "seed": 5}
    draws = gl.generate(model, [0], n=30, **options)
    texts = Counter(out.text for out in draws)
    assert len(texts) == 3
    out = gl.generate(model, [0], method="vote", candidates=30, **options)
    same_value = sum(count for text, count in texts.items() if json.loads(text)["a"] == 1)
    assert (out.value, out.score) == ({"a": 1, "b": "x"}, pytest.approx(same_value / 30))
    assert out.text == next(one.text for one in draws if one.value["a"] == 1)


@pytest.mark.parametrize(
    ("one", "two", "is_same"),
    [
        (1, 1.0, True), (1, True, False), (0, False, False), ({"a": [1]}, {"a": [1.0]}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False), ([], {}, False), (None, "null", False), ("1", 1, False), ({"a": [True]}, {"a": [1]}, False),
    ],
)  # fmt: skip
def test_values_are_compared_as_json_compares_them(one, two, is_same):
    assert (frozen(one) == frozen(two)) is is_same
    assert not is_same or hash(frozen(one)) == hash(frozen(two))


def test_instances_vote_by_their_fields():
    from dataclasses import dataclass

    from pydantic import BaseModel

    class Model(BaseModel):
        a: int
        b: list[int]

    @dataclass
    class Data:
        a: int
        b: list[int]

    for kind in (Model, Data):
        assert frozen(kind(a=1, b=[2])) == frozen(kind(a=1, b=[2])) != frozen(kind(a=1, b=[3]))
    assert frozen(Model(a=1, b=[2])) != frozen(Data(a=1, b=[2]))


def test_what_was_cut_has_no_vote():
    options = {"regex": "[abcd]{1,9}", "choices": None, "close": False, "max_tokens": 3, "temperature": 1.0}
    for seed in range(8):
        draws = generate("masked", [2], n=12, seed=seed, **options)
        out = generate("vote", [2], candidates=12, seed=seed, key=lambda out: len(out.text), **options)
        done = [one for one in draws if one.finish_reason in COMPLETE]
        assert out.text == (elected(draws, lambda one: len(one.text))[0] if done else draws[0].text)
        assert (out.finish_reason in COMPLETE) == bool(done)


@pytest.mark.parametrize("name", ["key", "weight"])
def test_functions_that_raise_lose_their_answer_alone(name):
    def told(out):
        return 1 / ("a" not in out.text)

    def flat(ids):
        return torch.zeros(*ids.shape, WIDTH)

    outs = generate(
        "vote", [[0], [1]], flat, candidates=9, **{name: told}, choices=[["cc", "ab"], ["aa", "ab"]], **DRAWN
    )
    assert outs[0].text == "cc"
    assert (outs[1].finish_reason, outs[1].value) == ("error", None)
    assert outs[1].error == f"{name}= raised ZeroDivisionError: division by zero"
    short = generate("vote", [0], candidates=2, weight=lambda out: -1, **DRAWN)
    assert short.error == "weight= raised ValueError: it gave -1.0; it returns a number, 0 or more"
    no_hash = generate(
        "vote", [0], candidates=2, key=lambda out: torch.nn.ParameterList, weight=lambda out: math.inf, **DRAWN
    )
    assert no_hash.error.startswith("weight= raised ValueError: it gave inf")
    assert generate("vote", [0], candidates=2, key=lambda out: bytearray(), **DRAWN).error.startswith(
        "key= raised TypeError"
    )


# ------------------------------------------------------------------ first_finish


@tiers("seeds", 6, 200)
@pytest.mark.parametrize("n", [1, 3])
def test_the_first_of_the_masked_draws(n, seeds):
    """By the forwards that each of them takes part in, then its tokens, then its number."""
    for seed in range(seeds):
        options = {
            "temperature": 1.5,
            "seed": seed,
            "close": False,
            "max_tokens": 6,
            "choices": None,
            "regex": "[abcd]{1,9}",
        }
        draws = np.array(generate("masked", n=7, batch_size=99, **options), dtype=object).reshape(len(PROMPTS), 7)
        found = generate("first_finish", candidates=7, n=n, **options)
        for number, own in enumerate(draws):
            done = [at for at, one in enumerate(own) if one.finish_reason in COMPLETE]
            order = sorted(done, key=lambda at: (own[at].stats.forwards, len(own[at].tokens), at)) or list(range(n))
            expected = [own[order[min(rank, len(order) - 1)]] for rank in range(n)]
            answers = found[number * n : (number + 1) * n]
            assert [one.tokens for one in answers] == [one.tokens for one in expected]
            assert [one.finish_reason for one in answers] == [one.finish_reason for one in expected]
            assert [one.stats.forwards for one in answers] == [one.stats.forwards for one in expected]
            assert not done or all(one.finish_reason in COMPLETE for one in answers)


def test_the_others_are_given_up(tokenizer):
    """The model reads no more than up to the first end: of one prompt, and of each of several."""
    model = random_model("Llama", len(tokenizer))
    watched = Forwards(model)
    options = {"tokenizer": tokenizer, "regex": "[a-z ]{1,40}", "max_tokens": 45, "temperature": 1.0, "seed": 6}
    for prompts in (["the cat"], ["the cat", "a 100 year old", "in"]):
        watched.shapes.clear()
        found = gl.generate(model, prompts, method="first_finish", candidates=6, **options)
        assert len(watched.shapes) <= max(out.stats.forwards for out in found) + 2
        live = [rows for rows, _ in watched.shapes[1:]]
        assert live == sorted(live, reverse=True)
        assert max(live) <= 6 * len(prompts)


def test_a_schema_in_every_answer(model, tokenizer):
    for method in ("vote", "first_finish"):
        for seed in range(3):
            options = {"tokenizer": tokenizer, "schema": SCHEMA, "temperature": 1.0, "seed": seed, "max_tokens": 40}
            found = gl.generate(model, ["the cat", "a"], method=method, candidates=4, n=2, **options)
            again = gl.generate(model, ["the cat", "a"], method=method, candidates=4, n=2, **options)
            assert [out.tokens for out in found] == [out.tokens for out in again]
            for out in found:
                jsonschema.validate(json.loads(out.text), SCHEMA)


@pytest.mark.parametrize(
    ("method", "options", "kind", "message"),
    [
        ("vote", {"candidates": 0}, ValueError, "candidates=0; it takes an integer from 1 to"),
        ("vote", {"candidates": 2, "n": 3}, ValueError, "n=3 with candidates=2"),
        ("vote", {"key": "total"}, TypeError, "key is 'total'; it takes a function"),
        ("first_finish", {"candidates": "8"}, TypeError, "candidates is '8'; it takes an integer"),
        ("first_finish", {"candidates": 2, "n": 3}, ValueError, "n=3 with candidates=2"),
        ("beam", {"groups": 0}, ValueError, "groups=0; it takes an integer from 1 to 5"),
        ("beam", {"groups": 6}, ValueError, "groups=6; it takes an integer from 1 to 5"),
        ("beam", {"diversity": -1}, ValueError, "diversity=-1; it takes a number, 0 (none) or more"),
        ("beam", {"diversity": math.nan}, ValueError, "diversity=nan"),
    ],
)
def test_what_cannot_be_done_is_said(method, options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate(method, **options)


# ------------------------------------------------------------------ beams in groups


def plain_groups(model, prompt, texts, sizes, diversity, most=20):
    """The definition: level by level, group by group, all continuations of what is kept, sorted."""
    kept = [[(0.0, (), False)] for _ in sizes]
    for _ in range(most):
        chosen = Counter()
        for number, size in enumerate(sizes):
            level = [(cost, cost, text, over, None) for cost, text, over in kept[number] if over]
            for cost, text, _ in (one for one in kept[number] if not one[2]):
                allowed = allowed_after(texts, list(text))
                log_p = log_softmax(row_after(model, [*prompt, *text]))
                for token in np.flatnonzero(allowed).tolist():
                    after = cost - log_p[token]
                    more = text if token == STOP else (*text, token)
                    level.append((after + diversity * chosen[token], after, more, token == STOP, token))
            best = sorted(level, key=lambda one: one[:4])[:size]
            kept[number] = [(cost, text, over) for _, cost, text, over, _ in best]
            now = Counter(token for *_, token in best if token is not None)
            chosen += now
    return sorted({(text, over): (cost, text) for group in kept for cost, text, over in group}.values())


@tiers("models", 6, 150)
@pytest.mark.parametrize("groups", [1, 2, 3, 5])
@pytest.mark.parametrize("diversity", [0.0, 0.4, 3.0])
def test_groups_by_their_definition(groups, diversity, models):
    for seed in range(models):
        model, beams = tabled(seed, deviation=1.0), 5
        sizes = [beams // groups + (number < beams % groups) for number in range(groups)]
        expected = plain_groups(model, [2], TEXTS, sizes, diversity)[:4]
        found = generate("beam", [2], model, beams=beams, groups=groups, diversity=diversity, n=4)
        texts = ["".join("abcd"[token] for token in text) for _, text in expected]
        assert [out.text for out in found][: len(texts)] == texts
        assert [out.score for out in found][: len(texts)] == pytest.approx([-cost for cost, _ in expected], abs=1e-4)


def test_one_group_is_the_beam_and_several_find_more(model, tokenizer):
    words = {"type": "array", "items": {"enum": ["red", "green", "blue", 1, 2]}, "minItems": 2, "maxItems": 3}
    given = {"tokenizer": tokenizer, "schema": words}
    prompts = ["the cat", "a 100"]
    for diversity in (0.0, 2.0):
        one = gl.generate(model, prompts, method="beam", beams=4, groups=1, diversity=diversity, n=4, **given)
        plain = gl.generate(model, prompts, method="beam", beams=4, n=4, **given)
        assert [(out.tokens, out.score) for out in one] == [(out.tokens, out.score) for out in plain]
    alone = gl.generate(model, prompts, method="beam", beams=2, n=2, **given)
    same = gl.generate(model, prompts, method="beam", beams=6, groups=3, diversity=0.0, n=2, **given)
    more = gl.generate(model, prompts, method="beam", beams=6, groups=3, diversity=3.0, n=6, **given)
    assert [out.tokens for out in same] == [out.tokens for out in alone]
    for at in range(2):
        texts = {out.text for out in more[6 * at : 6 * (at + 1)]}
        assert len(texts) > len({out.text for out in alone[2 * at : 2 * (at + 1)]})
        for text in texts:
            jsonschema.validate(json.loads(text), given["schema"])


def test_the_penalty_brings_nothing_back():
    """However large it is: one text is one text, and a forbidden token stays forbidden."""
    for groups in (2, 5):
        found = generate("beam", [2], beams=5, groups=groups, diversity=1e6, n=5, choices=["ab", "b"])
        assert {out.text for out in found} <= {"ab", "b"}
        assert all(out.score > -100 for out in found)
        assert [out.text for out in generate("beam", beams=5, groups=groups, diversity=50.0, choices=["abc"])] == [
            "abc"
        ] * 3


def test_groups_share_their_forwards(tokenizer):
    model = random_model("Llama", len(tokenizer))
    watched = Forwards(model)
    given = {"tokenizer": tokenizer, "regex": "[a-z ]{6}", "method": "beam", "beams": 6}
    counts = []
    for groups in (1, 3):
        watched.shapes.clear()
        gl.generate(model, "the cat", groups=groups, **given)
        counts.append(len(watched.shapes))
    assert counts[1] <= counts[0] + 1 <= 8
