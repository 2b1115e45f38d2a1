"""Tables whose micro points go round in a circle, so that one token may pop any number of symbols, against enumeration."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.canvas.scores import SoftmaxDraw
from grammarlm.masks.canvas.stack import heights
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.heights import HEIGHTS, Ends
from grammarlm.masks.canvas.views import view_of
from tests.masks.canvas.canvas_law import assert_drawn, matching
from tests.masks.canvas.stack_tables import all_rows, can_end, grid_of, random_starts, random_table

DRAWS = 800
BYTES = gl.Vocabulary([bytes([byte]) for byte in range(256)] + [b"."], [256])
JSON = (
    'root ::= value\nvalue ::= object | array | string | number | "true"\nobject ::= "{" ws (members)? "}" ws\n'
    'members ::= pair | pair "," ws members\npair ::= string ":" ws value\narray ::= "[" ws (elements)? "]" ws\n'
    'elements ::= value | value "," ws elements\nstring ::= "\\"" [a-z ]* "\\"" ws\nnumber ::= [0-9]+ ws\nws ::= [ ]*\n'
)
ELSE = 'root ::= stmt\nstmt ::= "if(" [a-z]+ ")" stmt ("else " stmt)? | [a-z]+ "=" [0-9]+ ";" | "{" stmt+ "}"\n'


def circular_rows(first: int, count: int) -> Iterator[tuple[np.random.Generator, StackGrid, np.ndarray]]:
    """Rows of such tables: all that can be completed, by seed."""
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table = random_table(rng)
        if table.has_circles:
            length, room, starts = int(rng.integers(2, 6)), int(rng.integers(0, 4)), random_starts(table, rng)
            yield rng, grid_of(table, length, starts, room), all_rows(table, length, starts, room)


@pytest.mark.parametrize(("first", "count"), [(0, 120), pytest.param(120, 6000, marks=pytest.mark.proof)])
def test_rows_of_random_tables(first: int, count: int) -> None:
    endless = deep = 0
    for rng, grid, rows in circular_rows(first, count):
        for share in (0.3, 0.7, 1.0):
            row = rng.integers(STOP, grid.table.classes, grid.length).astype(np.int32)
            if len(rows) and rng.random() < 0.8:
                row = rows[rng.integers(len(rows))].astype(np.int32)
            row[rng.random(grid.length) < share] = -1
            passes, left = grid.passes(row, None), matching(rows, row.tolist())
            assert passes.is_completable == (len(left) > 0)
            for i in range(grid.length if len(left) else 0):
                others = matching(rows, [*row[:i].tolist(), -1, *row[i + 1 :].tolist()])[:, i]
                assert np.flatnonzero(passes.classes_at(i)).tolist() == np.unique(others).tolist(), (row, i)
        sets = grid.table.sets
        endless, deep = endless + (sets.rounds == 0), deep + (sets.rounds > 1)
    assert endless > count // 20
    assert deep > count // 60


@pytest.mark.parametrize(("first", "count"), [(0, 60), pytest.param(120, 1000, marks=pytest.mark.proof)])
def test_fills_and_samples(first: int, count: int) -> None:
    compared = 0
    for rng, grid, rows in circular_rows(first, count):
        row = np.full(grid.length, -1, np.int32)
        if len(rows):
            row[0] = rows[rng.integers(len(rows)), 0]
        left = matching(rows, row.tolist())
        if not 2 <= len(left) <= 20:
            continue
        passes, scores, draw = (
            grid.passes(row, None),
            rng.standard_normal((grid.length, grid.table.classes)),
            SoftmaxDraw(rng),
        )
        sums = scores[np.arange(1, grid.length), left[:, 1:]].sum(1)
        best = passes.best(scores)
        assert (left == best).all(1).any()
        assert scores[np.arange(1, grid.length), best[1:]].sum() == pytest.approx(sums.max())
        law = Counter(tuple(passes.sample(scores, draw).tolist()) for _ in range(DRAWS))
        assert set(law) <= set(map(tuple, left.tolist()))
        for one, p in zip(left.tolist(), np.exp(sums - np.logaddexp.reduce(sums)), strict=True):
            assert_drawn(law[tuple(one)], DRAWS, p, row)
        compared += 1
    assert compared > count // 20


@pytest.mark.parametrize(("first", "count"), [(0, 60), pytest.param(60, 1000, marks=pytest.mark.proof)])
def test_stacks_that_the_room_completes(first: int, count: int) -> None:
    """All stacks of a few symbols that something leads to, one by one."""
    asked = completed = 0
    for _, grid, _ in circular_rows(first, count):
        sets, table, known = grid.table.sets, grid.table, {}
        grid.left_border()
        if sets.rounds:
            continue
        end = Ends(sets, grid.room, lambda: None).state(3)
        for control in range(2, table.controls):
            waiting = [
                (below,) for below in range(table.symbols) if sets.tops[control, 0] >> np.uint64(below) & np.uint64(1)
            ]
            for above in waiting:  # the top first, down to ROOT
                if above[-1] and len(above) < 4:
                    waiting += [
                        (*above, below) for below in range(table.symbols)
                        if sets.belows[above[-1], 0] >> np.uint64(below) & np.uint64(1)
                    ]  # fmt: skip
                if above[-1] == 0:
                    stack = tuple(reversed(above[:-1]))
                    may = can_end(table, frozenset([(control, stack)]), grid.room, known)
                    assert sets.meet(sets.state({control: {stack}}), end) == may
                    asked, completed = asked + 1, completed + may
    assert asked > completed > count // 4


def test_a_circle_in_which_no_text_goes_round() -> None:
    """JSON of right recursion: elements return to an array, which may end the elements of another, with a bracket between them."""
    constraint = gl.compile(gl.Gbnf(JSON), BYTES)
    view = view_of(constraint)
    assert view.table.has_circles
    text = b'{"a": ["b", {"c": [[], true]}], "d": "e"}'
    row = [-1 if at % 3 else byte for at, byte in enumerate(text)] + [-1] * 40
    grid = view.grid(len(row), None, 0, lambda: None)
    grid.left_border()
    assert grid.table.sets.rounds > 0
    canvas = constraint.canvas(len(row))
    allowed = canvas.allowed(row)
    assert allowed.test(1, [ord('"'), ord("}"), ord(" "), ord("x")]).tolist() == [True, False, True, False]
    filled = canvas.fill(row, np.zeros((len(row), BYTES.size), np.float32))
    matcher = constraint.matcher()
    assert all(matcher.advance(token) for token in filled if token != 256)
    assert matcher.is_accepting


def test_a_token_that_ends_any_number_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    constraint = gl.compile(gl.Gbnf(ELSE), BYTES)
    ifs = b"if(a)if(b)if(c)x=1;else y=2;"
    canvas = constraint.canvas(len(ifs) + 5)
    row = [*ifs, *b"else "]
    assert not canvas.is_completable(row)
    row = [*ifs, *[-1] * 5]
    assert canvas.allowed(row).test(len(ifs), [ord("e"), 256, ord("i"), ord("}")]).tolist() == [
        False,
        True,
        False,
        False,
    ]
    row = [*ifs[:-9], *[-1] * 14]
    assert canvas.allowed(row).test(len(ifs) - 9, [ord("e"), 256, ord("i")]).tolist() == [True, True, False]
    nested = b"if(a)" * (HEIGHTS[-1] + 1) + b"x=1;"
    long = constraint.canvas(len(nested) + 1)
    with pytest.raises(gl.LimitExceeded, match="any number of"):
        long.is_completable([*nested, -1])
    monkeypatch.setattr(heights, "HEIGHTS", (8, 64))
    assert long.is_completable([*nested, -1])
