"""Tokens given one after the other on one canvas: what is allowed is that of every way of filling the row in, whatever was asked of
the rows before."""

import random
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
from tests.counts import tiers
from tests.masks.canvas.canvas_cases import json_case
from tests.masks.canvas.canvas_law import Case, holes_of, ids_in
from tests.masks.canvas.substituted import check_extra, completions, row_of

PIECES = [b'{"', b'":', b',"', b'"}', b'":1', b'":{}', b'{"a":', b"true", b"12", b"},", b'"ab', b'":1,"', b'},{"', b'{"a":1,',
          b"]]", b"}}", b"\\n"]  # fmt: skip
OPEN: dict[str, Any] = {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#"}, {"type": "number"}]}}
LIST: dict[str, Any] = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "number"}}}
SCHEMAS: list[dict[str, Any]] = [
    OPEN,
    LIST,
    {"type": "object", "properties": {"a": {"type": "object"}, "b": {}}},
    {"type": "object", "additionalProperties": {"type": "array"}, "maxProperties": 3},
    {"type": "object", "propertyNames": {"pattern": "^[ab]*$"}, "additionalProperties": {"type": "number"}},
]
TEXTS = [
    (b'{"', b"a", b'":', b'{"', b"b", b'":1', b"}", b',"', b"b", b'":1', b"}"),
    (b'{"', b"a", b'":1', b',"', b"b", b'":1', b',"', b"b", b"b", b'":1', b"}"),
    (b"[", b'{"', b"b", b'":1', b"}", b",", b'{"', b"b", b'":1', b',"', b"a", b'":1', b"}", b"]"),
    (b"[", b'{"', b"b", b'":1', b'},{"', b"b", b'":1', b'},{"', b"b", b'":1', b"}", b"]"),
    (b'{"', b"a", b'":{}', b',"', b"b", b'":', b"[", b"[", b"[", b"]]", b"]", b"}"),
    (b'{"a":', b'{"', b"a", b'":{}', b"}", b',"', b"b", b'":1', b"}"),
    (b'{"', b"a", b'":', b"[", b'{"', b"a", b'":1', b"}", b",", b'{"', b"a", b'":1', b"}", b"]", b"}"),
]
MASKED_AT_FIRST, LOOKED_AT = 5, 2  # holes: a row with no more than these is held against all ways of filling it in


def rows_given(case: Case, row: list[int], length: int, rng: random.Random) -> list[list[int]]:
    """A row with masked tokens, then with one more of them given, and so on; sometimes one that nobody expects."""
    holes = rng.sample(range(length), min(MASKED_AT_FIRST, length))
    partial = [-1 if i in holes else token for i, token in enumerate(row)]
    found = [list(partial)]
    for at in holes[:-1]:
        partial[at] = row[at] if rng.random() < 0.8 else rng.randrange(1, len(case.tokens) - 1)
        found.append(list(partial))
    return found


def check_row(canvas: Any, case: Case, partial: list[int], repeated: list[int] | None = None) -> bool:
    """Whether the row can be completed. All positions are asked, given ones, too. `repeated`: see check_partial."""
    allowed, holes = canvas.allowed(partial), holes_of(partial)
    rows = {at: ids_in(allowed.row(at)) for at in range(len(partial))}
    if len(holes) > LOOKED_AT:
        return bool(canvas.is_completable(partial))
    left = completions(case, partial)
    assert canvas.is_completable(partial) == (len(left) > 0), partial
    for at in holes:
        own = set(left[:, at].tolist())
        assert own <= rows[at], (partial, at)
        check_extra(canvas, partial, at, rows[at] - own, repeated)
    return len(left) > 0


@pytest.mark.parametrize("more", [0, 24], ids=["short", "long"])
@tiers("count", 2, 150)
def test_rows_with_one_more_token_each(count: int, more: int) -> None:
    rng, completable, repeated = random.Random(7 + more), 0, list[int]()
    for number in range(count):
        case = json_case(SCHEMAS[number % len(SCHEMAS)], PIECES)
        texts = [text for text in TEXTS if case.accepts(b"".join(text))]
        row = row_of(case, 0, *rng.choice(texts or TEXTS))
        length, canvas = len(row), case.constraint.canvas(len(row) + more)
        for partial in rows_given(case, row, length, rng):
            try:
                again = repeated if more else None
                completable += check_row(canvas, case, partial + case.stop_ids[:1] * more, again)
            except gl.UnsatisfiableGrammar:
                break
    assert completable > count
    assert len(repeated) <= 0.02 * count


@pytest.mark.parametrize("depth", [7, 8, 20])
def test_more_brackets_than_are_looked_at_first(depth: int) -> None:
    """What only completions with many open brackets have, near given ones or alone."""
    case = json_case({"type": "object"}, PIECES)
    brackets = [b"[" for _ in range(depth)]
    text = [b'{"', b"a", b'":', *brackets, b"12", *(b"]" for _ in brackets), b"}"]
    row = row_of(case, len(text) + 2, *text)
    canvas, rng, completable = case.constraint.canvas(len(row)), random.Random(depth), 0
    for partial in rows_given(case, row, len(text), rng):
        completable += check_row(canvas, case, partial)
    assert completable > 0


def test_a_row_that_was_not_asked_before_is_the_same() -> None:
    """Rows of a canvas that has seen others, against those of one that has not, over long rows with many holes."""
    case, rng = json_case({"type": "object"}, PIECES), random.Random(3)
    for text in TEXTS:
        row = row_of(case, 40, *text)
        partial, canvas = [token if rng.random() < 0.4 else -1 for token in row], case.constraint.canvas(40)
        for at in rng.sample(holes_of(partial), len(holes_of(partial)) // 2):
            allowed, alone = canvas.allowed(partial), case.constraint.canvas(40).allowed(partial)
            for position in range(0, 40, 3):
                assert np.array_equal(allowed.row(position), alone.row(position)), (partial, position)
            partial[at] = row[at]


@pytest.mark.parametrize("more", [0, 24], ids=["short", "long"])
@tiers("count", 2, 5)
def test_rows_in_turn_that_are_alike_beside_a_masked_token(count: int, more: int) -> None:
    """What a token makes with the tokens beside it is kept; which of these keys the row has elsewhere is that of each row."""
    case = json_case({"type": "object"}, PIECES)
    keys = (b"a", b"b", b"a", b"1", b"b")[:count]
    canvas, masked, completable = None, 5, 0
    for key in keys:
        row = row_of(case, 0, b'{"', key, b'":1', b',"', b"a", b"b", b'":', b'{"', b"b", b'":1', b"}", b"}")
        canvas = canvas or case.constraint.canvas(len(row) + more)
        for holes in ([masked], [masked, masked - 1], [masked, 8]):
            partial = [-1 if at in holes else token for at, token in enumerate(row)]
            completable += check_row(canvas, case, partial + case.stop_ids[:1] * more)
    assert completable == 3 * len(keys)


def test_rows_after_a_key_is_given_are_those_of_a_canvas_that_saw_no_row() -> None:
    """A token that makes a key, which tokens far from it can spell, too."""
    case = json_case(LIST, [piece for piece in PIECES if b"\\" not in piece])
    item = (b'{"', b"b", b"a", b'":1', b"}", b",")
    row = row_of(case, 3, b"[", *(item * 6)[:-1], b"]")
    holes = [3 + len(item) * number for number in range(6)]
    partial = [-1 if at in holes else token for at, token in enumerate(row)]
    canvas, given = case.constraint.canvas(len(row)), holes[3]
    for at in holes:
        canvas.allowed(partial).row(at)
    partial[given] = row[given]
    rows = [canvas.allowed(partial).row(at) for at in holes]
    alone = case.constraint.canvas(len(row)).allowed(partial)
    assert all(np.array_equal(mine, alone.row(at)) for at, mine in zip(holes, rows, strict=True))
