"""Canvases of JSON: numbers, long strings, many blanks, keys that are used up, schemas of too many states."""

from itertools import permutations
from typing import Any

import pytest

import grammarlm as gl
from grammarlm.masks.canvas.json import view
from grammarlm.masks.canvas.json.tables.explored import States
from tests.masks.canvas.canvas_law import ids_in
from tests.masks.canvas.substituted import check_partial, completions, json_case, row_of

EXPONENTS = [b"1e+99", b"1e+100", b"1e-120", b"e+1", b"00", b"e-", b"120", b"0.0", b"5e+20", b"e+9"]
NUMBERS = {
    "from 1 to 5e99": {"type": "number", "minimum": 1, "maximum": 5e99},
    "tiny ones": {"type": "number", "exclusiveMinimum": 0, "maximum": 1e-119},
    "any": {"type": "number"},
    "whole": {"type": "integer", "minimum": 1, "maximum": 120},
    "steps": {"type": "number", "multipleOf": 5, "minimum": 0, "maximum": 100},
}  # fmt: skip
NUMBER_ROWS = [(None,), (None, None), (b"1", b"e+1", None), (b"1", None, b"00"), (b"1e+99", None), (b"1e-120", None),
               (None, b"120"), (b"0.0", None, b"5"), (b"1", b"2", b"3", b"e-", None), (b"e+1", None), (b"1e+100", None),
               (b"3", None, b"e+9", b"0")]  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("length", [6, 24])
def test_exponents(name: str, length: int) -> None:
    case = json_case(NUMBERS[name], EXPONENTS, b"0123456789.eE+-")
    found = [
        check_partial(case, row_of(case, length, *pieces))
        for pieces in NUMBER_ROWS
        if pieces != (None, None) or length == 6
    ]
    assert 0 < sum(found) < len(found)


@pytest.mark.parametrize("most", [130, 199, 300])
def test_long_strings(most: int) -> None:
    case = json_case(
        {"type": "string", "maxLength": most},
        [b"a" * 60, "é".encode() * 30, b"b" * 9, b'bbbb"', b'"aaaaa', b"\\u0001" * 4],
    )
    sixty, thirty, nine = case.tokens[257:260]
    most_sixties = most // 60
    found = [
        check_partial(case, row_of(case, 10, *pieces))
        for pieces in (
            (b'"', *[sixty] * most_sixties, None, b'"'),
            (b'"', *[sixty] * most_sixties, nine, None, b'"'),
            (b'"aaaaa', *[sixty] * most_sixties, None, b'bbbb"'),
            (b'"', *[sixty] * (most_sixties - 1), None, thirty, b'"'),
            (b'"', *[sixty] * (most_sixties + 1), None),
        )
    ]
    assert any(found)
    assert not all(found)


LONG = [b"a" * 60, b"b" * 25, b"c" * 9, b'","', b'bbbb"', b'"aaaaa', "é".encode() * 12, b'aaa\\"aa', b'["', b'"]']
LONG_ROWS = [
    (None, LONG[0], None), (b'["', None, None, b'"]'), (b'["', LONG[0], LONG[0], None, b'"]'),
    (b'["', LONG[0], LONG[1], LONG[2], LONG[2], None, b'"]'), (b'["', LONG[0], LONG[1], None, LONG[3], LONG[0], b'"]'),
    (b'["', LONG[0], LONG[0], b'","', LONG[0], b'"]'), (b'["', LONG[0], LONG[0], None, LONG[0], b'"]'),
    (b'["', LONG[0], b"\\", b'"', LONG[0], None, b'"]'), (b'["', LONG[0], LONG[7], LONG[1], LONG[1], None, b'"]'),
    (b'["', LONG[0], LONG[0], LONG[2], b"a", None, b'bbbb"', b"]"), (b'["', LONG[0], LONG[0], b"a", b'bbbb"', b"]"),
    (b'["', LONG[0], LONG[1], LONG[3], LONG[0], LONG[1], b'"]'),
    (b'["', LONG[0], LONG[1], LONG[1], LONG[2], LONG[2], LONG[2], None, b"]"),
]  # fmt: skip


@pytest.mark.parametrize("pieces", LONG_ROWS)
@pytest.mark.parametrize("most", [130, 150])
def test_long_tokens(pieces: tuple[bytes | None, ...], most: int) -> None:
    """Tokens of different lengths that states which do not count characters take for alike; also in place of given ones."""
    schema = {"type": "array", "items": {"type": "string", "maxLength": most}, "maxItems": 3}
    case = json_case(schema, LONG)
    row = row_of(case, 10, *pieces)
    if not check_partial(case, row):
        return
    allowed = case.constraint.canvas(len(row)).allowed(row)
    for at in range(len(pieces)):
        if row[at] >= 0 and row.count(-1) == 0:
            left = completions(case, [*row[:at], -1, *row[at + 1 :]])
            assert ids_in(allowed.row(at)) == set(left[:, at].tolist()), at


AMONG_MASKED: list[tuple[bytes | None, ...]] = [
    (None, None, None), (b'["', None, None, None), (b'["', LONG[0], None, None, b'"]'), (b"[", None, LONG[0], LONG[0], None, b"]"),
    (None, LONG[0], None, LONG[0], None), (b'["', None, LONG[0], None, b"]"), (b'["', LONG[0], LONG[1], None, None, LONG[2], b'"]'),
    (b'["', LONG[0], b"\\", None, b'"', LONG[1], None, b"]"),
]  # fmt: skip


@pytest.mark.parametrize("most", [130, 150])
def test_long_tokens_among_masked_ones(most: int) -> None:
    """Masked tokens beside a long one may be its string's quotes, or text of the same string; given one after the other, too."""
    schema = {"type": "array", "items": {"type": "string", "maxLength": most}, "maxItems": 3}
    case, refused = json_case(schema, LONG, b'["],ab\\c\xc3\xa9'), 0
    tried = {*case.stop_ids, *(token for token, text in enumerate(case.tokens) if case.begins(text))}
    for pieces in AMONG_MASKED:
        partial = row_of(case, len(pieces), *pieces)
        canvas = case.constraint.canvas(len(partial))
        while True:
            left, holes = completions(case, partial), [at for at, token in enumerate(partial) if token < 0]
            assert canvas.is_completable(partial) == (len(left) > 0), partial
            allowed = canvas.allowed(partial)
            rows = {at: ids_in(allowed.row(at)) & tried for at in holes}
            assert rows == {at: set(left[:, at].tolist()) for at in holes}, partial
            refused += len(left) > 0 and any(
                len(case.tokens[t]) > 50 for t in set(range(257, 257 + len(LONG))) - rows.get(0, set())
            )
            if len(holes) < 2 or not len(left):
                break
            partial[holes[0]] = int(left[len(left) // 2, holes[0]])
    assert refused


BLANKS = [b" " * 10, b" " * 20, b"\n" + b" " * 9, b" " * 41, b" 1", b" " * 15 + b"1"]


@pytest.mark.parametrize("length", [6, 24])
def test_many_blanks(length: int) -> None:
    """As many as there are, in gaps and in strings."""
    case = json_case({"enum": [1, "  "]}, BLANKS, b' \t\r\n1"', "any")
    ten, twenty, line, many = BLANKS[:4]
    found = [
        check_partial(case, row_of(case, length, *pieces))
        for pieces in (
            (twenty, many, None, b"1"),
            (many, None, None, ten, b"1"),
            (line, line, line, None),
            (b"1", many, None),
            (b'"', None, many, b'"'),
            (b'"', b" ", None, many),
        )
    ]
    assert any(found)
    assert not all(found)


SEVEN = {"type": "object", "patternProperties": {"^[ab]{7}$": {"const": 1}}, "additionalProperties": False}
KEY_PIECES = [b'{"aaaaaa', b'":1,"aaaaaa', b'":1}', b'b":1}', b'":1,"', b"aaaaaaa", b"aaaaaab", b"aa", b"\\u006"]


def test_keys_that_are_used_up() -> None:
    """128 keys, of which the given tokens leave two."""
    case = json_case(SEVEN, KEY_PIECES, b'{}":,ab1.0eE+-\\u6')
    first, more, end, end_b, between, whole = KEY_PIECES[:6]
    found = [
        check_partial(case, row_of(case, 8, *pieces))
        for pieces in (
            (first, None, end),
            (first, None, more, None, end),
            (first, b"a", more, None, end),
            (first, None, more, b"b", between, whole, end),
            (first, None, more, b"b", more, None, end),
            (first, None, more, None, between, b"aa", b"aa", b"aa", b"b"),
            (first, None, more, None, end_b),
        )
    ]
    assert any(found)
    assert not all(found)


def test_three_keys_of_two_spellings() -> None:
    case = json_case(SEVEN, KEY_PIECES, b'{}":,ab1.0eE+-\\u6')
    first, more, end = KEY_PIECES[:3]
    row = row_of(case, 7, first, None, more, None, more, None, end)
    assert not case.constraint.canvas(7).is_completable(row)
    row[1] = -1
    two = row_of(case, 5, first, None, more, None, end)
    assert check_partial(case, two)


NESTED = {"type": "object", "additionalProperties": {"$ref": "#"}, "maxProperties": 2}
NESTED_PIECES = [b'{"a":', b',"a":', b"{}", b'{"b":', b"}}", b"},"]


def test_equal_keys_that_only_a_nested_object_keeps_apart() -> None:
    case = json_case(NESTED, NESTED_PIECES)
    opened, again, empty, opened_b, closed, _ = NESTED_PIECES
    found = [
        check_partial(case, row_of(case, 7, *pieces))
        for pieces in (
            (opened, None, again, empty, None),
            (opened, None, None, again, empty, closed),
            (opened, empty, again, empty, None),
            (opened, opened_b, None, again, None, b"}"),
            (opened, opened_b, None, again, empty, closed),
        )
    ]
    assert any(found)
    assert not all(found)


def partition(sizes: list[int]) -> dict[str, Any]:
    """Required keys in any order, with values of these lengths: given commas ask for groups of these sums."""
    return {
        "type": "object",
        "properties": {chr(97 + i): {"const": "x" * size} for i, size in enumerate(sizes)},
        "required": [chr(97 + i) for i in range(len(sizes))],
        "additionalProperties": False,
    }


def test_two_groups_of_three() -> None:
    sizes = [1, 2, 1, 3, 1, 4]
    texts = [
        b"{%s}" % b",".join(b'"%c":"%s"' % (97 + i, b"x" * sizes[i]) for i in order) for order in permutations(range(6))
    ]
    case = json_case(partition(sizes), [], property_order="any")
    canvas = case.constraint.canvas(len(texts[0]))
    comma = 1 + ord(",")
    for at in range(17, 29):
        row = [-1] * len(texts[0])
        row[at] = comma
        assert canvas.is_completable(row) == any(text[at] == ord(",") for text in texts), at


@pytest.mark.parametrize("count", [8, 12])
def test_many_groups_are_refused_by_name(count: int) -> None:
    """3-PARTITION, which is NP-hard."""
    case = json_case(partition([4, 5, 6] * count), [], property_order="any")
    with pytest.raises(gl.LimitExceeded, match="property_order"):
        case.constraint.canvas(40)


def test_a_row_whose_states_are_too_many_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit leaves it out, where it ended in an error; and the states are not made again."""
    long = {"type": "string", "maxLength": 300}
    case = json_case({"type": "array", "items": long}, [b"x" * 150])
    canvas, tried = case.constraint.canvas(6), list[States]()
    row = row_of(case, 6, b"[", b'"', b"x" * 150, None, b'"', b"]")
    monkeypatch.setattr(view, "MOST_STATES", 200)
    monkeypatch.setattr(view.JsonView, "explorer", spied(view.JsonView.explorer, tried))
    for _ in range(2):
        with pytest.raises(gl.LimitExceeded, match="more than 200 states"):
            canvas.is_completable([*row[:2], *[row[2]] * 3, -1])
    assert len(tried) == len(set(tried)) > 0


def spied(explorer: Any, tried: list[States]) -> Any:
    def noted(self: Any, states: States) -> Any:
        tried.append(states)
        return explorer(self, states)

    return noted
