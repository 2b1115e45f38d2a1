"""What stands in a schema and is no JSON, or no text: refused by name or without effect, and never an error of another kind."""

import contextlib
from decimal import Decimal
from typing import Any

import jsonschema
import numpy as np
import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.read.expected import EXPECTED
from grammarlm.grammars.json_schema.read.keywords import bits_of

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


WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 1.5, "", "a", "1", "String", "integer", "any"),
    *([], ["a"], [1], [True], ["string", 3], [["a"]], [{}], [{}, 1], ["any", "null"]),
    *({}, {"string": 1}, {"a": "b"}, {"a": ["b"]}, {"a": [1]}, {"a": {}}, {"a": None}),
)
DRAFTS = {
    4: jsonschema.Draft4Validator,
    6: jsonschema.Draft6Validator,
    7: jsonschema.Draft7Validator,
    2019: jsonschema.Draft201909Validator,
    2020: jsonschema.Draft202012Validator,
}
META = {draft: made(made.META_SCHEMA) for draft, made in DRAFTS.items()}
# The drafts whose metaschema has a keyword, where that is another matter than which draft reads it.
IN_METASCHEMAS: dict[str, tuple[int, ...]] = {
    "$ref": (6, 7, 2019, 2020),
    "$anchor": (2019, 2020),
    "$dynamicAnchor": (2020,),
    "$recursiveAnchor": (2019,),
    "$defs": (2019, 2020),
    "definitions": (4, 6, 7),
}
# What a keyword says something with.
NEEDED: dict[str, dict[str, Any]] = {
    "if": {"then": {"minLength": 1}},
    "then": {"if": {"const": 1}},
    "else": {"if": {"const": 1}},
    "additionalItems": {"items": [{}]},
    "minContains": {"contains": {}},
    "maxContains": {"contains": {}},
    "exclusiveMinimum": {"minimum": 3},
    "exclusiveMaximum": {"maximum": 3},
}
OPTIONS = ({"extra": "forbid"}, {"formats": "annotation"}, {"strict": False})
# Where a schema stands: its pointer, and what is around it.
PLACES: dict[str, Any] = {
    "": lambda schema: schema,
    "/properties/a": lambda schema: {"properties": {"a": schema}, "required": ["a"]},
    "/anyOf/1/not": lambda schema: {"anyOf": [{"const": 1}, {"not": schema}]},
    "/anyOf/1": lambda schema: {"anyOf": [{"const": 1}, schema]},
    "/additionalProperties": lambda schema: {"type": "null", "additionalProperties": schema},
    "/$defs/a": lambda schema: {"$defs": {"a": schema}},
    "/then": lambda schema: {"then": schema},
}


def is_valid(keyword: str, value: Any) -> bool:
    """Does a draft that has the keyword take the value?"""
    if (keyword, value) in (("dependencies", {"a": "b"}), ("items", [])):
        return True  # in draft 3, where that means what it seems to mean
    return any(
        meta.is_valid({keyword: value, **NEEDED.get(keyword, {})})
        for draft, meta in META.items()
        if draft in IN_METASCHEMAS.get(keyword, [draft] if keyword in bits_of(draft, False, True) else [])
    )


def refusal_or_report(schema: Any, options: dict[str, Any]) -> gl.GrammarError | Any:
    try:
        return gl.compile(gl.JsonSchema(schema, **options), VOCAB).report
    except gl.GrammarError as error:
        return error


@pytest.mark.parametrize("keyword", sorted(EXPECTED))
def test_a_value_of_the_wrong_shape_is_refused_or_told(keyword: str) -> None:
    for value in WRONG:
        valid = is_valid(keyword, value)
        for place, options in [*((place, {}) for place in PLACES), *(("", more) for more in OPTIONS)]:
            pointer = f"{place}/{keyword}"
            schema = PLACES[place]({keyword: value, **NEEDED.get(keyword, {})})
            found = refusal_or_report(schema, options)
            if isinstance(found, gl.GrammarError):
                message = str(found)
                if valid:
                    assert not any(words in message for words in ("is expected", "should be", "must be")), schema
                else:
                    assert str(found.pointer).startswith(pointer), (schema, message)
                    assert message.startswith(f"{found.pointer}: "), (schema, message)
                continue
            (line,) = (line for line in found.keywords() if line.pointer == pointer)
            if valid:
                assert "expected" not in line.note, (schema, line)
                assert not line.is_warning or keyword == "format", (schema, line)
            else:
                assert line.is_warning, (schema, line)


def test_every_keyword_has_an_expected_value() -> None:
    read = {keyword for draft in DRAFTS for keyword in bits_of(draft, True, True)}
    assert read - set(EXPECTED) == {"const", "id"}
