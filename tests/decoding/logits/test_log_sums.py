"""The mass before and after a mask, against float64 over all logits."""

import math

import numpy as np
import pytest
import torch

from grammarlm.decoding.logits.log_sums import LogSums
from grammarlm.kernels.entries import allowed_sums
from grammarlm.kernels.reference import apply_mask as reference


def exact(logits: np.ndarray) -> float:
    """log of the sum of exp, in float64."""
    top = logits.max(initial=-np.inf)
    return float(top + np.log(np.exp(logits.astype(np.float64) - top).sum())) if top > -np.inf else -math.inf


@pytest.mark.parametrize("width", [1, 31, 32, 33, 64, 1000, 4097])
def test_the_kernel_equals_its_reference(width: int) -> None:
    rng = np.random.default_rng(width)
    for share in (0, 0.01, 0.5, 0.99, 1):
        values = rng.random(width, np.float32) ** 8
        bits = rng.random(32 * -(-width // 32)) < share
        mask = np.packbits(bits, bitorder="little").view(np.int32)
        rows, places, found = np.array([1, 0, 1]), np.array([0, -1, 1]), np.empty(3)
        table, masks = np.stack([values, values[::-1]]), np.stack([mask, ~mask])
        allowed_sums(
            table.ctypes.data, width, width, masks.ctypes.data, masks.shape[1],
            rows.ctypes.data, places.ctypes.data, 3, found.ctypes.data,
        )  # fmt: skip
        wanted = [
            reference.allowed_sum(table[r], masks[p] if p >= 0 else None) for r, p in zip(rows, places, strict=True)
        ]
        assert found.tolist() == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("width", [40, 1000])
@pytest.mark.parametrize("size", [40, 37])
@pytest.mark.parametrize("spread", [0.0, 3.0, 60.0, 3000.0])
def test_masses_are_those_of_float64(width: int, size: int, spread: float) -> None:
    rng = np.random.default_rng(int(spread) + width + size)
    logits = torch.tensor(rng.normal(0, spread, (6, width)), dtype=torch.float32)
    logits[0, :5] = -math.inf
    logits[1, 0] = 1e30 if spread > 100 else 200.0  # all that is allowed lies far below the best
    sums = LogSums()
    for turned in (logits, logits.T.contiguous().T):  # any strides, and the memory of the turn before
        assert sums.of(turned) == pytest.approx([exact(row) for row in logits.numpy()], rel=1e-6, abs=1e-5)
        for row in range(6):
            for share in (0.0, 0.05, 0.5, 1.0):
                bits = rng.random(32 * -(-size // 32)) < share
                bits[0] &= row != 1
                mask = np.packbits(bits, bitorder="little").view(np.int32)
                masked = np.where(reference.mask_bits(mask[None], size)[0], logits.numpy()[row, :size], -np.inf)
                found = sums.of_allowed([row], mask[None], np.array([0]), masked[None])
                assert found == pytest.approx([exact(masked)], rel=1e-6, abs=1e-5)
            whole = logits.numpy()[row, :size]
            found = sums.of_allowed([row], None, np.array([-1]), whole[None])
            assert found == pytest.approx([exact(whole)], rel=1e-6, abs=1e-5)


def test_logits_that_are_no_distribution_have_no_finite_mass() -> None:
    logits = torch.zeros(4, 50)
    logits[0, 7], logits[1, 7], logits[2] = math.nan, math.inf, -math.inf
    found = LogSums().of(logits)
    assert [math.isfinite(mass) for mass in found] == [False, False, False, True]
    assert found[3] == pytest.approx(math.log(50))
