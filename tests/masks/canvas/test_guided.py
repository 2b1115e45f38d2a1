"""Best completions and samples that are led by bounds of what follows, against enumeration of random tables."""

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from grammarlm.errors import LimitExceeded
from grammarlm.masks.canvas.scores import LOWEST, SoftmaxDraw
from grammarlm.masks.canvas.stack import guided
from grammarlm.masks.canvas.stack.contexts import Contexts
from grammarlm.masks.canvas.stack.heights import height_of
from grammarlm.masks.canvas.stack.passes import StackPasses
from grammarlm.masks.canvas.stack.table import StackTable
from tests.counts import tiers
from tests.masks.canvas.canvas_law import check_drawn, matching
from tests.masks.canvas.stack_tables import all_rows, grid_of, random_single_table, random_starts, random_table

Stack = tuple[int, ...]


Rows = Iterator[tuple[np.random.Generator, StackPasses, np.ndarray]]


def some_rows(first: int, count: int, make: Callable[..., StackTable] = random_table) -> Rows:
    """Partly filled rows of random tables that can be completed, and all their completions."""
    for seed in range(first, first + count):
        rng = np.random.default_rng(seed)
        table, length, more = make(rng), int(rng.integers(1, 6)), int(rng.integers(0, 3))
        starts = random_starts(table, rng)[:1] if make is random_single_table else random_starts(table, rng)
        rows, grid = all_rows(table, length, starts, more), grid_of(table, length, starts, more)
        for share in (0.3, 0.7, 1.0):
            if not len(rows):
                continue
            row = rows[rng.integers(len(rows))].astype(np.int32)
            row[rng.random(length) < share] = -1
            yield rng, grid.passes(row, None), matching(rows, row.tolist())


def kinds_of_scores(rng: np.random.Generator, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Any; many that are equal; all equal; large ones; some that are taken only where nothing else can be."""
    yield rng.standard_normal(shape) * 2
    yield rng.integers(0, 2, shape).astype(float)
    yield np.full(shape, -11.75)
    yield rng.standard_normal(shape) * 3000
    yield np.where(rng.random(shape) < 0.4, LOWEST, 0.0)


def sums_of(passes: StackPasses, rows: np.ndarray, scores: np.ndarray) -> np.ndarray:
    holes = np.flatnonzero(passes.row < 0)
    return scores[holes, rows[:, holes]].sum(1)


def led(passes: StackPasses, scores: np.ndarray, is_sum: bool, known: set[Stack] | None = None) -> guided.Guided:
    """The guide of a row, by states made for it, with bounds that know nothing of stacks, or some of these."""
    sets, grid = passes.grid.table.sets, passes.grid
    begin, height, rounds = grid.left_border(), 0, sets.rounds
    if not rounds:
        height = height_of(sets, begin, passes.row, lambda: None)
        rounds = height + 1
    _, inner = sets.backward(passes.row, grid.right_border(height), height=height)
    guide = guided.Guided(grid, passes.row, sets.forward(begin, passes.row), inner, scores, is_sum, rounds)
    if known is not None and guide.can_know_more:
        guide.know(Contexts(sets, known))
    return guide


def known_stacks(table: StackTable) -> list[set[Stack] | None]:
    """For bounds that know more and more: nothing, what is on top, all stacks of one symbol, and all of two."""
    one = {(symbol,) for symbol in range(1, table.symbols)}
    return [None, {()}, {(), *one}, {(), *one, *((a, b) for (a,) in one for (b,) in one)}]


@tiers("first, count", (0, 20), (20, 1500))
def test_the_best_completion_is_found_by_search(first: int, count: int) -> None:
    tried = 0
    for rng, passes, left in some_rows(first, count):
        for scores in kinds_of_scores(rng, (len(passes.row), passes.grid.table.classes)):
            sums = sums_of(passes, left, scores)
            led_there = [led(passes, scores, False, known).best() for known in known_stacks(passes.grid.table)]
            assert all(found is not None for found in led_there)
            for best in led_there:
                assert (left == best).all(1).any(), (passes.row, best)
                assert sums_of(passes, best[None], scores)[0] == pytest.approx(sums.max(), rel=1e-9)
            tried += len(left) > 1
    assert tried > count


@tiers("first, count", (0, 40), (40, 1500))
def test_no_completions_have_more_than_the_bound(first: int, count: int) -> None:
    loose, tighter = 0, 0
    for rng, passes, left in some_rows(first, count, random_single_table):
        scores = rng.standard_normal((len(passes.row), passes.grid.table.classes)) * 2
        sums = sums_of(passes, left, scores)
        for is_sum, least in ((False, sums.max()), (True, np.logaddexp.reduce(sums))):
            bounds = [led(passes, scores, is_sum, known).bound for known in known_stacks(passes.grid.table)]
            assert min(bounds) >= least - 1e-9
            assert sorted(bounds, reverse=True) == pytest.approx(bounds), "what knows more is no looser"
            loose += bounds[0] > least + 1e-3
            tighter += bounds[1] < bounds[0] - 1e-3
    assert loose, "then every try would succeed, and none would be worth a test"
    assert tighter, "to know more of stacks brought nothing"


@tiers("first, count, draws", (0, 40, 400), (40, 600, 1000))
def test_tries_have_the_law_of_rows_where_these_have_several_derivations(first: int, count: int, draws: int) -> None:
    compared, given_up = 0, 0
    for rng, passes, left in some_rows(first, count):
        grid = passes.grid
        if not 2 <= len(left) <= 12 or (grid.table.is_deterministic and len(grid.starts) == 1):
            continue
        scores = rng.standard_normal((len(passes.row), grid.table.classes))
        draw, found = SoftmaxDraw(rng), list[tuple[int, ...]]()
        guides = [led(passes, scores, True, known) for known in known_stacks(grid.table)]
        for turn in range(draws):
            row = guides[turn % len(guides)].drawn(draw, is_single=False, check=lambda: None)
            if row is None:  # too many tries ended early: values of all places would be asked
                break
            found.append(tuple(row.tolist()))
            row[:] = passes.row  # where the guide writes
        if len(found) < draws:
            given_up += 1
            continue
        check_drawn(found, left, sums_of(passes, left, scores), passes.row)
        compared += 1
    assert compared > 10
    assert given_up <= compared // 20


@tiers("first, count, draws", (20, 20, 300), (40, 600, 1000))
def test_samples_by_tries_have_the_law_of_rows(first: int, count: int, draws: int) -> None:
    compared, failed = 0, 0
    for rng, passes, left in some_rows(first, count, random_single_table):
        grid = passes.grid
        assert grid.table.is_deterministic
        if not 2 <= len(left) <= 12:
            continue
        scores = rng.standard_normal((len(passes.row), grid.table.classes))
        scores[rng.random(scores.shape) < 0.1] = -np.inf
        sums = sums_of(passes, left, scores)
        if np.isneginf(sums).all():
            with pytest.raises(ValueError, match="probability 0"):
                passes.sample(scores, SoftmaxDraw(rng))
            continue
        draw, guide = SoftmaxDraw(rng), led(passes, scores, is_sum=True)
        failed += guide.bound > np.logaddexp.reduce(sums) + 1e-3
        check_drawn((passes.sample(scores, draw) for _ in range(draws)), left, sums, passes.row)
        compared += 1
    assert compared > min(15, 3 * count // 8)
    assert failed > min(3, count // 20), "all tries succeeded"


@tiers("first, count, draws", (0, 8, 300), (8, 600, 1000))
def test_bounds_come_to_know_what_led_them_astray(
    monkeypatch: pytest.MonkeyPatch, first: int, count: int, draws: int
) -> None:
    """The law of samples and the best where each round of tries, and each search, is too short for the bounds before."""
    monkeypatch.setattr(guided, "FEW_PLACES", 3)
    monkeypatch.setattr(guided, "ROUNDS", 400 * (1,))
    monkeypatch.setattr(guided, "FEW_ROUNDS", 1)
    monkeypatch.setattr(guided, "MORE_STACKS", 1)
    known, knew = Counter[int](), guided.Guided.know

    def know(self: guided.Guided, contexts: Contexts) -> None:
        known[len(contexts.known)] += 1
        knew(self, contexts)

    monkeypatch.setattr(guided.Guided, "know", know)
    compared = 0
    for seed, make in ((first, random_single_table), (first + 5000, random_table)):
        for rng, passes, left in some_rows(seed, count, make):
            if not 2 <= len(left) <= 12:
                continue
            scores = rng.standard_normal((len(passes.row), passes.grid.table.classes)) * 2
            sums, draw = sums_of(passes, left, scores), SoftmaxDraw(rng)
            assert sums_of(passes, passes.best(scores)[None], scores)[0] == pytest.approx(sums.max())
            check_drawn((passes.sample(scores, draw) for _ in range(draws)), left, sums, passes.row)
            compared += 1
    assert compared > count // 3
    assert sum(times for stacks, times in known.items() if stacks > 1) > count // 2, known


def test_what_is_not_found_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fill is given up by name; samples are drawn of all sets of places, or by prefixes."""
    monkeypatch.setattr(guided, "FEW_PLACES", 1)
    monkeypatch.setattr(guided, "MOST_PLACES", (1,))
    monkeypatch.setattr(guided, "ROUNDS", ())
    given_up = 0
    for rng, passes, left in some_rows(0, 20):
        scores = rng.standard_normal((len(passes.row), passes.grid.table.classes))
        try:
            sums = sums_of(passes, left, scores)
            assert sums_of(passes, passes.best(scores)[None], scores)[0] == pytest.approx(sums.max())
        except LimitExceeded:
            given_up += 1
        assert (left == passes.sample(scores, SoftmaxDraw(rng))).all(1).any()
    assert given_up > 10


def test_a_row_of_which_all_is_given() -> None:
    for _, passes, left in some_rows(0, 10):
        whole = passes.grid.passes(left[0].astype(np.int32), None)
        scores = np.full((len(passes.row), passes.grid.table.classes), np.nan)  # never looked at
        assert (whole.best(scores) == left[0]).all()
        assert (whole.sample(scores, SoftmaxDraw(np.random.default_rng(0))) == left[0]).all()
