"""Items that are objects or arrays must differ: texts near the edge of schemas, walks with and without budgets, and whole masks,
each against an oracle that shares no code."""

import itertools
import json
import random
from collections import Counter
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import grammarlm as gl
from tests.laws.json_laws import accepts, check_schema, check_walks, check_whole_masks, compiled
from tests.laws.laws import allowed_ids
from tests.masks.machines.json.distinct.distinct_cases import OPTIONS, REFUSED, SCHEMAS, VOCAB, array

SPELLINGS: list[tuple[dict[str, Any], list[str], list[str]]] = [  # a schema, texts of it, and others
    (
        SCHEMAS["anything"],
        ["[{},[]]", "[[1],[1,1]]", '["1",1,[1]]', '[{"a":1},{"a":2}]', '[{"a":1},{"b":1}]', "[[0],[[0]]]"],
        [
            "[{},{}]",
            "[[1],[1.0]]",
            '[{"a":1,"b":[]},{"b":[],"a":1}]',
            '[{"a":1},{"\\u0061":10e-1}]',
            '[{"a":"\\n"},{"a":"\\u000A"}]',
        ],
    ),
    (
        array({"type": "object"}),
        ['[{"a":true},{"a":1}]', '[{"a":"1"},{"a":1}]', '[{"a":null},{}]'],
        ['[{"a":0},{"a":-0.0}]', '[{"a":{"b":[1,2]}} , {"a" : { "b":[1.00, 20E-1] }}]', "[{} ,\n{\t}]"],
    ),
    (SCHEMAS["arrays"], ["[[1,2],[2,1]]", "[[],[0]]"], ["[[1,2],[1,2]]", "[[],[ ]]", "[[100],[1e2]]"]),
    (SCHEMAS["differ or are few"], ["[{},{}]", "[{},[]]", '[{},{"a":1},{"b":1}]'], ['[{},{"a":1},{}]', "[{},{},{}]"]),
]


@pytest.mark.parametrize("count", [1, pytest.param(8, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", SCHEMAS)
def test_texts_and_walks_agree_with_the_oracle(name: str, count: int) -> None:
    for number, options in enumerate(OPTIONS):
        rng = random.Random(f"{name} {number}")
        if not {"property_order", "whitespace"} & set(options):  # of all texts, in any order
            assert check_schema(SCHEMAS[name], rng, 3 * count, **options)["compiled"]
        assert check_walks(SCHEMAS[name], rng, VOCAB, count, **options)["compiled"]


@pytest.mark.parametrize(("schema", "valid", "invalid"), SPELLINGS)
def test_items_are_equal_in_any_spelling(schema: dict[str, Any], valid: list[str], invalid: list[str]) -> None:
    matcher, validator = compiled(schema, VOCAB).matcher(), Draft202012Validator(schema)
    for text in valid + invalid:
        assert validator.is_valid(json.loads(text)) is (text in valid)
        assert accepts(matcher, text.encode()) is (text in valid), text


# Small schemas over a few tokens: every mask on the way to every short text.
WHOLE: dict[str, tuple[Any, list[bytes], int]] = {
    "open": (array({"type": "object"}), [b"[", b"{", b"}", b'"a":1', b",", b"]", b"},{", b"{},{}"], 6),
    "keys of a pattern": (
        array({"type": "object", "patternProperties": {"^x": {"const": 1}}, "additionalProperties": False}),
        [b"[", b"{", b"}", b'"x":1', b'"xx":1', b",", b"]", b"},{"],
        6,
    ),
    "arrays": (
        array({"type": "array", "items": {"const": True}}),
        [b"[", b"]", b"true", b",", b"],[", b"[],[]", b"]]"],
        7,
    ),
    "any": ({"type": "array", "uniqueItems": True}, [b"[", b"]", b"1", b",", b"{}", b"[],[]", b"],"], 7),
}


@pytest.mark.parametrize("most", [4, pytest.param(7, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_masks(name: str, most: int) -> None:
    schema, pieces, longest = WHOLE[name]
    outcomes: Counter[str] = check_whole_masks(
        schema, pieces, min(most, longest), random.Random(name), whitespace="compact"
    )
    assert outcomes["bits"] > 50


@pytest.mark.parametrize("name", ["anything", "arrays or booleans", "keys of a pattern"])
def test_all_orders_of_items(name: str) -> None:
    """Every sequence of up to four items, each in one of its spellings: read iff it is valid."""
    spelled = ["1.0", '"x"', "null", "[1]", "[1e0]", '{"x":1}', '{"x": 1.0 }', "{}"]
    matcher, validator = compiled(SCHEMAS[name], VOCAB).matcher(), Draft202012Validator(SCHEMAS[name])
    for count in range(5):
        for items in itertools.product(spelled, repeat=count):
            text = f"[{','.join(items)}]"
            assert accepts(matcher, text.encode()) is validator.is_valid(json.loads(text)), text


@pytest.mark.parametrize("name", REFUSED)
def test_items_that_can_be_used_up_are_refused_by_name(name: str) -> None:
    with pytest.raises(gl.UnsupportedFeature, match="uniqueItems") as refusal:
        compiled(REFUSED[name], VOCAB)
    assert refusal.value.pointer == ("/anyOf/1/uniqueItems" if "anyOf" in REFUSED[name] else "/uniqueItems")


@pytest.mark.parametrize("count", [1, pytest.param(10, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_state_can_be_ended(name: str, count: int) -> None:
    """From each state of random walks: the mask is what advance takes, and the completion ends in a valid text."""
    validator, rng = Draft202012Validator(SCHEMAS[name]), random.Random(name)
    constraint = compiled(SCHEMAS[name], VOCAB)
    for _ in range(count):
        matcher, text = constraint.matcher(), b""
        for _ in range(14 if count > 1 else 8):
            allowed = allowed_ids(matcher, VOCAB) - set(VOCAB.stop_ids)
            taken = {token for token in range(VOCAB.stop_ids[0]) if matcher.fork().advance(token)}
            assert taken == allowed, text
            end = ended(constraint, text)
            assert validator.is_valid(json.loads(end)), end
            if not allowed:
                break
            token = rng.choice(
                [t for t in sorted(allowed) if VOCAB.token_bytes(t)[:1] not in b" \n\t\r"] or sorted(allowed)
            )
            assert matcher.advance(token)
            text += VOCAB.token_bytes(token)


def ended(constraint: gl.Constraint, text: bytes) -> bytes:
    """A text that begins so, by a budget of what is needed."""
    least = constraint.matcher()
    assert least.advance_bytes(text)
    most = least.min_tokens_left
    matcher = constraint.matcher(max_tokens=len(text) + most + 40)
    assert matcher.advance_bytes(text)
    rng = random.Random(text)
    closing = [VOCAB.token_bytes(t) for t in range(256)]
    while not matcher.is_accepting:
        allowed = sorted(allowed_ids(matcher, VOCAB))
        assert allowed, text
        best = [t for t in allowed if closing[t : t + 1] and closing[t] in (b"}", b"]", b'"')] or allowed
        token = rng.choice(best if rng.random() < 0.9 else allowed)
        assert matcher.advance(token), text
        text += VOCAB.token_bytes(token)
    return text
