"""What ends a number near the end of a budget: it is there, it is short, and it is computed in a few steps."""

import math
import random
from collections import Counter
from itertools import product
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.masks.machines.json.endings.numbers import NumberEndings
from tests.counts import record_counts, tiers
from tests.laws.json_budget_laws import check_walk
from tests.laws.json_laws import WALKED, accepts, compiled
from tests.laws.laws import allowed_ids
from tests.oracles.json_numbers import is_printed
from tests.oracles.json_schema_oracle import Judge
from tests.oracles.json_spellings import is_within_caps, widest_caps
from tests.texts import BYTES

LETTERS = "0123456789.-+e"
LEAST = (0, 1, -5, 3, 99, -1000, 1000000, 0.001, 1.5, -1e-7, 12345.678, 1e16, 1e300, 10**20)
ABOVE = (1, 7, 0.5, 1e6, 10000, 1e-3, 1e20)
MOST = (0, -1, -1e-5, -1000000, -12345.5)
MULTIPLES = (2, 3, 7, 9973, 999983, 0.01, 0.25, 1.5, 10, 1000, 0.003, 1e-7, 12, 640)
DENIED = ({"multipleOf": 2}, {"multipleOf": 10}, {"multipleOf": 0.5}, {"type": "integer"})


def number_schema(rng: random.Random) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": rng.choice(["integer", "number", "number"])}
    if rng.random() < 0.5:
        schema[rng.choice(["minimum", "exclusiveMinimum"])] = rng.choice(LEAST)
    if rng.random() < 0.4:
        least = schema.get("minimum", schema.get("exclusiveMinimum"))
        most = rng.choice(MOST) if least is None else least + rng.choice(ABOVE)
        schema[rng.choice(["maximum", "exclusiveMaximum"])] = most
    if rng.random() < 0.6:
        schema["multipleOf"] = rng.choice(MULTIPLES)
    if rng.random() < 0.25:
        schema["not"] = rng.choice(DENIED)
    return schema


def begun(matcher: gl.Matcher, rng: random.Random) -> str:
    """A few letters that the grammar allows."""
    text = ""
    for _ in range(rng.randrange(9)):
        letter = next((x for x in rng.sample(LETTERS, len(LETTERS)) if matcher.advance(ord(x))), "")
        text += letter
    return text


def shortest(schema: Any, text: str, most: int, matcher: "gl.Matcher | None") -> "int | None":
    """The fewest letters that make a text a number under the schema, by trying all; None where these are more than `most`.
    `matcher`: judges instead of the oracle, which does not know how numbers are written by json.dumps."""
    judge, caps = Judge(schema), widest_caps(schema)
    named = [value for word, value in schema.items() if word != "type"]
    is_open = schema["type"] == "number" and not any(named)

    def accepted(whole: str) -> bool:
        if matcher:
            return accepts(matcher, whole.encode())
        return judge.valid(whole) and is_within_caps(whole, caps) and (is_open or is_printed(whole))

    for count in range(most + 1):
        for letters in product(LETTERS, repeat=count):
            if accepted(text + "".join(letters)):
                return count
    return None


def counted(matcher: gl.Matcher) -> float:
    """Letters that end the number; one of hundreds of digits is too long to be written down."""
    try:
        return matcher.min_tokens_left
    except gl.LimitExceeded:
        return math.inf


def check_ends(seed: str, schemas: int, longest: int) -> Counter[str]:
    rng, outcomes = random.Random(seed), Counter[str]()
    while outcomes["schemas"] < schemas:
        schema, spelling = number_schema(rng), rng.choice(["any", "plain"])
        try:
            constraint = gl.compile(gl.JsonSchema(schema, whitespace="compact", spelling=spelling), BYTES)
        except (gl.UnsatisfiableGrammar, gl.UnsupportedFeature):
            continue
        outcomes["schemas"] += 1
        matcher = constraint.matcher()
        text = begun(matcher, rng)
        judge = constraint.matcher() if spelling == "plain" else None
        needed, least = counted(matcher), shortest(schema, text, longest, judge)
        where = f"{schema} {spelling} after {text!r}: {needed} letters, {least} are enough"
        outcomes["needed"] += 1
        if least is None:
            assert needed > longest, where
        else:
            outcomes["compared"] += 1
            assert least <= needed <= least + 2, where
            outcomes[f"longer by {needed - least}"] += 1
    return outcomes


@tiers("seed, schemas, longest", ("few", 40, 2), ("many", 600, 3))
def test_ends_of_numbers_are_short(seed: str, schemas: int, longest: int, record_property: Any) -> None:
    outcomes = check_ends(seed, schemas, longest)
    assert outcomes["compared"] > 20
    assert outcomes["longer by 0"] > 0.9 * outcomes["compared"], outcomes
    record_counts(record_property, outcomes, cases="needed")


def check_number_budgets(seed: str, walks: int) -> Counter[str]:
    rng, outcomes = random.Random(seed), Counter[str]()
    while outcomes["walks"] < walks:
        schema, spelling = number_schema(rng), rng.choice(["any", "plain"])
        try:
            constraint = compiled(schema, spelling=spelling)
        except (gl.UnsatisfiableGrammar, gl.UnsupportedFeature):
            continue
        enough = counted(constraint.matcher())
        if enough == math.inf:
            outcomes["too long"] += 1
            continue
        outcomes += check_walk(constraint, Judge(schema), enough + rng.choice([0, 1, 4]), rng)
    return outcomes


@tiers("seed, walks", ("few", 40), ("many", 1500))
def test_walks_over_numbers_end_within_their_budget(seed: str, walks: int, record_property: Any) -> None:
    outcomes = check_number_budgets(seed, walks)
    assert outcomes["narrowed"] > 40
    record_counts(record_property, outcomes, cases="walks")


@pytest.mark.parametrize("multiple", [9973, 999983])
def test_masks_near_the_end_of_a_budget_take_few_steps(multiple: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search over digits reads tens of thousands of texts, and ends with a number three times as long."""
    constraint = compiled({"type": "integer", "minimum": 1000000, "multipleOf": multiple})
    shortest, counts = NumberEndings.shortest, Counter[str]()

    def counted(endings: NumberEndings, c: int, x: int, y: int) -> "bytes | None":
        counts["looks"] += 1
        return shortest(endings, c, x, y)

    monkeypatch.setattr(NumberEndings, "shortest", counted)
    assert constraint.matcher().min_tokens_left <= 7
    matcher, rng = constraint.matcher(max_tokens=9), random.Random(1)
    digits = [token for token in range(WALKED.size) if WALKED.token_bytes(token).isdigit()]
    while allowed := sorted(allowed_ids(matcher, WALKED) & set(digits)):
        matcher.advance(rng.choice(allowed))
        counts["masks"] += 1
    assert counts["masks"] >= 3
    assert counts["looks"] < 50 * counts["masks"], counts


def test_different_numbers_are_found_one_after_the_other() -> None:
    """Items that must differ: as many as there are."""
    schema = {
        "type": "array",
        "items": {"type": "integer", "minimum": 20, "maximum": 40, "multipleOf": 7},
        "uniqueItems": True,
    }
    constraint = compiled({**schema, "minItems": 3})
    assert constraint.matcher().min_tokens_left <= 10
    with pytest.raises(gl.UnsatisfiableGrammar):
        compiled({**schema, "minItems": 4})


@pytest.mark.parametrize("text", ["12105440.510", "1.50", "-0.0", "7.0"])
def test_a_number_that_may_end_needs_nothing(text: str) -> None:
    """A zero that could have been left out before is written already."""
    matcher = gl.compile(gl.JsonSchema({"type": "number", "not": {"multipleOf": 9}}, spelling="any"), BYTES).matcher()
    assert matcher.advance_bytes(text.encode())
    assert matcher.min_tokens_left == (0 if matcher.is_accepting else 1)
