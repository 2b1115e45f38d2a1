"""Each keyword of a schema is in the report, once, with what becomes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.cli import main
from grammarlm.errors import UnsupportedFeature
from grammarlm.grammars.json_schema.nodes.normalise import normalise
from grammarlm.grammars.json_schema.report import keyword_reports
from grammarlm.grammars.json_schema.strings.formats import CHECKED, KNOWN
from grammarlm.grammars.json_schema.strings.languages import Languages
from tests.corpus_files import tables
from tests.texts import BYTES


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
        "/properties/type/format": "unknown",
        "/then": "unread",
        "/then/minLength": "enforced",
        "/items": "enforced",
        "/items/const": "enforced",
        "/minContains": "unread",
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
    assert statuses(seven)["/minLength"] == "unread"
    assert statuses(seven)["/$ref"] == "enforced"
    four = {"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}
    assert statuses(four)["/const"] == "enforced"
    assert statuses(four, draft="declared")["/const"] == "unread"


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


WARNED = tables("json_schema")["warned"]


@pytest.mark.parametrize("name", WARNED)
def test_what_an_author_may_not_know(name: str) -> None:
    schema, expected = WARNED[name]
    report = gl.compile(gl.JsonSchema(json.loads(schema)), BYTES).report
    lines = [line for line in report.keywords() if line.status in ("unread", "unknown")]
    assert [(line.pointer, line.status) for line in lines] == [(pointer, status) for pointer, status, _ in expected]
    assert all(word in line.note for line, (_, _, word) in zip(lines, expected, strict=True))
    assert report.warnings == tuple(map(str, lines))


def test_neighbours_that_the_declared_draft_does_not_read_count_for_nothing():
    """A list of items stands beside prefixItems, which draft 6 does not have."""
    schema = {"$schema": "http://json-schema.org/draft-06/schema#", "prefixItems": [True], "items": [{"type": "null"}]}
    lines = gl.compile(gl.JsonSchema(schema, draft="declared"), BYTES).report.keywords()
    said = {line.pointer: line.status for line in lines}
    assert (said["/items"], said["/prefixItems"]) == ("enforced", "unread")


@pytest.mark.parametrize("name", WARNED)
@pytest.mark.parametrize("as_text", [False, True])
def test_refused_on_request(name: str, as_text: bool) -> None:
    schema, expected = WARNED[name]
    grammar = gl.JsonSchema(schema if as_text else json.loads(schema), unknown="refuse")
    unknown = [pointer for pointer, status, _ in expected if status == "unknown"]
    if not unknown:
        gl.compile(grammar, BYTES)
        return
    with pytest.raises(UnsupportedFeature) as caught:
        gl.compile(grammar, BYTES)
    assert caught.value.pointer == unknown[0]
    assert str(caught.value).startswith(unknown[0] + ": ")
    assert "unknown='warn'" in str(caught.value)


def test_refused_in_a_part_and_in_another_document() -> None:
    grammar = gl.JsonSchema({"$ref": "urn:a"}, registry={"urn:a": {"maxLenght": 1}}, unknown="refuse")
    with pytest.raises(UnsupportedFeature, match="urn:a#/maxLenght"):
        gl.compile(grammar, BYTES)
    with pytest.raises(UnsupportedFeature, match="/maxLenght"):
        gl.compile("x" + gl.JsonSchema({"maxLenght": 1}, unknown="refuse"), BYTES)


@pytest.mark.parametrize("draft", ["draft-04", "draft-06", "draft-07", "draft/2019-09", "draft/2020-12"])
def test_metaschemas_have_nothing_unknown(draft: str) -> None:
    scheme = "https" if "/" in draft else "http"
    grammar = gl.JsonSchema({"$ref": f"{scheme}://json-schema.org/{draft}/schema"}, unknown="refuse", strict=False)
    lines = list(gl.compile(grammar, BYTES).report.keywords())
    assert len(lines) > 50


def test_schemas_in_very_many_places_are_refused_in_no_time() -> None:
    schema: Any = {"maxLenght": 1}
    for _ in range(200):
        schema = {"properties": {"a": schema, "b": schema}}
    with pytest.raises(gl.GrammarError):
        gl.compile(gl.JsonSchema(schema, unknown="refuse"), BYTES)


def test_formats_of_openapi_are_nothing_unknown() -> None:
    schema = {"anyOf": [{"format": name} for name in sorted(KNOWN)]}
    assert gl.compile(gl.JsonSchema(schema, unknown="refuse"), BYTES).report.warnings == ()


@pytest.mark.parametrize("name", sorted(CHECKED))
def test_a_format_says_what_it_checks(name: str) -> None:
    (line,) = gl.compile(gl.JsonSchema({"format": name}), BYTES).report.keywords()
    assert (line.status, line.note) == ("enforced", CHECKED[name])


def test_check_prints_the_warnings(capsys: Any, tmp_path: Any) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "string", "maxLenght": 3}')
    assert main(["check", str(path)]) == 0
    out = capsys.readouterr().out
    assert "warnings:\n  unknown     /maxLenght: unknown keyword; did you mean 'maxLength'?" in out
    path.write_text('{"type": "string", "maxLength": 3}')
    assert main(["check", str(path)]) == 0
    assert "warnings: none" in capsys.readouterr().out
