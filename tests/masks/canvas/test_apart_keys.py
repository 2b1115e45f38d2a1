"""Objects whose keys may be too few: no row is completed by one key twice. Against every row of a small vocabulary."""

import random
import re

import numpy as np

import grammarlm as gl
from tests.counts import tiers
from tests.masks.canvas.canvas_cases import Schema, json_case
from tests.masks.canvas.canvas_law import Case, check_fills, check_rows, fails
from tests.masks.canvas.substituted import row_of
from tests.oracles.any_grammar import accepts_of

FLAT = re.compile(rb'\{("[abcx]*":[12](,"[abcx]*":[12])*)?\}')
ENDS = b"", b"}", b"1}", b":1}", b'":1}', b'"a":1}', b"{}"
PIECES = [b'{"', b'":1', b',"', b'a":', b'""', b'"b"', b'{"a":1,', b'":']
KEYS = ["^[abcx]*$", "^[ab]*$", "^a*$", "^[ab]+$", "^[ab]*c?$", "^[ab]?$"]


def begins(data: bytes) -> bool:
    """Is it the beginning of a flat object?"""
    return any(FLAT.fullmatch(data + end) for end in ENDS)


def flat_case(schema: dict) -> Case:
    tokens = [b"?", *(bytes([b]) for b in range(256)), *PIECES, b"."]
    grammar = Schema(schema, property_order="any")
    return Case(grammar, tokens, accepts_of(grammar), begins, alphabet=b'{}",:12abcx')


def random_schema(random: random.Random) -> dict:
    """Of flat objects with keys of few letters."""
    least = random.choice([0, 1, 2, 2, 2, 3])
    schema = {
        "type": "object",
        "propertyNames": {"pattern": random.choice(KEYS)},
        "additionalProperties": random.choice([{"const": 1}, {"enum": [1, 2]}]),
        "minProperties": least,
    }
    if random.random() < 0.3:
        schema["required"] = random.sample(["a", "b", "aa"], random.randrange(1, 3))
    if random.random() < 0.3:
        schema["maxProperties"] = max(least, 2) + random.randrange(2)
    if random.random() < 0.2:
        schema["patternProperties"] = {"^a": {"const": 1}}
    return schema


def check(schema: dict, length: int, count: int) -> None:
    try:
        case = flat_case(schema)
        case.constraint  # noqa: B018
    except gl.UnsatisfiableGrammar:
        return
    check_rows(case, length, count)
    check_fills(case, length, count)


@tiers("seeds, count", (range(2), 4), *((range(at, at + 10), 12) for at in range(0, 60, 10)))
def test_keys_of_a_few_letters(seeds: range, count: int) -> None:
    for seed in seeds:
        chosen = random.Random(seed)
        check(random_schema(chosen), chosen.randrange(4, 8), count)


def test_two_keys_of_a_few_letters() -> None:
    two = {"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^a*$"}}
    check({**two, "additionalProperties": {"const": 1}}, 6, 4)


INTEGERS = {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}


def test_the_empty_key_comes_once() -> None:
    """Two keys are required, and there is no room for a letter in the second."""
    case = json_case(INTEGERS, [b'{"', b'":', b',"'])
    ids = {spelled: token for token, spelled in enumerate(case.tokens)}
    for length in (9, 24):
        canvas, logits = case.constraint.canvas(length), np.zeros((length, case.width), np.float32)
        row = row_of(case, length, b'{"', b'":', *[None] * 5)  # all that fits is {"":1,"":2}
        assert not canvas.is_completable(row)
        assert fails(canvas.fill, row, logits)
        assert not canvas.is_completable([*row[:7], case.stop_ids[0], *[-1] * (length - 8)])
        longer = row_of(case, length, b'{"', None, *[None] * 6)
        assert canvas.is_completable(longer)
        places, tokens = [1, 4, 5], [ids[b'":'], ids[b'":'], ids[b"1"]]
        assert fails(canvas.commit, longer, places, tokens)
        found = canvas.commit(longer, places, tokens, partial=True)
        assert [found[i] for i in places] == [*tokens[:2], -1]  # as in {"":1,":":1}
        for filled in (canvas.fill(longer, logits), canvas.sample(longer, logits, seed=1)):
            assert case.accepts(b"".join(case.tokens[token] for token in filled if token not in case.stop_ids))
