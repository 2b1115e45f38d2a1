"""Random schemas and texts near their instances: the machine's verdicts are those of the oracle."""

import random
from collections import Counter
from typing import Any

from tests.laws.json_laws import check_schema
from tests.oracles.random_json_schemas import NUMBERS, RandomSchemas

_MOST_REFUSED = 0.12  # of random schemas, which negate and combine more than people do


def check_pairs(seed: str, wanted: int, numbers: Any = NUMBERS, **options: Any) -> Counter[str]:
    """As many random schemas as it takes to judge `wanted` texts."""
    rng, supply, outcomes = random.Random(f"pairs {seed}"), RandomSchemas(seed, numbers=numbers), Counter[str]()
    while outcomes["valid"] + outcomes["invalid"] < wanted:
        outcomes += check_schema(supply.schema(), rng, **options) + Counter(schemas=1)
    assert outcomes["refused"] <= max(2, _MOST_REFUSED * outcomes["schemas"]), outcomes
    assert outcomes["valid"] > wanted / 5, outcomes
    assert outcomes["invalid"] > wanted / 5, outcomes
    return outcomes
