"""What stands in a schema and is no JSON, or no text, or a number that no grammar has: refused by name or without effect, never an
error of another kind, and whatever shows, compares or saves a schema takes it."""

import contextlib
import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.read.expected import EXPECTED
from tests.counts import tiers
from tests.texts import BYTES

HALF = "\ud800"
CIRCULAR: dict[str, Any] = {"type": "object"}
CIRCULAR["properties"] = {"a": CIRCULAR}
LONG = 10**5000
KEYS = [1, None, True, 1.5, (1,), b"a"]
NO_JSON = [
    {"a"}, frozenset("a"), b"a", datetime.date(2020, 1, 1), np.int64(3), np.float64(1.5), np.bool_(True), np.arange(3), object(),
    object, len, math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("-Infinity"), 1j, ..., range(3), bytearray(b"a"),
]  # fmt: skip
ODD = [
    *NO_JSON, None, True, -1, 1.5, 2.0, "", "5", HALF, "#/%", "http://[", "(", [], [None], [[]], {}, {"": {}}, {HALF: True},
    {"a": None}, {"^(": {}}, {"a": [1]}, (1, 2), gl.Choices(["a"]), gl.Regex("a"), CIRCULAR, LONG, -LONG, [LONG], 10**400,
    10**60_000, 10**1200 + 1, Decimal("1e999999"), Decimal("1e-999999999999"), Decimal("2.50"), Fraction(1, 3),
    Fraction(10**9000, 3), Fraction(1, 2**9000), *({key: {}} for key in KEYS),
]  # fmt: skip
KEYWORDS = sorted({*EXPECTED, "const", "default", "$schema", "id", "divisibleBy"})
# Where a keyword stands, and beside what.
AROUND: list[Callable[[str, Any], Any]] = [
    lambda keyword, value: {keyword: value},
    lambda keyword, value: {"items": {keyword: value}, "not": {"type": "string"}},
    lambda keyword, value: {keyword: [value]},
    lambda keyword, value: {keyword: {"a": value}},
    lambda keyword, value: {"properties": {"a": {keyword: value}}, "required": ["a"]},
    lambda keyword, value: {"const": "a", keyword: value},
    lambda keyword, value: {"enum": [1, [2]], keyword: value},
    lambda keyword, value: {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "minimum": 0,
        "maximum": 9,
        keyword: value,
    },
]
HOLDERS = ["properties", "patternProperties", "$defs", "dependentSchemas", "const", "dependentRequired"]
VALUED = [
    "const", "minLength", "pattern", "minimum", "multipleOf", "properties", "required", "items", "allOf", "not", "enum", "format",
    "type", "$ref",
]  # fmt: skip


def compiled(schema: Any) -> gl.Constraint | None:
    """None where the constructor takes no such value, or compile refuses it by name."""
    try:
        grammar = gl.JsonSchema(schema)
    except (TypeError, gl.GrammarError):
        return None
    assert repr(grammar)
    assert hash(grammar) == hash(gl.JsonSchema(schema))
    assert grammar == gl.JsonSchema(schema)
    try:
        return gl.compile(grammar, BYTES)
    except gl.GrammarError as error:
        return pytest.fail(str(error)) if len(str(error)) > 500 else None


@pytest.mark.parametrize("keyword", KEYWORDS)
@tiers("one_in", 4, 1)
def test_whatever_a_keyword_says(keyword: str, one_in: int) -> None:
    mask = gl.allocate_mask(1, BYTES.size)
    for at, value in enumerate(ODD):
        for i in range(at % one_in, len(AROUND), one_in):
            constraint = compiled(AROUND[i](keyword, value))
            if constraint is None:
                continue
            assert i > 1 or keyword not in VALUED or at >= len(NO_JSON), (keyword, value)
            constraint.matcher().fill_mask(mask)
            assert np.any(mask), (keyword, value)
            assert str(constraint.report)
            with contextlib.suppress(gl.GrammarError):  # a value without effect that no JSON has
                assert gl.Constraint.from_bytes(constraint.to_bytes(), BYTES).fingerprint == constraint.fingerprint


def refused(schema: Any, **options: Any) -> gl.GrammarError:
    with pytest.raises(gl.GrammarError) as refusal:
        gl.compile(gl.JsonSchema(schema, **options), BYTES)
    return refusal.value


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_keys_that_are_no_strings(key: Any) -> None:
    for holder in HOLDERS:
        inside = {holder: {"a": {}, key: {}}, "allOf": [{}]}
        error = refused({"type": "object", "properties": {"x": inside}, "allOf": [{"minProperties": 0}]})
        assert error.pointer == f"/properties/x/{holder}"
        assert repr(key) in str(error)
        assert "the keys of JSON are strings" in str(error)
    assert "the keys of JSON are strings" in str(refused({"properties": {key: {}}}))


def test_a_schema_that_holds_itself() -> None:
    error = refused({"allOf": [CIRCULAR, {"minProperties": 0}]})
    assert error.pointer == "/allOf/0/properties/a"
    assert "the schema holds itself; say it with a $ref" in str(error)
    shared = {"type": "integer"}
    gl.compile(gl.JsonSchema({"properties": {"a": shared, "b": shared}, "allOf": [shared, shared]}), BYTES)


def test_what_no_json_has_in_other_places() -> None:
    registry = {"https://example.com/a": {"properties": {1: {}}}}
    assert "the key 1" in str(refused({"$ref": "https://example.com/a", "type": "object"}, registry=registry))
    assert "NaN is no number of JSON's" in str(refused('{"const": NaN}'))
    for extra in ("allow", "forbid"):
        assert "the key 1" in str(refused({"properties": {1: {}}}, extra=extra))
    for value in NO_JSON:
        assert "no JSON value" in str(refused({"const": [value], "allOf": [{}]}))
    gl.compile(gl.JsonSchema({"type": "string", "default": datetime.date(2020, 1, 1)}), BYTES)


LONG_TEXTS = [
    ('{"minimum": 1e99999999999999999999999}', gl.UnsupportedFeature),
    ('{"const": -1e-99999999999999999999999}', gl.UnsupportedFeature),
    ('{"minimum": ' + "9" * 5000 + "}", gl.UnsupportedFeature),
    ('{"enum": [{"a": ' + "9" * 5000 + "}]}", gl.UnsupportedFeature),
    ('{"type": ' + "9" * 5000 + "}", gl.GrammarError),
    ('{"$ref": "#/allOf/' + "9" * 5000 + '", "allOf": [{}]}', gl.GrammarError),
]


def test_long_numbers_in_text() -> None:
    for text, error in LONG_TEXTS:
        assert isinstance(refused(text), error), text
    for text in ('{"default": ' + "9" * 5000 + "}", '{"type": "string", "maxLength": 1e999999999}'):
        constraint = gl.compile(gl.JsonSchema(text), BYTES)
        assert gl.Constraint.from_bytes(constraint.to_bytes(), BYTES).fingerprint == constraint.fingerprint


def test_a_cap_of_numbers_is_named() -> None:
    gl.compile(gl.JsonSchema({"type": "integer", "minimum": 10**309}), BYTES)
    for schema, names in (
        ({"type": "integer", "minimum": 10**5000}, "digits"),
        ({"const": 10**1200 + 1}, "1,201 digits"),
        ({"minimum": 10**30, "not": {"multipleOf": 1}, "type": "number"}, "more than 25 digits"),
    ):
        error = refused(schema)
        assert isinstance(error, gl.UnsupportedFeature)
        assert names in str(error)


UNSPELLABLE: list[Any] = [
    {"const": {HALF: True}},
    {"const": HALF},
    {"enum": [[HALF], {"a": HALF}]},
    {"type": "object", "required": [HALF]},
    {"type": "object", "properties": {"a": {"const": HALF}}, "required": ["a"]},
    {"type": "array", "items": {"enum": [HALF, HALF + "a"]}, "minItems": 1},
    {"type": "object", "properties": {HALF: {}}, "additionalProperties": False, "minProperties": 1},
    {"type": "object", "dependentRequired": {"a": [HALF]}, "required": ["a"]},
]


@pytest.mark.parametrize("schema", UNSPELLABLE, ids=repr)
def test_what_needs_half_a_surrogate_pair_has_no_text(schema: Any) -> None:
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.JsonSchema(schema), BYTES)
    matcher = gl.compile(gl.JsonSchema({"anyOf": [schema, {"type": "null"}]}, whitespace="compact"), BYTES).matcher()
    assert matcher.forced_bytes() == b"null"


@pytest.mark.parametrize("value", [math.nan, math.inf, {"a": [-math.inf]}, {1: 2}, {None: 1}, b"a"], ids=repr)
def test_what_no_json_has_and_says_nothing_is_not_saved(value: Any) -> None:
    constraint = gl.compile(gl.JsonSchema({"type": "null", "default": value}), BYTES)
    with pytest.raises(gl.GrammarError, match="no JSON has"):
        constraint.to_bytes()


def test_numbers_that_no_double_is_are_saved() -> None:
    constraint = gl.compile(gl.JsonSchema({"enum": [Decimal("1e400"), Decimal("-1e-400"), 5e-324, 10**400]}), BYTES)
    assert gl.Constraint.from_bytes(constraint.to_bytes(), BYTES).fingerprint == constraint.fingerprint
