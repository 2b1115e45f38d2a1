"""method="best_first": V-STAR's planted reward, the number of expansions, and what is most probable by listing all texts."""

import math
import re

import pytest
import torch

import grammarlm as gl
from grammarlm.decoding import beam_search
from tests.counts import tiers
from tests.decoding.methods.two_models import (
    FIRST,
    LETTERS,
    PROMPTS,
    STOP,
    TEXTS,
    VOCAB,
    generate,
    log_softmax,
    row_after,
    tabled,
)


def log_p(model, prompt, text):
    """Of a text and its end, by one forward for each token."""
    tokens = [LETTERS.index(letter) for letter in text]
    rows = [log_softmax(row_after(model, [*prompt, *tokens[:at]])) for at in range(len(tokens) + 1)]
    return sum(row[token] for row, token in zip(rows, [*tokens, STOP], strict=True))


@tiers("models", 5, 150)
@pytest.mark.parametrize("at_once", [1, 3])
def test_without_value_the_most_probable_texts_come_first(at_once, models):
    for seed in range(models):
        model = tabled(seed, deviation=1.0)
        for prompt in PROMPTS:
            expected = sorted(((log_p(model, prompt, text), text) for text in TEXTS), reverse=True)
            options = {"n": 4, "expansions": 300, "at_once": at_once, "max_tokens": 10}
            found = generate("best_first", [prompt], model, **options)
            assert [out.text for out in found] == [text for _, text in expected[:4]]
            assert [out.score for out in found] == pytest.approx([score for score, _ in expected[:4]], abs=1e-4)


@tiers("models", 4, 100)
def test_texts_are_read_in_the_order_of_their_probability(models):
    """What is read is what is more probable than the answer, and nothing else."""
    for seed in range(models):
        model, read = tabled(seed, deviation=1.0), []

        def watched(ids, model=model, read=read):
            read.extend(tuple(row) for row in ids.tolist())
            return model(ids)

        [out] = generate("best_first", [[2]], watched, expansions=300)
        prefixes = {text[:end] for text in TEXTS for end in range(len(text) + 1)}
        scores = {}
        for prefix in prefixes:
            tokens = [LETTERS.index(letter) for letter in prefix]
            rows = [log_softmax(row_after(model, [2, *tokens[:at]])) for at in range(len(tokens))]
            scores[(2, *tokens)] = sum(row[token] for row, token in zip(rows, tokens, strict=True))
        assert {text for text, score in scores.items() if score > out.score + 1e-4} == set(read)
        assert [scores[text] for text in read] == sorted((scores[text] for text in read), reverse=True)


@tiers("models", 6, 200)
@pytest.mark.parametrize("at_once", [1, 2, 7])
def test_no_more_expansions_than_asked_for_and_always_an_answer(at_once, models):
    """A value that knows nothing, under a long grammar: the last expansions write one text to its end."""
    for seed in range(models):
        model, rows = tabled(seed), []

        def counting(ids, model=model, rows=rows):
            rows.append(len(ids))
            return model(ids)

        noise = torch.Generator().manual_seed(seed)
        options = {"choices": None, "regex": "[abcd]{6,9}", "max_tokens": 10, "at_once": at_once}
        options |= {"value": lambda text: float(torch.rand(1, generator=noise))} if seed % 2 else {}  # noqa: B023
        for expansions in (11, 12, 17, 40):
            rows.clear()
            [out] = generate("best_first", [[2]], counting, expansions=expansions, **options)
            assert sum(rows) <= expansions
            assert max(rows) <= at_once
            assert (out.finish_reason, out.error) in {("stop", None), ("closed", None)}
            assert re.fullmatch("[abcd]{6,9}", out.text)


FIRSTS = 300  # ids of first tokens; 301 ends an item
SHOP = [[first, *rest] for first in range(FIRSTS) for rest in ([0, 1], [1, 0], [2, 2])]
WIDE = gl.Vocabulary([f"<{at}>".encode() for at in range(FIRSTS)] + [b"", b""], stop_ids=[301])
PLANTED = [217, 2, 2]


def unlikely(ids):
    """The planted item's first token has log p -11; what follows a first token is all alike."""
    logits = torch.zeros(*ids.shape, FIRSTS + 2)
    logits[:, :, PLANTED[0]] = -11 + math.log(FIRSTS + 1)
    return logits


def test_vstar_a_planted_reward_is_found_where_a_beam_misses_it():
    text = "".join(f"<{token}>" for token in PLANTED)

    def value(so_far):
        return float(len(so_far)) if text.startswith(so_far) else -1.0

    read = []

    def counting(ids):
        read.append(len(ids))
        return unlikely(ids)

    given = {"vocab": WIDE, "items": SHOP}
    out = gl.generate(counting, [300], method="best_first", expansions=12, width=FIRSTS, value=value, **given)
    assert (out.tokens, out.score) == (PLANTED, float(len(text)))
    assert out.model_logprobs[0] == pytest.approx(-11, abs=0.01)
    assert sum(read) <= 12
    beams = gl.generate(unlikely, [300], method="beam", beams=20, n=20, **given)
    assert all(one.tokens != PLANTED for one in beams)

    def step(tokens, parents):
        return unlikely(torch.zeros(1, len(parents), dtype=torch.long))[0]

    def rewards(prefixes):
        return [value("".join(f"<{token}>" for token in one)) for one in prefixes]

    guided = beam_search(step, gl.Tokens(SHOP), beams=20, value=rewards)
    assert tuple(PLANTED) not in guided.tokens


def test_an_answer_of_items_needs_no_more_expansions_than_their_tokens():
    given = {"vocab": WIDE, "items": SHOP, "method": "best_first"}
    assert gl.generate(unlikely, [300], expansions=4, **given).tokens in SHOP
    with pytest.raises(ValueError, match=re.escape("expansions=3 are fewer than an answer may need, 4")):
        gl.generate(unlikely, [300], expansions=3, **given)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda text: 1 / 0, "value= raised ZeroDivisionError: division by zero"),
        (lambda text: math.nan if len(text) > 1 else 0, "value= raised ValueError: it gave NaN; it returns a number"),
        (lambda text: [], "value= raised TypeError"),
        (lambda text: None, "value= raised TypeError"),
    ],
    ids=["raises", "nan", "a list", "nothing"],
)
def test_values_that_fail_are_told_by_name(value, message):
    outs = generate("best_first", value=value, n=2)
    assert {(out.finish_reason, out.value) for out in outs} == {("error", None)}
    assert all(message in out.error for out in outs)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"expansions": 10}, ValueError, "expansions=10 are fewer than an answer may need, 11; or lower max_tokens"),
        ({"expansions": 0}, ValueError, "expansions=0; it takes an integer of 1 or more"),
        ({"expansions": 2.5}, TypeError, "expansions is 2.5; it takes an integer"),
        ({"width": 0}, ValueError, "width=0; it takes an integer from 1 to"),
        ({"at_once": 0}, ValueError, "at_once=0; it takes an integer from 1 to"),
        ({"value": 5}, TypeError, "value is 5; it takes a function"),
        ({"top_k": 5}, ValueError, "top_k= with method='best_first'"),
    ],
    ids=["few", "none", "half", "width", "at once", "value", "filter"],
)  # fmt: skip
def test_what_cannot_be_done_is_said(options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate("best_first", max_tokens=10, **options)


def test_infinite_values_and_predicates():
    """-inf: last of all. What where= refuses is no continuation."""
    out = generate("best_first", [[2]], value=lambda text: -math.inf if "d" in text else len(text))[0]
    assert "d" not in out.text
    out = generate("best_first", [[2]], where=lambda text: "b" not in text, value=len)[0]
    assert out.text in [text for text in TEXTS if "b" not in text]
    assert gl.generate(FIRST, [2], vocab=VOCAB, regex="", method="best_first").text == ""
