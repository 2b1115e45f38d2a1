"""The laws of budgets for JSON schemas: walks end in time, in instances that the oracle takes, and growth is bounded."""

import bisect
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import grammarlm as gl
from tests.corpus_files import read_toml
from tests.internals import growth_of, steps_at_sight
from tests.laws.json_laws import WALKED, compiled, text_of
from tests.laws.laws import allowed_ids
from tests.oracles.json_schema_oracle import Judge, NoVerdict

SPARE = (0, 2, 15, 80)
STOPS = frozenset(WALKED.stop_ids)
RECORD = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "minimum": 17}},
    "required": ["name", "age"],
}
# A schema, and tokens that are enough (pieces of WALKED: '{"', '":', '","', ...).
CASES: dict[str, tuple[Any, int]] = {
    name: (json.loads(schema), enough)
    for name, (schema, enough) in read_toml(Path(__file__).parents[1] / "corpus" / "schemas.toml")["budgets"].items()
}
CASES["many keys"] = (
    {"type": "object", "properties": {f"k{i}": {"type": "integer"} for i in range(70)}, "required": ["k3", "k69"]},
    16,
)


def check_walk(constraint: gl.Constraint, judge: Judge, budget: int, rng: random.Random) -> Counter[str]:
    """A text drawn from the masks of a budget, next to an ordinary matcher."""
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


def check_growth(schema: Any, rng: random.Random, **options: Any) -> Counter[str]:
    """One token makes no more tokens necessary than is known for the whole schema: until then masks are the ordinary ones."""
    try:
        constraint = compiled(schema, **options)
        enough = constraint.matcher().min_tokens_left
        constraint.matcher(max_tokens=enough)
    except gl.GrammarError:
        return Counter()
    most = growth_of(constraint.matcher())
    if most is None:
        return Counter()
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


def check_promises(schema: Any, rng: random.Random, most: int = 30, **options: Any) -> Counter[str]:
    """What is known at sight: so many tokens, whatever they are, and the rest of the budget is still enough."""
    try:
        constraint = compiled(schema, **options)
    except gl.GrammarError:
        return Counter()
    matcher, tokens, outcomes = constraint.matcher(), list[int](), Counter(schemas=1)
    promises: list[tuple[int, int, int]] = []  # where it was made, tokens left there, steps
    while len(tokens) < most:
        here = len(tokens)
        for wanted in (1, 8, 60):  # the smallest budget of which so many steps are promised
            left = bisect.bisect_left(range(1 << 14), wanted, key=lambda left: steps_at_sight(matcher, left))
            if steps := steps_at_sight(matcher, left):
                promises.append((here, left, steps))
        needed = matcher.min_tokens_left
        for at, left, steps in promises:
            if here - at <= steps:
                where = f"{json.dumps(schema)[:2000]} {options} {text_of(tokens[:at], WALKED)!r} {text_of(tokens, WALKED)!r}"
                assert needed <= left - (here - at), f"{where}: {needed} of {left}, {here - at} of {steps} steps later"
                outcomes["promises"] += 1
        allowed = sorted(allowed_ids(matcher, WALKED) - STOPS)
        allowed = [token for token in allowed if WALKED.token_bytes(token).strip()] or allowed
        if not allowed:
            break
        longest = sorted(allowed, key=lambda t: -len(WALKED.token_bytes(t)))[:6]
        tokens.append(farthest(matcher, [*longest, *rng.sample(allowed, min(4, len(allowed)))]))
        assert matcher.advance(tokens[-1])
    return outcomes


def farthest(matcher: gl.Matcher, tokens: list[int]) -> int:
    """The token after which the end is farthest."""

    def needed(token: int) -> int:
        assert matcher.advance(token)
        found = matcher.min_tokens_left
        matcher.rollback(1)
        return found

    return max(tokens, key=needed)
