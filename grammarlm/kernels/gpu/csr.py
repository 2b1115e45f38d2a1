"""Masks and steps of an automaton on a GPU, for a whole batch in one launch each; `reference_csr` defines them.

Nothing here synchronises with the device, and no argument depends on tensor contents, so the launches can be captured in a CUDA
graph and stay valid for automata that are patched in place later.
"""

import torch
import triton
import triton.language as tl

from grammarlm.layout.csr import DEAD as DEAD_STATE
from grammarlm.layout.csr import MISS as MISS_STATE
from grammarlm.layout.csr import Csr

DEAD = tl.constexpr(DEAD_STATE)
MISS = tl.constexpr(MISS_STATE)
WORDS = 64  # of a row, per program
BLOCK = 64  # texts per program of `advance_`, words per program of `gather_rows_`
EXCEPTIONS = tl.constexpr(32)  # examined at once
HALVINGS = 31  # steps of a binary search: enough for any list of exceptions


def advance_(csr: Csr, states: torch.Tensor, tokens: torch.Tensor, asked: torch.Tensor) -> None:
    """states [B] int32 in place; tokens [B] int64 or int32, asked [B, 2] int32: all contiguous, on the automaton's device."""
    batch, words = len(states), csr.rows.shape[1]
    if batch:
        _advance[(triton.cdiv(batch, BLOCK),)](*csr, words, states, tokens, asked, batch, BLOCK, HALVINGS)


def fill_mask_(csr: Csr, states: torch.Tensor, mask: torch.Tensor) -> None:
    """mask [B, W] int32, contiguous words."""
    batch, words = len(states), csr.rows.shape[1]
    programs = triton.cdiv(words, WORDS)
    if batch:
        _fill_mask[(batch * programs,)](*csr, words, states, mask, mask.stride(0), programs, WORDS, HALVINGS)


def gather_rows_(rows: torch.Tensor, numbers: torch.Tensor, mask: torch.Tensor) -> None:
    """mask[b] = rows[numbers[b]], -1 leaves it unchanged."""
    batch, words = len(numbers), rows.shape[1]
    programs = triton.cdiv(words, WORDS)
    if batch:
        _gather[(batch * programs,)](rows, numbers, mask, words, rows.stride(0), mask.stride(0), programs, WORDS)


@triton.jit
def first_not_less(tokens, low, high, token, HALVINGS: tl.constexpr):
    """Binary search: the first position from `low` on, before `high`, whose token is not less."""
    for _ in range(HALVINGS):
        middle = (low + high) >> 1
        is_open = low < high
        less = tl.load(tokens + middle, mask=is_open, other=0) < token
        low = tl.where(is_open & less, middle + 1, low)
        high = tl.where(is_open & ~less, middle, high)
    return low


@triton.jit
def _advance(
    rows, base, default, first, count, edge_tokens, edge_targets, words, states, tokens, asked, batch,
    BLOCK: tl.constexpr, HALVINGS: tl.constexpr,
):  # fmt: skip
    """One program: BLOCK texts."""
    text = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = text < batch
    state = tl.load(states + text, mask=inside, other=MISS)
    goes_on = inside & (state != MISS)
    token = tl.load(tokens + text, mask=goes_on, other=-1)
    low = tl.load(first + state, mask=goes_on, other=0)
    high = low + tl.load(count + state, mask=goes_on, other=0)
    place = first_not_less(edge_tokens, low, high, token, HALVINGS)
    found = (place < high) & (tl.load(edge_tokens + place, mask=place < high, other=-1) == token)
    target = tl.load(edge_targets + place, mask=found, other=DEAD)

    in_row = goes_on & ~found & (token >= 0) & (token < words * 32)
    row = tl.load(base + state, mask=in_row, other=0).to(tl.int64)
    word = tl.load(rows + row * words + (token >> 5), mask=in_row, other=0)
    by_default = in_row & (((word >> (token & 31).to(tl.int32)) & 1) != 0)
    target = tl.where(by_default, tl.load(default + state, mask=by_default, other=DEAD), target)

    misses = goes_on & (target == MISS)
    tl.store(asked + 2 * text, state, mask=misses)
    tl.store(asked + 2 * text + 1, token.to(tl.int32), mask=misses)
    tl.store(states + text, target, mask=goes_on)


@triton.jit
def _fill_mask(
    rows, base, default, first, count, edge_tokens, edge_targets, words, states, mask, mask_stride, programs,
    WORDS: tl.constexpr, HALVINGS: tl.constexpr,
):  # fmt: skip
    """One program: WORDS words of one text's row. Each token is at most one exception, so their bits can be added."""
    program = tl.program_id(0)
    text = (program // programs).to(tl.int64)
    state = tl.load(states + text)
    begin = program % programs * WORDS
    word = begin + tl.arange(0, WORDS)
    row = tl.load(base + state).to(tl.int64)
    bits = tl.load(rows + row * words + word, mask=word < words, other=0)

    edges = tl.load(first + state)
    end = edges + tl.load(count + state)
    low = first_not_less(edge_tokens, edges, end, begin * 32, HALVINGS)
    high = first_not_less(edge_tokens, low, end, (begin + WORDS) * 32, HALVINGS)
    while low < high:
        place = low + tl.arange(0, EXCEPTIONS)
        is_edge = place < high
        token = tl.load(edge_tokens + place, mask=is_edge, other=0)
        target = tl.load(edge_targets + place, mask=is_edge, other=DEAD)
        bit = tl.where(is_edge, 1 << (token & 31), 0)
        here = (token >> 5)[:, None] == word[None, :]
        bits = bits & ~tl.sum(tl.where(here, bit[:, None], 0), 0)
        bits = bits | tl.sum(tl.where(here & (target != DEAD)[:, None], bit[:, None], 0), 0)
        low += EXCEPTIONS
    tl.store(mask + text * mask_stride + word, bits, mask=word < words)


@triton.jit
def _gather(rows, numbers, mask, words, row_stride, mask_stride, programs, WORDS: tl.constexpr):
    """One program: WORDS words of one row."""
    program = tl.program_id(0)
    text = (program // programs).to(tl.int64)
    number = tl.load(numbers + text).to(tl.int64)
    word = program % programs * WORDS + tl.arange(0, WORDS)
    kept = word < tl.where(number >= 0, words, 0)
    bits = tl.load(rows + number * row_stride + word, mask=kept, other=0)
    tl.store(mask + text * mask_stride + word, bits, mask=kept)
