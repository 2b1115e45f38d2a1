"""Numbers that no grammar has: compile raises GrammarError alone, and what shows, compares or saves a schema takes them all."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from tests.laws.json_laws import WALKED, compiled

LONG = 10**5000
VALUES = [
    LONG, -LONG, 10**60_000, Decimal("1e999999"), Decimal("1e-999999999999"), math.nan, math.inf, -math.inf, Decimal("NaN"),
    Decimal("-Infinity"), Fraction(1, 3), Fraction(10**9000, 3), Fraction(1, 2**9000), True, 1j, b"x", np.float64(1.5),
    np.int64(3), np.bool_(True), "5", [LONG], {"a": LONG}, (1, 2), 2.0, 2.5, Decimal("2.50"), 10**1200 + 1, None,
]  # fmt: skip
ABOUT: dict[str, Callable[[Any], Any]] = {
    "default": lambda v: {"default": v},
    "const": lambda v: {"const": v},
    "deep": lambda v: {"properties": {"a": {"enum": [[v], {"b": v}]}}},
    "not": lambda v: {"not": {"const": v}},
    "items": lambda v: {"items": v},
    "anyOf": lambda v: {"anyOf": [v]},
    "required": lambda v: {"required": [v]},
    "draft 4": lambda v: {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 0, "exclusiveMinimum": v},
    **{
        name: lambda v, name=name: {name: v}
        for name in (
            "minimum", "exclusiveMaximum", "multipleOf", "divisibleBy", "minLength", "maxLength", "minItems", "maxItems",
            "minProperties", "maxProperties", "type", "pattern", "format", "$ref", "$id", "$schema", "properties", "uniqueItems",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ABOUT))
def test_only_grammar_errors(name: str) -> None:
    for value in VALUES:
        grammar = gl.JsonSchema(ABOUT[name](value))
        assert isinstance(repr(grammar), str)
        assert hash(grammar) == hash(gl.JsonSchema(ABOUT[name](value)))
        assert grammar == gl.JsonSchema(ABOUT[name](value))
        try:
            constraint = gl.compile(grammar, WALKED)
            saved = constraint.to_bytes()
        except gl.GrammarError:
            continue
        assert len(constraint.fingerprint) > 0
        assert gl.Constraint.from_bytes(saved, WALKED).fingerprint == constraint.fingerprint
        assert isinstance(str(constraint.report), str)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"minimum": 1e99999999999999999999999}', gl.UnsupportedFeature),
        ('{"const": -1e-99999999999999999999999}', gl.UnsupportedFeature),
        ('{"minimum": ' + "9" * 5000 + "}", gl.UnsupportedFeature),
        ('{"enum": [{"a": ' + "9" * 5000 + "}]}", gl.UnsupportedFeature),
        ('{"type": ' + "9" * 5000 + "}", gl.GrammarError),
        ('{"$ref": "#/allOf/' + "9" * 5000 + '", "allOf": [{}]}', gl.GrammarError),
    ],
)
def test_text(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        compiled(text)


def test_what_says_nothing_is_no_matter() -> None:
    for text in ('{"default": ' + "9" * 5000 + "}", '{"type": "string", "maxLength": 1e999999999}'):
        constraint = compiled(text)
        assert gl.Constraint.from_bytes(constraint.to_bytes(), WALKED).fingerprint == constraint.fingerprint


def test_a_cap_is_named() -> None:
    compiled({"type": "integer", "minimum": 10**309})
    for schema, names in (
        ({"type": "integer", "minimum": 10**5000}, "digits"),
        ({"const": 10**1200 + 1}, "1,201 digits"),
        ({"minimum": 10**30, "not": {"multipleOf": 1}, "type": "number"}, "more than 25 digits"),
    ):
        with pytest.raises(gl.UnsupportedFeature, match=names):
            compiled(schema)
