"""Fills and samples where the best completion would have too many blanks, or too many characters: by enumeration."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from grammarlm.masks.canvas.json import overfull
from tests.masks.canvas.canvas_law import holes_of, scores_of
from tests.masks.canvas.substituted import completions, is_read, json_case, row_of

WIDE: dict[str, Any] = {
    "type": "object",
    "properties": {f"p{i}": {"type": "array", "items": {"const": i}} for i in range(12)},
    "required": [f"p{i}" for i in range(12)],
    "additionalProperties": False,
}
TEN, NINETEEN, TWENTY, LINE, LEADING, TRAILING = PIECES = [
    b" " * 10, b" " * 19, b" " * 20, b"\n" + b" " * 9, b" " * 15 + b"1", b'"' + b" " * 25,
]  # fmt: skip
ROWS = [
    (TWENTY, None, None, b"1"),
    (None, None, TEN, b"1"),
    (TWENTY, None, None),
    (None, TWENTY, None, b"1"),
    (b'"', TWENTY, None, None, b'"'),
    (b"1", TWENTY, None, None),
]


@pytest.fixture(scope="module")
def case():
    schema = {"anyOf": [{"enum": [1, " " * 41, " " * 40]}, WIDE]}
    return json_case(schema, PIECES, b' \t\r\n1"', "flexible")


@pytest.fixture
def parts(monkeypatch):
    """How many searches went on after a gap was refused."""
    found: Counter[str] = Counter()
    for name in ("best_of", "drawn_of"):
        inner = getattr(overfull, name)

        def counted(*given, name=name, inner=inner):
            found[name] += 1
            return inner(*given)

        monkeypatch.setattr(f"grammarlm.masks.canvas.json.residue.{name}", counted)
    return found


def logits_of(case, length: int, seed: int) -> np.ndarray:
    """At random, and many blanks are liked best."""
    logits = np.random.default_rng(seed).standard_normal((length, case.width)).astype(np.float32)
    logits[:, [case.tokens.index(piece) for piece in PIECES]] += 6
    return logits


def test_the_best_fill(case, parts) -> None:
    for pieces in ROWS:
        partial = row_of(case, 8, *pieces)
        canvas, left = case.constraint.canvas(8), completions(case, partial)
        for seed in range(4):
            logits = logits_of(case, 8, seed)
            filled = canvas.fill(partial, logits)
            scores = scores_of(left, partial, logits)
            assert (left == filled).all(1).any(), (pieces, seed)
            assert scores_of(np.array([filled]), partial, logits)[0] == pytest.approx(scores.max(), abs=1e-4)
    assert parts["best_of"] > 8


def test_the_law_of_samples(case, parts) -> None:
    partial = row_of(case, 8, TWENTY, None, None, b"1")
    canvas, left, logits = case.constraint.canvas(8), completions(case, partial), logits_of(case, 8, 0)
    weights = np.exp(scores_of(left, partial, logits))
    law = dict(zip((tuple(row) for row in left[:, holes_of(partial)].tolist()), weights / weights.sum(), strict=True))
    drawn = Counter(
        tuple(canvas.sample(partial, logits, seed=seed)[i] for i in holes_of(partial)) for seed in range(1500)
    )
    assert set(drawn) <= set(law)
    assert sum(abs(drawn[row] / 1500 - p) for row, p in law.items()) / 2 < 0.08
    assert parts["drawn_of"] > 100


def test_strings_that_are_counted_as_far_as_it_matters() -> None:
    """All of 30,000 characters in states would be too many; those of 300 are enough, as no text of the row has more."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 300}, "b": {"type": "string", "maxLength": 30_000}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    case = json_case(schema, [b"long " * 4])
    partial = row_of(case, 64, b"{", b'"', b"a", b'"', b":", b'"', *[None] * 40)
    logits = np.zeros((64, case.width), np.float32)
    logits[:, case.tokens.index(b"long " * 4)] = 5
    for filled in (
        case.constraint.canvas(64).fill(partial, logits),
        case.constraint.canvas(64).sample(partial, logits, seed=3),
    ):
        assert is_read(case, filled)
