"""Blanks beside given ones, under a schema of too many states to count them."""

from typing import Any

import numpy as np
import pytest

from grammarlm.masks.canvas.json import overfull
from grammarlm.masks.canvas.json.residue import JsonPasses
from tests.masks.canvas.substituted import check_partial, completions, json_case, row_of

WIDE: dict[str, Any] = {
    "type": "object",
    "properties": {f"p{i}": {"type": "array", "items": {"const": i}} for i in range(12)},
    "required": [f"p{i}" for i in range(12)],
    "additionalProperties": False,
}
PIECES = [b" " * 10, b" " * 19, b" " * 20, b"\n" + b" " * 9, b" " * 41, b"\t" * 2, b" 1", b" " * 15 + b"1",
          b" " * 30 + b'"', b'"' + b" " * 25, b'" ', b' "', b" " * 40]  # fmt: skip
ALPHABET = b' \t\r\n1.0"'
TEN, NINETEEN, TWENTY, LINE, LONG = PIECES[:5]
ROWS = [
    (TWENTY, NINETEEN, None, b"1"),
    (TWENTY, TWENTY, None, b"1"),
    (NINETEEN, None, TWENTY, b"1"),
    (LINE, NINETEEN, None, b"1"),
    (TWENTY, TWENTY, b" 1", None),
    (b"1", TWENTY, NINETEEN, None),
    (TWENTY, TEN, None, b" ", b"1"),
    (TWENTY, None),
    (None, TWENTY, b"1"),
    (b" ", None, b"1"),
    (b'"', TEN, None),
    (b'"', None, TWENTY, b'"'),
    (None, TWENTY, TWENTY, b'"'),
    (b" ", None, b'"'),
    (TWENTY, b'"', None, b" ", TEN),
    (TWENTY, None, b" " * 40, b'"'),
    (b'"', TEN, None, TEN, TEN),
    (LINE, LINE, TWENTY, b" ", b" ", None, b"1"),
    (LINE, LINE, TWENTY, b" ", None, None, b"1"),
]


@pytest.fixture(scope="module")
def case():
    return json_case({"anyOf": [{"enum": [1, " " * 41, " " * 40]}, WIDE]}, PIECES, ALPHABET, "flexible")


@pytest.mark.parametrize("pieces", ROWS)
def test_single_tokens(case, pieces) -> None:
    check_partial(case, row_of(case, 24, *pieces))


def fits(matcher, token: int, left: int) -> bool:
    return matcher.advance(token) and matcher.min_tokens_left <= left


@pytest.mark.parametrize("begun", [(b" ",) * 30, (TWENTY, b" "), (b'"', b" "), (LINE, TEN, b"\n")])
@pytest.mark.parametrize("room", [0, 8])
def test_behind_a_matcher(case, begun, room) -> None:
    matcher = case.constraint.matcher()
    assert all(matcher.advance(case.tokens.index(piece)) for piece in begun)
    allowed = case.constraint.canvas(6, after=matcher, room=room).allowed([-1] * 6)
    tokens = [case.tokens.index(piece) for piece in PIECES]
    want = [fits(matcher.fork(), token, 5 + room) for token in tokens]
    assert allowed.test(0, tokens).tolist() == want
    assert any(want)
    assert not all(want)


@pytest.mark.parametrize("count", [750, pytest.param(1500, marks=pytest.mark.proof)])
@pytest.mark.parametrize("redrawn", [1, 4])
def test_samples_that_are_drawn_again_have_the_law(redrawn: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of what is drawn has too many blanks, which states that do not count them allow."""
    monkeypatch.setattr(overfull, "MOST_DRAWS", redrawn)
    case = json_case({"anyOf": [{"const": 1}, WIDE]}, [b" " * n for n in (30, 15, 9, 40)], b" \t\r\n1.0", "flexible")
    row = row_of(case, 5, None, None, b"1")
    left = completions(case, row)
    logits = np.random.default_rng(3).standard_normal((len(row), case.width)).astype(np.float32)
    logits[:2, [case.tokens.index(b" " * n) for n in (30, 15, 9, 40)]] += 3
    weights = np.exp(np.array([logits[[0, 1], rows[:2]].sum(dtype=np.float64) for rows in left]))
    made = case.constraint.canvas(len(row))
    refused, is_read = [], JsonPasses.is_read
    monkeypatch.setattr(JsonPasses, "is_read", lambda self, row: is_read(self, row) or refused.append(row))
    drawn = [tuple(made.sample(row, logits, seed=seed)) for seed in range(count)]
    assert len(refused) > 2 * count // 15
    counts = np.array([drawn.count(tuple(rows)) for rows in left.tolist()])
    assert counts.sum() == len(drawn)
    expected = len(drawn) * weights / weights.sum()
    common = expected > 5
    assert ((counts - expected)[common] ** 2 / expected[common]).sum() < 3 * common.sum()
    assert common.sum() > 4
