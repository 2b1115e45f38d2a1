"""Tables that say once what a terminal's shift does to the stack (masks/canvas/stack/operations.py), against enumeration: those of
large grammars do; here small ones are made to."""

import random
import re
from collections import Counter

import lark
import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.stack.grammars import network
from grammarlm.masks.canvas.stack.large import narrow, narrow_table
from grammarlm.masks.canvas.stack.large.live_spots import LiveSpots
from grammarlm.masks.canvas.stack.large.one_class import OneClass
from grammarlm.masks.canvas.views import view_of
from tests.masks.canvas.canvas_law import (
    Case,
    assert_drawn,
    check_edges,
    check_fills,
    check_law,
    check_rows,
    holes_of,
    ids_in,
    matching,
)
from tests.masks.canvas.lark_cases import CALLS, LEVELS, by_lark

BLOCKS = 'start: part*\npart: "{" part* "}" | "if" NAME part | NAME "=" NAME ";"\nNAME: /[a-z]+/\n%ignore " "\n'
CASES = {
    "calls": (CALLS, [b"?", b"f", b"if", b"(", b")", b",", b"+", b";", b"+x", b");", b"."], (4, 5)),
    "blocks": (BLOCKS, [b"?", b"if", b"i", b"f", b"=", b"x;", b"{", b"}", b"}}", b"{ if", b" ", b";", b"."], (3, 4)),
    "levels": (LEVELS, [b"?", b"x", b"-x", b"+", b"(", b")", b"[x", b"]", b"))", b"?x:", b"|(", b"."], (3, 4)),
}


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All networks count as large."""
    monkeypatch.setattr(network, "MANY_STATES", 0)


def case_of(text: str, tokens: list[bytes]) -> Case:
    case = Case(gl.Lark(text), tokens, by_lark(text))
    assert view_of(case.constraint).table.operations, "it would be of no use here"
    return case


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [14, pytest.param(400, marks=pytest.mark.proof)])
def test_rows_and_commits(name: str, count: int) -> None:
    text, tokens, lengths = CASES[name]
    case = case_of(text, tokens)
    assert sum(check_rows(case, length, count) for length in lengths) > 0


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.proof)])
def test_rows_that_narrow_passes_leave_open(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrow passes that know next to nothing: live spots decide, in rows that take from those before."""
    leads, asked = LiveSpots.leads, list[int]()

    def spied(self: LiveSpots, position: int, classes: np.ndarray, narrow: object) -> np.ndarray | None:
        asked.append(len(classes))
        return leads(self, position, classes, narrow)

    monkeypatch.setattr(LiveSpots, "leads", spied)
    monkeypatch.setattr(narrow, "FREE_STEPS", 0)
    monkeypatch.setattr(narrow_table, "MOST_EDGES", narrow_table.NONE)
    monkeypatch.setattr(OneClass, "leads", lambda *_: None)
    text, tokens, lengths = CASES[name]
    case, rng = case_of(text, tokens), np.random.default_rng(count)
    for length in lengths:
        canvas, rows = case.constraint.canvas(length), case.rows(length)
        for row in rng.choice(rows, count):
            partial, order = [-1] * length, rng.permutation(length).tolist()
            for committed in [*order[:2], order[0], *order[1:]]:
                left, allowed = matching(rows, partial), canvas.allowed(partial)
                for i in holes_of(partial):
                    assert ids_in(allowed.row(i)) == set(left[:, i].tolist()), (partial, i)
                if partial[committed] >= 0:  # masked again
                    partial = [-1 if i == committed else token for i, token in enumerate(partial)]
                else:
                    partial = canvas.commit(partial, [committed], [int(row[committed])])
    assert max(asked) > 1


@pytest.mark.parametrize("name", CASES)
def test_best_fills(name: str) -> None:
    text, tokens, lengths = CASES[name]
    assert sum(check_fills(case_of(text, tokens), length, 12) for length in lengths)


@pytest.mark.parametrize("name", CASES)
def test_the_law_of_choices(name: str) -> None:
    text, tokens, lengths = CASES[name]
    assert sum(check_law(case_of(text, tokens), length, 10, most=150) for length in lengths) > 1


@pytest.mark.parametrize("name", CASES)
def test_the_law_of_samples(name: str) -> None:
    """By tries, which bounds lead."""
    text, tokens, lengths = CASES[name]
    case, length, draws = case_of(text, tokens), max(lengths), 1000
    canvas, rows, rng = case.constraint.canvas(length), case.rows(length), np.random.default_rng(1)
    compared = 0
    while compared < 3:
        partial = rows[rng.integers(len(rows))].copy()
        partial[rng.random(length) < 0.6] = -1
        left = matching(rows, partial.tolist())
        if not 2 <= len(left) <= 12:
            continue
        logits, holes = rng.standard_normal((length, case.width)).astype(np.float32), holes_of(partial.tolist())
        sums = logits[holes, left[:, holes]].astype(float).sum(1)
        want = np.exp(sums - np.logaddexp.reduce(sums))
        law = Counter(tuple(canvas.sample(partial.tolist(), logits, seed=seed)) for seed in range(draws))
        assert set(law) <= set(map(tuple, left.tolist()))
        for row, p in zip(left.tolist(), want.tolist(), strict=True):
            assert_drawn(law[tuple(row)], draws, p, (partial, row))
        compared += 1


@pytest.mark.parametrize("name", CASES)
def test_between_texts(name: str) -> None:
    text, tokens, lengths = CASES[name]
    assert check_edges(case_of(text, tokens), max(lengths), 5) > 1


def random_grammar(rng: random.Random) -> str:
    names = ["start", "one", "two", "three"]
    lines = []
    for name in names:
        bodies = set()
        for _ in range(rng.randint(1, 3)):
            symbols = rng.choices(
                ['"a"', '"b"', '"("', '")"', *names[1:], *names[1:]], k=rng.choice([0, 1, 2, 2, 3, 3])
            )
            bodies.add(" ".join(symbols))
        lines.append(f"{name}: {' | '.join(sorted(bodies))}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("first", "count"), [(0, 4), pytest.param(8, 200, marks=pytest.mark.proof)])
def test_random_grammars(first: int, count: int) -> None:
    tokens, tried = [b"?", b"a", b"b", b"(", b")", b"ab", b"((", b"))", b")a", b"ba(", b"."], 0
    for seed in range(10_000):
        text = random_grammar(random.Random(1000 * first + seed))
        try:
            case = case_of(text, tokens)
        except (lark.exceptions.GrammarError, gl.GrammarError, AssertionError):
            continue
        if len(case.rows(4)) < 5:
            continue
        check_rows(case, 4, 8)
        tried += 1
        if tried == count:
            break
    assert tried == count


def test_calls_of_rules_that_may_read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two rules is called in the middle of the other."""
    text = 'start: "(" two "("\ntwo: "b" one "b"\none: | "a" two "b"\n'
    tokens = [b"?", b"a", b"b", b"(", b"ab", b"bb", b"(b", b"."]
    case = case_of(text, tokens)
    assert len(case.rows(4))
    assert sum(check_rows(case, length, 14) for length in (3, 4, 6))
    monkeypatch.undo()
    assert sum(check_rows(Case(gl.Lark(text), tokens, by_lark(text)), length, 14) for length in (3, 4, 6))


PROGRAM = """static double mean(double *values, int count) { double total = 0.0; int i;
for (i = 0; i < count; i++) { if (values[i] >= 0.5) total += values[i] * 2; else { total -= 1; continue; } }
return count > 0 ? total / count : 0.0; }
int main(void) { struct point p; int i = 10; do { p.x = gcd(i, 7) + (i << 2); p.y[i % 4] = p.x; } while (--i > 0); return 0; }
"""


def test_a_program_with_gaps_is_filled() -> None:
    """With the grammar of C itself, against the stock parser."""
    grammar = gl.Lark.library("c")
    texts = re.findall(r" ?\w+| ?[^\w\s]+|\n", PROGRAM)
    pieces = sorted({*texts, *map(chr, range(32, 127))})
    vocabulary = gl.Vocabulary([b"?", *(piece.encode() for piece in pieces), b"."], [len(pieces) + 1])
    constraint = gl.compile(grammar, vocabulary, limits=gl.Limits(max_ms=60_000))
    row, rng = [1 + pieces.index(text) for text in texts], np.random.default_rng(3)
    for at in range(4, len(row) - 8, len(row) // 8):
        row[at : at + 5] = [-1] * 5
    logits = rng.standard_normal((len(row), len(pieces) + 2)).astype(np.float32)
    filled = constraint.canvas(len(row)).fill(row, logits)
    assert all(given in (-1, token) for given, token in zip(row, filled, strict=True))
    stop = len(pieces) + 1
    text = "".join(pieces[token - 1] for token in filled if token != stop)
    lark.Lark(grammar.text, parser="lalr").parse(text)
