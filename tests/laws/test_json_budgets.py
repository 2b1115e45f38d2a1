"""Budgets of JSON texts: a text ends within so many tokens, in an instance that the oracle takes.

How few tokens really are enough the oracle does not know. So the bound is checked from both sides: it is kept by every walk, and
never above what these schemas are known to need.
"""

import random
from collections import Counter

import numpy as np
import pytest

import grammarlm as gl
from tests.counts import record_counts, tiers
from tests.laws.json_budget_laws import CASES, check_budgets, check_growth, check_promises, check_walk
from tests.laws.json_laws import WALKED, check_walks, compiled
from tests.oracles.json_schema_oracle import Judge
from tests.oracles.random_json_schemas import RandomSchemas


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.proof)])
def test_walks_end_within_their_budget(count: int, case: str, order: str) -> None:
    schema, needed = CASES[case]
    assert compiled(schema, property_order=order).matcher().min_tokens_left <= needed
    assert check_budgets(schema, random.Random(f"{case} {order}"), count, property_order=order)["narrowed"]


def check_random(seed: str, count: int) -> Counter[str]:
    rng, supply, outcomes = random.Random(f"budgets {seed}"), RandomSchemas(f"budgets {seed}"), Counter[str]()
    while outcomes["walks"] < count:
        outcomes += check_budgets(supply.schema(), rng, 1, property_order=rng.choice(["any", "schema"]))
    return outcomes


@tiers("seed, count", ("few", 100), ("many", 8000))
def test_walks_under_random_schemas_end_within_their_budget(seed: str, count: int, record_property) -> None:
    outcomes = check_random(seed, count)
    assert outcomes["narrowed"] > 100
    record_counts(record_property, outcomes, cases="walks")


def test_a_thread_that_stands_for_others_ends_as_soon() -> None:
    """A value that meets an obligation stands for those that do not: keys that meet it once more may be the fewest tokens."""
    obliged = {
        "type": "object",
        "allOf": [
            {"patternProperties": {"^.{1,3}$": False}},
            {"patternProperties": {"a": True}, "additionalProperties": False},
        ],
        "not": {"patternProperties": {"b": False}},
        "minProperties": 4,
    }
    outcomes = check_walks(obliged, random.Random("obliged"), WALKED, 30)
    assert outcomes["walks"] > 15


def check_random_growth(seed: str, count: int) -> Counter[str]:
    rng, supply, outcomes = random.Random(f"growth {seed}"), RandomSchemas(f"growth {seed}"), Counter[str]()
    while outcomes["tokens"] < count:
        outcomes += check_growth(supply.schema(), rng, property_order=rng.choice(["any", "schema"]))
    return outcomes


@tiers("seed, count", ("few", 1500), ("many", 200_000))
def test_growth_is_bounded(seed: str, count: int, record_property) -> None:
    for case, (schema, _) in CASES.items():
        check_growth(schema, random.Random(case))
    record_property("cases", check_random_growth(seed, count)["tokens"])


def check_random_promises(seed: str, count: int) -> Counter[str]:
    rng, supply, outcomes = random.Random(f"promises {seed}"), RandomSchemas(f"promises {seed}"), Counter[str]()
    while outcomes["promises"] < count:
        outcomes += check_promises(supply.schema(), rng, property_order=rng.choice(["any", "schema"]))
    return outcomes


def test_what_is_known_at_sight_holds() -> None:
    """Of most of the cases something is known without a completion, and it is kept whatever tokens follow."""
    promising = sum(check_promises(schema, random.Random(case))["promises"] > 0 for case, (schema, _) in CASES.items())
    assert promising >= 15
    names = [f"a name of some length {i}" for i in range(8)]
    record = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
        "additionalProperties": False,
    }
    optional = {"type": "object", "properties": {"a": record}, "additionalProperties": False}
    for schema in (optional, {"type": "array", "items": record}, {"items": {"items": record}}, True):
        check_promises(schema, random.Random(0), most=90)
    check_random_promises("few", 5_000)


@pytest.mark.proof
def test_what_is_known_at_sight_holds_under_many_schemas(record_property) -> None:
    record_property("cases", check_random_promises("many", 1_000_000)["promises"])


@pytest.mark.parametrize("whitespace", ["compact", "spaced", "flexible", "any", r"( |\r\n)?"])
def test_white_space_that_must_go_on_counts(whitespace: str) -> None:
    constraint = compiled({"type": "array", "items": {"type": "integer"}, "minItems": 2}, whitespace=whitespace)
    rng, judge = random.Random(whitespace), Judge({})
    for _ in range(6):
        check_walk(constraint, judge, 12, rng)


def test_the_row_is_written_to_the_mask_that_is_given() -> None:
    """A mask that was first seen near the end of a budget was taken for the one before it, once back far from the end."""
    matcher = compiled({"type": "array", "items": {"type": "string"}}).matcher(max_tokens=17)
    before, after = (gl.allocate_mask(1, WALKED.size) for _ in range(2))
    matcher.fill_mask(before)
    far, steps = before.copy(), 0
    while not matcher.is_narrowed:
        assert matcher.advance_bytes(b'["aaaaaaaaaaaaaaaaaaaa'[steps : steps + 1])
        steps += 1
    matcher.fill_mask(after)
    matcher.rollback(steps)
    before[:] = after[:] = 0
    matcher.fill_mask(after)
    assert np.array_equal(after, far)
    assert not before.any()


def test_a_text_without_an_end_that_can_be_written_down() -> None:
    constraint = compiled({"type": "array", "items": {"type": "string", "minLength": 5}, "minItems": 10**9})
    with pytest.raises(gl.LimitExceeded, match="too long to be written down"):
        _ = constraint.matcher().min_tokens_left
    with pytest.raises(ValueError, match="no number of tokens is"):
        constraint.matcher(max_tokens=10**6)


def test_deep_texts_end() -> None:
    matcher = compiled(True).matcher()
    assert matcher.advance_bytes(b"[" * 3000)
    assert 1500 <= matcher.min_tokens_left <= 3001
