"""Class bits to mask words and into logits, against their plain reference, bit for bit."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grammarlm.kernels.reference import apply_mask as reference_masks
from grammarlm.kernels.reference import canvas as reference

pytest.importorskip("triton", reason="Triton is not installed: pip install grammarlm[gpu]")
from grammarlm.kernels.gpu.canvas_rows import apply_class_rows_, expand_rows

INTEGERS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
SIZES = [(1, 1), (31, 1), (32, 5), (33, 40), (1000, 31), (1024, 32), (4097, 33), (2100, 700)]  # tokens, classes


def some_rows(rng, batch, tokens, classes):  # type: ignore[no-untyped-def]
    """(class bits, class_of): rows that allow nothing, everything, and some; bits beyond the classes are set at random."""
    class_of = rng.integers(0, classes, tokens).astype(np.int32)
    bits = rng.integers(-(2**31), 2**31, (batch, -(-classes // 32) + 1)).astype(np.int32)
    bits[0] = 0
    if batch > 1:
        bits[1] = -1
    return bits, class_of


def poisoned(rng, shape, dtype, device):  # type: ignore[no-untyped-def]
    """Logits of random bits, every kind of NaN included."""
    info = torch.iinfo(INTEGERS[dtype])
    bits = torch.from_numpy(rng.integers(info.min, info.max, shape, endpoint=True)).to(INTEGERS[dtype])
    return bits.to(device).view(dtype)


def check_applied(memory, logits, bits, class_of, device):  # type: ignore[no-untyped-def]
    """`logits` views `memory`, of which nothing but what is forbidden may change."""
    integers = INTEGERS[memory.dtype]
    expected = memory.cpu().view(integers).clone()
    view = expected.as_strided(logits.shape, logits.stride(), logits.storage_offset())
    allowed = reference_masks.mask_bits(reference.expand_rows(bits, class_of), logits.shape[1])
    view[torch.from_numpy(~allowed)] = torch.tensor(-torch.inf, dtype=memory.dtype).view(integers)
    there = (torch.from_numpy(array).to(device) for array in (bits, class_of))
    assert apply_class_rows_(logits, *there) is logits
    assert torch.equal(memory.cpu().view(integers), expected)


@pytest.mark.parametrize("kind", [np.int32, np.int16])
@pytest.mark.parametrize(("tokens", "classes"), SIZES)
def test_expanded(tokens, classes, kind, device):
    bits, class_of = some_rows(np.random.default_rng(tokens), 5, tokens, classes)
    found = expand_rows(*(torch.from_numpy(array).to(device) for array in (bits, class_of.astype(kind))))
    assert found.dtype == torch.int32
    assert found.cpu().numpy().tolist() == reference.expand_rows(bits, class_of).tolist()


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize(("tokens", "classes"), SIZES)
def test_applied(tokens, classes, dtype, device):
    rng = np.random.default_rng(tokens)
    bits, class_of = some_rows(rng, 5, tokens, classes)
    memory = poisoned(rng, (7, tokens + 7), dtype, device)
    check_applied(memory, memory[1:6, 3 : 3 + tokens], bits, class_of, device)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_aligned_rows_of_long_runs(dtype, device):
    """Vectors of logits that are kept, overwritten and mixed, where vector accesses fit."""
    rng = np.random.default_rng(1)
    class_of = np.repeat(rng.integers(0, 40, 128), 32).astype(np.int32)
    class_of[rng.integers(0, 4096, 60)] = 39
    memory = poisoned(rng, (9, 4096), dtype, device)
    check_applied(memory, memory, rng.integers(-(2**31), 2**31, (9, 2)).astype(np.int32), class_of, device)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("width", [1000, 3000])
def test_logits_narrower_and_wider_than_the_vocabulary(width, dtype, device):
    """Columns without a token are forbidden."""
    rng = np.random.default_rng(width)
    bits, class_of = some_rows(rng, 2, 2100, 50)
    memory = poisoned(rng, (2, width), dtype, device)
    check_applied(memory, memory, bits, class_of, device)


@pytest.mark.parametrize("layout", ["columns", "steps"])
def test_any_strides(layout, device):
    rng = np.random.default_rng(2)
    bits, class_of = some_rows(rng, 3, 700, 90)
    memory = poisoned(rng, (700, 5) if layout == "columns" else (3, 1500), torch.float32, device)
    check_applied(memory, memory[:, 1:4].T if layout == "columns" else memory[:, 3:1403:2], bits, class_of, device)


def test_more_classes_than_sixteen_bits_count(device):
    rng = np.random.default_rng(3)
    class_of = rng.permutation(70_000).astype(np.int32)
    bits = rng.integers(-(2**31), 2**31, (1, 2188)).astype(np.int32)
    found = expand_rows(*(torch.from_numpy(array).to(device) for array in (bits, class_of)))
    assert found.cpu().numpy().tolist() == reference.expand_rows(bits, class_of).tolist()
    memory = poisoned(rng, (1, 70_000), torch.float16, device)
    check_applied(memory, memory, bits, class_of, device)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="takes minutes in Triton's interpreter")
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_a_batch_as_large_as_those_of_models(dtype, device):
    rng = np.random.default_rng(5)
    bits, class_of = some_rows(rng, 61, 128_256, 1_000)
    found = expand_rows(*(torch.from_numpy(array).to(device) for array in (bits, class_of)))
    assert np.array_equal(found.cpu().numpy(), reference.expand_rows(bits, class_of))
    memory = poisoned(rng, (61, 128_256), dtype, device)
    check_applied(memory, memory, bits, class_of, device)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(1, 300), st.integers(1, 90), st.integers(1, 4), st.sampled_from([*INTEGERS]), st.integers(0, 99))
def test_any_size(tokens, classes, batch, dtype, seed):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rng = np.random.default_rng(seed)
    bits, class_of = some_rows(rng, batch, tokens, classes)
    found = expand_rows(*(torch.from_numpy(array).to(device) for array in (bits, class_of)))
    assert found.cpu().numpy().tolist() == reference.expand_rows(bits, class_of).tolist()
    memory = poisoned(rng, (batch, tokens), dtype, device)
    check_applied(memory, memory, bits, class_of, device)
