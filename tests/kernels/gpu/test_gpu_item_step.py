"""The item step of a GPU against plain numpy: which children, in which order, and what the logits sum to."""

import numpy as np
import pytest
import torch

from grammarlm.kernels.reference import item_step as reference
from tests.rounding import EPSILON

item_step = pytest.importorskip("grammarlm.kernels.gpu.item_step")


def items(rng: np.random.Generator, count: int, longest: int, vocabulary: int, ragged: bool) -> np.ndarray:
    """int32 [L + 1, N]: sorted rows, their columns apart."""
    cells = rng.integers(1, vocabulary + 1, (count, longest)).astype(np.int32)
    if ragged:
        cells[np.arange(longest) >= rng.integers(0, longest + 1, count)[:, None]] = 0
    cells = cells[np.lexsort(cells.T[::-1])]
    return np.ascontiguousarray(np.pad(cells, ((0, 0), (0, 1))).T)


def prefixes(rng: np.random.Generator, cells: np.ndarray, depth: int, count: int) -> np.ndarray:
    """int32 [E, 2]: the ranges of some prefixes of so many tokens, and an empty one."""
    found = [(0, 0)]
    for row in rng.integers(0, cells.shape[1], count):
        same = (cells[:depth] == cells[:depth, row : row + 1]).all(0)
        found.append((int(np.flatnonzero(same)[0]), int(np.flatnonzero(same)[-1]) + 1))
    return np.array(found, np.int32)


CASES = [
    # rows, longest, vocabulary, ragged, depth, stop, keep
    (100, 3, 5, False, 0, -1, 3),  # fewer tokens than rows: each is looked for
    (100, 3, 5, True, 1, 2, 4),
    (60, 3, 4, True, 3, 3, 1),
    (150, 2, 200, True, 0, -1, 20),  # fewer rows than tokens: they are read, in three blocks
    (200, 2, 150, False, 0, -1, 20),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(("kind", "is_allowed"), [("few values", False), ("odd ones", True)])
def test_best_children(case: tuple, is_allowed: bool, kind: str, device: torch.device) -> None:
    count, longest, vocabulary, ragged, depth, stop, keep = case
    rng = np.random.default_rng(sum(map(int, case)))
    cells = items(rng, count, longest, vocabulary, ragged)
    ranges = prefixes(rng, cells, depth, 2)
    if stop < 0 and ragged:  # rows that end here are no part of a prefix that goes on
        for i, (low, high) in enumerate(ranges):
            ranges[i] = low + int((cells[depth, low:high] == 0).sum()), high
    logits = rng.normal(0, 3, (len(ranges), vocabulary)).astype(np.float32)
    if kind == "few values":
        logits = np.round(logits / 4) * 4  # many ties, zeros of both signs
    if kind == "odd ones":
        logits[rng.random(logits.shape) < 0.3] = -np.inf
        logits[1] = -np.inf
        logits[2, :] = 5e4
    numbers, norms = item_step.best_children(
        *(torch.from_numpy(a).to(device) for a in (cells, ranges, logits)), depth, stop, keep, is_allowed
    )
    rows, values = (t.cpu().numpy() for t in item_step.rows_and_logits(numbers))
    expected, sums = reference.best_children(cells, ranges, logits, depth, stop, keep, is_allowed)
    for entry, children in enumerate(expected):
        got = [(int(r), float(v)) for r, v in zip(rows[entry], values[entry], strict=True) if v > -np.inf]
        assert got[:keep] == children
        if len(children) < keep:
            assert got == children
        if ranges[entry, 0] < ranges[entry, 1]:
            assert float(norms[entry]) == pytest.approx(sums[entry], rel=2 * EPSILON, abs=1e-5)


def test_a_number_that_is_none_is_never_taken(device: torch.device) -> None:
    cells = torch.tensor([[1, 2, 3], [0, 0, 0]], dtype=torch.int32, device=device)
    logits = torch.tensor([[float("nan"), 1.0, 2.0]], device=device)
    ranges = torch.tensor([[0, 3]], dtype=torch.int32, device=device)
    numbers, _ = item_step.best_children(cells, ranges, logits, 0, -1, 3, True)
    rows, values = item_step.rows_and_logits(numbers)
    assert rows[0, :2].tolist() == [2, 1]
    assert values[0, 2:].tolist() == [-np.inf] * (values.shape[1] - 2)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_spans(case: tuple, device: torch.device) -> None:
    count, longest, vocabulary, ragged, depth, _, _ = case
    rng = np.random.default_rng(count)
    cells = items(rng, count, longest, vocabulary, ragged)
    ranges = prefixes(rng, cells, depth, 30)
    starts = np.array([rng.integers(low, max(high, low + 1)) for low, high in ranges], np.int32)
    starts[0] = 0
    found = item_step.spans(*(torch.from_numpy(a).to(device) for a in (cells, starts, ranges[:, 1].copy())), depth)
    for got, expected in zip(found, reference.spans(cells, starts, ranges[:, 1], depth), strict=True):
        assert got.cpu().tolist() == expected.tolist()
