"""First rows by stacks of few symbols against enumeration."""

import dataclasses

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.masks.canvas.classes import STOP
from grammarlm.masks.canvas.protocol import MASKED
from grammarlm.masks.canvas.stack import few_open
from grammarlm.masks.canvas.stack.few_open import FewOpen, may_help
from grammarlm.masks.canvas.stack.passes import StackPasses
from grammarlm.masks.canvas.views import view_of
from tests.masks.canvas.stack_tables import all_rows, grid_of, random_starts, random_table

LENGTH = 4


@pytest.mark.parametrize(("first", "count"), [(0, 30), pytest.param(60, 3000, marks=pytest.mark.proof)])
def test_first_rows_of_random_tables(first: int, count: int, monkeypatch) -> None:
    answered = asked_of_all = 0
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table = random_table(rng)
        if not may_help(table):
            continue
        starts, room = random_starts(table, rng), int(rng.integers(0, 3))
        rows = all_rows(table, LENGTH, starts, room)
        monkeypatch.setattr(few_open, "HEIGHT", 1 + seed % 3)
        for _ in range(6):
            row = rng.integers(STOP, table.classes, LENGTH).astype(np.int32)
            row[rng.random(LENGTH) < 0.7] = MASKED
            grid = grid_of(dataclasses.replace(table), LENGTH, starts, room)  # of which nothing is known
            few = FewOpen(grid, row)
            fits = rows[((rows == row) | (row == MASKED)).all(1)]
            assert len(fits) or not few.is_completable, seed
            for position in rng.permutation(LENGTH).tolist():
                others = np.arange(LENGTH) != position
                fits_there = rows[((rows == row) | (row == MASKED))[:, others].all(1)] if len(fits) else fits
                want = np.isin(np.arange(table.classes), fits_there[:, position])
                found = few.classes_at(position) if few.is_completable else None
                assert found is None or (found == want).all(), (seed, row, position)
                answered, asked_of_all = answered + (found is not None), asked_of_all + (found is None)
                new = grid_of(dataclasses.replace(table), LENGTH, starts, room)
                new.begins_with_few = True
                assert (StackPasses(new, row).classes_at(position) == want).all(), (seed, row, position)
    assert answered > count
    assert asked_of_all > count


def test_what_only_deep_stacks_allow() -> None:
    """A token of more brackets than few may stand where there is room for as many more."""
    tokens = [b"?", b"(", b")", b"(" * 12, b")" * 4, b"."]
    vocab = gl.Vocabulary(tokens, stop_ids=[5], special_ids=[0, 5])
    constraint = gl.compile(gl.Gbnf('root ::= pair*\npair ::= "(" pair* ")"\n'), vocab)
    for length, is_allowed in ((3, False), (4, True), (40, True)):
        allowed = constraint.canvas(length).allowed([MASKED] * length)
        assert allowed.test(0, [1, 2, 3]).tolist() == [True, False, is_allowed]
        deep = constraint.canvas(length).allowed([3] + [MASKED] * (length - 1))
        assert deep.test(1, [1, 2, 4]).tolist() == ([length > 5, length > 10, True] if is_allowed else [False] * 3)


def test_a_few_positions_are_asked_of_few_stacks() -> None:
    constraint = gl.compile(gl.Lark.library("json"), gl.Vocabulary([bytes([b]) for b in range(256)] + [b"."], [256]))
    grid = view_of(constraint).grid(64, None, 0, lambda: None)
    passes = StackPasses(grid, np.full(64, MASKED, np.int32))
    few = [passes.classes_at(i).copy() for i in range(few_open.FEW_ASKED)]
    assert may_help(grid.table)
    passes.classes_at(40)
    assert not may_help(grid.table)
    assert all((passes.classes_at(i) == one).all() for i, one in enumerate(few))
