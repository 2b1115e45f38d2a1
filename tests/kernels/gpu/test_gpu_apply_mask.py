"""apply_mask_gpu_ against its plain reference, bit for bit, on logits that lie inside poisoned memory."""

import numpy as np
import pytest
import torch

from grammarlm.kernels.reference import apply_mask as reference

pytest.importorskip("triton", reason="Triton is not installed: pip install grammarlm[gpu]")
from grammarlm.kernels.gpu.apply_mask import apply_mask_gpu_

DTYPES = torch.float32, torch.float16, torch.bfloat16
INTEGERS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
WIDTHS = 1, 31, 32, 33, 1000, 4097
DENSITIES = 0.0, 0.001, 0.5, 0.999, 1.0


def poisoned_logits(rng, batch, width, dtype, device, layout):  # type: ignore[no-untyped-def]
    """(memory, view): random bits all over a larger memory, every NaN and infinity included, and the logits inside it."""
    info = torch.iinfo(INTEGERS[dtype])
    shape = {"rows": (batch + 2, width + 7), "columns": (width + 7, batch + 2), "steps": (batch + 2, 2 * width + 7)}[
        layout
    ]
    bits = torch.from_numpy(rng.integers(info.min, info.max, shape, endpoint=True)).to(INTEGERS[dtype])
    memory = bits.to(device).view(dtype)
    if layout == "columns":
        return memory, memory[3 : 3 + width, 1 : 1 + batch].T
    return memory, memory[1 : 1 + batch, 3 :: 2 if layout == "steps" else 1][:, :width]


def random_mask(rng, rows, bits, density):  # type: ignore[no-untyped-def]
    """int32 [rows, words] with about `density` ones."""
    words = -(-bits // 32)
    ones = rng.random((rows, 32 * words)) < density
    return np.packbits(ones, axis=1, bitorder="little").view(np.int32)


def expected_memory(memory, logits, mask, rows):  # type: ignore[no-untyped-def]
    """A copy of `memory` in which the reference masked the part that `logits` views, as integers."""
    dtype = INTEGERS[memory.dtype]
    host = memory.cpu().view(dtype).clone()
    view = host.as_strided(logits.shape, logits.stride(), logits.storage_offset())
    bits = reference.mask_bits(mask, logits.shape[1])
    infinity = torch.tensor(-torch.inf, dtype=memory.dtype).view(dtype)
    for i, row in enumerate(range(len(view)) if rows is None else rows):
        if row >= 0:
            view[i][torch.from_numpy(~bits[row])] = infinity
    return host


def check(memory, logits, mask, rows, device, apply=apply_mask_gpu_):  # type: ignore[no-untyped-def]
    expected = expected_memory(memory, logits, mask, rows)
    apply(logits, torch.from_numpy(mask).to(device), None if rows is None else torch.tensor(rows, device=device))
    assert torch.equal(memory.cpu().view(expected.dtype), expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_equals_the_reference(width, dtype, device):
    rng = np.random.default_rng(width)
    for density in DENSITIES:
        memory, logits = poisoned_logits(rng, 3, width, dtype, device, "rows")
        check(memory, logits, random_mask(rng, 3, width, density), None, device)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["columns", "steps"])
def test_any_strides(layout, dtype, device):
    rng = np.random.default_rng(1)
    memory, logits = poisoned_logits(rng, 5, 1000, dtype, device, layout)
    check(memory, logits, random_mask(rng, 5, 1000, 0.3), None, device)


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_rows_choose_repeat_and_spare(index_dtype, device):
    rng = np.random.default_rng(2)
    memory, logits = poisoned_logits(rng, 6, 777, torch.float32, device, "rows")
    check(memory, logits, random_mask(rng, 4, 777, 0.5), np.array([3, -1, 0, 0, -1, 3], index_dtype), device)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("mask_bits", [32, 4064, 4096, 4160, 9000])
def test_masks_narrower_and_wider_than_the_logits(mask_bits, dtype, device):
    rng = np.random.default_rng(mask_bits)
    memory, logits = poisoned_logits(rng, 2, 4100, dtype, device, "rows")
    check(memory, logits, random_mask(rng, 2, mask_bits, 0.5), None, device)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_mask_rows_may_be_apart(dtype, device):
    rng = np.random.default_rng(3)
    memory, logits = poisoned_logits(rng, 3, 500, dtype, device, "rows")
    mask = random_mask(rng, 6, 640, 0.5)
    expected = expected_memory(memory, logits, mask[::2, :16], None)
    apply_mask_gpu_(logits, torch.from_numpy(mask).to(device)[::2, :16])
    assert torch.equal(memory.cpu().view(expected.dtype), expected)


def test_aligned_rows_of_every_kind_of_word(device):
    """Whole words of ones and zeros between mixed ones, on rows that vector accesses fit."""
    rng = np.random.default_rng(4)
    memory = torch.from_numpy(rng.standard_normal((4, 2048), np.float32)).to(device)
    mask = np.repeat(rng.choice(np.array([0, -1, 1, -2, 2**31 - 1, -(2**31)], np.int32), (4, 64)), 1, axis=1)
    check(memory, memory, mask, None, device)
