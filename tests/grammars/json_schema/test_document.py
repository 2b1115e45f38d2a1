"""References, identifiers, drafts: where a schema's words lead, and whose draft reads them."""

from __future__ import annotations

import json
import sys

import pytest

import grammarlm as gl
from grammarlm.errors import GrammarError
from grammarlm.grammars.json_schema.read.document import Document
from tests.corpus_files import tables
from tests.laws.vocabularies import every_byte
from tests.oracles.json_shapes import check, read

REFERENCES = tables("json_schema")["references"]
FOUR = "http://json-schema.org/draft-04/schema#"
SEVEN = "http://json-schema.org/draft-07/schema"
NINETEEN = "https://json-schema.org/draft/2019-09/schema"
TWENTY = "https://json-schema.org/draft/2020-12/schema#"


@pytest.mark.parametrize(("reference", "definitions"), REFERENCES["strings"])
def test_references_inside_a_document(reference: str, definitions: str) -> None:
    address = "http://example.com/x/root.json"
    schema = {"$id": address, "properties": {"p": {"$ref": reference}}, "$defs": json.loads(definitions)}
    check(schema, [{"p": "a"}, {}], [{"p": 1}])


@pytest.mark.parametrize("reference", REFERENCES["nowhere"])
def test_references_that_lead_nowhere(reference: str) -> None:
    definitions = {"a": {"type": "string"}, "list": [{}], "number": 3}
    schema = {"properties": {"p": {"$ref": json.loads(reference)}}, "$defs": definitions}
    with pytest.raises(GrammarError) as error:
        read(schema)
    assert error.value.pointer in ("/properties/p/$ref", "/$defs/number")
    assert read({**schema, "properties": {}})


def test_metaschemas_are_at_hand() -> None:
    for address in (FOUR, SEVEN, NINETEEN, TWENTY):
        schema = {"$ref": address}
        valid = [{"type": "string"}, {"properties": {"a": {"minLength": 1}}}]
        check(schema, valid, [{"type": "sting"}, {"minLength": -1}, 1], formats="annotation")


def test_local_references_load_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("referencing", "jsonschema_specifications"):
        monkeypatch.setitem(sys.modules, name, None)
    check({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#b"}, "b": {"$anchor": "b", "type": "null"}}}, [None], [1])


@pytest.mark.parametrize(("word", "draft"), [("id", FOUR), ("$id", SEVEN), ("$id", TWENTY)])
def test_an_identifier_of_the_draft_moves_what_a_reference_means(word: str, draft: str) -> None:
    inner = {word: "http://x/y", "properties": {"q": {"$ref": "#/definitions/b"}}}
    schema = {"$schema": draft, "properties": {"p": inner}, "definitions": {"b": {"type": "null"}}}
    with pytest.raises(GrammarError, match="leads nowhere"):
        read(schema)


def test_the_draft_of_a_document() -> None:
    drafts = {FOUR: 4, SEVEN: 7, SEVEN + "#": 7, NINETEEN: 2019, TWENTY: 2020, "http://x/y": 2020, 3: 2020}
    for name, draft in drafts.items():
        assert Document({"$schema": name}).root.draft == draft
    assert Document({}).root.draft == Document(True).root.draft == 2020


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
