"""Bounds of rows (stack/large/narrow.py), against enumeration: what surely may stand, may; what may not, surely does not."""

from dataclasses import replace

import numpy as np
import pytest

from grammarlm.masks.canvas.classes import FIRST, STOP
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack.large import live_spots, narrow, narrow_table, one_class
from grammarlm.masks.canvas.stack.large.narrow import RowBounds
from grammarlm.masks.canvas.stack.large.wide import best_by_bounds
from grammarlm.masks.canvas.stack.passes import StackPasses
from grammarlm.masks.canvas.stack.table import StackTable
from tests.masks.canvas.stack_tables import all_rows, grid_of, random_starts, random_table


def narrowed(table: StackTable, rng: np.random.Generator) -> StackTable:
    """The table with any few classes."""
    few = np.flatnonzero(rng.random(table.classes) < rng.random())
    return replace(table, few=few.astype(np.int32))


def limit(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Little is followed exactly, as in large tables."""
    monkeypatch.setattr(narrow_table, "MOST_EDGES", int(rng.integers(-1, 12)))
    monkeypatch.setattr(narrow_table, "NEAR_ROOM", int(rng.integers(2)))
    monkeypatch.setattr(one_class, "STEPS", int(rng.integers(4)))
    monkeypatch.setattr(one_class, "MOST_TO_END", int(rng.integers(3)))
    monkeypatch.setattr(narrow, "MOST_ALONE", int(rng.choice([-1, 2, 32])))
    monkeypatch.setattr(live_spots, "STEPS_BEHIND", int(rng.integers(3)))


def left_of(rows: np.ndarray, partial: np.ndarray) -> np.ndarray:
    given = partial != MASKED
    return rows[(rows[:, given] == partial[given]).all(1)]


@pytest.mark.parametrize("steps", [0, 1, 2])
@pytest.mark.parametrize(("first", "count"), [(0, 20), pytest.param(20, 800, marks=pytest.mark.proof)])
def test_bounds_of_random_tables(first: int, count: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrow, "FREE_STEPS", steps)
    asked = decided = refused = tables = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table = narrowed(random_table(rng), rng)
        limit(rng, monkeypatch)
        if table.narrow is None:  # micro points that go round in a circle
            continue
        tables += 1
        starts, length, room = random_starts(table, rng), int(rng.integers(1, 6)), int(rng.integers(3))
        rows, grid = all_rows(table, length, starts, room), grid_of(table, length, starts, room)
        before = None
        for _ in range(12):
            if len(rows) and rng.random() < 0.8:
                partial = rows[rng.integers(len(rows))].astype(np.int32)
            else:
                partial = rng.integers(STOP, table.classes, length).astype(np.int32)
            partial[rng.random(length) < rng.random()] = MASKED
            want = left_of(rows, partial)
            with table.sets.lock:
                before = bounds = RowBounds(grid, partial, before if rng.random() < 0.8 else None)
                assert bounds.is_completable in (None, bool(len(want)))
                for position in np.flatnonzero(partial == MASKED).tolist():
                    may = np.isin(np.arange(table.classes), want[:, position])
                    surely, perhaps = bounds.bounds_at(position)
                    assert not (surely & ~may).any(), (seed, partial, position)
                    assert not (may & ~surely & ~perhaps).any(), (seed, partial, position)
                    known = bounds.classes_at(position)
                    assert known is None or (known == may).all(), (seed, partial, position)
                    asked, decided = asked + 1, decided + (known is not None)
                    refused += bounds.is_completable is False
                    some = rng.integers(FIRST, table.classes, 2)
                    tested = bounds.test(position, some)
                    assert tested is None or (tested == may[some]).all()
    assert tables > count / 4
    assert asked > decided > 0.7 * asked
    assert refused


@pytest.mark.parametrize(("first", "count"), [(0, 40), pytest.param(40, 400, marks=pytest.mark.proof)])
def test_rows_with_bounds(first: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that passes say, one row after the other."""
    allowed = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table = narrowed(random_table(rng), rng)
        limit(rng, monkeypatch)
        if table.narrow is None:
            continue
        starts, length = random_starts(table, rng), int(rng.integers(1, 6))
        rows, grid = all_rows(table, length, starts, 1), grid_of(table, length, starts, 1)
        if not len(rows):
            continue
        passes = None
        partial = np.full(length, MASKED, np.int32)
        while True:
            passes = StackPasses(grid, partial.copy(), passes)
            want = left_of(rows, partial)
            assert passes.is_completable
            for position in range(length):
                open_there = partial.copy()
                open_there[position] = MASKED
                may = np.isin(np.arange(table.classes), left_of(rows, open_there)[:, position])
                assert (passes.classes_at(position) == may).all(), (seed, partial, position)
                allowed += int(may.sum())
            holes = np.flatnonzero(partial == MASKED)
            if not len(holes):
                break
            at = int(rng.choice(holes))
            partial[at] = rng.choice(np.unique(want[:, at]))
    assert allowed > 100


@pytest.mark.parametrize(("first", "count"), [(0, 20), pytest.param(20, 800, marks=pytest.mark.proof)])
def test_the_best_row_by_bounds(first: int, count: int) -> None:
    found = tables = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table = narrowed(random_table(rng), rng)
        if table.narrow is None:
            continue
        starts, length, room = random_starts(table, rng), int(rng.integers(1, 6)), int(rng.integers(3))
        rows, grid = all_rows(table, length, starts, room), grid_of(table, length, starts, room)
        if not len(rows):
            continue
        tables += 1
        for _ in range(6):
            partial = rows[rng.integers(len(rows))].astype(np.int32)
            partial[rng.random(length) < rng.random()] = MASKED
            scores = rng.normal(size=(length, table.classes))
            scores[:, :FIRST] -= 1e9 * (rng.random(FIRST) < 0.3)
            masked = np.flatnonzero(partial == MASKED)
            most = scores[masked, left_of(rows, partial)[:, masked]].sum(1).max()
            with table.sets.lock:
                best = best_by_bounds(grid, partial, RowBounds(grid, partial).wide, scores)
            assert best is not None, (seed, partial)
            assert (rows == best).all(1).any(), (seed, partial, best)
            assert scores[masked, best[masked]].sum() == pytest.approx(most), (seed, partial)
            found += len(masked) > 1
    assert found > tables > count / 5
