"""Rows of a canvas on a GPU: class bits to mask words, or straight into logits. `kernels/reference/canvas.py` defines both.

What may stand at a position is one bit a token class, and `class_of` names the class of each token. So a row that is K bits on the
host becomes V bits, or V logits, only where those are: through `class_of`, which every row shares. A program loads its part of it
once and uses it for ROWS rows; where rows run out it does the last one again, which changes nothing.

Logits are written as in `apply_mask`: a group is 16 bytes of logits, and its bits select the action: nothing, one store of
infinities without a load, or load, select and store. Logits are integers here, so allowed values stay bit for bit equal.
"""

import torch
import triton
import triton.language as tl

from grammarlm.kernels.gpu.apply_mask import FEW_PROGRAMS, WARPS, as_integers, current

WORDS = 64  # of 32 tokens, per program
MANY_ROWS = 4  # per program, where there are many programs


def expand_rows(class_bits: torch.Tensor, class_of: torch.Tensor) -> torch.Tensor:
    """int32 [B, ceil(V / 32)]: the mask rows of class bits, int32 [B, at least ceil(K / 32)]; `class_of` int32 or int16 [V].

    All tensors are on one device, and contiguous in their last dimension. Nothing is validated here, nor in `apply_class_rows_`.
    """
    batch, vocabulary = len(class_bits), len(class_of)
    mask = torch.empty((batch, triton.cdiv(vocabulary, 32)), dtype=torch.int32, device=class_bits.device)
    if mask.numel():
        words = WORDS // 4
        programs = triton.cdiv(mask.shape[1], words)
        rows = rows_per_program(batch, programs)
        with current(mask.device):
            _expand[(programs * triton.cdiv(batch, rows),)](
                class_bits, class_of, mask, vocabulary, mask.shape[1], batch, class_bits.stride(0), programs,
                WORDS=words, ROWS=rows, num_warps=WARPS,
            )  # fmt: skip
    return mask


def apply_class_rows_(logits: torch.Tensor, class_bits: torch.Tensor, class_of: torch.Tensor) -> torch.Tensor:
    """Writes -inf into `logits` [B, V'] (float32, float16, bfloat16; any strides) where the class of a token is not among row i's
    bits, or where the token has no class (V' > V), and returns them. No mask is written.
    """
    batch, width = logits.shape
    if logits.numel():
        words = 128 // logits.element_size() if batch < MANY_ROWS else WORDS
        programs = triton.cdiv(width, 32 * words)
        rows = rows_per_program(batch, programs)
        bits, infinity = as_integers(logits)
        with current(logits.device):
            _apply[(programs * triton.cdiv(batch, rows),)](
                bits, class_bits, class_of, width, len(class_of), batch, *logits.stride(), class_bits.stride(0), programs,
                INFINITY=infinity, WORDS=words, ROWS=rows, num_warps=WARPS,
            )  # fmt: skip
    return logits


def rows_per_program(batch: int, programs: int) -> int:
    return MANY_ROWS if programs * triton.cdiv(batch, MANY_ROWS) >= FEW_PROGRAMS else 1


@triton.jit(do_not_specialize=["words", "batch", "programs"])
def _expand(
    class_bits, class_of, mask, vocabulary, words, batch, bits_stride, programs, WORDS: tl.constexpr, ROWS: tl.constexpr
):  # fmt: skip
    """One program: mask words WORDS * (id % programs) onwards of ROWS rows."""
    program = tl.program_id(0)
    word = program % programs * WORDS + tl.arange(0, WORDS)
    lane = tl.arange(0, 32)[None, :]
    token = word[:, None] * 32 + lane
    inside = token < vocabulary
    kind = tl.load(class_of + token, mask=inside, other=0).to(tl.int32)
    for i in tl.static_range(ROWS):
        row = tl.minimum(program // programs * ROWS + i, batch - 1).to(tl.int64)
        known = tl.load(class_bits + row * bits_stride + (kind >> 5), mask=inside, other=0)
        found = tl.sum(((known >> (kind & 31)) & 1) << lane, 1)
        tl.store(mask + row * words + word, found, mask=word < words)


@triton.jit(do_not_specialize=["batch", "programs"])
def _apply(
    logits, class_bits, class_of, width, vocabulary, batch, row_stride, column_stride, bits_stride, programs,
    INFINITY: tl.constexpr, WORDS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """One program: columns 32 * WORDS * (id % programs) onwards of ROWS rows."""
    LANES: tl.constexpr = 4 if logits.dtype.element_ty == tl.int32 else 8
    GROUPS: tl.constexpr = WORDS * 32 // LANES
    ALL: tl.constexpr = (1 << LANES) - 1

    program = tl.program_id(0)
    lane = tl.arange(0, LANES)[None, :]
    column = (program % programs * GROUPS + tl.arange(0, GROUPS)[:, None]) * LANES + lane
    place = logits + column.to(tl.int64) * column_stride
    has_class = column < vocabulary
    kind = tl.load(class_of + column, mask=has_class, other=0).to(tl.int32)
    for i in tl.static_range(ROWS):
        row = tl.minimum(program // programs * ROWS + i, batch - 1).to(tl.int64)
        known = tl.load(class_bits + row * bits_stride + (kind >> 5), mask=has_class, other=0)
        bit = (known >> (kind & 31)) & 1
        bits = tl.sum(bit << lane, 1, keep_dims=True)  # of a group, which decides for a vector as a whole
        old = tl.load(place + row * row_stride, mask=(column < width) & ((bits != 0) & (bits != ALL)), other=0)
        new = tl.where(bit != 0, old, INFINITY)
        tl.store(place + row * row_stride, new.to(old.dtype), mask=(column < width) & (bits != ALL))
