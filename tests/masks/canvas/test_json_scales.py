"""Schemas of too many states against enumeration: objects and arrays that are there once for all counts around them."""

import pytest

import grammarlm as gl
from grammarlm.masks.canvas.json import view
from grammarlm.masks.canvas.json.tables.places import Places
from grammarlm.masks.canvas.json.tables.scales import Scale, scales_of
from tests.internals import program_of
from tests.masks.canvas.canvas_law import check_edges, check_fills, check_rows
from tests.masks.canvas.json_cases import case, like, pairs

SHARED = {
    "arrays in an array": (
        lambda: case({"type": "array", "minItems": 2, "maxItems": 5,
                      "items": {"type": "array", "items": {"const": None}, "maxItems": 5}},
                     [b"[[", b"]]", b"],", b"],[", b"[null", b"]]]", b"null,"], b"[],nul",
                     like(r"\[?(\[((null,)*n?u?l?l?)\]?,?)*\]?")),
        (4, 5),
    ),
    "objects in an array": (
        lambda: case({"type": "array", "maxItems": 5,
                      "items": {"type": "object", "properties": {"a": {"const": None}}, "additionalProperties": False}},
                     [b'{"a":null}', b'{"a', b"{}", b"},", b"]", b",{}"], b'[{}]",:anul\\0061',
                     like(r'\[?(\{("(a|\\(u(0(0(61?)?)?)?)?)?("(:(n(u(l(l)?)?)?)?)?)?)?\}?,?)*\]?')),
        (3, 5),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_what_counted_arrays_share(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "scales_of", lambda *given: (Scale(shares=True),))
    make, lengths = SHARED[name]
    at = make()
    for length in lengths:
        assert check_rows(at, length, 14) > 0
    check_fills(at, lengths[-1], 4)
    check_edges(at, lengths[-1], 2)


PAIRS = {
    "{": '"}',
    "}": "},",
    '"': ":abc\\",
    "abc": '"',
    "n": "u",
    "u": "l0",
    "l": "l},]",
    "\\": "u",
    "0": "06",
    "6": "123",
    "123": '"',
}
JOINED = {
    "objects in two places": (
        lambda: case({"$defs": {"o": {"type": "object", "properties": {"b": {"const": None}}, "additionalProperties": False}},
                      "type": "object", "properties": {"a": {"$ref": "#/$defs/o"}, "c": {"$ref": "#/$defs/o"}},
                      "required": ["a"], "additionalProperties": False},
                     [b'{"a":', b'{"b":null}', b'"c":', b'{}}', b',"c"', b'null}}', b'{"a":{},', b'"c":{"b"'],
                     b'{}",:abcnul\\00613', pairs("{", {**PAIRS, ":": "{n", ",": '"'}), ("a", "c", "b")),
        (4,),
    ),
    "arrays around them": (
        lambda: case({"$defs": {"o": {"type": "array", "items": {"type": "array", "items": {"const": None}, "maxItems": 1}}},
                      "type": "object", "properties": {"a": {"$ref": "#/$defs/o"}, "c": {"$ref": "#/$defs/o"}},
                      "additionalProperties": False},
                     [b'{"a":[', b"[[", b"[]", b"]]", b'],"c":', b"[null]", b"]}", b'{"a":[],', b',"c":[]'],
                     b'{}",:acnul[]\\0613', pairs("{", {**PAIRS, ":": "[", ",": '"[', "[": "[]n", "]": "],}"}), ("a", "c")),
        (4,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JOINED)
def test_what_stands_in_several_places(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "scales_of", lambda *given: (Scale(joins=True),))
    make, lengths = JOINED[name]
    at = make()
    for length in lengths:
        assert check_rows(at, length, 14) > 0
    check_fills(at, lengths[-1], 4)
    check_edges(at, lengths[-1], 2)


def places_of(schema: object) -> Places:
    vocab = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"."], [256])
    program = program_of(gl.compile(gl.JsonSchema(schema), vocab)).json
    return Places(program.rows, program.start)


def test_scales_that_make_no_difference_are_not_tried() -> None:
    word, deep = {"type": "string", "pattern": "^a*$"}, {"type": "object", "properties": {"a": {"const": 1}}}
    for _ in range(5):
        deep = {"type": "object", "properties": {"a": deep, "b": deep, "c": deep}, "additionalProperties": False}
    counted = {"type": "array", "maxItems": 9, "items": {"type": "array", "items": word}}
    assert scales_of(places_of({"const": 1})) == (Scale(),)
    assert scales_of(places_of(word)) == (Scale(),)
    assert scales_of(places_of(counted)) == (Scale(), Scale(shares=True))
    assert scales_of(places_of(deep)) == (Scale(), Scale(shares=True, joins=True))
