"""Items that are objects or arrays must differ: texts near the edge of schemas, walks with and without budgets, and whole masks,
each against an oracle that shares no code."""

import itertools
import json
import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import grammarlm as gl
from tests.corpus_files import raw
from tests.laws.cfg_laws import budgeted_text
from tests.laws.json_laws import accepts, check_schema, check_walks, check_whole_masks, compiled
from tests.laws.promises import SPARE, check_promises, some_token_goes_nearer_to_the_end, wander
from tests.masks.machines.json.distinct.distinct_cases import OPTIONS, REFUSED, SCHEMAS, TABLES, VOCAB


@pytest.mark.parametrize("count", [1, pytest.param(8, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", SCHEMAS)
def test_texts_and_walks_agree_with_the_oracle(name: str, count: int) -> None:
    for number, options in enumerate(OPTIONS):
        rng = random.Random(f"{name} {number}")
        if not {"property_order", "whitespace"} & set(options):  # of all texts, in any order
            assert check_schema(SCHEMAS[name], rng, 3 * count, **options)["compiled"]
        assert check_walks(SCHEMAS[name], rng, VOCAB, count, **options)["compiled"]


@pytest.mark.parametrize("case", TABLES["equal_items"], ids=lambda case: case["schema"])
def test_items_are_equal_in_any_spelling(case: dict[str, Any]) -> None:
    schema = json.loads(case["schema"])
    matcher, validator = compiled(schema, VOCAB).matcher(), Draft202012Validator(schema)
    for text in case["accepted"] + case["refused"]:
        assert validator.is_valid(json.loads(text)) is (text in case["accepted"])
        assert accepts(matcher, text.encode()) is (text in case["accepted"]), text


@pytest.mark.parametrize("most", [4, pytest.param(7, marks=pytest.mark.proof)])
@pytest.mark.parametrize("case", TABLES["whole"], ids=lambda case: case["name"])
def test_whole_masks(case: dict[str, Any], most: int) -> None:
    """Small schemas over a few tokens: every mask on the way to every short text."""
    pieces, longest = [raw(piece) for piece in case["pieces"]], min(most, case["longest"])
    rng = random.Random(case["name"])
    outcomes = check_whole_masks(json.loads(case["schema"]), pieces, longest, rng, whitespace="compact")
    assert outcomes["bits"] > 50


@pytest.mark.parametrize("name", ["anything", "arrays or booleans", "keys of a pattern"])
def test_all_orders_of_items(name: str) -> None:
    """Every sequence of up to four items, each in one of its spellings: read iff it is valid."""
    spelled = ["1.0", '"x"', "null", "[1]", "[1e0]", '{"x":1}', '{"x": 1.0 }', "{}"]
    matcher, validator = compiled(SCHEMAS[name], VOCAB).matcher(), Draft202012Validator(SCHEMAS[name])
    for count in range(5):
        for items in itertools.product(spelled, repeat=count):
            text = f"[{','.join(items)}]"
            assert accepts(matcher, text.encode()) is validator.is_valid(json.loads(text)), text


@pytest.mark.parametrize("name", REFUSED)
def test_items_that_can_be_used_up_are_refused_by_name(name: str) -> None:
    with pytest.raises(gl.UnsupportedFeature, match="uniqueItems") as refusal:
        compiled(REFUSED[name], VOCAB)
    assert refusal.value.pointer == ("/anyOf/1/uniqueItems" if "anyOf" in REFUSED[name] else "/uniqueItems")


@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_text_can_be_ended(name: str, count: int) -> None:
    validator, constraint = Draft202012Validator(SCHEMAS[name]), compiled(SCHEMAS[name], VOCAB)
    for seed in range(count):
        rng = random.Random(f"{name} {seed}")
        check_promises(constraint, rng)
        for more in SPARE:
            text = budgeted_text(constraint, constraint.matcher().min_tokens_left + more, [], rng)
            assert validator.is_valid(json.loads(text)), text
        some_token_goes_nearer_to_the_end(wander(constraint.matcher(), VOCAB, 8, rng), VOCAB)
