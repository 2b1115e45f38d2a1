"""gl.extract: judged by a loop over all spans, a forward over a whole text for each, without a cache."""

import math
import random
import re

import pytest
import torch

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.decoding.random_models import Forwards, random_model

PASSAGE = "the cat and the hat sat at 2024-10-12 in a 100 year old café"


def by_a_loop(model, prompt, ids, longest, ends):
    """(log-probability, first token, length) of the best span, ends included."""
    best = (-math.inf, 0, 0)
    with torch.no_grad():
        for first in range(len(ids)):
            for length in range(1, min(longest, len(ids) - first) + 1):
                total = -math.inf
                for end in ends:
                    tokens = [*ids[first : first + length], *end]
                    rows = model(torch.tensor([[*prompt, *tokens]])).logits[0, len(prompt) - 1 :].log_softmax(-1)
                    total = torch.logaddexp(
                        torch.tensor(total).double(), sum(rows[at, token] for at, token in enumerate(tokens))
                    )
                if float(total) > best[0]:
                    best = (float(total), first, length)
    return best


@tiers("count", 6, 100)
def test_the_best_of_all_spans(model, tokenizer, count, record_property, monkeypatch):
    """exact-extract: as a loop over all spans says; the greedy answer has the figure of its own tokens."""
    choose, outcomes = random.Random(5), {"cases": 0, "greedy is worse": 0}
    for case in range(count):
        torch.manual_seed(case)
        words = PASSAGE.split()
        passage = " ".join(choose.choice(words) for _ in range(choose.randint(1, 7)))
        prompt = choose.choice(["the cat", "sat at", "a 100"])
        end, longest = choose.choice([None, "\n", " the", "-"]), choose.choice([1, 3, 5, 20])
        ids = tokenizer(passage)["input_ids"]
        ends = [[2]] if end is None else [tokenizer(end)["input_ids"]]
        if case % 2:
            monkeypatch.setattr("grammarlm.decoding.scoring.scored_trie.MOST_BYTES", 4 * len(tokenizer) * 5)
        out = gl.extract(model, passage, prompt, end=end, longest=longest, tokenizer=tokenizer)
        monkeypatch.undo()
        score, first, length = by_a_loop(model, tokenizer(prompt)["input_ids"], ids, longest, ends)
        assert (out.first, out.tokens) == (first, tuple(ids[first : first + length]))
        assert out.logprob == pytest.approx(score, abs=1e-4)
        assert out.text in passage
        assert out.greedy.text in passage
        tokens = [*out.greedy.tokens, *([] if end else [2])]
        whole = [*tokenizer(prompt)["input_ids"], *tokens]
        with torch.no_grad():
            rows = model(torch.tensor([whole])).logits[0, -len(tokens) - 1 : -1].log_softmax(-1)
        assert out.greedy.logprob == pytest.approx(float(sum(rows[at, t] for at, t in enumerate(tokens))), abs=1e-4)
        outcomes["cases"] += 1
        outcomes["greedy is worse"] += out.greedy.logprob < out.logprob - 1e-3
    assert outcomes["greedy is worse"]
    record_counts(record_property, outcomes, cases="cases")


def test_forwards(tokenizer):
    """One over the prompt and one over the passage's spans, beside those of the greedy answer."""
    model = random_model("Llama", len(tokenizer))
    watched = Forwards(model)
    out = gl.extract(model, PASSAGE, "the cat", tokenizer=tokenizer, longest=4)
    assert len(watched.shapes) <= 2 + 2 + len(out.greedy.tokens)
    assert watched.shapes[-1][0] == 1


@tiers("count", 4, 50)
@pytest.mark.parametrize("end", [None, "\n"], ids=["stop", "text"])
@pytest.mark.parametrize("unit", ["char", "word"])
def test_all_ways_to_answer_stay_in_the_passage(model, tokenizer, unit, end, count):
    """exact-extract: greedy, beams and draws under gl.Substring."""
    grammar = gl.Substring(PASSAGE, unit=unit)
    for method, options in {
        "masked": {},
        "beam": {"beams": 4, "n": 4},
        "vote": {"temperature": 1.0, "candidates": count, "n": 2},
        "best_of": {"temperature": 1.0, "candidates": count, "n": count},
    }.items():
        given = {"tokenizer": tokenizer, "max_tokens": 12, "method": method, "seed": 3, **options}
        if end is not None:
            given["grammar"] = grammar + gl.Choices([end])
        outs = gl.generate(model, ["the cat", "in"], **{"grammar": grammar, **given})
        for out in outs:
            assert out.finish_reason in ("stop", "closed")
            assert out.text.removesuffix(end or "") in PASSAGE


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"passage": ""}, ValueError, "passage is empty"),
        ({"passage": [5, 6]}, TypeError, "passage takes a text, not list"),
        ({"end": ""}, ValueError, "end is an empty text; leave it out"),
        ({"end": 5}, TypeError, "end takes a text, or None for the model's end of sequence, not int"),
        ({"longest": 0}, ValueError, "longest=0; it takes an integer of 1 or more"),
        ({"prompt": ["a", "b"]}, TypeError, "prompt is a list of 2 prompts; it takes one"),
    ],
)
def test_what_cannot_be_extracted_is_said(model, tokenizer, arguments, kind, message):
    given = {"passage": PASSAGE, "prompt": "the cat", **arguments}
    with pytest.raises(kind, match=re.escape(message)):
        gl.extract(model, given.pop("passage"), given.pop("prompt"), tokenizer=tokenizer, **given)


def test_logits_that_are_no_distribution(tokenizer):
    def broken(ids):
        return torch.full((*ids.shape, len(tokenizer)), math.nan)

    with pytest.raises(
        ValueError, match=re.escape("greedy decoding under gl.Substring failed: ValueError: after 0 tokens")
    ):
        gl.extract(broken, PASSAGE, "the cat", tokenizer=tokenizer)
