"""apply_mask_ on the CPU equals the reference bit for bit, and nothing outside the view it was given changes.

Logits are random bits, so that NaNs with payloads, infinities, denormals and both zeros are among them; they are compared as
integers, the whole tensor around the view included.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import grammarlm as gl
from grammarlm.kernels.reference import apply_mask as reference
from tests.threads import in_threads

LANE = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
INFINITY = {dtype: torch.tensor(-torch.inf, dtype=dtype).view(lane).item() for dtype, lane in LANE.items()}
DTYPES = pytest.mark.parametrize("dtype", LANE, ids=lambda dtype: str(dtype).removeprefix("torch."))
SIZES = (1, 31, 32, 33, 63, 65, 255, 256, 257, 1000, 4097)
DENSITIES = (0.0, 0.001, 0.5, 0.999, 1.0)


def random_logits(rng, shape, dtype):
    bits = np.iinfo(np.int32 if dtype is torch.float32 else np.int16)
    return torch.from_numpy(rng.integers(bits.min, bits.max, shape, dtype=bits.dtype, endpoint=True)).view(dtype)


def random_mask(rng, rows, words, density):
    """Every bit random, those beyond the logits too."""
    return np.packbits(rng.random((rows, 32 * words)) < density, axis=1, bitorder="little").view(np.int32)


def layouts(rng, rows, size, dtype):
    """(name, view of shape [rows, size]); what lies around the view must stay as it is."""
    yield "contiguous", random_logits(rng, (rows, size), dtype)
    yield "slice", random_logits(rng, (rows + 2, size + 37), dtype)[1 : rows + 1, 5 : size + 5]
    yield "every other row", random_logits(rng, (2 * rows, size), dtype)[::2]
    yield "every third column", random_logits(rng, (rows, 3 * size), dtype)[:, ::3]
    yield "transposed", random_logits(rng, (size, rows), dtype).t()
    yield "one of three dimensions", random_logits(rng, (rows, 2, size), dtype)[:, 1]


def whole(view):
    """The integers of everything that shares memory with a view, by one flat tensor."""
    flat = view.new_empty(0).set_(view.untyped_storage())
    return flat.view(LANE[view.dtype])


def expect(view, mask, rows=None):
    """What `whole(view)` must be after the call, by the reference."""
    marks = reference.apply_mask(np.zeros((len(view), view.shape[1])), mask, rows)
    want = whole(view).clone()
    inside = want.as_strided(view.shape, view.stride(), view.storage_offset())
    inside[torch.from_numpy(np.isneginf(marks))] = INFINITY[view.dtype]
    return want


def check(view, mask, rows=None, *, given_mask=None, given_rows=None):
    want = expect(view, mask, rows)
    result = gl.apply_mask_(
        view, mask if given_mask is None else given_mask, rows=rows if given_rows is None else given_rows
    )
    assert result is view
    assert torch.equal(whole(view), want)


@DTYPES
@pytest.mark.parametrize("size", SIZES)
def test_equals_reference(dtype, size):
    rng = np.random.default_rng(size)
    for density in DENSITIES:
        for _, view in layouts(rng, 3, size, dtype):
            check(view, random_mask(rng, 3, -(-size // 32), density))


@DTYPES
def test_words_of_every_kind_in_every_place(dtype):
    """Full, empty and mixed words in runs, at the borders of the blocks of eight words that are skipped at once."""
    rng = np.random.default_rng(2)
    for size in range(1, 1200, 13):
        words = -(-size // 32)
        kinds = np.array([-1, -1, -1, 0, 1, -2, 1 << 30, rng.integers(1 << 31)], np.int64).astype(np.int32)
        mask = np.repeat(rng.choice(kinds, (4, words)), rng.integers(1, 12), axis=1)[:, :words].copy()
        check(random_logits(rng, (4, size), dtype), mask)


@DTYPES
@pytest.mark.parametrize("size", [31, 33, 700])
def test_mask_narrower_or_wider_than_the_logits(dtype, size):
    rng = np.random.default_rng(3)
    for words in (0, 1, size // 32, size // 32 + 1, size // 32 + 3, size // 32 + 20):
        for density in (0.5, 1.0):
            for _, view in layouts(rng, 3, size, dtype):
                check(view, random_mask(rng, 3, words, density))


@DTYPES
def test_rows_choose_and_skip(dtype):
    rng = np.random.default_rng(4)
    mask = random_mask(rng, 3, 10, 0.5)
    for rows in ([0, 1, 2, 0], [2, 2, 2, 2], [-1, 1, -1, 0], [-1, -1, -1, -1]):
        for given in (rows, tuple(rows), np.array(rows, np.int32), np.array(rows)[::-1][::-1], torch.tensor(rows)):
            for _, view in layouts(rng, 4, 300, dtype):
                check(view, mask, np.array(rows), given_rows=given)


def test_rows_of_unsigned_and_small_integers():
    rng = np.random.default_rng(5)
    for kind in (np.uint8, np.int8, np.uint64):
        check(random_logits(rng, (3, 50), torch.float32), random_mask(rng, 3, 2, 0.5), np.array([2, 0, 2], kind))


@DTYPES
def test_one_row_without_a_batch(dtype):
    rng = np.random.default_rng(7)
    for step in (1, 3):
        logits, mask = random_logits(rng, (1, 900 * step), dtype)[:, ::step], random_mask(rng, 4, 29, 0.5)
        want = expect(logits, mask)
        row = logits[0]
        assert gl.apply_mask_(row, mask) is row
        assert torch.equal(whole(logits), want)
        want = expect(logits, mask, np.array([2]))
        gl.apply_mask_(row, mask, rows=[2])
        assert torch.equal(whole(logits), want)


def test_every_kind_of_mask_array():
    rng = np.random.default_rng(8)
    mask = random_mask(rng, 3, 12, 0.5)
    frozen = mask.copy()
    frozen.flags.writeable = False
    wide, tall = np.zeros((3, 24), np.int32), np.zeros((6, 12), np.int32)
    wide[:, ::2], tall[::2] = mask, mask
    unaligned = np.frombuffer(b"x" + mask.tobytes(), np.uint8)[1:].view(np.int32).reshape(3, 12)
    kinds = [frozen, wide[:, ::2], tall[::2], np.asfortranarray(mask), mask.view(np.matrix), unaligned]
    kinds += [torch.from_numpy(mask.copy()), torch.from_numpy(wide)[:, ::2], torch.from_numpy(tall)[::2]]
    for kind in kinds:
        check(random_logits(rng, (3, 380), torch.float32), mask, given_mask=kind)


def test_a_refused_call_changes_nothing():
    logits = torch.zeros(3, 40)
    with pytest.raises(gl.MaskError):
        gl.apply_mask_(logits, np.zeros((2, 2), np.int32), rows=[0, 1, 2])
    assert not logits.any()


def test_autograd_sees_the_change():
    weight = torch.ones(1, 40, requires_grad=True)
    logits = torch.ones(1, 40)
    product = (weight * logits).sum()  # saves the logits for its backward pass
    gl.apply_mask_(logits, np.zeros((1, 2), np.int32))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_without_gradients():
    mask = np.zeros((1, 2), np.int32)
    leaf = torch.zeros(1, 40, requires_grad=True)
    with torch.no_grad():
        assert torch.isneginf(gl.apply_mask_(leaf, mask)).all()
    with torch.inference_mode():
        logits = torch.zeros(1, 40)
        assert torch.isneginf(gl.apply_mask_(logits, mask)).all()


def test_two_threads_at_once():
    rng = np.random.default_rng(9)
    views = [random_logits(rng, (2, 50257), torch.float32) for _ in range(24)]
    mask = random_mask(rng, 2, 1571, 0.5)
    wants = [expect(view, mask) for view in views]
    in_threads(lambda first: [gl.apply_mask_(view, mask) for view in views[first::2]], 2)
    assert all(torch.equal(whole(view), want) for view, want in zip(views, wants, strict=True))


AFTER_A_FORK = """
import os, threading
import numpy as np, torch
import grammarlm as gl

def masked():                       # numpy around the call: torch's own thread pool does not survive a fork
    logits = np.zeros((64, 40000), np.float32)
    gl.apply_mask_(torch.from_numpy(logits), mask)
    return np.isneginf(logits).all()

mask = np.zeros((64, 1250), np.int32)
assert masked()
running = True
def work():
    while running:
        masked()
thread = threading.Thread(target=work)
thread.start()                      # a fork while another thread is inside the kernel
child = os.fork()
if child == 0:
    os._exit(0 if masked() and masked() else 1)
status = os.waitpid(child, 0)[1]
running = False
thread.join()
assert masked()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_after_a_fork():
    subprocess.run([sys.executable, "-W", "ignore", "-c", AFTER_A_FORK], check=True, timeout=60)
