"""strict=False: what cannot be enforced is left out, keyword by keyword, named in the report, and nothing else is."""

from typing import Any

import pytest

import grammarlm as gl

VOCAB = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"<eos>"], stop_ids=[256], special_ids=[256])

FEW = {"prefixItems": [{"enum": [{}, [1], []]}] * 2}  # whether enough items are left is not decided
CASES: dict[str, tuple[Any, tuple[str, ...], list[str], list[str]]] = {  # schema, relaxed, accepted, refused
    "at the root": (
        {"type": "array", "uniqueItems": True, "maxItems": 3, **FEW},
        ("/uniqueItems",),
        ["[{},{}]"],
        ["[1,2,3,4]", "{}"],
    ),
    "one of two places": (
        {
            "properties": {
                "a": {"type": "array", "items": {"type": "object"}, "uniqueItems": True, **FEW},
                "b": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            }
        },
        ("/properties/a/uniqueItems",),
        ['{"a":[{},{}],"b":["x","y"]}'],
        ['{"a":[{},{},1]}', '{"b":["x","x"]}'],
    ),
    "after a reference": (
        {"$ref": "#/$defs/list", "$defs": {"list": {"items": True, "uniqueItems": True, **FEW}}},
        ("/$defs/list/uniqueItems",),
        ["[[],[]]"],
        ["[,]"],
    ),
    "below not": ({"type": "array", "maxItems": 2, "not": {"uniqueItems": True}}, ("/not",), ["[1,2]"], ["[1,2,3]"]),
    "below oneOf": (
        {"type": "array", "oneOf": [{"uniqueItems": True, **FEW}, {"minItems": 3}]},
        ("/oneOf", "/oneOf/0/uniqueItems"),
        ["[{},{}]", "[]"],
        ["{}"],
    ),
    "bounds of contains": ({"contains": {"const": 1}, "minContains": 40_000}, ("/minContains",), ["[1]"], ["[2]"]),
    "several contains": (
        {
            "allOf": [{"contains": {"minimum": 5}}, {"contains": {"maximum": 7}, "maxContains": 2}],
            "type": "array",
            "maxItems": 3,
        },
        ("/allOf/0/contains",),
        ["[1]"],
        ["[9]", "[1,1,1]"],
    ),
}


def accepts(constraint: gl.Constraint, text: str) -> bool:
    matcher = constraint.matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting


@pytest.mark.parametrize("name", CASES)
def test_left_out_and_named(name):
    schema, relaxed, accepted, refused = CASES[name]
    with pytest.raises(gl.UnsupportedFeature):
        gl.compile(gl.JsonSchema(schema), VOCAB)
    constraint = gl.compile(gl.JsonSchema(schema, strict=False), VOCAB)
    assert constraint.report.relaxed == relaxed
    assert {k.pointer for k in constraint.report.keywords() if k.status == "relaxed"} == set(relaxed)
    assert all(accepts(constraint, text) for text in accepted)
    assert not any(accepts(constraint, text) for text in refused)


def test_nothing_is_left_out_where_all_can_be_enforced():
    schema = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    constraint = gl.compile(gl.JsonSchema(schema, strict=False), VOCAB)
    assert constraint.report.relaxed == ()
    assert not accepts(constraint, "[1,1]")
