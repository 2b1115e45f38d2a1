"""Blends, pools and searches under every kind of constraint, with random weights: judged by programs that are not ours."""

import json
import re

import jsonschema
import lark
import pytest
import torch

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.decoding.random_models import random_model

SCHEMA = {
    "type": "object",
    "properties": {
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
        "name": {"type": "string", "maxLength": 5},
        "tags": {"type": "array", "items": {"enum": ["red", "green", 3]}, "maxItems": 2},
    },
    "required": ["age", "name"],
    "additionalProperties": False,
}
SUMS = """
start: term ("+" term)*
term: NAME | NUMBER | "(" start ")"
NAME: /[a-z]{1,4}/
NUMBER: /[0-9]{1,3}/
"""
PATTERN = r"[a-c]{1,3}(-[0-9]{2}|=(yes|no))+"
ITEMS = [[40, 41, 42], [40, 41, 50, 51], [60], [61, 60, 62], [40, 70]]
PROMPTS = ["the cat", "a 100 year old", "sat", "in"]


def is_instance(out):
    jsonschema.validate(json.loads(out.text), SCHEMA)
    return True


def is_sum(out):
    lark.Lark(SUMS, parser="earley").parse(out.text)
    return True


# name -> (what the answers are held to, who says that they are)
HELD = {
    "schema": ({"schema": SCHEMA}, is_instance),
    "lark": ({"grammar": gl.Lark(SUMS)}, is_sum),
    "regex": ({"regex": PATTERN}, lambda out: re.fullmatch(PATTERN, out.text)),
    "items": ({"items": ITEMS}, lambda out: out.tokens in ITEMS),
    "none": ({}, lambda out: len(out.tokens) <= 40),
}


METHODS = [
    "contrast", "grounded", "anchored", "vote", "first_finish", "beam", "switch", "adapted", "pool", "planned", "best_first",
    "superposed",
]  # fmt: skip


class Shaking:
    """Changes the logits that are looked at next, and wants to read again: every third time it is asked."""

    def __init__(self, other):
        self.weights, self.asked = other.lm_head.weight, 0

    def __call__(self, model, logits, texts):
        self.asked += 1
        if self.asked % 3:
            return False
        with torch.no_grad():
            model.lm_head.weight.copy_(self.weights.roll(self.asked, 0))
        return True


@pytest.fixture(scope="module")
def second(tokenizer):
    """As the model, with other weights."""
    found = random_model("Llama", len(tokenizer))
    torch.manual_seed(7)
    for weight in found.parameters():
        weight.data += 0.2 * torch.randn_like(weight)
    return found


def options_of(method, second):
    return {
        "contrast": {"against": (second, ["a hat", "the", "cat", "100"]), "alpha": 2.0},
        "grounded": {"description": "the hat sat at 2024-10-12", "weight": 2.0},
        "anchored": {"safe": second, "budget": 15.0},
        "vote": {"candidates": 3},
        "first_finish": {"candidates": 3},
        "switch": {"large": second, "above": 1.0, "window": 2},
        "adapted": {"step": Shaking(second), "most": 2},
        "pool": {"candidates": 3, "budget": 90},
        "planned": {"draft": {"max_tokens": 5}},
        "superposed": {
            "drafts": 4,
            "temperature": 0.0,
            "ngrams": lambda ids, tokens: [-1.0 - token % 7 for token in tokens],
        },
        "beam": {"groups": 2, "beams": 4, "diversity": 1.0, "temperature": 0.0, "repetition_penalty": 1.1},
        "best_first": {"expansions": 60, "at_once": 3, "value": lambda text: -text.count("a")},
    }[method]


@tiers("count", 8, 200)
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("method", METHODS)
def test_answers_are_texts_of_their_grammar(second, tokenizer, method, held, count, record_property):
    constraint, judge = HELD[held]
    model = random_model("Llama", len(tokenizer))  # its own: a method may change it
    options = {"tokenizer": tokenizer, "max_tokens": 40, "method": method, "n": 2, "temperature": 1.0, **constraint}
    options |= options_of(method, second)
    outcomes = {"complete": 0, "cut": 0}
    for seed in range(
        1 if method in ("beam", "best_first", "superposed") else count // (2 * len(PROMPTS))
    ):  # draw nothing
        found = gl.generate(model, PROMPTS, seed=seed, **options)
        for out in found:
            assert out.error is None
            assert judge(out)
            assert out.finish_reason in ("stop", "closed", *(("length",) if held == "none" else ()))
            outcomes["cut" if out.finish_reason == "length" else "complete"] += 1
            if method == "pool":
                assert out.stats.log[-1]["tokens"] <= 90
            if method == "anchored":
                assert sum(each["kl"] for each in out.stats.log) <= 15.0 + 1e-6
    record_counts(record_property, outcomes)
