"""The adversary on grammars of every notation, judged by `re`, stock lark, json and jsonschema; nothing is repaired."""

import itertools
import json

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.decoding.diffusion import SAMPLERS
from tests.decoding.diffusion.families import FAMILIES, STOPS, TOKENS, VOCAB
from tests.decoding.diffusion.mock_models import Adversary

# Quick: each family with another third of the samplers.
COUNTS = [pytest.param(None, id="quick"), pytest.param(40, id="40", marks=pytest.mark.proof)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_text_is_valid_and_keeps_what_was_given(name, count) -> None:
    family = FAMILIES[name]
    constraint = gl.compile(family.grammar, VOCAB)
    samplers = list(SAMPLERS) if count else list(SAMPLERS)[list(FAMILIES).index(name) % 3 :: 3]
    for number, sampler in itertools.product(range(count or 1), samplers):
        random = np.random.default_rng([number, len(sampler)])
        holes = family.holes(random, random.choice([0.3, 0.6, 1.0]))
        options = {
            "steps": (None, 1, 4)[random.integers(3)],
            "block": (None, 5)[random.integers(2)],
            "temperature": float(random.integers(2)),
        }
        model = Adversary(len(TOKENS), [0, *STOPS], number)
        out = gl.infill(
            model, holes, vocab=VOCAB, mask_id=0, grammar=constraint, sampler=sampler, seed=number, **options
        )
        about = f"{sampler} {options} {holes}: {out.text!r}"
        assert family.is_valid(out.text), about
        assert all(given in (-1, token) for given, token in zip(holes, out.tokens, strict=True)), about
        ids = [*itertools.takewhile(lambda token: token not in STOPS, out.tokens)]
        assert out.text == b"".join(TOKENS[token] for token in ids).decode()
        assert all(token in STOPS for token in out.tokens[len(ids) :]), about
        matcher = constraint.as_filled.matcher()  # white space as canvases read it: any
        assert matcher.validate(ids) == len(ids)
        assert sorted(at for step in out.stats.trace for at in step.committed) == [
            at for at, token in enumerate(holes) if token < 0
        ]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_judges_refuse(name) -> None:
    family = FAMILIES[name]
    assert family.is_valid(family.text)
    assert not family.is_valid(family.text[:-1] + "!")
    assert not family.is_valid("")


def test_a_value_is_read() -> None:
    family = FAMILIES["JSON Schema"]
    holes = family.holes(np.random.default_rng(1), 0.5)
    model = Adversary(len(TOKENS), [0, *STOPS], 1)
    out = gl.infill(model, holes, vocab=VOCAB, mask_id=0, grammar=family.grammar)
    assert out.value == json.loads(out.text)
