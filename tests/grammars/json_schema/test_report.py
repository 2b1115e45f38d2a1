"""Each keyword of a schema is in the report, once, with what becomes of it."""

from __future__ import annotations

from typing import Any

from grammarlm.grammars.json_schema.languages import Languages
from grammarlm.grammars.json_schema.normalise import normalise
from grammarlm.grammars.json_schema.report import keyword_reports


def statuses(schema: Any, **options: Any) -> dict[str, str]:
    n = normalise(schema, languages=Languages(), **options)
    found = list(keyword_reports(n.document, n.relaxed))
    assert len({r.pointer for r in found}) == len(found)
    return {r.pointer: r.status for r in found}


def test_what_becomes_of_each_keyword() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "x",
        "type": "object",
        "properties": {"a/b": {"type": "string", "format": "date"}, "type": {"format": "colour"}},
        "then": {"minLength": 1},
        "items": {"const": {"minLength": 1}},
        "minContains": 3,
        "$defs": {"a": {"anyOf": [True, {"maximum": 3}]}},
    }
    assert statuses(schema) == {
        "/$schema": "annotation",
        "/title": "annotation",
        "/type": "enforced",
        "/properties": "enforced",
        "/properties/a~1b/type": "enforced",
        "/properties/a~1b/format": "enforced",
        "/properties/type/format": "annotation",
        "/then": "annotation",
        "/then/minLength": "enforced",
        "/items": "enforced",
        "/items/const": "enforced",
        "/minContains": "annotation",
        "/$defs": "annotation",
        "/$defs/a/anyOf": "enforced",
        "/$defs/a/anyOf/1/maximum": "enforced",
    }


def test_options_and_drafts() -> None:
    assert statuses({"format": "date"}, formats="annotation") == {"/format": "annotation"}
    seven = {
        "$schema": "http://json-schema.org/draft-07/schema",
        "$ref": "#/definitions/a",
        "minLength": 1,
        "definitions": {"a": {}},
    }
    assert statuses(seven)["/minLength"] == "annotation"
    assert statuses(seven)["/$ref"] == "enforced"
    four = {"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}
    assert statuses(four)["/const"] == "enforced"
    assert statuses(four, draft="declared")["/const"] == "annotation"


def test_relaxed_by_name() -> None:
    schema = {"type": "array", "not": {"uniqueItems": True}, "minItems": 2}
    assert statuses(schema, strict=False) == {
        "/type": "enforced",
        "/not": "relaxed",
        "/not/uniqueItems": "enforced",
        "/minItems": "enforced",
    }


def test_other_documents_are_in_it() -> None:
    found = statuses({"$ref": "urn:a"}, registry={"urn:a": {"minLength": 1}})
    assert found == {"/$ref": "enforced", "urn:a#/minLength": "enforced"}
