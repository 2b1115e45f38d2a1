"""Dicts of Python's that are no JSON: a GrammarError that names the place, wherever it is."""

import datetime
import decimal
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from tests.laws.vocabularies import every_byte

VOCAB = every_byte().vocabulary()
CIRCULAR: dict[str, Any] = {"type": "object"}
CIRCULAR["properties"] = {"a": CIRCULAR}
KEYS = [1, None, True, 1.5, (1,), b"a"]
VALUES = [
    {"a"}, frozenset("a"), b"a", datetime.date(2020, 1, 1), np.int64(3), np.arange(3), object(), len, float("nan"), float("inf"),
    decimal.Decimal("NaN"), 1j, ..., range(3), bytearray(b"a"),
]  # fmt: skip
HOLDERS = ["properties", "patternProperties", "$defs", "dependentSchemas", "const", "dependentRequired"]
VALUED = (
    "const minLength pattern minimum multipleOf properties required items allOf not enum format type $ref".split()  # noqa: SIM905
)


def refused(schema: Any, **options: Any) -> gl.GrammarError:
    grammar = gl.JsonSchema(schema, **options)
    hash(grammar)
    assert repr(grammar)
    with pytest.raises(gl.GrammarError) as refusal:
        gl.compile(grammar, VOCAB)
    assert len(str(refusal.value)) <= 500
    return refusal.value


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_keys_that_are_no_strings(key: Any) -> None:
    for holder in HOLDERS:
        schema = {
            "type": "object",
            "properties": {"x": {holder: {"a": {}, key: {}}, "allOf": [{}]}},
            "allOf": [{"minProperties": 0}],
        }
        error = refused(schema)
        assert error.pointer == f"/properties/x/{holder}"
        assert repr(key) in str(error)
        assert "the keys of JSON are strings" in str(error)
    assert "the keys of JSON are strings" in str(refused({"properties": {key: {}}}))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_that_no_json_has(value: Any) -> None:
    for keyword in VALUED:
        refused({keyword: value})
        refused({"items": {keyword: value}, "not": {"type": "string"}})
    assert "no JSON value" in str(refused({"const": [value], "allOf": [{}]}))


def test_a_schema_that_holds_itself() -> None:
    error = refused({"allOf": [CIRCULAR, {"minProperties": 0}]})
    assert error.pointer == "/allOf/0/properties/a"
    assert "the schema holds itself; say it with a $ref" in str(error)
    shared = {"type": "integer"}
    gl.compile(gl.JsonSchema({"properties": {"a": shared, "b": shared}, "allOf": [shared, shared]}), VOCAB)


def test_other_places() -> None:
    registry = {"https://example.com/a": {"properties": {1: {}}}}
    assert "the key 1" in str(refused({"$ref": "https://example.com/a", "type": "object"}, registry=registry))
    assert "NaN is no number of JSON's" in str(refused('{"const": NaN}'))
    for extra in ("allow", "forbid"):
        assert "the key 1" in str(refused({"properties": {1: {}}}, extra=extra))
    gl.compile(gl.JsonSchema({"type": "string", "default": datetime.date(2020, 1, 1)}), VOCAB)
