"""The kernels of automata over tokens, on CPU and GPU, against their plain reference, bit for bit, in poisoned memory."""

import weakref
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from grammarlm.device import host_csr as cpu
from grammarlm.kernels import entries
from grammarlm.kernels.reference import csr as reference_csr
from grammarlm.layout.csr import DEAD, FIRST, MISS, Csr
from tests.mask_bits import ids_of

POISON = 0x5A5A5A5A
SHAPES = [(7, 1, 3), (40, 3, 12), (300, 10, 40), (3000, 94, 20), (2049, 65, 70)]  # size, words, states


def gpu() -> Any:
    pytest.importorskip("triton", reason="Triton is not installed: pip install grammarlm[gpu]")
    from grammarlm.kernels.gpu import csr

    return csr


def random_csr(rng: np.random.Generator, size: int, words: int, states: int) -> Csr:
    """Exceptions few and many, such as lead to DEAD and MISS, and poison between the lists."""
    rows = np.zeros((4, words), np.int32)
    for row, density in zip(rows[1:], (0.01, 0.5, 1.0), strict=True):
        bits = rng.random(32 * words) < density
        bits[size:] = False
        row[:] = np.packbits(bits, bitorder="little").view(np.int32)
    lists, first, used = [], [], 0
    for _ in range(states):
        chosen = rng.random(size) < rng.choice([0, 0.02, 0.3, 1.0])
        lists.append(np.flatnonzero(chosen).astype(np.int32))
        first.append(used)
        used += len(lists[-1]) + int(rng.integers(0, 3))
    tokens = np.full(used + 1, POISON, np.int32)
    for begin, found in zip(first, lists, strict=True):
        tokens[begin : begin + len(found)] = found
    return Csr(
        rows,
        rng.integers(0, 4, states, np.int32),
        rng.integers(0, states, states, np.int32),
        np.array(first, np.int32),
        np.array([len(found) for found in lists], np.int32),
        tokens,
        rng.integers(0, min(states, 6), used + 1, np.int32),
    )


def on(device: torch.device, arrays: Any) -> Any:
    return [torch.from_numpy(a).to(device) for a in arrays]


def run(
    module: ModuleType | SimpleNamespace, name: str, device: torch.device | None, arguments: list[Any]
) -> list[np.ndarray]:
    """What a kernel leaves in its arguments."""
    arguments = [Csr(*map(np.copy, a)) if isinstance(a, Csr) else a.copy() for a in arguments]
    if device is None:
        getattr(module, name)(*arguments)
        return [a for a in arguments if not isinstance(a, Csr)]
    moved = [Csr(*on(device, a)) if isinstance(a, Csr) else torch.from_numpy(a).to(device) for a in arguments]
    getattr(module, name)(*moved)
    return [a.cpu().numpy() for a in moved if not isinstance(a, Csr)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_advance(shape, kind, device):
    rng = np.random.default_rng(shape[0])
    csr = random_csr(rng, *shape)
    module, place = (cpu, None) if kind == "cpu" else (gpu(), device)
    misses = 0
    for batch in (1, 5, 64, 200):
        states = rng.integers(0, shape[2], batch, np.int32)
        tokens = rng.integers(-2, 32 * shape[1] + 3, batch)
        tokens[: batch // 2] = rng.integers(0, shape[0], batch // 2)
        asked = np.full((batch, 2), POISON, np.int32)
        expected = run(reference_csr, "advance_", None, [csr, states, tokens, asked])
        found = run(module, "advance_", place, [csr, states, tokens, asked])
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(one, other)
        misses += int((expected[2][:, 0] != POISON).sum())
    assert misses or shape[2] < 4


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_masks_of_states(shape, kind, device):
    rng = np.random.default_rng(shape[0])
    csr = random_csr(rng, *shape)
    module, place = (cpu, None) if kind == "cpu" else (gpu(), device)
    states = rng.integers(0, shape[2], 9, np.int32)
    mask = np.full((11, shape[1]), POISON, np.int32)
    expected = run(reference_csr, "fill_mask_", None, [csr, states, mask])
    found = run(module, "fill_mask_", place, [csr, states, mask])
    assert np.array_equal(found[1], expected[1])
    assert (found[1][9:] == POISON).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_rows_are_gathered(shape, kind, device):
    rng = np.random.default_rng(shape[0])
    rows = rng.integers(-(2**31), 2**31 - 1, (6, shape[1]), np.int32)
    module, place = (cpu, None) if kind == "cpu" else (gpu(), device)
    numbers = rng.integers(-1, 6, 13, np.int32)
    mask = np.full((15, shape[1]), POISON, np.int32)
    expected = run(reference_csr, "gather_rows_", None, [rows, numbers, mask])
    found = run(module, "gather_rows_", place, [rows, numbers, mask])
    assert np.array_equal(found[2], expected[2])


def test_the_reference_by_hand():
    """One state, two exceptions: token 3 is refused though the base row has it, token 40 is allowed though it has not."""
    rows = np.array([[0, 0], [0b1011 << 1, 0]], np.int32)  # tokens 1, 2, 4
    rows[1, 0] |= 1 << 3
    arrays = [[0, 0, 0, 1], [0, 0, 0, 3], [0, 0, 0, 0], [0, 0, 0, 3], [3, 40, 50], [DEAD, FIRST + 1, MISS]]
    csr = Csr(rows, *(np.array(a, np.int32) for a in arrays))
    mask = np.zeros((1, 2), np.int32)
    reference_csr.fill_mask_(csr, np.array([FIRST], np.int32), mask)
    assert ids_of(mask[0]) == [1, 2, 4, 40, 50]
    states, asked = np.full(5, FIRST, np.int32), np.zeros((5, 2), np.int32)
    reference_csr.advance_(csr, states, np.array([1, 3, 40, 50, 64]), asked)
    assert states.tolist() == [FIRST, DEAD, FIRST + 1, MISS, DEAD]
    assert asked[3].tolist() == [FIRST, 50]


def test_the_table_of_addresses_lives_while_a_kernel_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel has the address alone, so an array that nobody else holds would be freed before it runs."""
    csr = random_csr(np.random.default_rng(3), 70, 3, 5)
    tables: list[weakref.ref[np.ndarray]] = []
    addresses, called = cpu._addresses, []

    def watched(*arguments: Any) -> np.ndarray:
        table = addresses(*arguments)
        tables.append(weakref.ref(table))
        return table

    def kernel(address: int, *_: int) -> None:
        table = tables[-1]()
        assert table is not None
        assert entries.address_of(table) == address
        called.append(address)

    monkeypatch.setattr(cpu, "_addresses", watched)
    monkeypatch.setattr(entries, "csr_advance", kernel, raising=False)
    monkeypatch.setattr(entries, "csr_fill_mask", kernel, raising=False)
    states, mask = np.full(2, FIRST, np.int32), np.zeros((2, 3), np.int32)
    cpu.advance_(csr, states, np.zeros(2, np.int64), np.zeros((2, 2), np.int32))
    cpu.fill_mask_(csr, states, mask)
    assert len(called) == 2
