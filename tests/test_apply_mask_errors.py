"""What apply_mask_ refuses, in full, and what it hands to the GPU kernel (no GPU needed: fake tensors, a recording kernel)."""

import sys
import types

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import grammarlm as gl

MASK = np.full((2, 2), -1, np.int32)
LOGITS = torch.zeros(2, 40)

ACCEPTED = "; float32, float16 and bfloat16 are accepted: pass logits.float()"
LAYOUT = (
    "; int32 words are accepted, 32 tokens a word, least significant bit first: "
    "see allocate_mask, or pass mask.view(np.int32) where only the sign of its type differs"
)
INTEGERS = "rows= must be integers, one mask row (or -1) for each row of logits; found "
OVERLAP = ": several entries share one place in memory, as after expand(); pass logits.clone()"

REFUSED = [
    (
        np.zeros((2, 40), np.float32),
        MASK,
        None,
        "logits are a ndarray, not a torch tensor; wrap a numpy array by torch.from_numpy(logits)",
    ),
    ([[0.0]], MASK, None, "logits are a list, not a torch tensor; wrap a numpy array by torch.from_numpy(logits)"),
    (torch.zeros(2, 40, dtype=torch.float64), MASK, None, f"logits are torch.float64{ACCEPTED}"),
    (torch.zeros(2, 40, dtype=torch.int32), MASK, None, f"logits are torch.int32{ACCEPTED}"),
    (torch.zeros(1, 2, 40), MASK, None, "logits have shape [1, 2, 40]; [V] or [B, V] is accepted: pass such a view"),
    (torch.zeros(()), MASK, None, "logits have shape []; [V] or [B, V] is accepted: pass such a view"),
    (
        torch.zeros(2, 40, requires_grad=True),
        MASK,
        None,
        "logits require a gradient, which masking in place would falsify: "
        "call under torch.no_grad(), or pass logits.detach()",
    ),
    (torch.zeros(1, 40).expand(2, 40), MASK, None, f"logits of shape [2, 40] have strides [0, 1]{OVERLAP}"),
    (torch.zeros(2, 1).expand(2, 40), MASK, None, f"logits of shape [2, 40] have strides [1, 0]{OVERLAP}"),
    (torch.zeros(1).expand(40), MASK, None, f"logits of shape [40] have strides [0]{OVERLAP}"),
    (
        torch.zeros(2, 40).to_sparse(),
        MASK,
        None,
        "logits are a torch.sparse_coo tensor; a dense one is accepted: pass logits.to_dense()",
    ),
    (
        torch.zeros(2, 40, dtype=torch.complex64).conj().imag,
        MASK,
        None,
        "logits are a view that stands for the negative of its memory; pass logits.resolve_neg()",
    ),
    (
        torch.empty(2, 40, device="meta"),
        MASK,
        None,
        "logits are on meta; CPU and CUDA tensors are accepted: pass logits.cpu()",
    ),
    (
        LOGITS,
        [[-1, -1]],
        None,
        "the mask is a list; int32 [rows, words], numpy or torch, is accepted: see allocate_mask",
    ),
    (LOGITS, None, None, "the mask is a NoneType; int32 [rows, words], numpy or torch, is accepted: see allocate_mask"),
    (
        LOGITS,
        torch.from_numpy(MASK).to_sparse(),
        None,
        "the mask is a torch.sparse_coo tensor; a dense one is accepted: pass mask.to_dense()",
    ),
    (
        LOGITS,
        MASK,
        torch.empty(2, dtype=torch.int64, device="meta"),
        f"{INTEGERS}tensor(..., device='meta', size=(2,), dtype=torch.int64)",
    ),
    (LOGITS, MASK.view(np.uint32), None, f"the mask is uint32{LAYOUT}"),
    (LOGITS, MASK.astype(">i4"), None, f"the mask is >i4{LAYOUT}"),
    (LOGITS, np.ones((2, 40), bool), None, f"the mask is bool{LAYOUT}"),
    (LOGITS, torch.ones(2, 40, dtype=torch.bool), None, f"the mask is torch.bool{LAYOUT}"),
    (LOGITS, MASK[0], None, "the mask has shape [2]; [rows, words] is accepted: pass mask[None] for a single row"),
    (
        LOGITS,
        torch.zeros(1, 1, 2, dtype=torch.int32),
        None,
        "the mask has shape [1, 1, 2]; [rows, words] is accepted: pass mask[None] for a single row",
    ),
    (
        LOGITS,
        torch.zeros(2, 2, dtype=torch.int32, device="meta"),
        None,
        "logits are on the CPU, but the mask is on meta: pass mask.cpu()",
    ),
    (
        LOGITS,
        MASK[:1],
        None,
        "2 rows of logits, but the mask has 1; pass as many, or say in rows= which mask row each one takes (-1: none)",
    ),
    (LOGITS, MASK, [0], "rows= has shape [1], logits have 2 rows: give one mask row for each"),
    (LOGITS, MASK, 0, "rows= has shape [], logits have 2 rows: give one mask row for each"),
    (LOGITS, MASK, [[0, 1]], "rows= has shape [1, 2], logits have 2 rows: give one mask row for each"),
    (LOGITS, MASK, [0, 2], "rows[1] is 2, but the mask has 2 rows; -1 to 1 are accepted"),
    (LOGITS, MASK, torch.tensor([-2, 0]), "rows[0] is -2, but the mask has 2 rows; -1 to 1 are accepted"),
    (
        LOGITS,
        MASK,
        np.array([0, 2**64 - 1], np.uint64),
        "rows[1] is 18446744073709551615, but the mask has 2 rows; -1 to 1 are accepted",
    ),
    (LOGITS, MASK, [0.0, 1.0], f"{INTEGERS}[0.0, 1.0]"),
    (LOGITS, MASK, [True, False], f"{INTEGERS}[True, False]"),
    (LOGITS, MASK, "ab", f"{INTEGERS}'ab'"),
    (LOGITS, MASK, [[0], [0, 1]], f"{INTEGERS}[[0], [0, 1]]"),
]


@pytest.mark.parametrize(("logits", "mask", "rows", "message"), REFUSED, ids=[message[:50] for *_, message in REFUSED])
def test_refused(logits, mask, rows, message):
    with pytest.raises(gl.MaskError) as caught:
        gl.apply_mask_(logits, mask, rows=rows)
    assert str(caught.value) == message
    assert len(message) <= 500


def test_nothing_was_written():
    assert not LOGITS.any()


def test_rows_are_keyword_only():
    with pytest.raises(TypeError):
        gl.apply_mask_(LOGITS, MASK, [0, 1])


@pytest.fixture
def gpu(monkeypatch):
    """A fake CUDA device and, in place of the kernel, the list of calls to it."""
    calls = []
    module = types.ModuleType("grammarlm.kernels.gpu.apply_mask")
    module.apply_mask_gpu_ = lambda *arguments: calls.append(arguments)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield calls


def test_numpy_mask_and_rows_go_to_the_device(gpu):
    logits = torch.empty(2, 40, device="cuda", dtype=torch.bfloat16)
    assert gl.apply_mask_(logits, MASK, rows=[1, -1]) is logits
    ((given, mask, rows),) = gpu
    assert given is logits
    assert (mask.device, mask.dtype, mask.shape) == (logits.device, torch.int32, (2, 2))
    assert (rows.device, rows.dtype, rows.shape) == (logits.device, torch.int64, (2,))


def test_tensors_on_the_device_are_passed_on(gpu):
    logits, mask = torch.empty(2, 40, device="cuda"), torch.empty(2, 2, device="cuda", dtype=torch.int32)
    rows = torch.empty(2, device="cuda", dtype=torch.int32)
    gl.apply_mask_(logits, mask)
    gl.apply_mask_(logits, mask, rows=rows)
    assert [call[1:] for call in gpu] == [(mask, None), (mask, rows)]


def test_one_row_without_a_batch_on_the_device(gpu):
    logits = torch.empty(40, device="cuda")
    assert gl.apply_mask_(logits, MASK[::-1]) is logits
    assert gpu[0][0].shape == (1, 40)


def test_refused_on_the_device(gpu):
    logits = torch.empty(2, 40, device="cuda")
    refused = {
        "logits are on cuda:0, but the mask is on cpu: pass mask.to(logits.device)": (
            torch.empty(2, 2, dtype=torch.int32),
            None,
        ),
        "rows[0] is 2, but the mask has 2 rows; -1 to 1 are accepted": (MASK, [2, 0]),
        "rows= has shape [1], logits have 2 rows: give one mask row for each": (MASK, [0]),
        f"the mask is int64{LAYOUT}": (MASK.astype(np.int64), None),
        "2 rows of logits, but the mask has 1; pass as many, or say in rows= which mask row each one takes (-1: none)": (
            MASK[:1],
            None,
        ),
    }
    for message, (mask, rows) in refused.items():
        with pytest.raises(gl.MaskError) as caught:
            gl.apply_mask_(logits, mask, rows=rows)
        assert str(caught.value) == message
    assert not gpu


def test_without_triton(gpu, monkeypatch):
    monkeypatch.setitem(sys.modules, "grammarlm.kernels.gpu.apply_mask", None)  # what an import that fails looks like
    with pytest.raises(gl.MaskError, match=r"^logits on cuda:0 need the GPU kernels: pip install grammarlm\[gpu\] \("):
        gl.apply_mask_(torch.empty(2, 40, device="cuda"), MASK)


def test_logits_without_memory():
    with FakeTensorMode(), pytest.warns(UserWarning, match="FakeTensor"), pytest.raises(gl.MaskError) as caught:
        gl.apply_mask_(torch.empty(2, 40), MASK)
    want = "logits have no memory, like the fake tensors of tracing; mask real ones, outside what is traced"
    assert str(caught.value) == want


@pytest.mark.filterwarnings("ignore:Sparse CSR", "ignore:The PyTorch API of nested tensors")
def test_logits_without_strides():
    nested = torch.nested.nested_tensor([torch.zeros(3), torch.zeros(4)])
    for logits, kind, way in (
        (torch.zeros(2, 40).to_sparse_csr(), "torch.sparse_csr", "logits.to_dense()"),
        (nested, "nested", "its rows one by one, as of logits.unbind()"),
    ):
        with pytest.raises(gl.MaskError) as caught:
            gl.apply_mask_(logits, MASK)
        assert str(caught.value) == f"logits are a {kind} tensor; a dense one is accepted: pass {way}"
