"""Bounds and samples by the symbol on top alone (stack/large/spots.py), which rows of large grammars have, on small ones."""

import re

import lark
import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.grammars import network
from grammarlm.masks.canvas.stack.large.narrow import RowBounds
from grammarlm.masks.canvas.stack.large.spot_bounds import SpotBounds
from grammarlm.masks.canvas.views import view_of
from tests.masks.canvas.canvas_law import Case, holes_of, matching, scores_of
from tests.masks.canvas.lark_cases import CALLS, LEVELS, by_lark

BLOCKS = 'start: part*\npart: "{" part* "}" | "if" NAME part | NAME "=" NAME ";"\nNAME: /[a-z]+/\n%ignore " "\n'
CASES = {
    "calls": (CALLS, [b"?", b"f", b"if", b"(", b")", b",", b"+", b";", b"+x", b");", b"."], 5),
    "blocks": (BLOCKS, [b"?", b"if", b"i", b"f", b"=", b"x;", b"{", b"}", b"}}", b"{ if", b" ", b";", b"."], 4),
    "levels": (LEVELS, [b"?", b"x", b"-x", b"+", b"(", b")", b"[x", b"]", b"))", b"?x:", b"|(", b"."], 4),
}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All networks count as large."""
    monkeypatch.setattr(network, "MANY_STATES", 0)


def partial_rows(rows: np.ndarray, rng: np.random.Generator, count: int) -> list[list[int]]:
    """Some of the rows, with masks."""
    chosen = rows[rng.integers(len(rows), size=count)]
    return np.where(rng.random(chosen.shape) < 0.6, MASKED, chosen).tolist()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("far", [1, 300], ids=["near", "far apart"])
@pytest.mark.parametrize("name", CASES)
def test_no_completions_have_more_than_bounds_say(name: str, far: int) -> None:
    """Together, and the best of them; where scores are hundreds apart sums take another way."""
    text, tokens, length = CASES[name]
    case = Case(gl.Lark(text), tokens, by_lark(text))
    grid = view_of(case.constraint).grid(length, None, 0, lambda: None)
    rows, rng, sets = case.rows(length), np.random.default_rng(4), grid.table.sets
    for partial in partial_rows(rows, rng, 20):
        logits = far * rng.standard_normal((length, case.width)).astype(np.float32)
        given, scores = np.array(partial), np.zeros((length, grid.classes.count))
        classes = np.where(given == MASKED, MASKED, grid.classes.of[given]).astype(np.int32)
        best = np.full_like(scores, -np.inf)
        for at in holes_of(partial):
            scores[at] = -np.inf
            np.logaddexp.at(scores[at], grid.classes.of, logits[at].astype(float))
            np.maximum.at(best[at], grid.classes.of, logits[at])
        of_rows = scores_of(matching(rows, partial), partial, logits)
        with sets.lock:
            sets.begin_row()
            bounds = RowBounds(grid, classes)
            total = SpotBounds(grid, classes, bounds.wide, scores, is_sum=True).bound
            assert total >= np.logaddexp.reduce(of_rows) - 1e-9 * max(1, abs(total))
            assert SpotBounds(grid, classes, bounds.wide, best, is_sum=False).bound >= of_rows.max() - 1e-4 * far


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("name", CASES)
def test_the_one_that_outweighs_all_is_drawn(name: str) -> None:
    """Scores are hundreds apart."""
    text, tokens, length = CASES[name]
    case = Case(gl.Lark(text), tokens, by_lark(text))
    canvas, rows, rng, compared = case.constraint.canvas(length), case.rows(length), np.random.default_rng(5), 0
    for partial in partial_rows(rows, rng, 30):
        logits = 500 * rng.standard_normal((length, case.width)).astype(np.float32)
        left = matching(rows, partial)
        scores = scores_of(left, partial, logits)
        if len(left) > 1 and np.diff(np.sort(scores))[-1] > 40:
            assert canvas.sample(partial, logits, seed=1) == left[scores.argmax()].tolist()
            compared += 1
    assert compared > 4


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("name", CASES)
def test_the_law_of_samples_between_texts(name: str) -> None:
    """After a text, and with room for more tokens: each row that can go on counts once, however many ways go on from it."""
    text, tokens, length = CASES[name]
    case, rng, draws = Case(gl.Lark(text), tokens, by_lark(text)), np.random.default_rng(6), 600
    whole, compared = case.rows(length), 0
    while compared < 2:
        row, room = whole[rng.integers(len(whole))].tolist(), 1 + compared
        matcher = case.constraint.matcher()
        if not matcher.advance(row[0]) or row[0] in case.stop_ids:
            continue
        middle = length - 1 - room
        left = np.unique(matching(whole, [row[0], *[MASKED] * (length - 1)])[:, 1 : 1 + middle], axis=0)
        if not 2 <= len(left) <= 40:
            continue
        canvas, partial = case.constraint.canvas(middle, after=matcher, room=room), [MASKED] * middle
        logits = rng.standard_normal((middle, case.width)).astype(np.float32)
        sums = scores_of(left, partial, logits)
        want = np.exp(sums - np.logaddexp.reduce(sums))
        found = [tuple(canvas.sample(partial, logits, seed=seed)) for seed in range(draws)]
        assert set(found) <= set(map(tuple, left.tolist()))
        for one, p in zip(left.tolist(), want.tolist(), strict=True):
            assert abs(found.count(tuple(one)) / draws - p) < 5 * np.sqrt(p * (1 - p) / draws) + 1e-9, one
        compared += 1


@pytest.mark.usefixtures("large")
def test_rows_that_logits_rule_out() -> None:
    text, tokens, length = CASES["calls"]
    canvas = gl.compile(gl.Lark(text), gl.Vocabulary(tokens, [len(tokens) - 1])).canvas(length)
    with pytest.raises(ValueError, match="probability 0"):
        canvas.sample([MASKED] * length, np.full((length, len(tokens)), -np.inf, np.float32), seed=1)


PROGRAM = """static double mean(double *values, int count) { double total = 0.0; int i;
for (i = 0; i < count; i++) { if (values[i] >= 0.5) total += values[i] * 2; else { total -= 1; continue; } }
return count > 0 ? total / count : 0.0; }
int main(void) { struct point p; int i = 10; do { p.x = gcd(i, 7) + (i << 2); p.y[i % 4] = p.x; } while (--i > 0); return 0; }
"""


def test_programs_are_drawn() -> None:
    """With the grammar of C itself, against the stock parser."""
    grammar = gl.Lark.library("c")
    texts = re.findall(r" ?\w+| ?[^\w\s]+|\n", PROGRAM)
    pieces = sorted({*texts, *map(chr, range(32, 127)), "/*", "*/", "((((", "))))", ";;;;;;;;", "});"})
    stop = len(pieces) + 1
    vocabulary = gl.Vocabulary([b"?", *(piece.encode() for piece in pieces), b"."], [stop])
    constraint = gl.compile(grammar, vocabulary, limits=gl.Limits(max_ms=60_000))
    reader, rng = lark.Lark(grammar.text, parser="lalr"), np.random.default_rng(3)
    row = [1 + pieces.index(text) for text in texts] + [stop] * 20
    canvas = constraint.canvas(len(row))
    for share in (0.3, 0.9):
        partial = np.where(rng.random(len(row)) < share, MASKED, row).tolist()
        logits = rng.standard_normal((len(row), stop + 1)).astype(np.float32)
        for seed in range(3):
            drawn = canvas.sample(partial, logits, seed=seed)
            assert drawn == canvas.sample(partial, logits, seed=seed)
            assert all(given in (MASKED, token) for given, token in zip(partial, drawn, strict=True))
            reader.parse("".join(pieces[token - 1] for token in drawn if token != stop))
