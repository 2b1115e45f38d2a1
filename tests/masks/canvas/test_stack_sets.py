"""Sets of stacks by kernels against sets of tuples, and what they are asked again after they were forgotten."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest

from grammarlm.masks.canvas.classes import FIRST, STOP
from grammarlm.masks.canvas.stack import set_store
from grammarlm.masks.canvas.stack.grammars.table_maker import TableMaker
from grammarlm.masks.canvas.stack.sets import StackSets
from grammarlm.masks.canvas.stack.table import StackTable
from grammarlm.masks.protocol import FINISHED
from tests.counts import tiers
from tests.masks.canvas.stack_tables import (
    BEGIN,
    all_rows,
    following,
    grid_of,
    is_completable,
    random_starts,
    random_table,
)

Place = tuple[int, tuple[int, ...]]


def acyclic_tables(first: int, count: int):
    """Tables whose micro points do not go round in a circle, with their seeds."""
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table = random_table(rng)
        if not table.has_circles:
            yield seed, rng, table


def after(table: StackTable, places: set[Place], token_class: int) -> set[Place]:
    if token_class >= 0:
        return set(following(table, frozenset(places), token_class))
    open_table = opened(table)
    return set().union(*(following(open_table, frozenset(places), k) for k in range(STOP, table.classes)))


@functools.lru_cache(maxsize=1)  # tables have large arrays
def opened(table: StackTable) -> StackTable:
    """Without the edges that masked tokens do not take."""
    count = len(table.edge_control) - table.given_edges
    return ordered(table, np.arange(count), 0)


def ordered(table: StackTable, order: np.ndarray, given: int) -> StackTable:
    control, point, kind = (edges[order] for edges in (table.edge_control, table.edge_point, table.edge_kind))
    return dataclasses.replace(table, edge_control=control, edge_point=point, edge_kind=kind, given_edges=given)


def with_given_edges(table: StackTable) -> StackTable:
    """The edges that class FIRST alone takes are for given tokens."""
    is_given = np.array([classes == (FIRST,) for classes in table.edge_classes])
    return ordered(table, np.argsort(is_given, kind="stable"), int(is_given.sum()))


def state_of(sets: StackSets, places: set[Place]) -> int:
    stacks: dict[int, set[tuple[int, ...]]] = {}
    for control, stack in places:
        stacks.setdefault(control, set()).add(stack)
    return sets.state(stacks)


@pytest.mark.parametrize("kind", ["all stacks", "admitted", "given edges"])
@tiers("first, count", (0, 25), (25, 2000))
def test_states_are_the_stacks_that_rows_lead_to(first: int, count: int, kind: str) -> None:
    """Forward: the state of all (control, stack) that plain enumeration finds has the very number. Backward: a place is in the
    state iff some completion of the rest leads to the end; that of points is looked at through the classes."""
    tried = 0
    for seed, rng, made in acyclic_tables(first, count):
        table = with_given_edges(made) if kind == "given edges" else made
        starts, sets = random_starts(table, rng), table.sets
        if kind != "all stacks":  # then stacks that nothing leads to are left out: no place that is met here
            sets.admit(starts)
        places, row = set(starts), rng.integers(STOP, table.classes, 4).astype(np.int32)
        row[rng.random(4) < 0.6] = -1
        states = sets.forward(state_of(sets, places), row)
        before, inner = sets.backward(row, sets.end(0))
        for i, token_class in enumerate(row.tolist()):
            ends = [ends_within(table, {place}, row[i:].tolist()) for place in sorted(places)]
            met = [sets.meet(state_of(sets, {place}), int(before[i])) for place in sorted(places)]
            assert met == ends, (seed, i)
            tried += len(ends)
            allowed = [
                k
                for k in range(STOP, table.classes)
                if ends_within(table, after(opened(table), places, k), row[i + 1 :].tolist())
            ]
            assert np.flatnonzero(sets.classes(int(states[i]), int(inner[i]))).tolist() == allowed, (seed, i)
            places = after(table, places, token_class)
            assert int(states[i + 1]) == state_of(sets, places), (seed, i)
            assert sets.has_stacks(int(states[i + 1])) == bool(places)
    assert tried > count


def ends_within(table: StackTable, places: set[Place], row: list[int]) -> bool:
    for token_class in row:
        places = after(table, places, token_class)
    return any(control == FINISHED and not stack for control, stack in places | after(table, places, STOP))


@pytest.mark.parametrize("kind", ["common points", "rest"])
@tiers("first, count", (0, 12), (12, 300))
def test_states_of_many_controls(first: int, count: int, kind: str, monkeypatch) -> None:
    """Edges to the points that most controls lead to are bits, the rest stand apart: the state of what plain enumeration finds has
    the very number."""
    if kind == "rest":
        monkeypatch.setattr(set_store, "MOST_COMMON", 0)
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table = wide_table(rng)
        sets = StackSets(table)
        here = {(int(c), STACKS[i % len(STACKS)]) for i, c in enumerate(rng.integers(BEGIN, table.controls, 30))}
        row = np.where(rng.random(7) < 0.7, -1, rng.integers(FIRST, table.classes, 7)).astype(np.int32)
        states = sets.forward(state_of(sets, here), row)
        for i, token_class in enumerate(row.tolist()):
            here = after(table, here, token_class)
            assert int(states[i + 1]) == state_of(sets, here), (seed, i)


STACKS = (), (1,), (2,), (1, 2), (2, 1)


def wide_table(rng: np.random.Generator) -> StackTable:
    """Many controls, most of which lead to the next ones: what differs somewhere differs in few of them."""
    controls, symbols, classes = int(rng.integers(100, 200)), 3, FIRST + 4
    maker = TableMaker(controls, symbols)
    for control in range(BEGIN, controls):
        for _ in range(int(rng.integers(1, 4))):
            near = BEGIN + (control + int(rng.integers(0, 4))) % (controls - BEGIN)
            pops, pushes = ((), ()) if rng.random() < 0.95 else (rng.integers(1, symbols, n).tolist() for n in (1, 1))
            maker.effect(control, int(rng.integers(FIRST, classes)), near, tuple(pops), tuple(pushes))
        if rng.random() < 0.2:
            maker.end(control, ())
    return maker.table(classes)


def test_a_place_that_nothing_led_to_is_admitted_later() -> None:
    """Grids of one table that begin in different places: each allows what enumeration finds, also by passes made before."""
    grown = 0
    for seed, rng, table in acyclic_tables(0, 40):
        first = grid_of(table, 3, [(BEGIN, ())], room=1)
        row = np.full(3, -1, np.int32)
        before = first.passes(row, None)
        known = [before.classes_at(i).tolist() for i in range(3)]
        generation = table.sets.generation
        starts = [(BEGIN, tuple(rng.integers(1, table.symbols, 3).tolist()))]
        other = grid_of(table, 3, starts, room=1).passes(row, None)
        for grid_starts, passes in ((starts, other), ([(BEGIN, ())], before)):
            rows = all_rows(table, 3, grid_starts, 1)
            assert passes.is_completable == bool(len(rows)), seed
            for i in range(3):
                assert np.flatnonzero(passes.classes_at(i)).tolist() == np.unique(rows[:, i]).tolist(), (seed, i)
        assert [before.classes_at(i).tolist() for i in range(3)] == known, seed
        grown += table.sets.generation is not generation
    assert grown > 5


def test_rows_that_begin_at_one_place_after_another() -> None:
    """What was found out for those before is kept where no stack within a token is new."""
    kept, forgotten = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table, length, room = random_table(rng), int(rng.integers(1, 4)), int(rng.integers(0, 3))
        known: object = None
        for starts in (random_starts(table, rng)[:1] for _ in range(4)):
            grid, rows = grid_of(table, length, starts, room), all_rows(table, length, starts, room)
            passes = grid.passes(np.full(length, -1, np.int32), None)
            for position in range(length):
                want = np.isin(np.arange(table.classes), rows[:, position])
                assert (passes.classes_at(position) == want).all(), (seed, starts)
            kept += known is table.sets.generation
            forgotten += known not in (None, table.sets.generation)
            known = table.sets.generation
    assert min(kept, forgotten) > 10


@tiers("first, count", (0, 10), (10, 300))
def test_long_rows_of_several_regions(first: int, count: int) -> None:
    """Rows longer than enumeration goes, with runs of masked tokens before, between and after given ones, from stacks deeper than
    the room closes or not: each class of each position is put in its place."""
    impossible = 0
    for seed, rng, table in acyclic_tables(first, count):
        length, room = int(rng.integers(8, 14)), int(rng.integers(0, 9))
        starts = [(BEGIN, tuple(rng.integers(1, table.symbols, rng.integers(0, 6)).tolist()))]
        grid = grid_of(table, length, starts, room)
        whole = grid.passes(np.full(length, -1, np.int32), None)
        row = whole.some(rng.random((length, table.classes))) if whole.is_completable else whole.row.copy()
        row[np.repeat(rng.random(length) < 0.7, rng.integers(1, 4, length))[:length]] = -1
        passes = grid.passes(row, None)
        assert passes.is_completable == is_completable(table, row.tolist(), starts, room)
        for i in range(length):
            for k in range(STOP, table.classes):
                put = row.tolist()
                put[i] = k
                expected = passes.is_completable and is_completable(table, put, starts, room)
                assert passes.classes_at(i)[k] == expected, (seed, row, i, k)
        impossible += not passes.is_completable
    assert 0 < impossible < count


def test_a_set_has_one_number_however_it_is_made() -> None:
    rng, table = np.random.default_rng(1), next(t for _, _, t in acyclic_tables(0, 60) if t.symbols > 2)
    sets = table.sets
    every = [stack for n in range(4) for stack in itertools.product(range(1, table.symbols), repeat=n)]
    numbers: dict[frozenset[tuple[int, ...]], int] = {}
    for _ in range(200):
        chosen = frozenset(every[i] for i in rng.choice(len(every), int(rng.integers(1, 6)), replace=False))
        found = sets.state({BEGIN: set(chosen)})
        assert numbers.setdefault(chosen, found) == found
    assert len(set(numbers.values())) == len(numbers)


def test_what_was_forgotten_is_found_again(monkeypatch) -> None:
    """A grid's passes outlive the records: numbers of a generation are never read in another."""
    for seed, rng, table in acyclic_tables(0, 20):
        grid = grid_of(table, 4, random_starts(table, rng))
        rows = [
            np.where(rng.random(4) < 0.7, -1, rng.integers(STOP, table.classes, 4)).astype(np.int32) for _ in range(3)
        ]
        passes = [grid.passes(row, None) for row in rows]
        known = [[one.classes_at(i).tolist() for i in range(4)] for one in passes]
        monkeypatch.setattr(set_store, "MANY_RECORDS", 0)
        fresh = [grid.passes(row, None) for row in rows]
        assert [[one.classes_at(i).tolist() for i in range(4)] for one in fresh] == known, seed
        assert [[one.classes_at(i).tolist() for i in range(4)] for one in passes] == known, seed
        monkeypatch.undo()


def test_small_arrays_grow(monkeypatch) -> None:
    """With room for almost nothing every question is asked several times, and has the same answer."""
    for seed, rng, table in acyclic_tables(0, 20):
        starts, row = random_starts(table, rng), np.full(6, -1, np.int32)
        with monkeypatch.context() as patch:
            for name, size in (("RECORDS", 2), ("WORDS", 8), ("PAIRS", 8), ("FRAMES", 2), ("ANSWERS", 2)):
                patch.setattr(set_store, f"FIRST_{name}", size)
            small = StackSets(table)
        large = StackSets(table)
        found = []
        for sets in (small, large):
            states = sets.forward(state_of(sets, set(starts)), row)
            before, inner = sets.backward(row, sets.end(2))
            rows = [sets.classes(int(s), int(n)).tolist() for s, n in zip(states, inner, strict=False)]
            found.append((sets.meet(int(states[0]), int(before[0])), rows))
        assert found[0] == found[1], seed
