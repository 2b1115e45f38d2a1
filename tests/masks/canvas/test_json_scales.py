"""Schemas of too many states against enumeration: objects and arrays that are there once for all counts around them, and strings of
a language without the escapes that no character of them needs."""

import re

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.canvas import Canvas
from grammarlm.masks.canvas.json import view
from grammarlm.masks.canvas.json.explored import Scale
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
    monkeypatch.setattr(view, "SCALES", (Scale(shares=True),))
    make, lengths = SHARED[name]
    at = make()
    for length in lengths:
        assert check_rows(at, length, 14) > 0
    check_fills(at, lengths[-1], 4)
    check_edges(at, lengths[-1], 2)


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
