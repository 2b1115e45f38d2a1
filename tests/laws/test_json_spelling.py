"""White space that is natural and strings that are plain: what json.dumps writes is read, and nothing else can be written."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import grammarlm as gl
from tests.corpus_files import read_toml
from tests.counts import record_counts, tiers
from tests.laws.json_budget_laws import CASES, check_budgets, check_growth
from tests.laws.json_laws import WALKED, accepts, check_walks, check_whole_masks, compiled
from tests.laws.json_pairs import check_pairs
from tests.oracles.json_schema_oracle import Judge, NoVerdict
from tests.oracles.json_spellings import has_plain_numbers, is_within_caps, natural_spellings
from tests.oracles.random_json_instances import near
from tests.oracles.random_json_schemas import RandomSchemas

NATURAL = {"whitespace": "natural", "spelling": "plain"}
SPACED = {"whitespace": "spaced", "spelling": "plain"}
LAYOUTS = pytest.mark.parametrize("layout", [NATURAL, SPACED], ids=["natural", "spaced"])
SPELLED = read_toml(Path(__file__).parents[1] / "corpus" / "schemas.toml")["spelled"]
# Tokens for whole masks: every gap with every white space, alone and as a part of a token; every escape.
_PIECES = {
    "objects": [b"{", b"\n", b" ", b'"a":', b'"b"', b":", b"1", b",", b"}"],
    "joined": [b"{\n", b'{"', b'a":', b'": ', b"1\n", b"1,\n ", b" 1", b"\n}", b"}", b"}\n}", b'"'],
    "arrays": [b"[", b"\n", b"\t", b" ", b"1", b",", b", ", b"]", b"[]", b"\n]", b"[\n", b"],"],
    "strings": [b'"', b"\\", b"u00", b"0", b"1", b"n", b"f", b"F", b"/", b"\\u001", b'\\"', b"a"],
    "keys": [b'{"', b"\\", b"u00", b"1f", b"1F", b"0a", b"n", b"a", b'":0', b"}"],
}
_STRINGS = [True, {"type": "string"}, {"enum": ["\x1f", "n", "\n", "0a"]}, {"pattern": "^[\\n\\x1f]", "type": "string"}]
_WRITTEN = [
    *_STRINGS,
    {"type": "string", "minLength": 2, "maxLength": 2},
    {"items": {"type": "string", "maxLength": 1}, "type": "array", "uniqueItems": True, "minItems": 2},
    {"type": "object", "properties": {"a": {}, "\x1f": {}, "\n": {}}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a", "b"]},
    {"type": "object", "maxProperties": 1},
    {"type": "object", "maxProperties": 0},
    {"type": "array", "maxItems": 0},
    {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
    {"type": "array", "items": {"type": "array"}, "contains": {"minItems": 1}},
    {"patternProperties": {"^[\\n\\x1f]$": {"const": 0}}, "additionalProperties": False, "type": "object"},
]


@LAYOUTS
@tiers("seed, count", ("natural", 250), ("many natural", 6000))
def test_random_schemas_agree_with_the_oracle(seed: str, count: int, layout: dict[str, str], record_property) -> None:
    outcomes = check_pairs(seed, count, **layout)
    record_property("cases", outcomes["valid"] + outcomes["invalid"])
    record_counts(record_property, outcomes)


def check_styles(seed: str, wanted: int) -> int:
    """Whatever options json.dumps is given, its text of a valid instance is read."""
    rng, supply, texts = random.Random(f"styles {seed}"), RandomSchemas(f"styles {seed}"), 0
    while texts < wanted:
        schema = supply.schema()
        judge = Judge(schema)
        try:
            matcher = compiled(schema, **NATURAL).matcher()
            found = [text for value, _ in near(schema, judge, rng, 6) for text in natural_spellings(value)]
            valid = [text for text in found if is_within_caps(text) and has_plain_numbers(text) and judge.valid(text)]
        except (gl.GrammarError, NoVerdict):
            continue
        for text in valid:
            assert accepts(matcher, text.encode()), f"{json.dumps(schema)}: {text!r}"
        texts += len(valid)
    return texts


@tiers("seed, count", ("few", 300), ("many", 30_000))
def test_every_style_of_json_dumps_is_read(seed: str, count: int, record_property) -> None:
    record_property("cases", check_styles(seed, count))


def test_what_is_spaced_is_what_json_dumps_writes() -> None:
    rng, supply, texts = random.Random("spaced"), RandomSchemas("spaced"), 0
    while texts < 200:
        schema = supply.schema()
        judge = Judge(schema)
        try:
            matcher = compiled(schema, **SPACED).matcher()
            found = [natural_spellings(value) for value, _ in near(schema, judge, rng, 6)]
        except (gl.GrammarError, NoVerdict):
            continue
        for own, *others in found:
            if is_within_caps(own) and has_plain_numbers(own) and judge.valid(own):
                assert accepts(matcher, own.encode()), f"{json.dumps(schema)}: {own!r}"
                assert not any(accepts(matcher, other.encode()) for other in others if other != own)
                texts += 1


@LAYOUTS
def test_walks_are_written_as_json_dumps_writes(layout: dict[str, str]) -> None:
    rng, supply, outcomes = random.Random("natural"), RandomSchemas("natural"), Counter[str]()
    while outcomes["walks"] < 60:
        order = rng.choice(["any", "schema"])
        outcomes += check_walks(supply.schema(), rng, WALKED, 2, property_order=order, **layout)


def check_masks(pieces: str, schemas: list[Any], longest: int, layout: dict[str, str]) -> Counter[str]:
    rng, outcomes = random.Random(pieces), Counter[str]()
    for schema in schemas:
        outcomes += check_whole_masks(schema, _PIECES[pieces], longest, rng, **layout)
    return outcomes


@LAYOUTS
@pytest.mark.parametrize("pieces", _PIECES)
@tiers("is_quick", True, False)
def test_whole_masks(pieces: str, is_quick: bool, layout: dict[str, str], record_property) -> None:
    schemas, longest = _WRITTEN[:: 6 if pieces in ("strings", "keys") else 2], 3 if pieces == "keys" else 4
    if not is_quick:
        supply, longest = RandomSchemas(f"many natural {pieces}", depth=2), 4
        schemas = [*_WRITTEN, *(supply.schema() for _ in range(20))]
    outcomes = check_masks(pieces, schemas, longest, layout)
    assert outcomes["bits"] >= 150
    record_property("cases", outcomes["bits"])


@LAYOUTS
@pytest.mark.parametrize("case", CASES)
def test_budgets(case: str, layout: dict[str, str]) -> None:
    rng = random.Random(case)
    check_budgets(CASES[case][0], rng, 1, property_order=rng.choice(["any", "schema"]), **layout)
    check_growth(CASES[case][0], rng, **layout)


@LAYOUTS
def test_budgets_under_random_schemas(layout: dict[str, str]) -> None:
    rng, supply, outcomes = random.Random("budgets"), RandomSchemas("natural budgets"), Counter[str]()
    while outcomes["walks"] < 60:
        schema = supply.schema()
        outcomes += check_budgets(schema, rng, 1, property_order=rng.choice(["any", "schema"]), **layout)
        check_growth(schema, rng, **layout)


@pytest.mark.parametrize("case", SPELLED, ids=lambda case: case["schema"][:40])
def test_each_spelling(case: dict[str, Any]) -> None:
    schema = (
        case["schema"] if "e400" in case["schema"] else json.loads(case["schema"])
    )  # as text: a float holds none such
    matcher = compiled(schema, **case.get("options", {})).matcher()
    assert [text for text in case["good"] if not accepts(matcher, text.encode())] == []
    assert [text for text in case["bad"] if accepts(matcher, text.encode())] == []


def test_the_report_says_how_a_schema_is_spelled() -> None:
    caps = "\n".join(compiled({}, **NATURAL).report.caps)
    assert "white space as json.dumps and pretty-printers write it" in caps
    assert "json.dumps(ensure_ascii=False)" in caps
    assert "a blank after each comma and colon" in "\n".join(compiled({}, **SPACED).report.caps)
    assert "json.dumps" not in "\n".join(compiled({}).report.caps)
