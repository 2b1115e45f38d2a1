"""What rows of large grammars have, on small ones that count as large: operations, bounds and samples by the top symbol alone."""

import functools
import random
import re

import lark
import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack import passes
from grammarlm.masks.canvas.stack.grammars import network
from grammarlm.masks.canvas.stack.large import narrow, narrow_table
from grammarlm.masks.canvas.stack.large.live_spots import LiveSpots
from grammarlm.masks.canvas.stack.large.narrow import RowBounds
from grammarlm.masks.canvas.stack.large.one_class import OneClass
from grammarlm.masks.canvas.stack.large.spot_bounds import SpotBounds
from grammarlm.masks.canvas.views import view_of
from tests.counts import tiers
from tests.masks.canvas.canvas_cases import TABLES, case_of
from tests.masks.canvas.canvas_law import Case, check_drawn, check_rows, holes_of, ids_in, matching, scores_of

LARGE = {each["name"]: each for each in TABLES["case"] if each["family"] == "large"}


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All networks count as large."""
    monkeypatch.setattr(network, "MANY_STATES", 0)


def large_case(name: str) -> tuple[Case, int]:
    return case_of(LARGE[name]), max(LARGE[name]["lengths"])


def partial_rows(rows: np.ndarray, rng: np.random.Generator, count: int) -> list[list[int]]:
    """Some of the rows, with masks."""
    chosen = rows[rng.integers(len(rows), size=count)]
    return np.where(rng.random(chosen.shape) < 0.6, MASKED, chosen).tolist()


@pytest.mark.parametrize("name", LARGE)
@tiers("count", 8, 200)
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
    (case, length), rng = large_case(name), np.random.default_rng(count)
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


@pytest.mark.parametrize("alone", [-1, 32])
@pytest.mark.parametrize("name", LARGE)
@tiers("count", 6, 12)
def test_no_row_asks_for_all_stacks(name: str, count: int, alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even at tokens that are given, where C once took ten seconds."""

    def refuse(*_: object) -> None:
        raise AssertionError("all stacks were asked for")

    monkeypatch.setattr(narrow, "MOST_ALONE", alone)
    monkeypatch.setattr(passes.RowStates, "__init__", refuse)
    case, length = large_case(name)
    rows, canvas, given = case.rows(length), case.constraint.canvas(length), 0
    for partial in partial_rows(rows, np.random.default_rng(6), count):
        for position in range(length):
            may = matching(rows, [*partial[:position], MASKED, *partial[position + 1 :]])[:, position]
            assert ids_in(canvas.allowed(partial).row(position)) == set(may.tolist())
            given += partial[position] != MASKED
    assert given > 5 * count // 6


@pytest.mark.parametrize("far", [1, 300], ids=["near", "far apart"])
@pytest.mark.parametrize("name", LARGE)
def test_no_completions_have_more_than_bounds_say(name: str, far: int) -> None:
    """Together, and the best of them; where scores are hundreds apart sums take another way."""
    case, length = large_case(name)
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


@pytest.mark.parametrize("name", LARGE)
def test_the_one_that_outweighs_all_is_drawn(name: str) -> None:
    """Scores are hundreds apart."""
    case, length = large_case(name)
    canvas, rows, rng, compared = case.constraint.canvas(length), case.rows(length), np.random.default_rng(5), 0
    for partial in partial_rows(rows, rng, 30):
        logits = 500 * rng.standard_normal((length, case.width)).astype(np.float32)
        left = matching(rows, partial)
        scores = scores_of(left, partial, logits)
        if len(left) > 1 and np.diff(np.sort(scores))[-1] > 40:
            assert canvas.sample(partial, logits, seed=1) == left[scores.argmax()].tolist()
            compared += 1
    assert compared > 4


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.parametrize("name", LARGE)
def test_the_law_of_samples(name: str, between: bool) -> None:
    """By tries, which bounds lead. After a text and with room for more tokens, too: each row that can go on counts once, however
    many ways go on from it."""
    (case, length), rng, compared = large_case(name), np.random.default_rng(1), 0
    rows = case.rows(length)
    while compared < 3:
        row, room = rows[rng.integers(len(rows))].tolist(), 1 + compared % 2
        matcher, before = case.constraint.matcher(), int(between)
        if between and (row[0] in case.stop_ids or not matcher.advance(row[0])):
            continue
        middle = length - before - room * before
        partial = [MASKED if between or rng.random() < 0.6 else token for token in row][:middle]
        given = [*row[:before], *partial, *[MASKED] * (length - before - middle)]
        left = np.unique(matching(rows, given)[:, before : before + middle], axis=0)
        if not 2 <= len(left) <= 12 * (1 + 2 * before):
            continue
        canvas = case.constraint.canvas(middle, after=matcher, room=room * before)
        logits = rng.standard_normal((middle, case.width)).astype(np.float32)
        draw = functools.partial(canvas.sample, partial, logits)
        check_drawn((draw(seed=seed) for seed in range(500)), left, scores_of(left, partial, logits), partial)
        compared += 1


def test_rows_that_logits_rule_out() -> None:
    case, length = large_case("calls")
    with pytest.raises(ValueError, match="probability 0"):
        case.constraint.canvas(length).sample(
            [MASKED] * length, np.full((length, case.width), -np.inf, np.float32), seed=1
        )


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


def written(text: str, *tokens: str) -> Case:
    return case_of({"grammar": f"Lark({text!r})", "tokens": tokens})


@tiers("first, count", (0, 4), (8, 200))
def test_random_grammars(first: int, count: int) -> None:
    tried = 0
    for seed in range(10_000):
        text = random_grammar(random.Random(1000 * first + seed))
        try:
            case = written(text, *"ab()", "ab", "((", "))", ")a", "ba(")
            if not view_of(case.constraint).table.operations or len(case.rows(4)) < 5:
                continue
        except (lark.exceptions.GrammarError, gl.GrammarError):
            continue
        check_rows(case, 4, 8)
        tried += 1
        if tried == count:
            break
    assert tried == count


def test_calls_of_rules_that_may_read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two rules is called in the middle of the other."""
    text = 'start: "(" two "("\ntwo: "b" one "b"\none: | "a" two "b"\n'
    for undo in (False, True):
        if undo:
            monkeypatch.undo()
        case = written(text, *"ab(", "ab", "bb", "(b")
        assert view_of(case.constraint).table.operations or undo
        assert len(case.rows(4))
        assert sum(check_rows(case, length, 14) for length in (3, 4, 6))


PROGRAM = """static double mean(double *values, int count) { double total = 0.0; int i;
for (i = 0; i < count; i++) { if (values[i] >= 0.5) total += values[i] * 2; else { total -= 1; continue; } }
return count > 0 ? total / count : 0.0; }
int main(void) { struct point p; int i = 10; do { p.x = gcd(i, 7) + (i << 2); p.y[i % 4] = p.x; } while (--i > 0); return 0; }
"""


def test_programs_with_gaps_are_filled_and_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the grammar of C itself, against the stock parser."""
    monkeypatch.undo()
    grammar = gl.Lark.library("c")
    texts = re.findall(r" ?\w+| ?[^\w\s]+|\n", PROGRAM)
    pieces = sorted({*texts, *map(chr, range(32, 127)), "/*", "*/", "((((", "))))", ";;;;;;;;", "});"})
    stop = len(pieces) + 1
    vocabulary = gl.Vocabulary([b"?", *(piece.encode() for piece in pieces), b"."], [stop])
    constraint = gl.compile(grammar, vocabulary, limits=gl.Limits(max_ms=60_000))
    reader, rng = lark.Lark(grammar.text, parser="lalr"), np.random.default_rng(3)
    row = [1 + pieces.index(text) for text in texts] + [stop] * 20
    canvas, gaps = constraint.canvas(len(row)), list(row)
    for at in range(4, len(texts) - 8, len(texts) // 8):
        gaps[at : at + 5] = [MASKED] * 5
    logits = rng.standard_normal((len(row), stop + 1)).astype(np.float32)
    made = [(gaps, canvas.fill(gaps, logits))]
    for share in (0.3, 0.9):
        partial = np.where(rng.random(len(row)) < share, MASKED, row).tolist()
        for seed in range(3):
            made.append((partial, canvas.sample(partial, logits, seed=seed)))
            assert made[-1][1] == canvas.sample(partial, logits, seed=seed)
    for partial, found in made:
        assert all(given in (MASKED, token) for given, token in zip(partial, found, strict=True))
        reader.parse("".join(pieces[token - 1] for token in found if token != stop))
