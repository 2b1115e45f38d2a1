"""strict=False: what cannot be enforced is left out, keyword by keyword, named in the report, and nothing else is."""

import json

import pytest

import grammarlm as gl
from tests.corpus_files import tables
from tests.texts import BYTES, accepts

CASES = {case["name"]: case for case in tables("json_texts")["relaxed"]}


@pytest.mark.parametrize("name", CASES)
def test_left_out_and_named(name):
    case = CASES[name]
    schema, relaxed = json.loads(case["schema"]), tuple(case["relaxed"])
    with pytest.raises(gl.UnsupportedFeature):
        gl.compile(gl.JsonSchema(schema), BYTES)
    constraint = gl.compile(gl.JsonSchema(schema, strict=False), BYTES)
    assert constraint.report.relaxed == relaxed
    assert {k.pointer for k in constraint.report.keywords() if k.status == "relaxed"} == set(relaxed)
    assert all(accepts(constraint, text) for text in case["accepted"])
    assert not any(accepts(constraint, text) for text in case["refused"])


def test_nothing_is_left_out_where_all_can_be_enforced():
    schema = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    constraint = gl.compile(gl.JsonSchema(schema, strict=False), BYTES)
    assert constraint.report.relaxed == ()
    assert not accepts(constraint, "[1,1]")
