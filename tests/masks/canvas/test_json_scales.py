"""Schemas of too many states against enumeration: objects and arrays that are there once for all counts around them, and strings of
a language without the escapes that no character of them needs."""

import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.canvas import Canvas
from grammarlm.masks.canvas.json import view
from grammarlm.masks.canvas.json.places import Places
from grammarlm.masks.canvas.json.scales import Scale, scales_of
from tests.internals import program_of
from tests.masks.canvas.canvas_law import check_edges, check_fills, check_rows, ids_in, matching, partials
from tests.masks.canvas.json_cases import case, like

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


JOINED = {
    "objects in two places": (
        lambda: case({"$defs": {"o": {"type": "object", "properties": {"b": {"const": None}}, "additionalProperties": False}},
                      "type": "object", "properties": {"a": {"$ref": "#/$defs/o"}, "c": {"$ref": "#/$defs/o"}},
                      "required": ["a"], "additionalProperties": False},
                     [b'{"a":', b'{"b":null}', b'"c":', b'{}}', b',"c"', b'null}}', b'{"a":{},', b'"c":{"b"'],
                     b'{}",:abcnul\\00613', like(r'\{?[{}",:abcnul\\06123]*'), ("a", "c", "b")),
        (4,),
    ),
    "arrays around them": (
        lambda: case({"$defs": {"o": {"type": "array", "items": {"type": "array", "items": {"const": None}, "maxItems": 1}}},
                      "type": "object", "properties": {"a": {"$ref": "#/$defs/o"}, "c": {"$ref": "#/$defs/o"}},
                      "additionalProperties": False},
                     [b'{"a":[', b"[[", b"[]", b"]]", b'],"c":', b"[null]", b"]}", b'{"a":[],', b',"c":[]'],
                     b'{}",:acnul[]\\0613', like(r'\{?[{}",:acnul\\0613\[\]]*'), ("a", "c")),
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


def places_of(schema: object) -> tuple[Places, list[int]]:
    vocab = gl.Vocabulary([*(bytes([b]) for b in range(256)), b"."], [256])
    program = program_of(gl.compile(gl.JsonSchema(schema), vocab)).json
    return Places(program.rows, program.start), program.rows


def test_scales_that_make_no_difference_are_not_tried() -> None:
    word, deep = {"type": "string", "pattern": "^a*$"}, {"type": "object", "properties": {"a": {"const": 1}}}
    for _ in range(5):
        deep = {"type": "object", "properties": {"a": deep, "b": deep, "c": deep}, "additionalProperties": False}
    counted = {"type": "array", "maxItems": 9, "items": {"type": "array", "items": word}}
    assert scales_of(*places_of({"const": 1}), False) == (Scale(),)
    assert scales_of(*places_of(word), True) == (Scale(),)
    assert scales_of(*places_of(word), False) == (Scale(), Scale(is_plain=True))
    assert scales_of(*places_of(counted), False) == (Scale(), Scale(shares=True), Scale(shares=True, is_plain=True))
    assert scales_of(*places_of(deep), False) == (Scale(), Scale(shares=True, joins=True))


PATTERN = '^(a|\t|"|/){2,4}$'


def is_plain(text: bytes) -> bool:
    """Is each character in the one spelling that json.dumps has for it?"""
    return re.fullmatch(rb'"(a|/|\\t|\\")*"', text) is not None


def answered(canvas: Canvas, partial: list[int]) -> bool | None:
    """Can a row be completed? None: it is not decided."""
    try:
        return canvas.is_completable(partial)
    except gl.LimitExceeded:
        return None


def test_strings_without_needless_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is allowed is what texts without these leave; where only others complete a row, no answer is given."""
    at = case({"type": "string", "pattern": PATTERN}, [b"\\t", b'"a', b'a"', b"\\u00", b"09", b"61", b"\\/", b'\\"'],
              b'"a\\t/u01269Ff', like(r'("[a/\\t"u0-9Ff]*)?'),
              oracle={"type": "string", "pattern": PATTERN[:-1] + "\\Z"})  # fmt: skip
    monkeypatch.setattr(view, "MANY_STATES", 8)
    undecided = refused = 0
    for length in (4,):
        rows, canvas = at.rows(length), at.constraint.canvas(length)
        stop = at.stop_ids[0]
        texts = [b"".join(at.tokens[t] for t in row if t != stop) for row in rows.tolist()]
        plain = rows[[is_plain(text) for text in texts]]
        assert 0 < len(plain) < len(rows)
        for partial in partials(at, rows, 50, np.random.default_rng(length)):
            left, all_left = matching(plain, partial), matching(rows, partial)
            if len(left):
                assert canvas.is_completable(partial), partial
                allowed = canvas.allowed(partial)
                for i, token in enumerate(partial):
                    if token < 0:
                        assert ids_in(allowed.row(i)) == set(left[:, i].tolist()), (partial, i)
                continue
            answer = answered(canvas, partial)
            assert answer is None or not (answer or len(all_left)), partial
            undecided, refused = undecided + (answer is None), refused + (answer is False)
    assert undecided > 5
    assert refused > 5
