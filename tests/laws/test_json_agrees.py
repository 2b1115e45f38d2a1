"""JSON schemas mean what JSON Schema says: random schemas against the oracle, said in other words, walked in, and mask by mask."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.counts import record_counts, tiers
from tests.laws.json_laws import (
    WALKED,
    check_spellings,
    check_variants,
    check_walks,
    check_whole_masks,
)
from tests.laws.json_pairs import check_pairs
from tests.oracles.json_schema_oracle import Judge, NoVerdict, formats_are_loose
from tests.oracles.json_values import read_json
from tests.oracles.random_json_schemas import MAGNITUDES, NUMBERS, RandomSchemas
from tests.real_data import MASKBENCH, needs_data

_MOST_REFUSED_OF_MASKBENCH = 0.03

# Tokens for whole masks, and schemas that have short texts over them.
_PIECES = {
    "objects": [b"{", b"}", b'"a"', b'"b"', b":", b",", b"1"],
    "arrays": [b"[", b"]", b",", b"1", b"2", b"null", b" "],
    "strings": [b'"', b"a", b"b", b"\\u006", b"1", b"\\", b"n"],
    "numbers": [b"0", b"1", b"5", b"-", b".", b"e", b"+"],
    "mixed": [b"{}", b"[", b"]", b'"a', b'"', b",", b"true"],
}


@tiers("seed, count", ("few", 400), *((f"many {part}", 2500) for part in range(8)))
def test_random_schemas_agree_with_the_oracle(seed: str, count: int, record_property) -> None:
    outcomes = check_pairs(seed, count)
    record_property("cases", outcomes["valid"] + outcomes["invalid"])
    record_counts(record_property, outcomes)


@pytest.mark.parametrize("spelling", ["any", "plain"])
@tiers("seed, walks, texts", ("great", 30, 80), ("many great", 1500, 1500))
def test_numbers_of_every_magnitude(spelling: str, seed: str, walks: int, texts: int, record_property) -> None:
    outcomes = check_random_walks(f"{seed} {spelling}", walks, MAGNITUDES, spelling=spelling)
    outcomes += check_pairs(f"{seed} {spelling}", texts, MAGNITUDES, spelling=spelling)
    record_property("cases", outcomes["walks"] + outcomes["valid"] + outcomes["invalid"])


@pytest.mark.parametrize("options", [{"draft": "declared"}, {"formats": "annotation"}], ids=str)
def test_options_agree_with_the_oracle(options: dict[str, Any]) -> None:
    check_pairs(f"options {options}", 60, **options)


def check_other_words(seed: str, count: int) -> Counter[str]:
    rng, supply, outcomes = random.Random(f"words {seed}"), RandomSchemas(f"words {seed}", depth=2), Counter[str]()
    while outcomes["variants"] < count:
        schema = supply.schema()
        if isinstance(schema, dict):
            outcomes += check_variants(schema, rng)
    return outcomes


@tiers("seed, count", ("few", 60), ("many", 3000))
def test_other_words_change_nothing(seed: str, count: int, record_property) -> None:
    record_counts(record_property, check_other_words(seed, count), cases="variants")


def check_random_walks(seed: str, count: int, numbers: Any = NUMBERS, **options: Any) -> Counter[str]:
    supply = RandomSchemas(f"walks {seed}", numbers=numbers)
    rng, outcomes = random.Random(f"walks {seed}"), Counter[str]()
    while outcomes["walks"] < count:
        outcomes += check_walks(supply.schema(), rng, WALKED, 2, **options)
    return outcomes


@pytest.mark.parametrize("order", ["any", "schema"])
@tiers("seed, count", ("", 60), ("many ", 4000))
def test_walks_end_in_valid_instances(order: str, seed: str, count: int, record_property) -> None:
    outcomes = check_random_walks(seed + order, count, property_order=order)
    assert outcomes["compiled"] >= count / 2  # so many schemas
    record_counts(record_property, outcomes, cases="walks")


def maskbench(every: int, offset: int = 0) -> list[Path]:
    return sorted(MASKBENCH.glob("*.json"))[offset::every]


def check_maskbench_walks(every: int, walks: int) -> Counter[str]:
    rng, outcomes = random.Random(every), Counter[str]()
    for file in maskbench(every):
        case = read_json(file.read_bytes())
        if not formats_are_loose(case["schema"]) and oracle_knows(case):
            outcomes += check_walks(json.loads(file.read_bytes())["schema"], rng, WALKED, walks) + Counter(schemas=1)
    assert outcomes["refused"] <= max(2, _MOST_REFUSED_OF_MASKBENCH * outcomes["schemas"]), outcomes
    return outcomes


def check_maskbench_spellings(every: int, offset: int) -> Counter[str]:
    """Labelled instances in other spellings, over random tokens: none changes the verdict."""
    rng, outcomes = random.Random(f"spellings {every}"), Counter[str]()
    for file in maskbench(every, offset):
        case = read_json(file.read_bytes())
        if oracle_knows(case):
            schema = json.loads(file.read_bytes())["schema"]
            outcomes += check_spellings(schema, case["tests"], rng) + Counter(schemas=1)
    assert outcomes["refused"] <= max(2, _MOST_REFUSED_OF_MASKBENCH * outcomes["schemas"]), outcomes
    return outcomes


@needs_data
@tiers("every, offset", (150, 1), (4, 2))
def test_spellings_of_instances_in_maskbench(every: int, offset: int, record_property) -> None:
    outcomes = check_maskbench_spellings(every, offset)
    assert outcomes["texts"] > 300
    record_counts(record_property, outcomes, cases="texts")


def oracle_knows(case: dict[str, Any]) -> bool:
    """Whether the oracle judges the labelled instances as their labels do."""
    judge = Judge(case["schema"])
    try:
        return all(judge.valid_value(test["data"]) is test["valid"] for test in case["tests"])
    except NoVerdict:
        return False


@needs_data
@tiers("every", 150, 3)
def test_walks_in_maskbench_end_in_valid_instances(every: int, record_property) -> None:
    outcomes = check_maskbench_walks(every, 1)
    assert outcomes["walks"] > 10
    record_counts(record_property, outcomes, cases="walks")


def check_masks(seed: str, schemas: int, longest: int) -> Counter[str]:
    rng, supply, outcomes = random.Random(f"masks {seed}"), RandomSchemas(f"masks {seed}", depth=2), Counter[str]()
    for number in range(schemas):
        outcomes += check_whole_masks(supply.schema(), list(_PIECES.values())[number % len(_PIECES)], longest, rng)
    return outcomes


@tiers("seed, count, longest", ("few", 20, 4), *((f"many {part}", 100, 5) for part in range(4)))
def test_whole_masks(seed: str, count: int, longest: int, record_property) -> None:
    outcomes = check_masks(seed, count, longest)
    assert outcomes["bits"] > 500
    record_counts(record_property, outcomes, cases="bits")
