"""The lattice of machines with a stack against enumeration of random tables; the two traps; laws of ambiguous tables."""

import numpy as np
import pytest

from grammarlm.masks.canvas.classes import FIRST, STOP
from grammarlm.masks.canvas.stack.grammars.table_maker import TableMaker
from grammarlm.masks.canvas.stack.table import StackTable
from tests.masks.canvas.canvas_law import Choices, matching
from tests.masks.canvas.stack_tables import BEGIN, all_rows, grid_of, random_starts, random_table


def partial_rows(rows: np.ndarray, table: StackTable, length: int, count: int, rng: np.random.Generator):
    for _ in range(count):
        from_rows = len(rows) and rng.random() < 0.7
        row = rows[rng.integers(len(rows))].copy() if from_rows else rng.integers(STOP, table.classes, length)
        row[rng.random(length) < 0.6] = -1
        yield row.astype(np.int32)


@pytest.mark.parametrize(("first", "count"), [(0, 120), pytest.param(120, 4000, marks=pytest.mark.proof)])
def test_rows_of_random_tables(first: int, count: int) -> None:
    impossible = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table, length = random_table(rng), int(rng.integers(1, 6))
        starts, room = random_starts(table, rng), int(rng.integers(0, 3)) if length < 5 else 0
        rows, grid, passes = all_rows(table, length, starts, room), grid_of(table, length, starts, room), None
        for row in partial_rows(rows, table, length, 6, rng):
            passes = grid.passes(row, passes)
            left = matching(rows, row.tolist())
            assert passes.is_completable == (len(left) > 0), (seed, row)
            impossible += not len(left)
            for i in range(length):
                others = matching(rows, [*row[:i].tolist(), -1, *row[i + 1 :].tolist()])[:, i] if len(left) else []
                assert set(np.flatnonzero(passes.classes_at(i)).tolist()) == set(np.array(others, int).tolist()), (
                    seed,
                    row,
                    i,
                )
    assert impossible > count


@pytest.mark.parametrize(("first", "count"), [(0, 20), pytest.param(40, 1000, marks=pytest.mark.proof)])
def test_fills_and_laws_of_random_tables(first: int, count: int) -> None:
    compared = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table, length, room = random_table(rng), int(rng.integers(1, 5)), int(rng.integers(0, 3))
        starts = random_starts(table, rng)
        rows, grid = all_rows(table, length, starts, room), grid_of(table, length, starts, room)
        for row in partial_rows(rows, table, length, 4, rng):
            left, passes = matching(rows, row.tolist()), grid.passes(row, None)
            if not 1 <= len(left) <= 80:
                continue
            scores = rng.standard_normal((length, table.classes)) * 2
            scores[row >= 0] = 0.0
            holes = np.flatnonzero(row < 0)
            sums = scores[holes, left[:, holes]].sum(1)
            best = passes.best(scores)
            assert (left == best).all(1).any(), (seed, row)
            assert scores[holes, best[holes]].sum() == pytest.approx(sums.max()), (seed, row)
            want = np.exp(sums - np.logaddexp.reduce(sums))
            law = Choices().ways(lambda draw: passes.sample(scores, draw).tolist())  # noqa: B023
            assert [law.get(tuple(r), 0.0) for r in left.tolist()] == pytest.approx(want), (seed, row)
            compared += 1
    assert compared > 2 * count // 3


OPEN, OPEN_TWICE, CLOSE = FIRST, FIRST + 1, FIRST + 2


def test_brackets_of_one_token_are_not_those_of_another() -> None:
    """By boundary and symbol alone the bracket of `[` would stand on that of `[[`, too."""
    maker = TableMaker(controls=4, symbols=2)
    for control in (BEGIN, 3):
        maker.effect(control, OPEN, 3, pushes=(1,))
        maker.effect(control, OPEN_TWICE, 3, pushes=(1, 1))
    maker.effect(3, CLOSE, 3, pops=(1,))
    maker.end(3)
    grid = grid_of(maker.table(FIRST + 3), 4, [(BEGIN, ())])
    assert np.flatnonzero(grid.passes(np.array([-1, CLOSE, CLOSE, STOP], np.int32), None).classes_at(0)).tolist() == [
        OPEN_TWICE
    ]
    assert np.flatnonzero(grid.passes(np.array([-1, CLOSE, STOP, STOP], np.int32), None).classes_at(0)).tolist() == [
        OPEN
    ]


def test_a_frame_is_closed_to_the_parent_on_which_it_was_opened() -> None:
    """Inside `x( )x'` and `y( )y'` the frame of the bracket is one node with two parents. That it can be closed to some parent says
    nothing about the one before it."""
    x, y, open_, close, end_x, end_y = range(FIRST, FIRST + 6)
    maker = TableMaker(controls=6, symbols=4)
    maker.effect(BEGIN, x, 3, pushes=(1,))
    maker.effect(BEGIN, y, 3, pushes=(2,))
    maker.effect(3, open_, 4, pushes=(3,))
    maker.effect(4, close, 5, pops=(3,))
    maker.effect(5, end_x, BEGIN, pops=(1,))
    maker.effect(5, end_y, BEGIN, pops=(2,))
    maker.end(BEGIN)
    grid = grid_of(maker.table(FIRST + 6), 4, [(BEGIN, ())])
    for given, first in (([-1, -1, close, end_y], y), ([-1, -1, -1, end_x], x), ([-1, open_, -1, end_y], y)):
        passes = grid.passes(np.array(given, np.int32), None)
        assert np.flatnonzero(passes.classes_at(0)).tolist() == [first]
    assert not grid.passes(np.array([x, -1, -1, end_y], np.int32), None).is_completable


def test_a_symbol_that_is_asked_for_stays() -> None:
    """Two rows push different symbols; what follows asks for one, again and again, and then pops it."""
    x, y, ask, pop = range(FIRST, FIRST + 4)
    maker = TableMaker(controls=5, symbols=3)
    maker.effect(BEGIN, x, 3, pushes=(1,))
    maker.effect(BEGIN, y, 3, pushes=(2,))
    here = maker.micro("ask")
    maker.enter(3, ask, here)
    maker.keep(here, 1, 3)
    maker.effect(3, pop, 4, pops=(1,))
    maker.effect(3, pop, 4, pops=(2,))
    maker.end(4)
    grid = grid_of(maker.table(FIRST + 4), 5, [(BEGIN, ())])
    passes = grid.passes(np.array([-1, -1, ask, pop, STOP], np.int32), None)
    assert np.flatnonzero(passes.classes_at(0)).tolist() == [x]
    assert np.flatnonzero(passes.classes_at(1)).tolist() == [ask]
    assert not grid.passes(np.array([y, ask, ask, pop, STOP], np.int32), None).is_completable


def test_which_tables_are_deterministic() -> None:
    for other_pops, expected in (((2,), True), ((1,), False), ((), False), ((2, 1), True)):
        maker = TableMaker(controls=4, symbols=3)
        maker.effect(BEGIN, FIRST, 3, pops=(1,))
        maker.effect(BEGIN, FIRST, BEGIN, pops=other_pops)
        maker.end(BEGIN)
        assert maker.table(FIRST + 1).is_deterministic == expected


def test_which_tables_that_ask_for_symbols_are_deterministic() -> None:
    for asked, expected in ((1, False), (2, True)):
        maker = TableMaker(controls=4, symbols=3)
        here, there = maker.micro(0), maker.micro(1)
        maker.enter(BEGIN, FIRST, here)
        maker.enter(BEGIN, FIRST, there)
        maker.pop(here, 1, 3)
        maker.keep(there, asked, 3)
        maker.end(BEGIN)
        assert maker.table(FIRST + 1).is_deterministic == expected
