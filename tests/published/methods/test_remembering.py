"""awrs(remember=True): the law of draws that share what is refuted, on a language that is listed."""

import math
import re

import numpy as np
import pytest
import torch

import grammarlm as gl
from tests.counts import tiers
from tests.decoding.toy_language import LANGUAGES, LONGEST, STOP, next_token

VOCAB = gl.Vocabulary([b"a", b"b", b"</s>", b"<s>"], stop_ids=[2], special_ids=[2, 3])
LAW = {"".join("ab"[token] for token in text): p for text, p in LANGUAGES["a dead end"].law().items()}
EVIDENCE = sum(LAW.values())


def toy_model(ids):
    rows = [[[*next_token(tuple(row[1 : end + 1])[:LONGEST]), 0.0] for end in range(len(row))] for row in ids.tolist()]
    return torch.log(torch.tensor(rows, dtype=torch.float32))


def draws(model=toy_model, **options):
    given = {"vocab": VOCAB, "max_tokens": 6, "method": "awrs", "remember": True, "temperature": 1.0}
    return gl.generate(model, [3], **{**given, **options})


GRAMMAR = {"choices": sorted(LAW)}
# The grammar allows more than the predicate, which refuses late: dead ends that masks do not know.
PREDICATE = {"regex": "[ab]{1,3}", "where": lambda text: len(text) < 3 or text in LAW}


def log_p(text):
    tokens = ["ab".index(letter) for letter in text]
    return sum(math.log(next_token(tuple(tokens[:at]))[token]) for at, token in enumerate([*tokens, STOP]))


def test_of_each_draw_log_q_and_log_weight_are_log_p():
    """Of texts whose end is the only token left, so that all of q is in their logprobs."""
    for seed in range(5):
        outs = draws(n=40, seed=seed, **GRAMMAR)
        longest = [out for out in outs if len(out.text) == LONGEST]
        assert len(longest) > 5
        for out in longest:
            assert sum(out.logprobs) + out.log_weight == pytest.approx(log_p(out.text), abs=1e-3)
        plain = draws(n=1, seed=seed, remember=False, **GRAMMAR)
        assert (outs[0].tokens, outs[0].log_weight) == (plain.tokens, pytest.approx(plain.log_weight, abs=1e-5))


def test_once_all_is_known_the_weights_are_the_evidence_and_the_law_is_the_models():
    outs = draws(n=700, seed=3, **GRAMMAR)
    assert {out.text for out in outs[:100]} == set(LAW)
    late = outs[100:]
    assert [out.log_weight for out in late] == pytest.approx([math.log(EVIDENCE)] * len(late), abs=1e-4)
    for text, p in LAW.items():
        share, expected = np.mean([out.text == text for out in late]), p / EVIDENCE
        assert share == pytest.approx(expected, abs=5 * math.sqrt(expected * (1 - expected) / len(late)))


@tiers("seeds", 60, 5000)
@pytest.mark.parametrize("held", ["grammar", "predicate"])
def test_each_of_several_draws_is_properly_weighted(held, seeds):
    """E[w 1{text}] = p(text), whichever draw it is: what the earlier ones have taught it does not bias it."""
    constraint = {"grammar": GRAMMAR, "predicate": PREDICATE}[held]
    law = (
        LAW
        if held == "grammar"
        else {
            text: math.exp(log_p(text))
            for text in ("a", "b", "aa", "ab", "ba", "bb", *LAW)
            if len(text) < 3 or text in LAW
        }
    )
    found = [draws(n=4, seed=seed, **constraint) for seed in range(seeds)]
    for number in (0, 1, 3):
        for text, p in law.items():
            weights = np.array([math.exp(outs[number].log_weight) * (outs[number].text == text) for outs in found])
            assert weights.mean() == pytest.approx(p, abs=5 * weights.std() / math.sqrt(seeds) + 0.02), (number, text)


def test_no_text_is_read_twice_and_no_dead_end_entered_twice():
    read, asked = [], []

    def watched(ids):
        read.extend(tuple(row) for row in ids.tolist())
        return toy_model(ids)

    def where(text):
        asked.append(text)
        return text == "b" or (not text.startswith("b") and len(text) < 3)  # after "aa" and "ab" nothing may come

    held = {"regex": "b|a[ab]{2}", "where": where, "n": 60, "seed": 2}
    outs = draws(watched, **held)
    assert len(read) == len(set(read)) <= 5
    assert len(asked) == len(set(asked))
    dead = [out for out in outs if out.finish_reason == "unsatisfied"]
    assert 0 < len(dead) <= 2
    assert all(out.log_weight == -math.inf and out.value is None for out in dead)
    assert {out.text for out in outs if out not in dead} == {"b"}
    plain = draws(remember=False, **held)
    assert sum(out.finish_reason == "unsatisfied" for out in plain) > 10


def test_several_prompts_filters_of_weights_and_failures():
    outs = gl.generate(
        toy_model, [[3], [3]], vocab=VOCAB, method="awrs", remember=True, weights="none", temperature=1.0, seed=1, n=3, **GRAMMAR
    )  # fmt: skip
    assert [out.tokens for out in outs[:3]] == [out.tokens for out in outs[3:]]
    assert {out.log_weight for out in outs} == {None}
    outs = draws(n=12, seed=3, regex="[ab]{2}", where=lambda text: 1 / (text != "ab"))
    assert {out.finish_reason for out in outs} == {"stop", "error"}
    assert all("ZeroDivisionError" in out.error for out in outs if out.error)
    gone = draws(n=4, seed=3, regex="[ab]{2,3}", where=lambda text: len(text) < 2)
    assert {(out.finish_reason, out.log_weight) for out in gone} == {("unsatisfied", -math.inf)}


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"remember": 1.5}, ValueError, "remember=1.5; it takes True or False"),
        ({"temperature": 0.0}, ValueError, "remember=True is about draws, and at temperature 0 nothing is drawn"),
        ({"method": "smc"}, TypeError, "generate() has no argument remember="),
    ],
    ids=["number", "greedy", "smc"],
)
def test_what_cannot_be_done_is_said(options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        draws(**{**GRAMMAR, **options})
