"""Schemas at the edge of what the tables of the JSON machine hold; each case was once wrong."""

from __future__ import annotations

from typing import Any

import pytest

import grammarlm as gl

VOCAB = gl.Vocabulary([bytes([b]) for b in range(256)] + [b""], stop_ids=[256], special_ids=[256])


def accepts(schema: Any, text: str) -> bool:
    matcher = gl.compile(gl.JsonSchema(schema, property_order="any"), VOCAB).matcher()
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting


@pytest.mark.parametrize(
    ("schema", "text", "valid"),
    [
        ({"uniqueItems": True, "maxItems": 1, "items": {"const": {"c": 2}}}, '[{"c": 2}]', True),  # one item is unique
        ({"type": "array", "maxItems": 10**100}, "[1, 2]", True),  # no number that tables hold
        ({"type": "object", "maxProperties": 10**100}, '{"a": 1}', True),
        ({"enum": ["\ud800", "a"]}, '"a"', True),  # half a surrogate pair: no text is that value
        ({"uniqueItems": True, "items": {"type": "string"}}, '["a", "\\u0061"]', False),
        ({"uniqueItems": True, "items": {"type": "number"}}, "[1, 10e-1]", False),
        ({"uniqueItems": True, "items": {"type": "number"}}, "[1, 10, 0.1]", True),
        (True, "{}\r", False),  # between a return and its newline
        (True, "{}\r\n", True),
    ],
)
def test_edges(schema: Any, text: str, valid: bool) -> None:
    assert accepts(schema, text) is valid


def test_a_value_that_no_text_spells_is_unsatisfiable() -> None:
    with pytest.raises(gl.UnsatisfiableGrammar):
        gl.compile(gl.JsonSchema({"const": "\ud800"}), VOCAB)


def test_very_many_required_properties_are_refused_by_name() -> None:
    with pytest.raises(gl.UnsupportedFeature, match="50,000 required properties"):
        gl.compile(gl.JsonSchema({"required": [str(i) for i in range(50_000)]}), VOCAB)
