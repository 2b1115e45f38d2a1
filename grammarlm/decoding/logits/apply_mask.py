"""Applies masks to logits: checks the arguments, then calls the kernel of the logits' device.

The ordinary call, logits on the CPU and a mask from `allocate_mask`, costs a dozen attribute reads and one kernel call: each
attribute is read once and compared, and unusual cases go to functions of their own.
"""

from typing import Any

import numpy as np
import torch
from torch.autograd.graph import increment_version

from grammarlm.errors import MaskError
from grammarlm.kernels import entries
from grammarlm.kernels.entries import address_of

INT32 = np.dtype(np.int32)
INFINITIES: dict[Any, int] = {  # dtype of the logits -> bits of its -inf as a signed integer
    torch.float32: -0x800000,
    torch.float16: -0x400,
    torch.bfloat16: -0x80,
}
FLOAT32 = INFINITIES[torch.float32]


def apply_mask_(logits: torch.Tensor, mask: Any, *, rows: Any = None) -> torch.Tensor:
    """Sets the logits of forbidden tokens to -inf, in place, and returns them.

    logits: [V] or [B, V], float32, float16 or bfloat16, on the CPU or a CUDA device, with any strides. Columns beyond the mask's
    last bit become -inf; allowed entries keep their bits.
    mask: int32 [rows, words], numpy or torch, least significant bit first, 1 = allowed; bits beyond V are ignored.
    rows: for each row of the logits its row of the mask, -1 = leave it alone; without it row i takes mask row i. Everything is
    checked, except the range of an int32 or int64 tensor on the GPU.

        mask = gl.allocate_mask(2, vocab.size)
        matcher.fill_mask(mask, row=0)
        gl.apply_mask_(logits, mask, rows=[0, -1])      # the second prompt of the batch is unconstrained
    """
    infinity = INFINITIES.get(getattr(logits, "dtype", None))
    if infinity is None or (logits.requires_grad and torch.is_grad_enabled()):
        raise _unfit(logits)
    try:
        shape: tuple[int, ...] = logits.shape
        strides: tuple[int, ...] = logits.stride()
    except RuntimeError:  # sparse and nested tensors have neither
        raise _unfit(logits) from None
    if len(shape) == 1:
        shape, strides = (1, *shape), (shape[0], *strides)
    if len(shape) != 2:
        raise _unfit(logits)
    (count, width), (row_stride, column_stride) = shape, strides
    if (row_stride == 0 and count > 1) or (column_stride == 0 and width > 1):
        raise _unfit(logits)
    if column_stride != 1 and logits.is_neg():  # such as z.conj().imag: a -inf written to it would be read as inf
        raise _unfit(logits)
    if not logits.is_cpu:
        return _apply_on_cuda(logits, mask, rows, count)

    # .carray: C-contiguous, aligned and writable
    if not (type(mask) is np.ndarray and mask.dtype is INT32 and mask.ndim == 2 and mask.flags.carray):
        mask = _words_on_cpu(mask)
    if rows is not None:
        rows = _checked_rows(rows, count, len(mask))
    elif count > len(mask):
        raise _too_few_rows(count, len(mask))
    if count and width:
        kernel = entries.apply_mask_32 if infinity == FLOAT32 else entries.apply_mask_16
        address = logits.data_ptr()
        if not address:
            raise _unfit(logits)
        rows_address = 0 if rows is None else address_of(rows)
        words = mask.shape[1]
        kernel(address, address_of(mask), rows_address, row_stride, column_stride, width, words, 0, count, infinity)
        increment_version(logits)  # autograd must notice that a saved tensor has changed
    return logits


def _unfit(logits: Any) -> MaskError:
    """The error for logits that cannot be masked."""
    if not isinstance(logits, torch.Tensor):
        return MaskError(
            f"logits are a {type(logits).__name__}, not a torch tensor; wrap a numpy array by torch.from_numpy(logits)"
        )
    if logits.dtype not in INFINITIES:
        return MaskError(f"logits are {logits.dtype}; float32, float16 and bfloat16 are accepted: pass logits.float()")
    if logits.requires_grad and torch.is_grad_enabled():
        return MaskError(
            "logits require a gradient, which masking in place would falsify: "
            "call under torch.no_grad(), or pass logits.detach()"
        )
    if logits.layout is not torch.strided or logits.is_nested:
        kind, way = (
            ("nested", "its rows one by one, as of logits.unbind()")
            if logits.is_nested
            else (logits.layout, "logits.to_dense()")
        )
        return MaskError(f"logits are a {kind} tensor; a dense one is accepted: pass {way}")
    if logits.is_neg():
        return MaskError("logits are a view that stands for the negative of its memory; pass logits.resolve_neg()")
    if logits.ndim not in (1, 2):
        return MaskError(f"logits have shape {list(logits.shape)}; [V] or [B, V] is accepted: pass such a view")
    if 0 in logits.stride():
        return MaskError(
            f"logits of shape {list(logits.shape)} have strides {list(logits.stride())}: several entries share one place "
            "in memory, as after expand(); pass logits.clone()"
        )
    return MaskError("logits have no memory, like the fake tensors of tracing; mask real ones, outside what is traced")


def _too_few_rows(count: int, mask_rows: int) -> MaskError:
    return MaskError(
        f"{count} rows of logits, but the mask has {mask_rows}; pass as many, or say in rows= which mask row each one "
        "takes (-1: none)"
    )


def _check_words(mask: Any) -> None:
    """Checks type and shape of a mask, numpy or torch."""
    if not isinstance(mask, np.ndarray | torch.Tensor):
        found = type(mask).__name__
        raise MaskError(f"the mask is a {found}; int32 [rows, words], numpy or torch, is accepted: see allocate_mask")
    if mask.dtype != (INT32 if isinstance(mask, np.ndarray) else torch.int32):
        raise MaskError(
            f"the mask is {mask.dtype}; int32 words are accepted, 32 tokens a word, least significant bit first: "
            "see allocate_mask, or pass mask.view(np.int32) where only the sign of its type differs"
        )
    if mask.ndim != 2:
        raise MaskError(
            f"the mask has shape {list(mask.shape)}; [rows, words] is accepted: pass mask[None] for a single row"
        )


def _words_on_cpu(mask: Any) -> np.ndarray:
    _check_words(mask)
    if isinstance(mask, torch.Tensor):
        if not mask.is_cpu:
            raise MaskError(f"logits are on the CPU, but the mask is on {mask.device}: pass mask.cpu()")
        if mask.layout is not torch.strided:
            raise MaskError(f"the mask is a {mask.layout} tensor; a dense one is accepted: pass mask.to_dense()")
        mask = mask.numpy()
    return _plain(mask)


def _plain(mask: np.ndarray) -> np.ndarray:
    """Copies a slice, a read-only array or a subclass: a mask is at most a 32nd of the logits."""
    return mask if type(mask) is np.ndarray and mask.flags.carray else np.array(mask, dtype=INT32, order="C")


def _checked_rows(rows: Any, count: int, mask_rows: int) -> np.ndarray:
    """An int64 copy of the row numbers, all in range."""
    try:
        found = np.asarray(rows.detach().cpu() if isinstance(rows, torch.Tensor) else rows)
    except (ValueError, TypeError, NotImplementedError):  # ragged lists; sparse and meta tensors
        found = np.empty(0, object)
    if found.dtype.kind not in "iu" and not (found.ndim == 1 and len(found) == count == 0):
        raise MaskError(f"rows= must be integers, one mask row (or -1) for each row of logits; found {rows!r}")
    if found.shape != (count,):
        raise MaskError(f"rows= has shape {list(found.shape)}, logits have {count} rows: give one mask row for each")
    outside = (found < -1) | (found >= mask_rows)
    if outside.any():
        at = int(outside.argmax())
        raise MaskError(
            f"rows[{at}] is {found[at]}, but the mask has {mask_rows} rows; -1 to {mask_rows - 1} are accepted"
        )
    return found.astype(np.int64)


def _apply_on_cuda(logits: torch.Tensor, mask: Any, rows: Any, count: int) -> torch.Tensor:
    """The GPU kernel takes tensors of its own device; a numpy mask, the usual one, is copied there."""
    device = logits.device
    if not logits.is_cuda:
        raise MaskError(f"logits are on {device}; CPU and CUDA tensors are accepted: pass logits.cpu()")
    _check_words(mask)
    if isinstance(mask, np.ndarray):
        mask = torch.from_numpy(_plain(mask)).to(device)
    elif mask.device != device:
        raise MaskError(f"logits are on {device}, but the mask is on {mask.device}: pass mask.to(logits.device)")
    if rows is not None:
        rows = _rows_on_cuda(rows, count, len(mask), device)
    elif count > len(mask):
        raise _too_few_rows(count, len(mask))
    try:
        from grammarlm.kernels.gpu.apply_mask import apply_mask_gpu_
    except ImportError as error:
        raise MaskError(f"logits on {device} need the GPU kernels: pip install grammarlm[gpu] ({error})") from error
    table = logits if logits.ndim == 2 else logits.unsqueeze(0)
    apply_mask_gpu_(table, mask if mask.stride(1) == 1 else mask.contiguous(), rows)
    increment_version(logits)
    return logits


def _rows_on_cuda(rows: Any, count: int, mask_rows: int, device: torch.device) -> torch.Tensor:
    on_device = isinstance(rows, torch.Tensor) and rows.device == device
    if on_device and rows.shape == (count,) and rows.dtype in (torch.int32, torch.int64):
        return rows.contiguous()  # their range is not checked: that would synchronise with the GPU
    return torch.from_numpy(_checked_rows(rows, count, mask_rows)).to(device)
