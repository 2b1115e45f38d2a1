"""The item kernels against their meaning in numpy: segments, selections, ends, ties, penalties, wide and narrow levels."""

import numpy as np
import pytest

import grammarlm as gl
from grammarlm.kernels.reference import items as reference_items
from grammarlm.layout.items import ALL_ROWS, FINISHED, Beams, Level, Sets
from grammarlm.masks.machines.items.index import ItemIndex
from grammarlm.retrieval import item_step
from grammarlm.retrieval.bits import selection_of

POISON = -77


def poisoned(searches, width, segments):
    beams = Beams.empty(searches, width, segments)
    for array in (beams.counts, beams.scores, beams.rows, beams.depths, beams.ranges, beams.parents, beams.tokens):
        array.fill(POISON)
    return beams


def roots(sets, width, stop):
    """All searches at their beginning, by the reference."""
    beams = Beams.empty(len(sets.selections), width, len(sets.segments))
    row = 0
    for search in range(len(sets.selections)):
        whole = np.array([(0, segment.low.shape[1]) for segment in sets.segments], np.int64)
        ends, going_on = reference_items.split(sets, search, whole, 0)
        if stop >= 0:
            going_on = first_selected(sets, search, whole)
        for ranges, is_open in ((ends, False), (going_on, True)):
            if (ranges[:, 0] < ranges[:, 1]).any() and (is_open or stop < 0):
                place = beams.counts[search]
                beams.rows[search, place] = row if is_open else FINISHED
                beams.ranges[search, place] = ranges
                beams.counts[search] += 1
                row += is_open
    return beams, row


def first_selected(sets, search, ranges):
    found = np.zeros_like(ranges)
    for s, selection in enumerate(sets.selections[search]):
        chosen = np.flatnonzero(reference_items.is_selected(selection, ranges[s, 1]))
        if len(chosen):
            found[s] = chosen[0], ranges[s, 1]
    return found


def random_set(rng, segments, tokens, longest, is_ragged):
    made = []
    for _ in range(segments):
        count = int(rng.integers(0, 40))
        rows = [
            rng.choice(tokens, int(rng.integers(0, longest + 1)) if is_ragged else longest).tolist()
            for _ in range(count)
        ]
        made.append(ItemIndex.build(gl.Tokens(rows)))
    selections = []
    for _ in range(int(rng.integers(1, 4))):
        share = rng.choice([0.0, 0.1, 0.5, 1.0])
        chosen = [selection_of(rng.random(len(index)) < share) for index in made]
        selections.append(tuple(ALL_ROWS if rng.random() < 0.3 else c for c in chosen))
    return Sets(tuple(made), tuple(selections))


def cells_of(segment):
    return np.unique([reference_items.column(segment, depth) for depth in range(len(segment.low))])


def random_level(rng, sets, depth, width, stop, rows, columns):
    """Logits with few values, so that scores are often equal; some are never taken. Only a few columns matter."""
    tokens = {cell - segment.shift for segment in sets.segments for cell in cells_of(segment)}
    used = sorted({int(token) for token in tokens if token >= 0} | {max(stop, 0)})
    values = np.array([0, -1, -2, -0.5, -np.inf, np.nan], np.float32)
    logits = np.full((rows, columns), -1, np.float32)
    logits[:, used] = rng.choice(values, (rows, len(used)), p=[0.3, 0.2, 0.2, 0.2, 0.05, 0.05])
    if rng.random() < 0.3:
        logits[:, used] = -rng.random((rows, len(used)), np.float32) * 4
    norms = rng.random(rows) if rng.random() < 0.5 else np.zeros(0)
    penalties = np.zeros((0, 0), np.float32)
    if rng.random() < 0.3:
        penalties = np.zeros((len(sets.selections), columns), np.float32)
        penalties[:, used] = rng.integers(0, 2, (len(sets.selections), len(used)))
    return Level(depth, width, stop, logits, norms, penalties)


def walk(rng, sets, columns, stop, widths):
    """Level by level, the same entries from both."""
    beams, rows = roots(sets, 2, stop)
    steps = 0
    for depth in range(12):
        if not rows:
            break
        width = int(rng.choice(widths))
        level = random_level(rng, sets, depth, width, stop, rows, columns)
        wanted, found = (poisoned(len(sets.selections), width, len(sets.segments)) for _ in range(2))
        want = reference_items.item_step(sets, beams, level, wanted)
        got = item_step.item_step(sets, beams, level, found)
        for name in ("counts", "scores", "rows", "depths", "ranges", "parents", "tokens"):
            a, b = getattr(wanted, name), getattr(found, name)
            empty = (a[..., 0] >= a[..., 1]) & (b[..., 0] >= b[..., 1]) if name == "ranges" else np.zeros((), bool)
            if name == "ranges":
                a, b = np.where(empty[..., None], 0, a), np.where(empty[..., None], 0, b)
            np.testing.assert_array_equal(a, b, err_msg=f"{name} at depth {depth}")
        assert [list(w) for w in want] == [list(g) for g in got]
        norms = np.full((2, rows), POISON, float)
        reference_items.allowed_norms(sets, beams, level, norms[0])
        item_step.allowed_norms(sets, beams, level, norms[1])
        np.testing.assert_allclose(norms[0], norms[1], rtol=1e-12, atol=1e-12)
        beams, rows, steps = found, len(got[0]), steps + 1
    return steps


@pytest.mark.parametrize("seed", range(60))
def test_small_sets(seed):
    rng = np.random.default_rng(seed)
    largest = int(rng.choice([5, 9, 70_000, 300_000, 1_100_000]))
    columns = 10 if largest < 10 else largest + 1
    tokens = np.unique(np.append(rng.integers(0, columns, 4), [0, largest]))
    sets = random_set(rng, int(rng.integers(1, 4)), tokens, int(rng.integers(1, 6)), rng.random() < 0.6)
    stop = int(rng.integers(0, columns)) if rng.random() < 0.4 else -1
    walk(rng, sets, columns, stop, [1, 2, 3, 7, 50] if columns < 100_000 else [1, 3])


@pytest.mark.parametrize("seed", range(4))
def test_wide_levels(seed):
    """Prefixes with more rows than an eighth of the vocabulary, so that tokens are looked up instead of read."""
    rng = np.random.default_rng(seed)
    indices = [ItemIndex.build(gl.Tokens(rng.integers(0, 200, (count, 3)))) for count in (3000, 500)]
    selections = [(ALL_ROWS, ALL_ROWS), tuple(selection_of(rng.random(len(i)) < 0.05) for i in indices)]
    assert walk(rng, Sets(tuple(indices), tuple(selections)), 200, -1, [5, 20]) == 3
