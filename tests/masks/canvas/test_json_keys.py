"""Keys with escapes or masked quotes, against every way of filling the row in."""

import numpy as np
import pytest

from tests.masks.canvas.canvas_law import holes_of, ids_in
from tests.masks.canvas.substituted import check_partial, completions, json_case, row_of

ANY_DEPTH = {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#"}, {"type": "number"}]}}
CUT = [b'{"', b'":1', b',"', b'{"a":1,', b'{"\\n":1,', b"\\n", b'":']


@pytest.mark.parametrize(
    ("first", "second", "length"),
    [
        pytest.param(first, second, length, marks=() if (at + other + (length > 8)) % 2 else pytest.mark.proof)
        for at, first in enumerate((b"a", b"\\n"))
        for other, second in enumerate((b"a", b"\\n", b"b"))
        for length in (8, 24)
    ],
)
def test_a_key_whose_quote_is_masked_and_one_behind_it(first: bytes, second: bytes, length: int) -> None:
    case = json_case(ANY_DEPTH, CUT)
    for pieces in (
        (None, first, b'":1', b',"', second, b'":1', b"}"),
        (None, first, b'":1', b',"', None, b'":1', b"}"),
        (b'{"', first, None, b"1", b',"', second, b'":1', b"}"),
        (b"{", None, first, None, b"1", b',"', second, b'":1', b"}")[: 9 if length > 8 else 0],
    ):
        if pieces and len(pieces) <= length:
            check_partial(case, row_of(case, length, *pieces))


@pytest.mark.parametrize(
    "read",
    [
        [b'{"a":1,', b'"'],
        [b'{"', b"\\n", b'":1', b',"'],
        [b'{"\\n":1,', b'"', b"\\n"],
        [b'{"\\n":1,', b'"', b"\\"],
        [b'{"\\n":1,', b'"', b"\\", b"n"],
    ],
)
def test_a_key_like_one_that_a_matcher_has_read(read: list[bytes]) -> None:
    case = json_case(ANY_DEPTH, CUT)
    ids = {spelled: token for token, spelled in enumerate(case.tokens) if token}
    before = [ids[piece] for piece in read]
    matcher = case.constraint.matcher()
    assert all(map(matcher.advance, before))
    canvas = case.constraint.canvas(5, after=matcher)
    for pieces in (
        (b"a", b'":1', b"}"),
        (b"\\n", b'":1', b"}"),
        (b"n", b'":1', b"}"),
        (b"b", b'":1', b"}"),
        (None, b'":1', b"}"),
        (b'":1', b"}"),
    ):
        row = row_of(case, 5, *pieces)
        left = completions(case, before + row)[:, len(before) :]
        assert canvas.is_completable(row) == (len(left) > 0), (read, pieces)
        for at in holes_of(row):
            assert ids_in(canvas.allowed(row).row(at)) == set(left[:, at].tolist()), (read, pieces)
        for seed in range(3 if len(left) else 0):
            logits = np.random.default_rng(seed).standard_normal((5, case.width)).astype(np.float32)
            logits[:, ids[b"a"]] += 5
            assert (left == canvas.fill(row, logits)).all(1).any()
