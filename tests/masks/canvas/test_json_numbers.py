"""Exponents after digits that are given, under schemas of too many states to follow every number: against the matcher."""

from typing import Any

import pytest

import grammarlm as gl
from grammarlm.masks.canvas.json.alone import SHARE, least_states
from grammarlm.masks.canvas.json.explored import States
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.views import view_of
from tests.internals import program_of, unrolled_of
from tests.masks.canvas.substituted import json_case, row_of

NUMBERS: dict[str, Any] = {
    "whole": {"type": "integer"},
    "from 0": {"type": "integer", "minimum": 0},
    "to 90": {"type": "integer", "minimum": 0, "maximum": 90},
    "to 100,000": {"type": "integer", "minimum": 0, "maximum": 100_000},
    "below 1": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
}
WIDE = {
    "type": "object",
    "properties": {f"p{i}": {"type": "integer", "minimum": i, "maximum": 10**9} for i in range(4)},
    "additionalProperties": False,
}
PIECES = [b"e1", b"e-", b"e-2", b"E5", b".5", b".0", b"00", b"123", b"110", b"99", b"1e", b"0.", b"000", b" 1", b"12,"]
GIVEN = [
    (),
    (b"1",),
    (b"1", b"2"),
    (b"123", b"4"),
    (b"1", b"00"),
    (b"12,",),
    (b"123", b"110", b"00"),
    (b"0.", b"00", b"1"),
]
ROW, ROOM = 12, 24


@pytest.fixture(scope="module", params=NUMBERS)
def case(request):
    schema = {"type": "array", "items": {"anyOf": [NUMBERS[request.param], WIDE]}}
    return json_case(schema, PIECES, b"0123456789.eE+-[], ", "flexible")


def test_blocks_within_numbers_find_their_beginnings_in_the_table() -> None:
    """However many of a token's digits follow: a table for these was made again."""
    case = json_case({"type": "array", "items": {"anyOf": [NUMBERS["from 0"], WIDE]}}, PIECES, b"0123456789.eE+-[], ")
    view, matcher = view_of(case.constraint), case.constraint.matcher()
    tables = set()
    for piece in (b"[", *[bytes([digit]) for digit in b"12345"], b","):
        assert matcher.advance(case.tokens.index(piece))
        row = [MASKED] * ROW
        tables.add(view.grid(ROW, matcher, ROOM, lambda: None).lattice_of(row).table)
    assert len(tables) == 1


@pytest.mark.parametrize("given", GIVEN, ids=b"".join)
@pytest.mark.parametrize("begins", ["row", "matcher"])
def test_what_follows_given_digits(case, given, begins) -> None:
    pieces = (b"[", *given)
    matcher = case.constraint.matcher()
    if not all(matcher.advance(case.tokens.index(piece)) for piece in pieces):
        row = row_of(case, len(pieces), *pieces) + [-1] * (ROW - len(pieces))
        assert not case.constraint.canvas(ROW, room=ROOM).is_completable(row)
        return
    tokens = [token for token, spelled in enumerate(case.tokens[:-1]) if not spelled.strip(b"0123456789.eE+-,] ")]
    left = ROOM + ROW - 1 - (len(pieces) if begins == "row" else 0)
    want = [fits(matcher.fork(), token, left) for token in tokens]
    if begins == "row":
        canvas, at = case.constraint.canvas(ROW, room=ROOM), len(pieces)
        row = row_of(case, at, *pieces) + [-1] * (ROW - at)
    else:
        canvas, at, row = case.constraint.canvas(ROW, after=matcher, room=ROOM), 0, [-1] * ROW
    have = canvas.allowed(row).test(at, tokens).tolist()
    assert have == want, [case.tokens[t] for t, a, b in zip(tokens, have, want, strict=True) if a != b]
    assert any(want)


def fits(matcher: gl.Matcher, token: int, left: int) -> bool:
    return matcher.advance(token) and matcher.min_tokens_left <= left


ROWS = [
    (b"1", None, b"0"),
    (b"12,", b"123", None, b"]"),
    (b"1", b"2", None, b"1"),
    (None, b"123", b"e-2"),
    (b"0.", None, b"1"),
]


@pytest.mark.parametrize("pieces", ROWS, ids=lambda pieces: "".join(p.decode() if p else "?" for p in pieces))
def test_one_masked_token_within_a_number(case, pieces) -> None:
    pieces = (b"[", *pieces) if pieces[-1] == b"]" else (b"[", *pieces, b"]")
    row, at = row_of(case, 20, *pieces), pieces.index(None)
    tokens = [token for token, spelled in enumerate(case.tokens[:-1]) if not spelled.strip(b"0123456789.eE+-")]
    have = case.constraint.canvas(20).allowed(row).test(at, tokens)
    want = [case.accepts(b"".join([*pieces[:at], case.tokens[token], *pieces[at + 1 :]])) for token in tokens]
    assert have.tolist() == want


@pytest.mark.parametrize(
    "schema",
    [{}, {"type": "number"}, {"type": "array", "items": {"type": "integer"}}, NUMBERS["to 90"], {"multipleOf": 0.5}],
    ids=["any", "number", "integers", "bounds", "steps"],
)
@pytest.mark.parametrize("spelling", ["any", "plain"])
def test_tables_hang_on_mantissas_only_where_a_view_says_so(schema, spelling) -> None:
    constraint = json_case(schema, [], spelling=spelling).constraint
    view = view_of(constraint)
    few, many = (unrolled_of(view, States(view.spelled, mantissa=digits)).machine for digits in (1, 16))
    is_same = few.states == many.states and bool((few.next == many.next).all())
    assert is_same or view.hangs_on_mantissas


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "number"},
        {"type": ["number", "string"]},
        {"type": "object", "properties": {"a": {"type": "number"}, "b": {"enum": [1, 20]}, "c": {}}},
        {
            "items": {
                "anyOf": [{"type": "number"}, {"type": "integer", "minimum": 3}, {"type": "number", "maximum": 0.5}]
            }
        },
        WIDE,
    ],
    ids=["number", "or a string", "properties", "one place", "bounds"],
)
@pytest.mark.parametrize("digits", [4, 8])
def test_a_bound_of_states_that_follow_numbers(schema, digits) -> None:
    """What is refused because of it would have too many states. Of numbers of any digits it is nearly what they take."""
    constraint = json_case(schema, [], spelling="any").constraint
    view = view_of(constraint)
    few, many = (unrolled_of(view, States(view.spelled, digits=n)) for n in (1, digits))
    found = least_states(program_of(constraint), few.source.threads, few.machine.block_of, digits)
    assert few.machine.states * SHARE - 1 <= found <= many.machine.states
    if "number" in schema.get("type", ""):
        assert found >= many.machine.states * SHARE - 1 > few.machine.states
