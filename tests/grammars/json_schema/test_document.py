"""References, identifiers, drafts: where a schema's words lead, and whose draft reads them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.errors import GrammarError
from grammarlm.grammars.json_schema.nodes.normalise import normalise
from grammarlm.grammars.json_schema.read.document import Document
from grammarlm.grammars.json_schema.strings.languages import Languages
from tests.laws.vocabularies import every_byte
from tests.oracles.json_shapes import admits

FOUR = "http://json-schema.org/draft-04/schema#"
SEVEN = "http://json-schema.org/draft-07/schema"
NINETEEN = "https://json-schema.org/draft/2019-09/schema"
TWENTY = "https://json-schema.org/draft/2020-12/schema#"


def check(schema: Any, valid: list[Any], invalid: list[Any], **options: Any) -> None:
    n = normalise(schema, languages=Languages(), **options)
    for value in valid:
        assert admits(n.root, value, n.languages), value
    for value in invalid:
        assert not admits(n.root, value, n.languages), value


@pytest.mark.parametrize(
    ("reference", "definitions"),
    [
        ("#/$defs/a", {"a": {"type": "string"}}),
        ("#/$defs/a~1b~0c", {"a/b~c": {"type": "string"}}),
        ("#/$defs/a%25b%20c", {"a%b c": {"type": "string"}}),
        ("#/$defs/%C3%A9", {"é": {"type": "string"}}),
        ("#/$defs/a/anyOf/0", {"a": {"anyOf": [{"type": "string"}]}}),
        ("#/$defs/a/unknown/deep", {"a": {"unknown": {"deep": {"type": "string"}}}}),
        ("#name", {"a": {"$anchor": "name", "type": "string"}}),
        ("#name", {"a": {"$dynamicAnchor": "name", "type": "string"}}),
        ("other.json", {"a": {"$id": "other.json", "type": "string"}}),
        ("http://example.com/x/other.json", {"a": {"$id": "other.json", "type": "string"}}),
        ("other.json#name", {"a": {"$id": "other.json", "$defs": {"b": {"$anchor": "name", "type": "string"}}}}),
        ("/other.json#/$defs/b", {"a": {"$id": "/other.json", "$defs": {"b": {"type": "string"}}}}),
        ("#/$defs/a/$defs/c", {"a": {"$id": "o", "$defs": {"b": {"type": "string"}, "c": {"$ref": "#/$defs/b"}}}}),
    ],
)
def test_references_inside_a_document(reference: str, definitions: dict[str, Any]) -> None:
    schema = {"$id": "http://example.com/x/root.json", "properties": {"p": {"$ref": reference}}, "$defs": definitions}
    check(schema, [{"p": "a"}, {}], [{"p": 1}])


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/missing",
        "#missing",
        "#/$defs/a/3",
        "#/$defs/list/7",
        "other.json",
        "http://example.com/x",
        3,
        "#/$defs/number",
    ],
)
def test_references_that_lead_nowhere(reference: Any) -> None:
    schema = {"properties": {"p": {"$ref": reference}}, "$defs": {"a": {"type": "string"}, "list": [{}], "number": 3}}
    with pytest.raises(GrammarError) as error:
        normalise(schema, languages=Languages())
    assert error.value.pointer in ("/properties/p/$ref", "/$defs/number")
    assert normalise({**schema, "properties": {}}, languages=Languages())


def test_a_registry_has_other_documents() -> None:
    registry = {
        "http://example.com/name.json": {"type": "string", "maxLength": 2},
        "http://example.com/list.json#": {"$schema": SEVEN, "items": [{"$ref": "name.json"}], "additionalItems": False},
        "urn:old": {
            "$schema": FOUR,
            "minimum": 3,
            "exclusiveMinimum": True,
            "definitions": {"a": {"id": "#b", "type": "null"}},
        },
    }
    schema = {
        "properties": {
            "list": {"$ref": "http://example.com/list.json"},
            "old": {"$ref": "urn:old"},
            "null": {"$ref": "urn:old#b"},
        }
    }
    check(
        schema,
        [{"list": ["ab"], "old": 4, "null": None}],
        [{"list": ["abc"]}, {"list": ["", ""]}, {"old": 3}, {"null": 1}],
        registry=registry,
    )


def test_metaschemas_are_at_hand() -> None:
    for address in (FOUR, SEVEN, NINETEEN, TWENTY):
        schema = {"$ref": address}
        valid = [{"type": "string"}, {"properties": {"a": {"minLength": 1}}}]
        check(schema, valid, [{"type": "sting"}, {"minLength": -1}, 1], formats="annotation")


def test_local_references_load_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("referencing", "jsonschema_specifications"):
        monkeypatch.setitem(sys.modules, name, None)
    check({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#b"}, "b": {"$anchor": "b", "type": "null"}}}, [None], [1])


def test_siblings_of_a_reference() -> None:
    hidden = {"$ref": "#/definitions/a", "maxLength": 1, "$id": "elsewhere", "definitions": {"a": {"type": "string"}}}
    check({"$schema": SEVEN, **hidden}, ["ab"], [1])
    check({"$schema": NINETEEN, **hidden, "$id": "x"}, ["a"], ["ab", 1])


def test_identifiers_are_those_of_the_draft_around() -> None:
    """`$id` means nothing in draft 4, `id` nothing later: they do not move what `#/...` refers to."""
    inner = {"properties": {"q": {"$ref": "#/definitions/b"}}}
    definitions = {"b": {"type": "null"}}
    for word, name in (("$id", FOUR), ("id", SEVEN), ("id", TWENTY)):
        schema = {"$schema": name, "properties": {"p": {word: "http://x/y", **inner}}, "definitions": definitions}
        check(schema, [{"p": {"q": None}}], [{"p": {"q": 1}}])
    for word, name in (("id", FOUR), ("$id", SEVEN), ("$id", TWENTY)):
        schema = {"$schema": name, "properties": {"p": {word: "http://x/y", **inner}}, "definitions": definitions}
        with pytest.raises(GrammarError, match="leads nowhere"):
            normalise(schema, languages=Languages())


def test_dynamic_references() -> None:
    tree = {
        "$id": "http://example.com/tree",
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"data": True, "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
    }
    strict = {
        "$id": "http://example.com/strict-tree",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "unevaluatedProperties": False,
    }
    registry = {"http://example.com/tree": tree}
    check(strict, [{"children": [{"data": 1}]}], [{"children": [{"daat": 1}]}, {"x": 1}], registry=registry)
    check(tree, [{"children": [{"daat": 1}]}], [{"children": [1]}])
    old = {
        "$schema": NINETEEN,
        "$id": "http://example.com/strict-tree",
        "$recursiveAnchor": True,
        "$ref": "tree",
        "unevaluatedProperties": False,
    }
    old_tree = {
        "$schema": NINETEEN,
        "$id": "http://example.com/tree",
        "$recursiveAnchor": True,
        "type": "object",
        "properties": {"data": True, "children": {"type": "array", "items": {"$recursiveRef": "#"}}},
    }
    registry = {"http://example.com/tree": old_tree}
    check(old, [{"children": [{"data": 1}]}], [{"children": [{"daat": 1}]}], registry=registry)


def test_the_draft_of_a_document() -> None:
    for name, draft in (
        (FOUR, 4),
        (SEVEN, 7),
        (SEVEN + "#", 7),
        (NINETEEN, 2019),
        (TWENTY, 2020),
        ("http://x/y", 2020),
        (3, 2020),
    ):
        assert Document({"$schema": name}).root.draft == draft
    assert Document({}).root.draft == Document(True).root.draft == 2020


def test_vocabularies_of_an_own_metaschema() -> None:
    registry = {
        "http://example.com/loose": {
            "$id": "http://example.com/loose",
            "$vocabulary": {
                "https://json-schema.org/draft/2020-12/vocab/core": True,
                "https://json-schema.org/draft/2020-12/vocab/applicator": True,
            },
        }
    }
    schema = {
        "$schema": "http://example.com/loose",
        "properties": {"a": False, "b": {"type": "string", "minLength": 3}},
    }
    check(schema, [{"b": "a"}, {"b": 1}], [{"a": 1}], registry=registry)


ITEMS = ["red lamp", "red", 'a "quoted" one', "naïve", ""]


@pytest.mark.parametrize("items", [gl.Choices(ITEMS), gl.Tokens(ITEMS), gl.Tokens(ITEMS, ids=range(5))])
def test_an_enum_may_be_a_set_of_items(items: gl.Choices | gl.Tokens) -> None:
    for around in (lambda enum: {"enum": enum}, lambda enum: {"anyOf": [{"items": {"enum": enum}}, {"enum": enum}]}):
        given, listed = gl.JsonSchema(around(items)), gl.JsonSchema(around(ITEMS))
        assert given == listed
        assert given.document() == listed.document()
    matcher = gl.compile(gl.JsonSchema({"enum": items}), every_byte().vocabulary()).matcher()
    assert matcher.advance_bytes(b'"red lamp"')
    assert matcher.is_accepting


def test_a_set_of_items_elsewhere_is_refused_by_name() -> None:
    for schema in ({"const": gl.Choices(["a"])}, {"enum": [gl.Choices(["a"])]}, {"enum": {"x": gl.Tokens(["a"])}}):
        with pytest.raises(gl.GrammarError, match="whole of an enum"):
            gl.JsonSchema(schema)
    with pytest.raises(gl.GrammarError, match=r"items of token ids inside a schema: .* Tokens\(strings\)"):
        gl.JsonSchema({"properties": {"item": {"enum": gl.Tokens([[1, 2], [3]])}}})
