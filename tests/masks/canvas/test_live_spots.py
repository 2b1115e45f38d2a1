"""What bounds leave open (masks/canvas/stack/large/live_spots.py), against enumeration: on random tables, and on small grammars."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack import passes
from grammarlm.masks.canvas.stack.grammars import network
from grammarlm.masks.canvas.stack.large import live_spots, narrow
from grammarlm.masks.canvas.stack.large.live_spots import LiveSpots
from grammarlm.masks.canvas.stack.large.narrow import RowBounds
from tests.masks.canvas.canvas_law import Case
from tests.masks.canvas.lark_cases import CALLS, LEVELS, by_lark
from tests.masks.canvas.stack_tables import all_rows, grid_of, random_starts, random_table

BLOCKS = 'start: part*\npart: "{" part* "}" | "if" NAME part | NAME "=" NAME ";"\nNAME: /[a-z]+/\n%ignore " "\n'
CASES = {
    "calls": (CALLS, [b"?", b"f", b"if", b"(", b")", b",", b"+", b";", b"+x", b");", b"."], 5),
    "blocks": (BLOCKS, [b"?", b"if", b"i", b"=", b"x;", b"{", b"}", b"}}", b"{ if", b" ", b";"], 5),
    "levels": (LEVELS, [b"?", b"x", b"-x", b"+", b"(", b")", b"[x", b"]", b"))", b"?x:", b"|(", b"."], 4),
}


def left_of(rows: np.ndarray, partial: np.ndarray) -> np.ndarray:
    given = partial != MASKED
    return rows[(rows[:, given] == partial[given]).all(1)]


@pytest.mark.parametrize(("first", "count"), [(0, 40), pytest.param(40, 800, marks=pytest.mark.proof)])
def test_all_classes_by_live_spots_alone(first: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing narrow helps, so each verdict is of all stacks."""
    monkeypatch.setattr(live_spots, "STEPS_BEHIND", 0)
    yes = no = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table = random_table(rng)
        table = replace(table, few=np.flatnonzero(rng.random(table.classes) < 0.3).astype(np.int32))
        if table.narrow is None:  # micro points that go round in a circle
            continue
        starts, length, room = random_starts(table, rng), int(rng.integers(1, 6)), int(rng.integers(3))
        rows, grid = all_rows(table, length, starts, room), grid_of(table, length, starts, room)
        if not len(rows):
            continue
        partial = np.full(length, MASKED, np.int32)
        like = None
        while True:
            want = left_of(rows, partial)
            holes = np.flatnonzero(partial == MASKED)
            if not len(holes):
                break
            with table.sets.lock:
                bounds = RowBounds(grid, partial.copy())
                nothing = np.zeros_like(bounds.wide.left)
                nowhere = SimpleNamespace(left=nothing, right=nothing)
                like = LiveSpots(grid, partial.copy(), bounds.wide, bounds.edge, like)
                for position in rng.permutation(holes).tolist():
                    classes = np.arange(STOP, table.classes)
                    found = like.leads(position, classes, nowhere)
                    assert found is not None
                    may = np.isin(classes, want[:, position])
                    assert (found == may).all(), (seed, partial, position)
                    yes, no = yes + int(found.sum()), no + int((~found).sum())
                assert like.leads_through(nowhere)
            at = int(rng.choice(holes))
            partial[at] = rng.choice(np.unique(want[:, at]))
    assert yes > 100
    assert no > 100


@pytest.mark.parametrize("alone", [-1, 32])
@pytest.mark.parametrize("count", [6, pytest.param(12, marks=pytest.mark.proof)])
@pytest.mark.parametrize("name", CASES)
def test_no_row_asks_for_all_stacks(name: str, count: int, alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even at tokens that are given, where C once took ten seconds."""

    def refuse(*_: object) -> None:
        raise AssertionError("all stacks were asked for")

    monkeypatch.setattr(network, "MANY_STATES", 0)
    monkeypatch.setattr(narrow, "MOST_ALONE", alone)
    monkeypatch.setattr(passes.RowStates, "__init__", refuse)
    text, tokens, length = CASES[name]
    case = Case(gl.Lark(text), tokens, by_lark(text))
    rows, rng, canvas, given = case.rows(length), np.random.default_rng(6), case.constraint.canvas(length), 0
    for _ in range(count):
        partial = rows[rng.integers(len(rows))].copy()
        partial[rng.random(length) < 0.6] = MASKED
        for position in range(length):
            open_there = partial.copy()
            open_there[position] = MASKED
            may = np.unique(left_of(rows, open_there)[:, position])
            allowed = canvas.allowed(partial.tolist()).row(position)
            assert np.flatnonzero(np.unpackbits(allowed.view(np.uint8), bitorder="little")).tolist() == may.tolist()
            given += partial[position] != MASKED
    assert given > 5 * count // 6
