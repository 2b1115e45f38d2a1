"""Rows, fills and samples of machines with a stack against enumeration of random tables, whatever decides what is allowed.

Micro points of some go round in a circle, so that a token may pop any number of symbols; of others little is followed exactly, as
of the tables of large grammars.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from grammarlm.masks.canvas.classes import FIRST, STOP
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.grammars.table_maker import TableMaker
from grammarlm.masks.canvas.stack.grid import StackGrid
from grammarlm.masks.canvas.stack.large import live_spots, narrow, narrow_table, one_class
from grammarlm.masks.canvas.stack.large.live_spots import LiveSpots
from grammarlm.masks.canvas.stack.table import StackTable
from tests.counts import tiers
from tests.masks.canvas.canvas_law import Choices, matching
from tests.masks.canvas.stack_tables import BEGIN, all_rows, grid_of, random_starts, random_table

KINDS = ["exact", "bounded", "live spots"]


def limit(kind: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little is followed exactly, as in large tables; or nothing, so that live spots decide."""
    spots = kind == "live spots"
    monkeypatch.setattr(narrow, "FREE_STEPS", 0 if spots else int(rng.integers(3)))
    monkeypatch.setattr(narrow, "MOST_ALONE", -1 if spots else int(rng.choice([-1, 2, 32])))
    monkeypatch.setattr(narrow_table, "MOST_EDGES", -1 if spots else int(rng.integers(-1, 12)))
    monkeypatch.setattr(narrow_table, "NEAR_ROOM", int(rng.integers(2)))
    monkeypatch.setattr(one_class, "STEPS", 0 if spots else int(rng.integers(4)))
    monkeypatch.setattr(one_class, "MOST_TO_END", 0 if spots else int(rng.integers(3)))
    monkeypatch.setattr(live_spots, "STEPS_BEHIND", 0 if spots else int(rng.integers(3)))


def some_rows(
    kind: str, seeds: range, patch: pytest.MonkeyPatch
) -> Iterator[tuple[np.random.Generator, StackGrid, np.ndarray]]:
    """Grids of random tables, and all rows that can be completed."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        table = random_table(rng)
        if kind != "exact":
            few = np.flatnonzero(rng.random(table.classes) < rng.random())
            table = replace(table, few=few.astype(np.int32))
            limit(kind, rng, patch)
            if table.narrow is None:  # micro points that go round in a circle
                continue
        length, starts = int(rng.integers(1, 6)), random_starts(table, rng)
        room = int(rng.integers(0, 4)) if length < 5 else 0
        yield rng, grid_of(table, length, starts, room), all_rows(table, length, starts, room)


def partial_rows(rows: np.ndarray, table: StackTable, length: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Rows of the language and others, with masks; each other one with more tokens than the one before."""
    for _ in range(4):
        from_rows = len(rows) and rng.random() < 0.8
        row = rows[rng.integers(len(rows))].copy() if from_rows else rng.integers(STOP, table.classes, length)
        shares = rng.random(length)
        for share in (0.7, 0.4):
            yield np.where(shares < share, MASKED, row).astype(np.int32)


@pytest.mark.parametrize("kind", KINDS)
@tiers("first, count", (0, 80), (120, 4000))
def test_rows(kind: str, first: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    leads, asked = LiveSpots.leads, list[int]()

    def spied(self: LiveSpots, position: int, classes: np.ndarray, narrow: object) -> np.ndarray | None:
        asked.append(len(classes))
        return leads(self, position, classes, narrow)

    monkeypatch.setattr(LiveSpots, "leads", spied)
    impossible = given = endless = deep = 0
    for rng, grid, rows in some_rows(kind, range(first, first + count), monkeypatch):
        passes = None
        for row in partial_rows(rows, grid.table, grid.length, rng):
            passes, left = grid.passes(row, passes if rng.random() < 0.8 else None), matching(rows, row.tolist())
            assert passes.is_completable == (len(left) > 0), row
            impossible += not len(left)
            for i in range(grid.length):
                others = matching(rows, [*row[:i].tolist(), MASKED, *row[i + 1 :].tolist()])[:, i]
                may = np.isin(np.arange(grid.table.classes), others if len(left) else [])
                some = rng.integers(FIRST, grid.table.classes, 2)
                tested = passes.test(i, some)
                assert tested is None or (tested == may[some]).all(), (row, i)
                assert (passes.classes_at(i) == may).all(), (row, i)
                given += row[i] != MASKED
        if grid.table.has_circles:
            endless, deep = endless + (grid.table.sets.rounds == 0), deep + (grid.table.sets.rounds > 1)
    assert min(impossible, given) > count
    assert kind != "exact" or (endless > count // 20 and deep > count // 120)
    assert bool(asked) == (kind != "exact")


@pytest.mark.parametrize("kind", KINDS[:2])
@tiers("first, count", (0, 20), (40, 1000))
def test_fills_and_samples(kind: str, first: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best row, some row, and the exact law of samples."""
    compared = 0
    for rng, grid, rows in some_rows(kind, range(first, first + count), monkeypatch):
        for row in partial_rows(rows, grid.table, grid.length, rng):
            left, passes = matching(rows, row.tolist()), grid.passes(row, None)
            if not 1 <= len(left) <= 80:
                continue
            scores = rng.standard_normal((grid.length, grid.table.classes)) * 2
            scores[:, :FIRST] -= 1e5 * (
                rng.random(FIRST) < 0.1
            )  # their sums keep the digits that the law is compared in
            scores[row >= 0] = 0.0
            holes = np.flatnonzero(row < 0)
            sums = scores[holes, left[:, holes]].sum(1)
            best = passes.best(scores)
            assert (left == best).all(1).any(), row
            assert scores[holes, best[holes]].sum() == pytest.approx(sums.max()), row
            assert (left == passes.some(scores)).all(1).any(), row
            want = np.exp(sums - np.logaddexp.reduce(sums))
            law = Choices().ways(lambda draw: passes.sample(scores, draw).tolist())  # noqa: B023
            assert [law.get(tuple(r), 0.0) for r in left.tolist()] == pytest.approx(want, abs=1e-9), row
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
