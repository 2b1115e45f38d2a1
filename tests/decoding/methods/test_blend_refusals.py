"""What contrast, grounded and anchored refuse, by name."""

import math
import re

import pytest

import grammarlm as gl
from tests.decoding.methods.two_models import OTHER, generate
from tests.decoding.random_models import encoder_decoder


@pytest.mark.parametrize(
    ("method", "options", "kind", "message"),
    [
        ("contrast", {}, TypeError, "the method contrast needs the argument against=: a model whose ids mean the same, a prompt"),
        ("contrast", {"against": OTHER, "alpha": math.nan}, ValueError, "alpha=nan; it takes a number, -1 (the other one alone)"),
        ("contrast", {"against": OTHER, "alpha": -2}, ValueError, "alpha=-2"),
        ("contrast", {"against": OTHER, "cut": 2}, ValueError, "cut=2; it takes a number, from 0 (nothing is cut) to 1"),
        ("contrast", {"against": OTHER, "cut": "x"}, TypeError, "cut is 'x'"),
        ("grounded", {}, TypeError, "the method grounded needs the argument description="),
        ("grounded", {"description": [0], "weight": -1}, ValueError, "weight=-1"),
        ("grounded", {"description": []}, ValueError, "description= is a list of 0 prompts, but there are 3"),
        ("grounded", {"description": [[1], [2]]}, ValueError, "description= is a list of 2 prompts, but there are 3"),
        ("grounded", {"description": OTHER}, TypeError, "description= is function"),
        ("anchored", {"budget": 1.0}, TypeError, "the method anchored needs the argument safe="),
        ("anchored", {"safe": OTHER}, TypeError, "the method anchored needs the argument budget="),
        ("anchored", {"safe": OTHER, "budget": -1}, ValueError, "budget=-1; it takes a number, 0 (the safe model alone) or more"),
        ("anchored", {"safe": OTHER, "budget": math.nan}, ValueError, "budget=nan"),
        ("anchored", {"safe": OTHER, "budget": 1, "debt": -1}, ValueError, "debt=-1"),
        ("anchored", {"safe": OTHER, "budget": 1, "debt": [1, 2]}, ValueError, "debt is a list of 2, but there are 3 prompts"),
        ("anchored", {"safe": OTHER, "budget": 1, "top_k": 3}, ValueError, "top_k= with method='anchored'"),
        ("anchored", {"safe": OTHER, "budget": 1, "repetition_penalty": 2}, ValueError, "repetition_penalty= with method"),
        ("anchored", {"safe": OTHER, "budget": 1, "where": bool}, ValueError, 'where= with method="anchored", which keeps account'),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(method, options, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        generate(method, **options)


def test_a_description_needs_a_model_that_goes_on(tokenizer):
    with pytest.raises(TypeError, match="reads its description as a text that the model could have written; T5"):
        gl.generate(
            encoder_decoder("T5", len(tokenizer)), "a", tokenizer=tokenizer, regex="a", method="grounded", description="the cat"
        )  # fmt: skip
