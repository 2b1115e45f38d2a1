"""The generators behind the differential tests: every keyword, instances on both sides, spellings."""

import random
from collections import Counter
from typing import Any

import pytest

from tests.oracles.json_schema_oracle import Judge
from tests.oracles.json_spellings import is_within_caps, spellings, usual_spellings
from tests.oracles.json_values import identity, read_json
from tests.oracles.random_json_instances import near
from tests.oracles.random_json_schemas import RandomSchemas

KEYWORDS = """type enum const allOf anyOf oneOf not if then else $ref $defs minLength maxLength pattern format minimum maximum
exclusiveMinimum exclusiveMaximum multipleOf items prefixItems additionalItems contains minContains maxContains minItems
maxItems uniqueItems unevaluatedItems properties required additionalProperties patternProperties propertyNames minProperties
maxProperties dependencies dependentRequired dependentSchemas unevaluatedProperties $schema $anchor"""


def keywords(schema: Any) -> Counter[str]:
    if isinstance(schema, dict):
        return Counter(list(schema)) + sum((keywords(each) for each in schema.values()), Counter())
    return sum((keywords(each) for each in schema), Counter()) if isinstance(schema, list) else Counter()


def test_schemas_use_every_keyword_and_are_fixed_by_their_seed() -> None:
    drawn = [RandomSchemas("same").schema() for _ in range(2)]
    assert drawn[0] == drawn[1]
    supply = RandomSchemas("keywords")
    found = sum((keywords(supply.schema()) for _ in range(400)), Counter())
    assert not [keyword for keyword in KEYWORDS.split() if found[keyword] < 10]


def test_instances_lie_on_both_sides() -> None:
    supply, rng, found = RandomSchemas("sides"), random.Random(5), Counter()
    for _ in range(200):
        schema = supply.schema()
        verdicts = [is_valid for _, is_valid in near(schema, Judge(schema), rng)]
        found += Counter(valid=sum(verdicts), invalid=len(verdicts) - sum(verdicts), satisfied=any(verdicts), schemas=1)
    assert found["satisfied"] > 0.6 * found["schemas"]
    assert found["valid"] > 0.25 * found["invalid"]


@pytest.mark.parametrize("wildness", [0.0, 0.3, 1.0])
def test_spellings_say_the_same_value_within_the_caps(wildness: float) -> None:
    supply, rng = RandomSchemas("spellings"), random.Random(6)
    texts = set()
    for _ in range(60):
        schema = supply.schema()
        for value, _verdict in near(schema, Judge(schema), rng):
            for text in [spellings(value, rng, wildness), *usual_spellings(value)]:
                assert identity(read_json(text)) == identity(value), text
                assert is_within_caps(text), text
                texts.add(text)
    assert len(texts) > 300


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" \t\r\n\t 1", True),
        ("\n\n1", True),
        ("\n\n\n1", False),
        ("\r1", False),
        (" " * 40 + "1", True),
        ("1" + " " * 41, False),
        ('"' + " " * 50 + '\\"\\n"', True),
        ("1" * 25, True),
        ("1" * 26, False),
        ("0.000" + "1" * 25, True),
        ("1e308", True),
        ("1.8e308", False),
        ("2.5e-324", True),
        ("2.4e-324", False),
        ("0e999", True),
        ("-0.0", True),
        ('[1e308,"1e309"]', True),
    ],
)
def test_the_caps(text: str, expected: bool) -> None:
    assert is_within_caps(text) is expected
