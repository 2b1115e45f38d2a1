"""What stands in a schema and is no JSON, or no text: refused by name or without effect, and never an error of another kind."""

import contextlib
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import grammarlm as gl

VOCAB = gl.Vocabulary([bytes([byte]) for byte in range(256)] + [b""], stop_ids=[256])
HALF = "\ud800"
KEYWORDS = (
    *(
        "type",
        "enum",
        "const",
        "minimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "pattern",
        "format",
        "items",
        "prefixItems",
    ),
    *(
        "contains",
        "minContains",
        "minItems",
        "uniqueItems",
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
    ),
    *(
        "propertyNames",
        "minProperties",
        "dependentRequired",
        "dependentSchemas",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
    ),
    *(
        "unevaluatedItems",
        "unevaluatedProperties",
        "$ref",
        "$id",
        "$anchor",
        "$dynamicRef",
        "$schema",
        "$defs",
        "default",
    ),
)
ODD = (
    *(
        None,
        True,
        -1,
        1.5,
        float("nan"),
        float("inf"),
        "",
        HALF,
        "#/%",
        "http://[",
        "(",
        [],
        [None],
        [[]],
        {},
        {"": {}},
        {HALF: True},
    ),
    *(
        {"a": None},
        (1, 2),
        {1, 2},
        b"a",
        1j,
        object,
        ...,
        range(3),
        gl.Choices(["a"]),
        gl.Regex("a"),
        {"^(": {}},
        {"a": [1]},
        10**400,
    ),
)


def compiled(schema: Any) -> gl.Constraint | None:
    """None where the constructor takes no such value, or compile refuses it by name."""
    try:
        grammar = gl.JsonSchema(schema)
    except (TypeError, gl.GrammarError):
        return None
    try:
        return gl.compile(grammar, VOCAB)
    except gl.GrammarError as error:
        return pytest.fail(str(error)) if len(str(error)) > 500 else None


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_whatever_a_keyword_says(keyword: str) -> None:
    mask = gl.allocate_mask(1, VOCAB.size)
    for value in ODD:
        inside = {"properties": {"a": {keyword: value}}, "required": ["a"]}
        for schema in ({keyword: value}, inside, {"const": "a", keyword: value}, {"enum": [1, [2]], keyword: value}):
            constraint = compiled(schema)
            if constraint is not None:
                constraint.matcher().fill_mask(mask)
                assert np.any(mask), (keyword, value)
                with contextlib.suppress(gl.GrammarError):  # a value without effect that no JSON has
                    assert gl.Constraint.from_bytes(constraint.to_bytes(), VOCAB).fingerprint == constraint.fingerprint


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
        gl.compile(gl.JsonSchema(schema), VOCAB)
    matcher = gl.compile(gl.JsonSchema({"anyOf": [schema, {"type": "null"}]}, whitespace="compact"), VOCAB).matcher()
    assert matcher.forced_bytes() == b"null"


def test_an_ellipsis_is_no_bound() -> None:
    with pytest.raises(gl.GrammarError, match="minimum"):
        gl.compile(gl.JsonSchema({"type": "integer", "minimum": ...}), VOCAB)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {"a": [float("-inf")]}, {1: 2}, {None: 1}, b"a"], ids=repr
)
def test_what_no_json_has_and_says_nothing_is_not_saved(value: Any) -> None:
    constraint = gl.compile(gl.JsonSchema({"type": "null", "default": value}), VOCAB)
    with pytest.raises(gl.GrammarError, match="no JSON has"):
        constraint.to_bytes()


def test_numbers_that_no_double_is_are_saved() -> None:
    constraint = gl.compile(gl.JsonSchema({"enum": [Decimal("1e400"), Decimal("-1e-400"), 5e-324, 10**400]}), VOCAB)
    assert gl.Constraint.from_bytes(constraint.to_bytes(), VOCAB).fingerprint == constraint.fingerprint
