"""Keys that come twice because of what is masked beside them: canvases against every way of filling them in."""

import itertools
from typing import Any

import pytest

from tests.masks.canvas.canvas_law import Case, holes_of, ids_in
from tests.masks.canvas.substituted import check_partial, completions, json_case, row_of

PIECES = [b'{"', b'":', b',"', b'"}', b'":1', b'":{}', b'{"a":', b"true", b"12", b"},", b'"ab', b'":1,"', b'},{"',
          b'{"a":1,', b"\\n"]  # fmt: skip
OPEN: dict[str, Any] = {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#"}, {"type": "number"}]}}
LIST: dict[str, Any] = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "number"}}}
DECLARED: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "object"}, "b": {}},
    "additionalProperties": {"type": "number"},
}
Row = tuple[bytes | None, ...]
A_QUOTE_ALONE: list[Row] = [
    (b'{"', None, b'":{}', None, b"b", b'":{}', b"}"),  # the second can only be `,"`
    (b'{"', b"b", None, b"{", b"}", b",", b'"', None, b'":{}', b"}"),  # the first can only be `":`
    (b'{"', b"b", b'":1', None, b"b", b'":1', b"}"),
    (b'{"', b"b", b'":1', b',"', b"b", None, b"1", b"}"),
    (b"{", None, b"b", None, b"1", b',"', b"b", b'":1', b"}"),
    (b'{"', b'":1', b",", None, b'":1', b"}"),
    (b"{", b'"', b'":1', None, b'":1', b"}"),
    (b'{"a":', None, b',"', b"b", b'":1', b",", b'"', None, b'":1', b"}"),
    (b'{"a":', b'{"', b"b", b'":1', None, b"b", b'":1', None, b"}"),
]  # fmt: skip
IN_TWO: list[Row] = [
    (b"[", b'{"', b"b", b'":1', None, b"b", b'":1', b"}", b"]"),
    (b"[", b'{"', b"b", b'":1', None, b"b", b'":1', None, b"b", b'":1', b"}", b"]"),
    (b"[", b'{"a":', b"1", None, b"a", b'":1', b"}", b"]"),
    (b"[", b'{"a":', b"1", b',"', b"b", b'":1', None, b"b", b'":1', b',"', None, b'":1', b"}", b"]"),
    (b"[", b'{"', *itertools.chain(*([bytes([key]), b'":1,"'] for key in b"uvwxy")), b"z", b'":1', None,
     *itertools.chain(*([bytes([key]), b'":1,"'] for key in b"uvwxy")), b"z", b'":1', b"}", b"]"),
    (b"[", b'{"', *itertools.chain(*([bytes([key]), b'":1,"'] for key in b"uvwx")), b"y", b'":1', None,
     b"u", b'":1,"', None, b'":1', b"}", b"]"),
]  # fmt: skip


def open_case(schema: Any, declared: tuple[str, ...] = ()) -> Case:
    return json_case(schema, PIECES, order=declared)


LONG = 40  # tokens: far more than a row that is short for numbers


@pytest.mark.parametrize("more", [1, LONG])
@pytest.mark.parametrize("schema", [OPEN, DECLARED], ids=["any", "declared"])
@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.proof)])
def test_a_quote_alone(step: int, schema: Any, more: int) -> None:
    case = open_case(schema, tuple(schema.get("properties", ())))
    rows = A_QUOTE_ALONE[((more > 1) + (schema is OPEN)) % step :: step]  # each is asked short and long
    found = [check_partial(case, row_of(case, len(row) + more, *row)) for row in rows]
    assert any(found)


def test_a_quote_that_another_masked_token_leaves() -> None:
    """A masked token that leaves the one beside it nothing but the quote of a key which the object has."""
    case = open_case(OPEN)
    found = [
        check_partial(case, row_of(case, LONG, b'{"', b"b", b'":1', *rest))
        for rest in (
            (None, None, b"b", b'":1', b"}"),
            (b",", None, b"b", None, b"}"),
            (b',"', b"b", None, b"1", b"}"),
        )
    ]
    assert found == [True, True, False]


@pytest.mark.parametrize(
    "row",
    [
        (b'{"', b"b", b'":"', None, b'","', None, b'c":1}'),
        (b'{"', b"b", b'":1', b",", None, b'c":1}'),
        (b'{"', None, b'c":1}'),
    ],
)
def test_a_token_that_ends_a_key_and_begins_the_same(row: tuple[bytes | None, ...]) -> None:
    tokens = [b'c":1}', b'c":1,"', b'"c":1,"', b'b":1,"', b'":"', b'","']
    case = json_case({"type": "object"}, [*PIECES, *tokens])
    assert check_partial(case, row_of(case, len(row), *row))


def test_keys_behind_the_end_of_a_text() -> None:
    """Two masked tokens may be the quotes of an empty key, or stop ids."""
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": {"const": 1}}
    case = open_case(schema, ("a",))
    assert check_partial(case, row_of(case, 5, b'{"', b'":1', b"}", None, None))


def test_an_escape_in_a_key_with_a_masked_quote() -> None:
    case = open_case(OPEN)
    assert check_partial(case, row_of(case, 8, b'{"', b"a", b'":{}', None, None, b'":{}', b"}"))


@pytest.mark.parametrize(
    ("row", "more"),
    [
        pytest.param(row, more, id=f"{at}-{more}", marks=() if (more > 1) == at % 2 else pytest.mark.proof)
        for at, row in enumerate(IN_TWO)
        for more in (1, LONG)
    ],
)
def test_equal_keys_of_two_objects(row: Row, more: int) -> None:
    case = open_case(LIST)
    assert check_partial(case, row_of(case, len(row) + more, *row))


@pytest.mark.parametrize(
    ("read", "row"),
    [
        ((b'{"a":1,',), (b'"', None, b'":1', b"}")),
        ((b'{"a":1,', b'"'), (None, b'":1', b"}")),
        ((b'{"a":1,', b'"', b"b"), (None, b'":1', b',"', b"b", b'":1', b"}")),
        ((b'{"a":1,', b'"', b"b"), (b"b", b'":1', b',"', None, b"b", b'":1', b"}")),
        ((b'{"a":1,', b'"', b"b", b'":1'), (None, b"b", b'":1', b"}")),
        ((b'{"a":', b'{"', b"b", b'":1'), (None, b"b", b'":1', b"}")),
        ((b'{"a":', b'{"', b"b", b'":1'), (None, b'"', b"b", None, b"1", b"}")),
        ((b'{"a":1,', b'"', b"b", b'":1'), (b',"', None, b'":1,"', b"b", b'":1', b"}")),
    ],
)  # fmt: skip
def test_after_a_matcher(read: Row, row: Row) -> None:
    case = open_case(OPEN)
    matcher, begun = case.constraint.matcher(), row_of(case, 0, *read)
    assert all(matcher.advance(token) for token in begun)
    partial = row_of(case, len(row) + 1, *row)
    left = completions(case, begun + partial)[:, len(begun) :]
    canvas = case.constraint.canvas(len(partial), after=matcher)
    assert canvas.is_completable(partial) == (len(left) > 0)
    for at in holes_of(partial):
        assert ids_in(canvas.allowed(partial).row(at)) == set(left[:, at].tolist()), at


@pytest.mark.parametrize("asked_before", [False, True])
def test_given_positions(asked_before: bool) -> None:
    """What may stand where a token is given is what may where it is masked; whether the row without it was asked before or not."""
    case = open_case(OPEN)
    row = row_of(case, 8, b'{"a":1,', b'"', b"b", b'":1', b"}")
    masked, canvas = [*row[:2], -1, *row[3:]], case.constraint.canvas(8)
    wanted = set(completions(case, masked)[:, 2].tolist())
    if asked_before:
        assert ids_in(canvas.allowed(masked).row(2)) == wanted
    assert ids_in(canvas.allowed(row).row(2)) == wanted


BETWEEN_STRINGS: list[Row] = [
    (b'{"', b"a", b'":', b'{"', None, b'":1', None, b"b", b'":', b'{"', b":", b'":1', b"}", b"}"),
    (None, b'":', None, b",", b'"', b"b", b'":', b'{"', b",", b'":1', b',"', b",", None, b"1", b"}", b"}"),
    (b'{"', None, b'"', b":", b'{"', None, b'"', b":", b"1", b"}", b"}"),
    (b"{", None, b":", b'":1', b",", b'"', b":", None, b"1", b"}"),
    (b"{", b'"', None, b'":1', b",", b'"', None, b'":1', b",", b'"', b",", b'":1', b"}"),
    (b'{"', b",", b'":1', None, b",", b'":1', None),
    (b'{"', b",", None, b",", b'":1', b",", b'"', b"a", b'":', b'{"', b",", b'":1', b"}", None),
]  # fmt: skip


@pytest.mark.parametrize("more", [0, LONG])
def test_what_stands_between_strings_may_be_a_key(more: int) -> None:
    case = json_case(OPEN, PIECES, b'{}":,1ab\\')
    tried = {*case.stop_ids, *(token for token, text in enumerate(case.tokens) if case.begins(text))}
    completable = 0
    for pieces in BETWEEN_STRINGS:
        row = row_of(case, len(pieces) + more, *pieces)
        canvas, left = case.constraint.canvas(len(row)), completions(case, row)
        first, second, *_ = holes_of(row)
        assert canvas.is_completable(row) == (len(left) > 0), row
        for at in holes_of(row):
            assert ids_in(canvas.allowed(row).row(at)) & tried == set(left[:, at].tolist()), (row, at)
        completable += len(left) > 0
        for number in sorted({0, len(left) // 2, len(left) - 1} if len(left) else ()):
            after = list(row)
            after[first] = int(left[number, first])
            want = set(left[left[:, first] == after[first], second].tolist())
            assert ids_in(canvas.allowed(after).row(second)) & tried == want, after
    assert completable
