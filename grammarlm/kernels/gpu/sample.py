"""Mask + temperature + top-k + top-p + min-p + sample on a GPU: two launches, and one pass over the logits if that suffices.

The order is: mask, temperature, top-k, top-p (over what top-k kept, renormalised), min-p. Every filter keeps all tokens down to
some logit, including ties, so the outcome never depends on an order among equals. A surviving token i is drawn with probability
p[i] = softmax(logits / temperature)[i], as the winner of an exponential race: the smallest

    noise(seed, position, i) / p[i]

(Its negative logarithm is a logit plus Gumbel noise.) Noise depends on nothing else, so a draw does not change with the row or the
batch size. The filters come *after* the draw:

1. `survey`, one program per chunk of a row: the chunk's largest logit, its sum of exponentials, its winner.
2. `choose`, one program per row: the winner of all chunks. If it passes the filters it also wins among the survivors. If not, no
   token with an equal or lower logit passes either, and the next candidate is the winner among the logits above it. Whether a
   candidate passes is decided by the logits above it: their number (top-k), their mass (top-p), and the largest logit (min-p, known
   from 1).

So without filters a logit is read once, with min-p hardly ever twice; with top-k or top-p, again only in tiles that hold a logit
above the candidate's. Chunks without an allowed token are never read. Only top-k and top-p together need the k-th largest logit
itself, for the mass that top-k keeps: `kth_largest`, up to four more passes.
"""

import torch
import triton
import triton.language as tl

from grammarlm.errors import MaskError
from grammarlm.kernels.gpu.apply_mask import current
from grammarlm.kernels.gpu.filters import Look, survivor
from grammarlm.kernels.gpu.race import LN_2, arrival, race_of
from grammarlm.kernels.gpu.rows import (
    CHUNK_WORDS,
    LOWEST,
    MINUS_INFINITY,
    TILE_CHUNKS,
    allowed_logit,
    allowed_logits,
    mask_words,
    row_of,
)

MINUS_INFINITY_BITS = tl.constexpr(-(1 << 23))
NO_TOKEN = tl.constexpr(2**31 - 1)  # after every token in the order of ties


def sample_gpu(
    logits: torch.Tensor,
    mask: torch.Tensor | None = None,
    *,
    rows: torch.Tensor | None = None,
    seed: torch.Tensor,
    position: torch.Tensor,
    temperature: torch.Tensor,
    top_k: torch.Tensor | None = None,
    top_p: torch.Tensor | None = None,
    min_p: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(tokens int64 [B], logprobs float32 [B]) of logits [B, V] (float32, float16, bfloat16; any strides) on one device.

    `mask` and `rows` are those of `apply_mask_gpu_`; a row with `rows[i] == -1` is unconstrained. Everything else is a tensor [B],
    one value per row: seed and position int64, temperature float, top_k int (<= 0 keeps all), top_p float (>= 1 keeps all), min_p
    float (<= 0 keeps all). The most probable token always survives. Temperature 0 takes the largest logit (ties: the lowest id).
    NaN and -inf are never drawn; a row with nothing else to draw gives -1.

    The log-probability is under the masked distribution at that temperature (at 1 if it is 0), before the filters: the filtered one
    would need the sum over all survivors, which this method never computes. It is -inf for token -1.
    """
    batch, width = logits.shape
    for name, values in (("seed", seed), ("position", position), ("temperature", temperature)):
        check_parameter(name, values, batch)
    for name, optional in (("top_k", top_k), ("top_p", top_p), ("min_p", min_p)):
        if optional is not None:
            check_parameter(name, optional, batch)
    tokens = torch.empty(batch, dtype=torch.int64, device=logits.device)
    logprobs = torch.empty(batch, dtype=torch.float32, device=logits.device)
    if batch:
        words, mask_stride = (0, 0) if mask is None else (mask.shape[1], mask.stride(0))
        source = (logits, *logits.stride(), width, mask, words, mask_stride, rows, seed, position, temperature)
        with current(logits.device):
            launch(batch, width, source, (top_k, top_p, min_p), (tokens, logprobs))
    return tokens, logprobs


def check_parameter(name: str, values: torch.Tensor, batch: int) -> None:
    """A kernel reads one value per row, and would read out of bounds if the tensor were shorter."""
    if values.shape != (batch,) or not values.is_contiguous():
        raise MaskError(f"{name} has shape {tuple(values.shape)}; a contiguous tensor of shape ({batch},) is needed")


def launch(batch: int, width: int, source: tuple, filters: tuple, results: tuple) -> None:
    """Launches both kernels on the current device."""
    chunks = max(1, triton.cdiv(width, 32 * CHUNK_WORDS.value))
    partials = torch.empty((4, batch, chunks), dtype=torch.int32, device=results[0].device)
    survey[(batch * chunks,)](*source, partials, chunks, batch * chunks, num_warps=4)
    choose[(batch,)](
        *source,
        *filters,
        partials,
        chunks,
        batch * chunks,
        *results,
        CHUNKS=triton.next_power_of_2(chunks),
        num_warps=4 if filters == (None, None, None) else 16,
    )


@triton.jit(do_not_specialize=["words", "chunks", "size"])
def survey(
    logits, row_stride, column_stride, width, mask, words, mask_stride, rows, seed, position, temperature,
    partials, chunks, size,
):  # fmt: skip
    """Chunk id % chunks of row id // chunks: the summary that `choose` needs, as the bits of four numbers, `size` apart."""
    program = tl.program_id(0)
    index = program // chunks
    row = row_of(index, logits, row_stride, column_stride, width, mask, words, mask_stride, rows)
    word, number = mask_words(row, program % chunks * CHUNK_WORDS, CHUNK_WORDS)
    top, total = tl.full((), MINUS_INFINITY, tl.float32), tl.full((), 0.0, tl.float32)
    soonest, token = tl.full((), float("inf"), tl.float32), tl.full((), NO_TOKEN, tl.int32)
    if tl.max((word != 0).to(tl.int32)) != 0:
        race = race_of(index, seed, position, temperature)
        x, column = allowed_logits(row, word, number)
        top = tl.max(x)
        base = tl.maximum(top, LOWEST)  # a number, even if every allowed logit is NaN or -inf
        total = tl.sum(tl.exp2((x - base) * race.scale))
        time = arrival(x, base, number, race)
        soonest = tl.min(time)
        token = tl.min(tl.where(time == soonest, column, NO_TOKEN))
        if race.noisy:
            soonest = tl.log2(soonest)
    place = partials + program
    tl.store(place, top.to(tl.int32, bitcast=True))
    tl.store(place + size, total.to(tl.int32, bitcast=True))
    tl.store(place + 2 * size, soonest.to(tl.int32, bitcast=True))
    tl.store(place + 3 * size, token)


@triton.jit(do_not_specialize=["words", "chunks", "size"])
def choose(
    logits, row_stride, column_stride, width, mask, words, mask_stride, rows, seed, position, temperature,
    top_k, top_p, min_p, partials, chunks, size, tokens, logprobs,
    CHUNKS: tl.constexpr,
):  # fmt: skip
    """Row id: combine its chunks (padded to a power of two), filter, and write token and log-probability."""
    index = tl.program_id(0)
    chunk = tl.arange(0, CHUNKS)
    place = partials + index * chunks + chunk
    inside = chunk < chunks
    tops = tl.load(place, mask=inside, other=MINUS_INFINITY_BITS).to(tl.float32, bitcast=True)
    top = tl.max(tops)
    if top == MINUS_INFINITY:
        tl.store(tokens + index, -1)
        tl.store(logprobs + index, MINUS_INFINITY)
        return

    # A chunk's sum and arrival are relative to its own largest logit: rescale them to the row's, arrivals as logarithms.
    race = race_of(index, seed, position, temperature)
    behind = (top - tops) * race.scale
    total = tl.sum(tl.load(place + size, mask=inside, other=0).to(tl.float32, bitcast=True) * tl.exp2(-behind))
    time = tl.load(place + 2 * size, mask=inside, other=0).to(tl.float32, bitcast=True) + behind
    winners = tl.load(place + 3 * size, mask=inside, other=NO_TOKEN)
    token = tl.min(tl.where(time == tl.min(time), winners, NO_TOKEN))

    row = row_of(index, logits, row_stride, column_stride, width, mask, words, mask_stride, rows)
    if (top_k is not None) or (top_p is not None) or (min_p is not None):
        k = None if top_k is None else tl.load(top_k + index)
        p = None if top_p is None else tl.load(top_p + index).to(tl.float32)
        m = None if min_p is None else tl.load(min_p + index).to(tl.float32)
        if race.noisy:
            look = Look(row, race, tl.cdiv(chunks, TILE_CHUNKS), tops, top)
            token = survivor(token, look, total, k, p, m)
    tl.store(tokens + index, token.to(tl.int64))
    tl.store(logprobs + index, ((allowed_logit(row, token) - top) * race.scale - tl.log2(total)) * LN_2)
