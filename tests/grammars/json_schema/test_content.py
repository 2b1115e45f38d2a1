"""What a schema says: equal grammars are equal however they were given, others are not, and none is too large to be compared."""

import json
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.read import content
from grammarlm.grammars.json_schema.read.content import digest_of, shown, written
from grammarlm.grammars.json_schema.schema import parsed

STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"const": 1.5}, '{"const": 1.5}'),
        ({"const": Decimal("1.5")}, '{"const": 1.5}'),
        ({"const": Fraction(3, 2)}, '{"const": 15e-1}'),
        ({"const": Decimal(5)}, {"const": 5}),
        ({"enum": [1, 1e-05, True, 5.0]}, '{"enum": [1, 1e-5, true, 5.0]}'),
        ({"const": 10**5000}, '{"const": 1' + "0" * 5000 + "}"),
        ({"const": "\ud800é"}, r'{"const": "\ud800\u00e9"}'),
        ({"anyOf": [STRING, STRING]}, '{"anyOf": [{"type": "string"}, {"type": "string"}]}'),
        ({"enum": ("a", "b")}, {"enum": ["a", "b"]}),
    ],
)
def test_equal(one: Any, other: Any) -> None:
    assert gl.JsonSchema(one) == gl.JsonSchema(other)
    assert hash(gl.JsonSchema(one)) == hash(gl.JsonSchema(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"const": 1}, {"const": True}),
        ({"const": 1}, {"const": "1"}),
        ({"const": 0.0}, {"const": -0.0}),
        ({"const": None}, {"const": [None]}),
        ({"const": []}, {"const": {}}),
        ({"const": [[]]}, {"const": []}),
        ({"a": {"b": 1}}, {"a": [1, "b"]}),
        ({"a": {}, "b": {}}, {"b": {}, "a": {}}),
        ({1: {}}, {"1": {}}),
        ({}, True),
        ({"const": 10**60_000}, {"const": 10**60_000 + 1}),
    ],
)
def test_different(one: Any, other: Any) -> None:
    assert gl.JsonSchema(one) != gl.JsonSchema(other)


def test_options_and_registries_tell_grammars_apart() -> None:
    grammars = [
        gl.JsonSchema({}),
        gl.JsonSchema({}, formats="annotation"),
        gl.JsonSchema({}, property_order=["a"]),
        gl.JsonSchema({}, property_order=["a", "b"]),
        gl.JsonSchema({}, registry={}),
        gl.JsonSchema({}, registry={"http://a": {}}),
        gl.JsonSchema({}, registry={"http://a": True}),
    ]
    assert len({grammar.digest for grammar in grammars}) == len(set(grammars)) == len(grammars)


def test_a_schema_that_holds_itself_has_a_digest() -> None:
    schema: dict[str, Any] = {"title": "a"}
    schema["items"] = schema
    assert gl.JsonSchema(schema) != gl.JsonSchema({"title": "a"})
    assert len(repr(gl.JsonSchema(schema))) < 200
    with pytest.raises(gl.LimitExceeded, match="or in themselves"):
        written(schema)


def random_value(rng: random.Random, depth: int) -> Any:
    if depth and rng.random() < 0.7:
        inner = [random_value(rng, depth - 1) for _ in range(rng.randrange(4))]
        return {f"k{i}": value for i, value in enumerate(inner)} if rng.random() < 0.5 else inner
    return rng.choice([None, True, 0, -7, 10**30, 2.5, 1e-9, 1e300, "é\n", Decimal("1.10"), Decimal(10) ** 400])


def test_the_quick_way_writes_what_the_other_one_does(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    values = [random_value(rng, 5) for _ in range(300)]
    texts = [written(value) for value in values]
    for value, text in zip(values, texts, strict=True):
        assert digest_of(parsed(text)) == digest_of(value)
        assert shown(value, 10**9)
    monkeypatch.setattr(content, "_is_tree", lambda schema: False)
    assert [written(value) for value in values] == texts
    assert [json.loads(text) for text in texts] == [json.loads(written(value)) for value in values]


def test_digests_tell_random_values_apart() -> None:
    rng = random.Random(4)
    values = [random_value(rng, 3) for _ in range(2_000)]
    assert len({digest_of(value) for value in values}) == len({written(value) for value in values})
