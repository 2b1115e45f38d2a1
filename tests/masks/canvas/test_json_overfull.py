"""Fills and samples where the best completion would have too many blanks, or too many characters: by enumeration."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import grammarlm as gl
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


@pytest.mark.parametrize("room", [30, 39, 42, 60, 90])
def test_which_refused_blanks_are_those_of_a_gap(room: int) -> None:
    """Of texts of numbers and strings of at most `room` characters, beside each other: by reading them byte by byte."""
    pieces = [
        b'"',
        b" ",
        b"1",
        b"a",
        b" " * 20,
        b" " * 41,
        b" " * 60,
        b'"' + b" " * 25,
        b" " * 15 + b'"',
        b" " * 15 + b"1",
    ]
    vocab = gl.Vocabulary([*pieces, b"</s>"], stop_ids=[len(pieces)])

    def refused_in(tokens: list[int]) -> str:
        """ "gap", "string", or nothing."""
        inside, count = False, 0
        for byte in b"".join(pieces[token] for token in tokens):
            if byte == ord('"'):
                inside, count = not inside, 0
            elif inside or byte == ord(" "):
                count += 1
                if count > (room if inside else 40):
                    return "string" if inside else "gap"
            else:
                count = 0
        return ""

    grid: Any = SimpleNamespace(
        vocab=vocab, begun=SimpleNamespace(blanks=0), text=list, begins=lambda tokens: not refused_in(tokens)
    )
    rng, found = np.random.default_rng(room), Counter[str]()
    for _ in range(600):
        tokens = rng.integers(0, len(pieces), 8).tolist()
        reason = refused_in(tokens)
        is_gap = overfull.overfull_gap(grid, tokens) is not None
        assert is_gap or reason != "gap", tokens
        assert not is_gap or reason, tokens
        found[reason] += 1
        found["a string with room for 40 characters"] += is_gap and reason == "string"
    assert found["gap"] > 50
    assert found["string"] > 20
    assert found["a string with room for 40 characters"] < found["string"] / 20  # costs time, and changes no answer


def test_the_best_fill(case, parts) -> None:
    for pieces in ROWS:
        partial = row_of(case, 8, *pieces)
        canvas, left = case.constraint.canvas(8), completions(case, partial)
        for seed in range(4):
            logits = logits_of(case, 8, seed)
            filled = canvas.fill(partial, logits)
            scores = scores_of(left, partial, logits)
            assert (left == filled).all(1).any(), (pieces, seed)
            assert scores_of(np.array([filled]), partial, logits)[0] == pytest.approx(scores.max(), abs=1e-9)
    assert parts["best_of"] > 8


def test_equal_logits_take_few_looks(monkeypatch) -> None:
    """All completions are equally good, those with too many blanks as well: of equal parts one after another is followed."""
    looks, inner = Counter[str](), overfull.Search.best

    def counted(*given):
        looks["best"] += 1
        return inner(*given)

    monkeypatch.setattr(overfull.Search, "best", counted)
    case = json_case({}, [], whitespace="flexible")
    filled = case.constraint.canvas(64).fill([-1] * 64, np.zeros((64, case.width), np.float32))
    assert is_read(case, filled)
    assert 1 < looks["best"] < 16


@pytest.mark.parametrize("count", [750, pytest.param(1500, marks=pytest.mark.proof)])
def test_the_law_of_samples(case, parts, count) -> None:
    partial = row_of(case, 8, TWENTY, None, None, b"1")
    canvas, left, logits = case.constraint.canvas(8), completions(case, partial), logits_of(case, 8, 0)
    weights = np.exp(scores_of(left, partial, logits))
    law = dict(zip((tuple(row) for row in left[:, holes_of(partial)].tolist()), weights / weights.sum(), strict=True))
    drawn = Counter(
        tuple(canvas.sample(partial, logits, seed=seed)[i] for i in holes_of(partial)) for seed in range(count)
    )
    assert set(drawn) <= set(law)
    assert sum(abs(drawn[row] / count - p) for row, p in law.items()) / 2 < 0.08 * (1500 / count) ** 0.5
    assert parts["drawn_of"] > count // 15


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
