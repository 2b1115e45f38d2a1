"""Drafts near the end of the budget: answers close where they would without, and no draft goes beyond."""

import functools
import json

import jsonschema
import pytest

import grammarlm as gl
from grammarlm.published.schedules.parallel import Parallel
from tests.decoding.speculative.draft_models import (
    GRAMMARS,
    SCHEMA,
    VOCAB,
    Agreeing,
    HashModel,
    prompts,
)

TARGET = HashModel(5, 3)


def near():
    return Agreeing(TARGET, HashModel(6, 2))


DRAFTS = {
    "chain": lambda: gl.Draft(near(), length=9),
    "best_first": lambda: gl.Draft(near(), tree="best_first", length=9),
    "lookup": lambda: gl.Draft(["skeleton", "suffix", "copy"]),
    "jacobi": lambda: gl.Draft(["pool", "jacobi"], tree="fixed"),
    "parallel": lambda: gl.Draft(near(), schedule=Parallel(ahead=6, branches=2)),
}


@functools.cache
def shortest(name) -> int:
    """The fewest tokens in which an answer can be closed."""
    for budget in range(1, 60):
        try:
            gl.compile(GRAMMARS[name], VOCAB).matcher(max_tokens=budget)
        except ValueError:
            continue
        return budget
    raise AssertionError(name)


def options_of(name, budget, temperature):
    options = {"vocab": VOCAB, "grammar": GRAMMARS[name], "max_tokens": budget}
    return {**options, "temperature": temperature, "seed": budget} if temperature else options


@functools.cache
def plain_answers(name, budget, temperature):
    """Without a draft, of two prompts."""
    return gl.generate(TARGET, prompts(2, budget), **options_of(name, budget, temperature))


@pytest.mark.parametrize("more", [(0, 1, 3, 8), pytest.param(range(9), marks=pytest.mark.proof)], ids=["some", "each"])
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("name", ["schema", "sql", "regex"])
def test_each_budget_closes_as_without_a_draft(name, draft, more):
    """From the least possible budget on, at temperature 0 and 1."""
    least, closed = shortest(name), 0
    for budget in (least + tokens for tokens in more):
        for temperature in (0.0, 1.0):
            plain, options = plain_answers(name, budget, temperature), options_of(name, budget, temperature)
            drafted = gl.generate(TARGET, prompts(2, budget), draft=DRAFTS[draft](), **options)
            for one, other in zip(plain, drafted, strict=True):
                assert (one.tokens, one.finish_reason, one.value) == (other.tokens, other.finish_reason, other.value)
                assert other.finish_reason in ("stop", "closed")
                assert len(other.tokens) <= budget
                closed += other.finish_reason == "closed"
                if name == "schema":
                    jsonschema.validate(json.loads(other.text), SCHEMA)
    assert closed > 2 * len(more) // 3


@pytest.mark.parametrize("draft", DRAFTS)
def test_no_draft_is_longer_than_what_is_left(draft):
    """The target is never asked about a place at which the answer is over."""
    longest = []

    def watched(ids):
        longest.append(ids.shape[1])
        return TARGET(ids)

    for budget in range(1, 20):
        longest.clear()
        options = {"vocab": VOCAB, "max_tokens": budget, "close": False}
        out = gl.generate(watched, [5, 6, 7], draft=DRAFTS[draft](), **options)
        assert max(longest) <= 3 + budget - 1
        assert out.tokens == gl.generate(TARGET, [5, 6, 7], **options).tokens
