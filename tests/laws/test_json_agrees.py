"""JSON schemas mean what JSON Schema says: random schemas against the oracle, said in other words, walked in, and mask by mask."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.counts import record_counts
from tests.laws.json_laws import (
    WALKED,
    accepts,
    check_spellings,
    check_variants,
    check_walks,
    check_whole_masks,
    compiled,
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


def test_random_schemas_agree_with_the_oracle() -> None:
    check_pairs("few", 400)


@pytest.mark.parametrize("spelling", ["any", "plain"])
def test_schemas_with_numbers_of_every_magnitude_agree_with_the_oracle(spelling: str) -> None:
    check_pairs(f"great {spelling}", 80, MAGNITUDES, spelling=spelling)


@pytest.mark.parametrize("options", [{"draft": "declared"}, {"formats": "annotation"}], ids=str)
def test_options_agree_with_the_oracle(options: dict[str, Any]) -> None:
    check_pairs(f"options {options}", 60, **options)


@pytest.mark.proof
@pytest.mark.parametrize("part", range(8))
def test_many_random_schemas_agree_with_the_oracle(part: int, record_property) -> None:
    outcomes = check_pairs(f"many {part}", 2500)
    record_property("cases", outcomes["valid"] + outcomes["invalid"])
    record_counts(record_property, outcomes)


def check_other_words(seed: str, count: int) -> Counter[str]:
    rng, supply, outcomes = random.Random(f"words {seed}"), RandomSchemas(f"words {seed}", depth=2), Counter[str]()
    while outcomes["variants"] < count:
        schema = supply.schema()
        if isinstance(schema, dict):
            outcomes += check_variants(schema, rng)
    return outcomes


def test_other_words_change_nothing() -> None:
    check_other_words("few", 60)


@pytest.mark.proof
def test_many_other_words_change_nothing(record_property) -> None:
    outcomes = check_other_words("many", 3000)
    record_counts(record_property, outcomes, cases="variants")


def check_random_walks(seed: str, count: int, numbers: Any = NUMBERS, **options: Any) -> Counter[str]:
    supply = RandomSchemas(f"walks {seed}", numbers=numbers)
    rng, outcomes = random.Random(f"walks {seed}"), Counter[str]()
    while outcomes["walks"] < count:
        outcomes += check_walks(supply.schema(), rng, WALKED, 2, **options)
    return outcomes


@pytest.mark.parametrize("order", ["any", "schema"])
def test_walks_end_in_valid_instances(order: str) -> None:
    check_random_walks(order, 60, property_order=order)


@pytest.mark.parametrize("spelling", ["any", "plain"])
def test_walks_with_numbers_of_every_magnitude_end_in_valid_instances(spelling: str) -> None:
    check_random_walks(f"great {spelling}", 30, MAGNITUDES, spelling=spelling)


@pytest.mark.proof
@pytest.mark.parametrize("spelling", ["any", "plain"])
def test_many_numbers_of_every_magnitude(spelling: str, record_property) -> None:
    outcomes = check_random_walks(f"many great {spelling}", 1500, MAGNITUDES, spelling=spelling)
    outcomes += check_pairs(f"many great {spelling}", 1500, MAGNITUDES, spelling=spelling)
    record_property("cases", outcomes["walks"] + outcomes["valid"] + outcomes["invalid"])


@pytest.mark.proof
@pytest.mark.parametrize("order", ["any", "schema"])
def test_many_walks_end_in_valid_instances(order: str, record_property) -> None:
    outcomes = check_random_walks(f"many {order}", 4000, property_order=order)
    record_property("cases", outcomes.pop("walks"))
    assert outcomes["compiled"] >= 2000  # so many schemas
    record_counts(record_property, outcomes)


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
def test_spellings_of_instances_in_maskbench() -> None:
    assert check_maskbench_spellings(150, 1)["texts"] > 300


@needs_data
@pytest.mark.proof
def test_many_spellings_of_instances_in_maskbench(record_property) -> None:
    outcomes = check_maskbench_spellings(4, 2)
    record_counts(record_property, outcomes, cases="texts")


def oracle_knows(case: dict[str, Any]) -> bool:
    """Whether the oracle judges the labelled instances as their labels do."""
    judge = Judge(case["schema"])
    try:
        return all(judge.valid_value(test["data"]) is test["valid"] for test in case["tests"])
    except NoVerdict:
        return False


@needs_data
def test_walks_in_maskbench_end_in_valid_instances() -> None:
    assert check_maskbench_walks(75, 1)["walks"] > 10


@needs_data
@pytest.mark.proof
def test_many_walks_in_maskbench_end_in_valid_instances(record_property) -> None:
    outcomes = check_maskbench_walks(3, 1)
    record_counts(record_property, outcomes, cases="walks")


def check_masks(seed: str, schemas: int, longest: int) -> Counter[str]:
    rng, supply, outcomes = random.Random(f"masks {seed}"), RandomSchemas(f"masks {seed}", depth=2), Counter[str]()
    for number in range(schemas):
        outcomes += check_whole_masks(supply.schema(), list(_PIECES.values())[number % len(_PIECES)], longest, rng)
    return outcomes


def test_whole_masks() -> None:
    assert check_masks("few", 20, 4)["bits"] > 500


@pytest.mark.proof
@pytest.mark.parametrize("part", range(4))
def test_many_whole_masks(part: int, record_property) -> None:
    outcomes = check_masks(f"many {part}", 100, 5)
    record_property("cases", outcomes["bits"])
    record_property("schemas", outcomes["compiled"])


@pytest.mark.parametrize(
    ("whitespace", "good", "bad"),
    [
        (
            "flexible",
            [" " * 40 + "{}", "\t\r\n {}", "{ \n }", "{} \t", "\n\n{}", " \r\n \n {\n\n}", '{"a":\n\n1}\n\r\n'],
            [" " * 41 + "{}", "\n" + " " * 20 + "\n" + " " * 21 + "{}", "\n\n\n{}", "{}\r", "{}\n\r", "\u00a0{}"],
        ),
        ("compact", ["{}", '{"a":[1,2]}'], [" {}", "{ }", '{"a": 1}', '{"a":[1, 2]}', "{}\n"]),
        ("any", ["\n\n\n{}", " " * 100 + "{\r\r}"], ["\x0b{}"]),
    ],
)
def test_white_space(whitespace: str, good: list[str], bad: list[str]) -> None:
    matcher = compiled({}, whitespace=whitespace).matcher()
    assert [text for text in good if not accepts(matcher, text.encode())] == []
    assert [text for text in bad if accepts(matcher, text.encode())] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1" * 25, True),
        ("1" * 26, False),
        ("0.000" + "1" * 25, True),
        ("1e308", True),
        ("1.7976931348623158e308", True),
        ("1.8e308", False),
        ("2.5e-324", True),
        ("2.4e-324", False),
        ("1E+00005", True),
        ("1e000005", False),
        ("0e5", True),
        ("-0.0", True),
        ('"\\ud83d\\ude00"', True),
        ('"\\ud83d"', False),
        ('"\\ude00"', False),
        ('"\\ud83d\\ud83d"', False),
        ('{"a":1,"a":1}', False),
        ('{"a":1,"\\u0061":1}', False),
        ("[1,]", False),
        ("01", False),
        ("1.", False),
        ("NaN", False),
        ('"\t"', False),
        ("", False),
    ],
)
def test_what_json_is(text: str, expected: bool) -> None:
    matcher = compiled({}).matcher()
    assert accepts(matcher, text.encode()) is expected
