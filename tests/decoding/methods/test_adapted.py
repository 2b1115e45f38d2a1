"""method="adapted": a model that is changed between forwards; judged by masks that are filled again, and by the model as it is."""

import json
import math
import random
import re

import jsonschema
import numpy as np
import pytest
import torch

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.decoding.methods.two_models import (
    FIRST,
    PROMPTS,
    SCHEMA,
    STOP,
    TEXTS,
    WIDTH,
    allowed_after,
    generate,
    row_after,
    same,
)
from tests.decoding.random_models import Forwards, random_model

DRAWN = {"temperature": 1.0, "seed": 4}


@pytest.mark.parametrize(
    "options", [{}, {"n": 3, **DRAWN}, {"forced": "off", **DRAWN}], ids=["greedy", "n", "unforced"]
)
def test_without_changes_it_is_masked(model, tokenizer, options):
    """UDDIA: whether it is read again or not."""
    given = {"tokenizer": tokenizer, "schema": SCHEMA, "max_tokens": 40, **options}
    prompts = ["the cat", "a 100 year old"]
    expected = gl.generate(model, prompts, **given)
    for again in (False, True):
        found = gl.generate(model, prompts, method="adapted", step=lambda *seen, again=again: again, **given)
        for one, two in zip(found, expected, strict=True):
            same(one, two)


@tiers("count", 4, 200)
def test_random_changes_are_valid_and_leave_the_constraint_alone(tokenizer, monkeypatch, count, record_property):
    """UDDIA: snapshots of all matchers are equal around each repeat, those of the prompt's included."""
    matchers, outcomes = [], {"cases": 0, "changes": 0}
    make = gl.Constraint.matcher
    monkeypatch.setattr(
        gl.Constraint, "matcher", lambda *given, **more: matchers.append(make(*given, **more)) or matchers[-1]
    )
    for seed in range(max(1, count // 4)):
        model, choose = random_model("Llama", len(tokenizer)), random.Random(seed)
        seen = {}

        def step(changed, logits, texts, choose=choose, seen=seen):
            assert logits.shape == (len(texts), len(tokenizer))
            now, place = [each.snapshot() for each in matchers], tuple(map(tuple, texts))
            assert seen.setdefault(place, now) == now
            if choose.random() < 0.4:
                return False
            with torch.no_grad():
                for weight in changed.parameters():
                    weight.add_(0.02 * torch.randn_like(weight))
            outcomes["changes"] += 1
            return choose.random() < 0.8

        torch.manual_seed(seed)
        matchers.clear()
        found = gl.generate(
            model, ["the cat", "in"], tokenizer=tokenizer, schema=SCHEMA, max_tokens=40, method="adapted", step=step, most=3,
            n=2, temperature=1.0, seed=seed,
        )  # fmt: skip
        for out in found:
            jsonschema.validate(json.loads(out.text), SCHEMA)
            outcomes["cases"] += 1
        assert any(len(place) == 2 for place in seen)
        assert matchers
    assert outcomes["changes"]
    record_counts(record_property, outcomes, cases="cases")


def test_what_is_drawn_from_is_the_model_as_it_is():
    """A table that is turned at each repeat: by forwards of whole texts over the table of that moment."""
    tables = []

    class Turning:
        offset = 0

        def __call__(self, ids):
            return FIRST(ids).roll(self.offset, -1)

    turning, asked = Turning(), []

    def step(model, logits, texts):
        expected = torch.stack([model(torch.tensor([text]))[0, -1] for text in texts])
        torch.testing.assert_close(logits, expected)
        asked.append([list(text) for text in texts])
        model.offset = (model.offset + 1) % WIDTH
        tables.append(model.offset)
        return True

    out = generate("adapted", [0, 1], turning, step=step, most=2)
    tokens, offset = [], 0
    while True:
        allowed = allowed_after(TEXTS, tokens)
        if allowed.sum() == 1 and allowed[STOP]:
            break
        if allowed.sum() == 1:
            tokens.append(int(allowed.argmax()))
            continue
        offset = (offset + 2) % WIDTH
        row = np.roll(row_after(FIRST, [0, 1, *tokens]), offset)
        token = int(np.where(allowed, row, -math.inf).argmax())
        if token == STOP:
            break
        tokens.append(token)
    assert out.tokens == tokens
    assert asked[0] == asked[1] == [[0, 1]]


def test_most_bounds_the_repeats(tokenizer):
    model = random_model("Llama", len(tokenizer))
    watched, asked = Forwards(model), []
    given = {"tokenizer": tokenizer, "regex": "[a-z]{5}", "method": "adapted"}
    for most in (1, 3):
        watched.shapes.clear()
        asked.clear()
        gl.generate(model, "the cat", step=lambda *seen: asked.append(seen) or True, most=most, **given)
        places = len({tuple(texts[0]) for _, _, texts in asked})
        assert len(asked) == most * places
        assert len(watched.shapes) == (most + 1) * places


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({}, TypeError, "the method adapted needs the argument step="),
        ({"step": None}, TypeError, "step is None; it takes a function"),
        ({"step": 5}, TypeError, "step is 5; it takes a function"),
        (
            {"step": lambda *seen: None},
            TypeError,
            "step= returned None; it returns True where the model is to read again",
        ),
        ({"step": lambda *seen: 1 / 0}, ValueError, "step= raised ZeroDivisionError: division by zero"),
        ({"step": lambda *seen: True, "most": 0}, ValueError, "most=0; it takes an integer from 1 to"),
        ({"step": lambda *seen: True, "draft": "copy"}, ValueError, "method='adapted' takes no draft"),
    ],
    ids=["none", "no function", "an integer", "no answer", "raises", "most", "draft"],
)
def test_what_cannot_be_done_is_said(options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate("adapted", PROMPTS, **options)
