"""The item search step on a GPU: each prefix's best children, and the log-sum-exp of its logits, in one launch.

Rows are sorted, and their cells are stored by column: a cell is a token plus one, END (0) follows an item's last token, and the
last column holds only END. A prefix is a range of rows, a child a run of equal cells in the column of its depth. If a range has
fewer rows than there are tokens its rows are read, block by block; if it has more, each token's first row is found by binary
search. Both cost no more than reading the logits, which the log-sum-exp does anyway, so a hub with a million rows costs its own
program as much as any other.

The best so far are sortable numbers: the logit's bits above, the row's below, counted down, so that of equal logits the first row
comes first, which has the least tokens. Nothing here synchronises with the device. `reference_item_step` defines the result.
"""

import torch
import triton
import triton.language as tl

from grammarlm.kernels.gpu.csr import first_not_less
from grammarlm.layout.items import END as END_CELL

END = tl.constexpr(END_CELL)
NOTHING = tl.constexpr(-(2**63))  # less than any child's number
ROW_BITS = tl.constexpr(2**31 - 1)
HALVINGS = 31  # steps of a binary search: enough for any range of rows
LOGITS = 1024  # block size of the log-sum-exp
CHILDREN = 64  # least block size of children


def best_children(
    cells: torch.Tensor, ranges: torch.Tensor, logits: torch.Tensor, depth: int, stop: int, keep: int, is_allowed: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """numbers [E, K] int64, best first, K >= keep, and norms [E] float32; prefix e is the rows ranges[e], its logits logits[e].

    cells [L + 1, N] int32, ranges [E, 2] int32, logits [E, V]. The norm is the log-sum-exp of all logits, or of the children's if
    `is_allowed`. `stop` is the token that END stands for; -1: no range has such rows.
    """
    entries, width = ranges.shape[0], max(triton.next_power_of_2(keep), CHILDREN)
    numbers = torch.empty((entries, width), dtype=torch.int64, device=cells.device)
    norms = torch.empty(entries, dtype=torch.float32, device=cells.device)
    if entries:
        _best_children[(entries,)](
            cells[depth], ranges, logits, logits.stride(0), logits.shape[1], stop, numbers, norms,
            is_allowed, width, LOGITS, HALVINGS,
        )  # fmt: skip
    return numbers, norms


def spans(
    cells: torch.Tensor, starts: torch.Tensor, highs: torch.Tensor, depth: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """For children given by their first row and the end of their range: the end of each, and the first of its rows that
    continue.
    """
    ends, opens = torch.empty_like(starts), torch.empty_like(starts)
    count = starts.numel()
    if count:
        _spans[(triton.cdiv(count, LOGITS),)](
            cells[depth], cells[min(depth + 1, len(cells) - 1)], starts, highs, ends, opens, count, LOGITS, HALVINGS
        )
    return ends, opens


def rows_and_logits(numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Unpacks the numbers of children: rows (int32; 0 if there is none) and logits (float32; -inf)."""
    bits = (numbers >> 32).to(torch.int32)
    logits = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).view(torch.float32)
    is_child = numbers != NOTHING.value
    rows = torch.where(is_child, ROW_BITS.value - (numbers & ROW_BITS.value), 0).to(torch.int32)
    return rows, torch.where(is_child, logits, -torch.inf)


@triton.jit
def _added(top, total, values):
    """Adds values to a running log-sum-exp; -inf adds nothing."""
    peak = tl.maximum(top, tl.max(values, 0))
    safe = tl.where(peak == -float("inf"), 0.0, peak)
    total = total * tl.exp(top - safe) + tl.sum(tl.exp(values - safe), 0)
    return peak, total


@triton.jit
def _numbered(values, rows, is_child):
    """Packs numbers that sort by logit, and equal ones by row, first row highest."""
    bits = tl.where(values == 0, 0.0, values).to(tl.int32, bitcast=True)
    ordered = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.int64)
    return tl.where(is_child, (ordered << 32) | (rows ^ ROW_BITS).to(tl.int64), NOTHING)  # ^: counted down


@triton.jit
def _better(best, others, WIDTH: tl.constexpr):
    """The better half of both, best first."""
    ordered = tl.sort(tl.reshape(tl.join(best, others), [2 * WIDTH]), descending=True)
    halves = tl.reshape(ordered, [2, WIDTH])
    return tl.sum(tl.where(tl.arange(0, 2)[:, None] == 0, halves, 0), 0)


@triton.jit
def _best_children(
    column, ranges, logits, row_stride, vocabulary, stop, numbers, norms,
    IS_ALLOWED: tl.constexpr, WIDTH: tl.constexpr, LOGITS: tl.constexpr, HALVINGS: tl.constexpr,
):  # fmt: skip
    """One program: one prefix."""
    entry = tl.program_id(0)
    low, high = tl.load(ranges + 2 * entry), tl.load(ranges + 2 * entry + 1)
    own = logits + entry.to(tl.int64) * row_stride
    top = tl.full((), -float("inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    best = tl.full([WIDTH], NOTHING, tl.int64)

    by_rows = high - low <= vocabulary
    place = tl.where(by_rows, low, 0)
    last = tl.where(by_rows, high, vocabulary + 1)  # cells are 0 .. vocabulary
    while place < last:
        at = place + tl.arange(0, WIDTH)
        inside = at < last
        if by_rows:
            row = at
            cell = tl.load(column + row, mask=inside, other=-1)
            earlier = tl.load(column + row - 1, mask=inside & (row > low), other=-1)
            is_child = inside & (cell != earlier)
        else:
            cell = at
            row = first_not_less(column, low + tl.zeros_like(at), high + tl.zeros_like(at), cell, HALVINGS)
            found = tl.load(column + row, mask=inside & (row < high), other=-1)
            is_child = inside & (found == cell)
        token = tl.where(cell == END, stop, cell - 1)
        is_child &= (token >= 0) & (token < vocabulary)
        values = tl.load(own + token, mask=is_child, other=-float("inf")).to(tl.float32)
        is_child &= values > -float("inf")  # false for NaN
        values = tl.where(is_child, values, -float("inf"))
        if IS_ALLOWED:
            top, total = _added(top, total, values)
        fresh = _numbered(values, row, is_child)
        if tl.max(fresh, 0) > tl.min(best, 0):
            best = _better(best, fresh, WIDTH)
        place += WIDTH

    if not IS_ALLOWED:
        place = tl.where(low < high, 0, vocabulary)
        while place < vocabulary:
            at = place + tl.arange(0, LOGITS)
            values = tl.load(own + at, mask=at < vocabulary, other=-float("inf")).to(tl.float32)
            top, total = _added(top, total, values)
            place += LOGITS
    tl.store(numbers + entry * WIDTH + tl.arange(0, WIDTH), best)
    tl.store(norms + entry, top + tl.log(tl.where(total > 0, total, 1.0)))  # -inf if nothing was added


@triton.jit
def _spans(column, next_column, starts, highs, ends, opens, count, BLOCK: tl.constexpr, HALVINGS: tl.constexpr):
    """One program: BLOCK children."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    start = tl.load(starts + at, mask=inside, other=0)
    high = tl.load(highs + at, mask=inside, other=0)
    cell = tl.load(column + start, mask=inside & (start < high), other=0)
    end = first_not_less(column, start, high, cell + 1, HALVINGS)
    tl.store(ends + at, end, mask=inside)
    tl.store(opens + at, first_not_less(next_column, start, end, END + 1, HALVINGS), mask=inside)
