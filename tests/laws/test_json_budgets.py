"""Budgets of JSON texts: a text ends within so many tokens, in an instance that the oracle takes.

How few tokens really are enough the oracle does not know. So the bound is checked from both sides: it is kept by every walk, and
never above what these schemas are known to need.
"""

import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import grammarlm as gl
from tests.laws.json_laws import WALKED, compiled, text_of
from tests.laws.laws import allowed_ids
from tests.oracles.json_schema_oracle import Judge, NoVerdict
from tests.oracles.random_json_schemas import RandomSchemas

SPARE = (0, 2, 15, 80)
STOPS = frozenset(WALKED.stop_ids)
RECORD = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "minimum": 17}},
    "required": ["name", "age"],
}
# A schema, and tokens that are enough (pieces of WALKED: '{"', '":', '","', ...).
CASES: dict[str, tuple[Any, int]] = {
    "anything": (True, 1),
    "a record": (RECORD, 18),
    "a word": ({"enum": ["abba", "a", [1, {"a": 2}]]}, 2),
    "a long string": ({"type": "string", "minLength": 20, "maxLength": 22}, 22),
    "a pattern": ({"type": "string", "pattern": "^[ab]{3}c$"}, 5),
    "a pattern with a length": ({"type": "string", "pattern": "^(ab)*$", "minLength": 5}, 5),
    "a pattern with both lengths": ({"type": "string", "pattern": "^(aa|bbb)*$", "minLength": 4, "maxLength": 7}, 6),
    "patterns with many lengths": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "string", "pattern": r"^[\w\-]+$", "minLength": 8, "maxLength": 256},
                "b": {"type": "string", "pattern": r"^[\w./]+\.php+$", "minLength": 16, "maxLength": 1024},
            },
            "required": ["a", "b"],
        },
        34,
    ),
    "characters": ({"type": "string", "pattern": "^[é€😀]{2}$"}, 7),
    "a format": ({"type": "string", "format": "date-time"}, 22),
    "a number": ({"type": "number", "multipleOf": 7, "minimum": 100}, 3),
    "a number far away": ({"type": "integer", "minimum": 123456789, "maximum": 123456790}, 9),
    "items that differ": ({"items": {"enum": ["aba", True, "ab", None]}, "type": "array", "minItems": 3, "uniqueItems": True}, 9),
    "strings that differ": ({"items": {"type": "string"}, "type": "array", "minItems": 3, "uniqueItems": True}, 10),
    "words of a language that differ": (
        {"items": {"type": "string", "pattern": "^[ab]{2,}$"}, "type": "array", "minItems": 4, "uniqueItems": True},
        18,
    ),
    "an array that contains": (
        {"type": "array", "contains": {"type": "string", "minLength": 3}, "minContains": 2, "items": {"type": ["string", "null"]}},
        14,
    ),
    "items by position": ({"type": "array", "prefixItems": [{"const": "a"}, {"type": "object"}], "minItems": 4}, 11),
    "keys that imply keys": (
        {
            "type": "object",
            "properties": {name: {"type": "string"} for name in "abc"},
            "required": ["a"],
            "dependentRequired": {"a": ["b"], "b": ["c"]},
            "additionalProperties": False,
        },
        13,
    ),
    "enough keys": ({"type": "object", "minProperties": 3}, 13),
    "keys of few names": (
        {
            "type": "object",
            "patternProperties": {"b$": {"type": ["null", "string"]}, "a|b": {}},
            "propertyNames": {"pattern": "^.$"},
            "additionalProperties": False,
            "minProperties": 1,
        },
        5,
    ),
    "keys of few names behind others": (
        {
            "type": "object",
            "properties": {"c": {"type": "null"}, "a": {"type": "null"}},
            "patternProperties": {"^[abxy]$": {"type": "null"}},
            "required": ["b"],
            "additionalProperties": False,
            "minProperties": 5,
        },
        25,
    ),
    "enough keys of a language": (
        {
            "type": "object",
            "patternProperties": {"^a": {"type": "integer"}},
            "additionalProperties": False,
            "minProperties": 2,
        },
        10,
    ),
    "enough keys of a few": (
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": RECORD, "c": {"type": "string"}},
            "additionalProperties": False,
            "minProperties": 2,
        },
        10,
    ),
    "a list": (
        {
            "$ref": "#/$defs/node",
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {
                        "v": {"type": "string", "format": "date"},
                        "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                    },
                    "required": ["v", "next"],
                }
            },
        },
        25,
    ),
    "one of two": ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object"}, 6),
    "not": ({"not": {"type": ["object", "string", "number", "null", "boolean"]}}, 2),
    "if, then, else": (
        {
            "type": "object",
            "properties": {"kind": {"enum": ["a", "b"]}, "x": {"type": "integer"}},
            "required": ["kind"],
            "if": {"properties": {"kind": {"const": "a"}}},
            "then": {"required": ["x"]},
        },
        11,
    ),
    "many keys": (
        {"type": "object", "properties": {f"k{i}": {"type": "integer"} for i in range(70)}, "required": ["k3", "k69"]},
        16,
    ),
}  # fmt: skip


def check_walk(constraint: gl.Constraint, judge: Judge, budget: int, rng: random.Random) -> Counter[str]:
    """A text drawn from the masks of a budget, beside an ordinary matcher."""
    matcher, plain, tokens = constraint.matcher(max_tokens=budget), constraint.matcher(), list[int]()
    outcomes = Counter(walks=1)
    while True:
        allowed, ordinary = allowed_ids(matcher, WALKED), allowed_ids(plain, WALKED)
        where = f"after {text_of(tokens, WALKED)!r} of at most {budget}"
        assert allowed <= ordinary, where
        assert allowed & STOPS == ordinary & STOPS, where
        assert allowed, f"an empty mask {where}"
        assert matcher.min_tokens_left <= budget - len(tokens), where
        outcomes["narrowed"] += allowed != ordinary
        for token in rng.sample(sorted(ordinary - allowed), min(2, len(ordinary - allowed))):
            assert not matcher.advance(token), f"{WALKED.token_bytes(token)!r} is taken {where}"
        if allowed & STOPS and (rng.random() < 0.3 or not allowed - STOPS):
            break
        tokens.append(rng.choice(sorted(allowed - STOPS)))
        assert matcher.advance(tokens[-1]), where
        assert plain.advance(tokens[-1]), where
    assert len(tokens) <= budget
    try:
        assert judge.valid(text_of(tokens, WALKED)), text_of(tokens, WALKED)
    except NoVerdict:
        outcomes["no verdict"] += 1
    return outcomes


def check_budgets(schema: Any, rng: random.Random, walks: int, **options: Any) -> Counter[str]:
    try:
        constraint = compiled(schema, **options)
    except gl.UnsatisfiableGrammar:
        return Counter(unsatisfiable=1)
    except (gl.UnsupportedFeature, gl.LimitExceeded):
        return Counter(refused=1)
    judge, outcomes = Judge(schema), Counter(compiled=1)
    enough = constraint.matcher().min_tokens_left
    try:
        with pytest.raises(ValueError, match=rf"max_tokens={enough - 1} may not be enough"):
            constraint.matcher(max_tokens=enough - 1)
        for spare in SPARE:
            for _ in range(walks):
                outcomes += check_walk(constraint, judge, enough + spare, rng)
    except AssertionError as error:
        raise AssertionError(f"{json.dumps(schema)[:3000]} {options}, {enough} tokens: {error}") from error
    return outcomes


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("case", CASES)
def test_walks_end_within_their_budget(case: str, order: str) -> None:
    schema, needed = CASES[case]
    assert compiled(schema, property_order=order).matcher().min_tokens_left <= needed
    assert check_budgets(schema, random.Random(f"{case} {order}"), 2, property_order=order)["narrowed"]


def check_random(seed: str, count: int) -> Counter[str]:
    rng, supply, outcomes = random.Random(f"budgets {seed}"), RandomSchemas(f"budgets {seed}"), Counter[str]()
    while outcomes["walks"] < count:
        outcomes += check_budgets(supply.schema(), rng, 1, property_order=rng.choice(["any", "schema"]))
    return outcomes


def test_walks_under_random_schemas_end_within_their_budget() -> None:
    assert check_random("few", 100)["narrowed"] > 100


@pytest.mark.proof
def test_walks_under_many_random_schemas_end_within_their_budget(record_property) -> None:
    outcomes = check_random("many", 8000)
    record_property("cases", outcomes["walks"])
    for name, count in sorted(outcomes.items()):
        record_property(name, count)


def check_growth(schema: Any, rng: random.Random, **options: Any) -> Counter[str]:
    """One token makes no more tokens necessary than is known for the whole schema: until then masks are the ordinary ones."""
    try:
        constraint = compiled(schema, **options)
        enough = constraint.matcher().min_tokens_left
        constraint.matcher(max_tokens=enough)
    except gl.GrammarError:
        return Counter()
    most = constraint._automaton.program.growth
    matcher, tokens, outcomes = constraint.matcher(), list[int](), Counter(schemas=1)
    while len(tokens) < 25:
        before = matcher.min_tokens_left
        allowed = sorted(allowed_ids(matcher, WALKED) - STOPS)
        if not allowed:
            break
        longest = sorted(allowed, key=lambda t: -len(WALKED.token_bytes(t)))[:6]
        for token in {*longest, *rng.sample(allowed, min(4, len(allowed)))}:
            assert matcher.advance(token)
            after = matcher.min_tokens_left
            where = f"{json.dumps(schema)[:2000]} {options} {text_of([*tokens, token], WALKED)!r}"
            assert after <= before + most, f"{where}: {before}, {after}, at most {most} more"
            outcomes["tokens"] += 1
            matcher.rollback(1)
        tokens.append(rng.choice([*longest, rng.choice(allowed)]))
        assert matcher.advance(tokens[-1])
    return outcomes


def check_random_growth(seed: str, count: int) -> Counter[str]:
    rng, supply, outcomes = random.Random(f"growth {seed}"), RandomSchemas(f"growth {seed}"), Counter[str]()
    while outcomes["tokens"] < count:
        outcomes += check_growth(supply.schema(), rng, property_order=rng.choice(["any", "schema"]))
    return outcomes


def test_growth_is_bounded() -> None:
    for case, (schema, _) in CASES.items():
        check_growth(schema, random.Random(case))
    check_random_growth("few", 1500)


@pytest.mark.proof
def test_growth_is_bounded_under_many_schemas(record_property) -> None:
    record_property("cases", check_random_growth("many", 200_000)["tokens"])


def test_threads_share_a_constraint() -> None:
    """Budgets are reckoned beside texts that go on."""
    constraint = compiled(RECORD, property_order="any")
    enough, judge = constraint.matcher().min_tokens_left, Judge(RECORD)

    def walk(number: int) -> int:
        rng = random.Random(number)
        return sum(check_walk(constraint, judge, enough + SPARE[i % 4], rng)["walks"] for i in range(4))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(walk, range(16))) == 64


@pytest.mark.parametrize("whitespace", ["compact", "flexible", "any", r"( |\r\n)?"])
def test_white_space_that_must_go_on_counts(whitespace: str) -> None:
    constraint = compiled({"type": "array", "items": {"type": "integer"}, "minItems": 2}, whitespace=whitespace)
    rng, judge = random.Random(whitespace), Judge({})
    for _ in range(6):
        check_walk(constraint, judge, 12, rng)


def test_a_budget_goes_with_forks_snapshots_and_steps_back() -> None:
    constraint = compiled(RECORD)
    enough = constraint.matcher().min_tokens_left
    matcher = constraint.matcher(max_tokens=enough + 1)
    token = min(allowed_ids(matcher, WALKED))
    masks = [allowed_ids(matcher, WALKED)]
    assert matcher.advance(token)
    masks.append(allowed_ids(matcher, WALKED))
    assert allowed_ids(matcher.fork(), WALKED) == masks[1]
    assert allowed_ids(constraint.restore(matcher.snapshot()), WALKED) == masks[1]
    matcher.rollback(1)
    assert allowed_ids(matcher, WALKED) == masks[0]
    assert matcher.advance_bytes(b'{"name":"')
    assert matcher.min_tokens_left <= enough
    assert not matcher.advance_bytes(b"a long name that nobody has the tokens for")
    matcher.reset()
    assert allowed_ids(matcher, WALKED) == masks[0]


def test_a_text_without_an_end_that_can_be_written_down() -> None:
    constraint = compiled({"type": "array", "items": {"type": "string", "minLength": 5}, "minItems": 10**9})
    with pytest.raises(gl.LimitExceeded, match="too long to be written down"):
        _ = constraint.matcher().min_tokens_left
    with pytest.raises(ValueError, match="no number of tokens that can be told is"):
        constraint.matcher(max_tokens=10**6)


def test_deep_texts_end() -> None:
    matcher = compiled(True).matcher()
    assert matcher.advance_bytes(b"[" * 3000)
    assert 1500 <= matcher.min_tokens_left <= 3001
