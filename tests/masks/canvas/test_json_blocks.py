"""Rows that begin in the middle of a JSON text: what may stand in them, and that they need no states of their own."""

from typing import Any

import numpy as np
import pytest

from tests.internals import canvas_states
from tests.masks.canvas.canvas_cases import json_case
from tests.masks.canvas.canvas_law import Case, ids_in
from tests.masks.canvas.substituted import completions

TREE = {"type": "object", "properties": {"n": {"type": "integer"}, "in": {"$ref": "#"}}, "required": ["n"],
        "additionalProperties": False}  # fmt: skip
LONG = {"type": "object", "properties": {"s": {"type": "string", "minLength": 2, "maxLength": 200},
                                         "t": {"type": "string", "maxLength": 150}, "u": {"type": "string", "maxLength": 3}},
        "additionalProperties": False}  # fmt: skip
NESTED = {"type": "object", "required": ["a"], "additionalProperties": False, "properties": {"a": {
    "type": "array", "minItems": 1, "items": {"type": "object", "minProperties": 1, "properties": {"b": {
        "type": "object", "properties": {"c": {"enum": ["x", "yy"]}}, "required": ["c"], "additionalProperties": False}},
        "additionalProperties": {"type": "boolean"}}}}}  # fmt: skip
TEXTS: dict[str, tuple[Any, list[bytes], bytes]] = {  # a schema, the tokens of a text, bytes besides those that are tried
    "a tree": (TREE, [b'{"', b"n", b'":', b"1", b',"', b"in", b'":', b'{"', b"n", b'":', b"2", b"}", b"}"], b"3"),
    "long strings": (LONG, [b'{"', b"s", b'":', b'"', b"abc", b"d", b'","', b"t", b'":', b'"', b"ab", b"abc", b'","', b"u",
                            b'":"', b"b", b"c", b'"', b"}"], b"xs\\nu0"),
    "objects in objects": (NESTED, [b'{"', b"a", b'":', b"[", b'{"', b"b", b'":', b'{"', b"c", b'":', b'"', b"yy", b'"', b"}",
                                    b',"', b"q", b'":', b"true", b"}", b"]", b"}"], b"xz\\nu0"),
}  # fmt: skip


def case_of(name: str) -> tuple[Case, list[int]]:
    schema, text, alphabet = TEXTS[name]
    extra = sorted({piece for piece in text if len(piece) > 1})
    case = json_case(schema, extra, b"".join(text) + alphabet, judges_order=False)
    ids = {spelled: token for token, spelled in enumerate(case.tokens) if token}
    return case, [ids[piece] for piece in text]


@pytest.mark.parametrize("name", TEXTS)
def test_blocks_against_enumeration(name: str) -> None:
    case, text = case_of(name)
    holes, wider = 2, 0
    tried = {*case.stop_ids, *(token for token in range(1, len(case.tokens)) if case.begins(case.tokens[token]))}
    for begin in range(len(text) - holes + 1):
        matcher = case.constraint.matcher()
        assert all(map(matcher.advance, text[:begin]))
        row = [*[-1] * holes, *text[begin + holes :], *case.stop_ids[:1]]
        found = completions(case, text[:begin] + row)[:, begin:]
        allowed = case.constraint.canvas(len(row), after=matcher).allowed(row)
        for position in range(holes):
            want = np.unique(found[:, position]).tolist()
            assert sorted(ids_in(allowed.row(position)) & tried) == want, (begin, position)
            wider += len(want) > 1
    assert wider > 3


@pytest.mark.parametrize("name", TEXTS)
def test_no_beginning_needs_states_of_its_own(name: str) -> None:
    case, text = case_of(name)
    case.constraint.canvas(4).allowed([-1] * 4)
    states, matcher = canvas_states(case.constraint), case.constraint.matcher()
    for token in text:
        assert matcher.advance(token)
        case.constraint.canvas(4, after=matcher, room=9).allowed([-1] * 4)
        assert canvas_states(case.constraint) == states, token
