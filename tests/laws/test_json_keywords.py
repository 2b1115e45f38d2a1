"""Every keyword with every other, by every reader: agreement with the oracle, or a refusal by name."""

import random
from collections import Counter
from itertools import islice
from typing import Any

import pytest

from tests.counts import record_counts
from tests.laws.keyword_laws import READERS, check_readers
from tests.oracles.keyword_schemas import DRAFTS, PLACES, applied, document, instances, pairs, triple


def check_pairs(every: int, offset: int, draft: "int | None" = None, place: str = "itself", **options: Any) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for schema in islice(pairs(draft), offset, None, every):
        outcomes += check_readers(document(schema, place, draft), instances(place), **options)
    return outcomes


def check_triples(seed: str, count: int) -> Counter[str]:
    rng, outcomes = random.Random(seed), Counter[str]()
    for _ in range(count):
        draft, place = rng.choice([None, None, None, *DRAFTS]), rng.choice(list(PLACES))
        outcomes += check_readers(document(triple(rng, draft), place, draft), instances(place))
    return outcomes
