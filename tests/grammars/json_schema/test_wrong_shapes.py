"""A value of the wrong shape is refused or told, whatever the keyword, its place and the draft, as the metaschemas have it."""

from typing import Any

import jsonschema
import pytest

import grammarlm as gl
from grammarlm.grammars.json_schema.read.expected import EXPECTED
from grammarlm.grammars.json_schema.read.keywords import bits_of
from tests.texts import BYTES

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
        return gl.compile(gl.JsonSchema(schema, **options), BYTES).report
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
