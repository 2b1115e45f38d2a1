"""registry= as a `referencing.Registry`: the answers of jsonschema's validators with the same Registry, and what is refused."""

import itertools
import json
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing import jsonschema as drafts

import grammarlm as gl
from grammarlm.grammars.json_schema.read.registry import SPECIFICATIONS
from tests.laws.vocabularies import every_byte

VOCAB = every_byte().vocabulary()
TREE: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.com/tree",
    "$dynamicAnchor": "node",
    "type": "object",
    "properties": {
        "size": {"$ref": "units#/$defs/size"},
        "below": {"type": "array", "items": {"$dynamicRef": "#node"}},
    },
    "additionalProperties": False,
    "$defs": {"named": {"$id": "named", "$anchor": "it", "const": "x"}},
}
UNITS = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$id": "https://example.com/units",
    "definitions": {"pair": {"items": {"type": ["integer", "string"]}, "maxItems": 2}},
    "$defs": {"size": {"type": "integer", "minimum": 0}},
}
OLD = {
    "type": "array",
    "items": [{"type": "integer", "minimum": 0, "exclusiveMinimum": True}],
    "additionalItems": False,
}
BY_ADDRESS = Registry().with_contents([("https://example.com/tree", TREE), ("https://example.com/units", UNITS)])
REGISTRIES = {
    "by address": BY_ADDRESS,
    "by identifier": [Resource.from_contents(TREE), Resource.from_contents(UNITS)] @ Registry(),
    "under another address": Registry().with_contents([("urn:one", TREE), ("urn:two", UNITS)]),
    "crawled": BY_ADDRESS.crawl(),
    "combined": Registry().with_contents([("https://example.com/tree", TREE)]).combine(
        Registry().with_contents([("https://example.com/units", UNITS)])
    ),
}  # fmt: skip
SCHEMAS: list[dict[str, Any]] = [
    {"$ref": "https://example.com/tree"},
    {"$ref": "https://example.com/units#/$defs/size"},
    {"$ref": "https://example.com/units#/definitions/pair", "type": "array"},
    {"$ref": "https://example.com/named"},
    {"$ref": "https://example.com/named#it"},
    {"$id": "https://example.com/", "$ref": "tree#/properties/size"},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": {"$ref": "https://example.com/units#/$defs/size"}},
]
SMALL: list[Any] = [0, -1, 1.5, "x", "y", None, [], {}, [1], [1, "x"], [-1], ["x", 1], [1, "x", 2]]
VALUES = (
    SMALL
    + [{"size": value} for value in SMALL]
    + [{"below": [{"size": a}, {"below": [b]}]} for a, b in itertools.product(SMALL, repeat=2)]
)


def accepts(constraint: gl.Constraint, value: Any) -> bool:
    matcher = constraint.matcher()
    return all(matcher.advance(byte) for byte in json.dumps(value).encode()) and matcher.is_accepting


@pytest.mark.parametrize("name", REGISTRIES)
def test_answers_are_those_of_jsonschema(name: str) -> None:
    for schema in SCHEMAS:
        constraint = gl.compile(gl.JsonSchema(schema, registry=REGISTRIES[name], property_order="any"), VOCAB)
        validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(
            schema, registry=REGISTRIES[name]
        )
        found = [(accepts(constraint, value), validator.is_valid(value)) for value in VALUES]
        assert all(ours == theirs for ours, theirs in found), schema
        assert {ours for ours, _ in found} == {True, False}, schema


@pytest.mark.parametrize("name", SPECIFICATIONS)
def test_the_draft_is_that_of_the_specification(name: str) -> None:
    """A resource without $schema, against a validator of that draft alone; who refers to it is of another draft."""
    specification = getattr(drafts, name)
    validators = [jsonschema.Draft4Validator, jsonschema.Draft6Validator, jsonschema.Draft7Validator]
    validators += [jsonschema.Draft201909Validator, jsonschema.Draft202012Validator]
    number = list(SPECIFICATIONS).index(name)
    contents: dict[str, Any] = (
        OLD if number == 0 else {"type": "integer"} if number < 4 else {"prefixItems": [{"type": "null"}]}
    )
    registry = Registry().with_resource("urn:a", specification.create_resource(contents))
    schema = {"$ref": "urn:a"}
    constraint = gl.compile(gl.JsonSchema(schema, registry=registry, draft="declared"), VOCAB)
    validator = validators[number](contents)
    for value in [*SMALL, 0.0, 1.0, [0], [1], [1, 1], [None], [1.0]]:
        assert accepts(constraint, value) == validator.is_valid(value), value


def test_equal_hashed_and_saved_by_content() -> None:
    schema = {"$ref": "https://example.com/tree"}
    documents = {"https://example.com/tree": TREE, "https://example.com/units": UNITS}
    one, other = gl.JsonSchema(schema, registry=REGISTRIES["by address"]), gl.JsonSchema(schema, registry=documents)
    assert one == other
    assert hash(one) == hash(other)
    assert one == gl.JsonSchema(schema, registry=REGISTRIES["combined"])
    assert one != gl.JsonSchema(schema, registry=REGISTRIES["under another address"])
    saved = gl.compile(one, VOCAB).to_bytes()
    assert gl.Constraint.from_bytes(saved, VOCAB).grammar == one
    mutable = {"const": 1}
    kept = gl.JsonSchema({"$ref": "urn:a"}, registry=Registry().with_resource("urn:a", Resource.opaque(mutable)))
    mutable["const"] = 2
    assert accepts(gl.compile(kept, VOCAB), 1)


def test_nothing_is_retrieved() -> None:
    registry: Any = Registry(retrieve=lambda uri: pytest.fail("called"))  # type: ignore[call-arg]
    assert accepts(gl.compile(gl.JsonSchema({"type": "null"}, registry=registry), VOCAB), None)
    with pytest.raises(gl.UnsupportedFeature, match="urn:a") as caught:
        gl.compile(gl.JsonSchema({"$ref": "urn:a"}, registry=registry), VOCAB)
    assert "nothing is fetched" in str(caught.value)


def test_what_is_refused() -> None:
    for wrong in (3, [TREE], "https://example.com/tree"):
        with pytest.raises(TypeError, match=r"a dict of schemas by URI or a referencing\.Registry"):
            gl.JsonSchema({}, registry=wrong)
    with pytest.raises(gl.UnsupportedFeature, match=r"'urn:a'.* specification that is not read"):
        gl.JsonSchema({}, registry=Registry().with_resource("urn:a", drafts.DRAFT3.create_resource({})))
    with pytest.raises(gl.GrammarError, match="let them agree"):
        gl.JsonSchema({}, registry=Registry().with_resource("urn:a", drafts.DRAFT202012.create_resource(UNITS)))
