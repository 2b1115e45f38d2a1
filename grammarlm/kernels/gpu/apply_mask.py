"""Mask and logits -> masked logits on a GPU, in place: one launch, and no logit is accessed where a group of columns is allowed.

A program handles WORDS mask words of one row, as a tile [word, group, lane]: a group is 16 bytes of logits (4 float32 or 8
half-width columns), so one group is one vector load or store, and its 4 or 8 mask bits select the action:

    all ones    nothing: no load, no store
    all zeros   one store of infinities, no load
    mixed       load, select by the bits, store

So the traffic is the mask, the groups that forbid something once, and mixed groups twice. (Storing single forbidden columns of a
mixed group without the load saves nothing: memory works in sectors of 32 bytes and fetches a sector that is partly written. It
costs one narrow store per column instead of one wide one per group.)

Logits are integers here, so allowed values stay bit for bit equal, including a NaN's payload.
`kernels/reference/apply_mask.py` defines the result. Logits that are not aligned to 16 bytes, or not contiguous in columns,
use the same code with narrower accesses: the compiler specialises on strides of 1 and on multiples of 16.
"""

import torch
import triton
import triton.language as tl

# The bits of -inf, as an integer of the logits' width.
INFINITIES = {torch.float32: -(1 << 23), torch.float16: -(1 << 10), torch.bfloat16: -(1 << 7)}

# With fewer words than threads the compiler lets every thread load the word it needs; with more it uses shared memory and barriers.
# 64 words are then 4 vectors of float32 per thread in flight, 2 of the half-width types.
WARPS = 4
MANY_WORDS = 64
FEW_PROGRAMS = 512  # about four per multiprocessor: below it, one vector per thread and more programs instead


def apply_mask_gpu_(logits: torch.Tensor, mask: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
    """Write -inf into `logits` [B, V] wherever `mask` (int32 [R, W], contiguous words) forbids, and return `logits`.

    `rows[i]` (int32 or int64 [B]) is the mask row of logits row i, -1 = leave it unchanged; without `rows`, row i is row i. All
    tensors are on one device. Nothing is validated here: the caller does that, once for every backend.
    """
    batch, width = logits.shape
    if batch and width:
        words = MANY_WORDS
        if batch * triton.cdiv(width, 32 * words) < FEW_PROGRAMS:
            words = 64 // logits.element_size()
        launch(logits, mask, rows, words, WARPS)
    return logits


def launch(logits: torch.Tensor, mask: torch.Tensor, rows: torch.Tensor | None, words: int, warps: int) -> None:
    """Run the kernel with `words` mask words per program: chosen by `apply_mask_gpu_`, swept by the benchmark."""
    batch, width = logits.shape
    programs = triton.cdiv(width, 32 * words)
    bits, infinity = as_integers(logits)
    with current(logits.device):
        arguments = (bits, mask, rows, width, mask.shape[1], *logits.stride(), mask.stride(0), programs)
        apply_mask_kernel[(batch * programs,)](*arguments, INFINITY=infinity, WORDS=words, num_warps=warps)


def as_integers(logits: torch.Tensor) -> tuple[torch.Tensor, int]:
    """The logits as integers of their width, and the bits of -inf."""
    return logits.view(torch.int32 if logits.element_size() == 4 else torch.int16), INFINITIES[logits.dtype]


def current(device: torch.device) -> torch.cuda.device:
    """A launch goes to the current device, whatever device its tensors are on. Of the CPU, where Triton interprets: nothing."""
    return torch.cuda.device(device if device.type == "cuda" else -1)


@triton.jit(do_not_specialize=["words", "programs"])
def apply_mask_kernel(
    logits, mask, rows, width, words, row_stride, column_stride, mask_stride, programs,
    INFINITY: tl.constexpr, WORDS: tl.constexpr,
):  # fmt: skip
    """One program: columns 32 * WORDS * (id % programs) onwards of logits row id // programs."""
    program = tl.program_id(0)
    row = (program // programs).to(tl.int64)
    mask_row = row if rows is None else tl.load(rows + row).to(tl.int64)
    if mask_row < 0:
        return

    LANES: tl.constexpr = 4 if logits.dtype.element_ty == tl.int32 else 8
    ALL: tl.constexpr = (1 << LANES) - 1

    word = program % programs * WORDS + tl.arange(0, WORDS)[:, None, None]
    shift = tl.arange(0, 32 // LANES)[None, :, None] * LANES
    lane = tl.arange(0, LANES)[None, None, :]
    column = word * 32 + shift + lane
    place = logits + row * row_stride + column.to(tl.int64) * column_stride

    # Columns beyond the mask are forbidden: they read a word of zeros. The conditions on groups keep their own shape [word, group,
    # 1] as long as possible, which lets the compiler load or skip a vector as a whole.
    bits = (tl.load(mask + mask_row * mask_stride + word, mask=word < words, other=0) >> shift) & ALL
    old = tl.load(place, mask=(column < width) & ((bits != 0) & (bits != ALL)), other=0)
    new = tl.where(((bits >> lane) & 1) != 0, old, INFINITY)
    tl.store(place, new.to(old.dtype), mask=(column < width) & (bits != ALL))
