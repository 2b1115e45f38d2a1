"""Every keyword with every other, by every reader of schemas: all say of small instances what the oracle says, or refuse."""

import json
import random
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest

import grammarlm as gl
from tests.corpus_files import tables
from tests.counts import record_counts, tiers
from tests.laws.keyword_laws import READERS, check_readers
from tests.oracles.keyword_schemas import (
    DRAFTS,
    PLACES,
    applied,
    document,
    instances,
    one_of_each_pair,
    pairs,
    triple,
)
from tests.texts import BYTES

_DRAFT_2019 = {"$schema": DRAFTS[2019]}


def check_all(
    schemas: Iterable[Any], place: str = "itself", draft: "int | None" = None, **options: Any
) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for schema in schemas:
        outcomes += check_readers(document(schema, place, draft), instances(place), **options)
    assert outcomes["compiled"] > 5 * outcomes["refused"], outcomes
    return outcomes


def check_triples(seed: str, count: int, **options: Any) -> Counter[str]:
    rng, outcomes = random.Random(seed), Counter[str]()
    for _ in range(count):
        draft, place = rng.choice([None, None, None, *DRAFTS]), rng.choice(list(PLACES))
        outcomes += check_readers(document(triple(rng, draft), place, draft), instances(place), **options)
    return outcomes


@pytest.mark.parametrize("case", tables("schemas")["wrong"], ids=lambda case: case["schema"])
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_accepts(reader: str, case: dict[str, str]) -> None:
    outcomes = check_readers(json.loads(case["schema"]), [case["text"], "3", "[]", "{}"], [reader])
    assert outcomes["compiled"]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"enum": [1, 2], "not": {"type": "integer"}}, "1.0"),
        ({"oneOf": [{"type": "integer"}, {"enum": [1]}]}, "1.0"),
        ({"not": {"anyOf": [{"enum": [1, 2, 3]}, {"type": "integer"}]}}, "4.0"),
    ],
    ids=str,
)
def test_numbers_of_draft_4_are_told_apart_by_value_and_by_spelling(schema: Any, text: str) -> None:
    outcomes = check_readers({"$schema": DRAFTS[4], **schema}, [text, "1", "1.0", "2.0", "3", "4", "1.5"], ["auto"])
    assert outcomes["compiled"]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"not": {"$ref": "#"}},
        {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "items": {"$ref": "#/$defs/a"}},
        {"properties": {"a": {"$ref": "#/properties/a"}}},
        {**_DRAFT_2019, "$ref": "#", "prefixItems": [True]},  # which that draft leaves out: read for ever
        {**_DRAFT_2019, "$recursiveRef": "#", "$dynamicRef": "#"},
    ],
    ids=str,
)
@pytest.mark.parametrize("options", [{}, {"registry": {}}, {"draft": "declared"}, {"strict": False}], ids=str)
def test_a_reference_that_leads_to_itself_is_one_error(schema: Any, options: dict[str, Any]) -> None:
    with pytest.raises(gl.GrammarError, match="refers to itself before anything of a value is read") as error:
        gl.compile(gl.JsonSchema(schema, **options), BYTES)
    assert type(error.value) is gl.GrammarError


def test_each_keyword_with_each_other() -> None:
    outcomes = check_all(one_of_each_pair(random.Random("pairs")), readers=["auto"])
    assert outcomes["compiled"] > 800


@pytest.mark.parametrize("reader", [reader for reader in READERS if reader != "auto"])
def test_some_keywords_with_others(reader: str) -> None:
    check_all(islice(one_of_each_pair(random.Random(reader)), 0, None, 10), readers=[reader])


@tiers("seed, count", ("few", 60), *((f"many {part}", 3000) for part in range(4)))
def test_triples(seed: str, count: int, record_property) -> None:
    outcomes = check_triples(seed, count, readers=["auto", "declared"] if seed == "few" else READERS)
    assert outcomes["compiled"] > 80
    record_counts(record_property, outcomes, cases="verdicts")


@tiers("step, readers", (60, ["auto"]), (1, ["auto", "declared"]))
def test_what_evaluates(step: int, readers: list[str], record_property) -> None:
    record_counts(record_property, check_all(islice(applied(), 0, None, step), readers=readers), cases="verdicts")


@pytest.mark.proof
@pytest.mark.parametrize("part", range(4))
def test_all_pairs_of_keywords(part: int, record_property) -> None:
    record_counts(record_property, check_all(islice(pairs(), part, None, 4)), cases="verdicts")


@pytest.mark.proof
@pytest.mark.parametrize("place", [place for place in PLACES if place != "itself"])
def test_all_pairs_of_keywords_in_other_places(place: str, record_property) -> None:
    outcomes = check_all(islice(pairs(), len(place), None, 8), place, readers=["auto"])
    record_counts(record_property, outcomes, cases="verdicts")


@pytest.mark.proof
@pytest.mark.parametrize("draft", DRAFTS)
def test_all_pairs_of_keywords_of_older_drafts(draft: int, record_property) -> None:
    outcomes = check_all(islice(pairs(draft), draft % 8, None, 8), draft=draft, readers=["auto", "declared"])
    record_counts(record_property, outcomes, cases="verdicts")
