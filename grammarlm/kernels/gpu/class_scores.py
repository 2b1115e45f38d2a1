"""Logits of tokens to scores of classes on a GPU: of each row and class the best token, its logit and the sum of exponentials.

    pieces = pieces_of(order, starts, device)              # once for some classes and a device
    best = class_best(logits, pieces)                      # .highest, .tokens, .sums, each [B, K]
    drawn_members(logits, pieces, best, classes, shares)   # of each row a token of one class

`order` is all tokens, class by class. Classes have from 1 to 100,000 of them, so they are cut into pieces of at most 1024, and what
is left of each goes to the narrowest tile that takes it: 64 pieces of 16 tokens, 8 of 128, or 1 of 1024. One program reduces the
pieces of one tile and one row. A class of one piece is then done; those of several are combined by a second launch.

Which tokens are summed in which order depends on the classes alone, so a result does not change with the row or the batch. Logits
are gathered: each comes from memory once, and from the L2 cache as often as its 32 bytes belong to different pieces.
`kernels/reference/canvas.py` defines the results.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl

from grammarlm.kernels.gpu.apply_mask import current

WIDTHS = 16, 128, 1024  # of tiles: the most tokens of a piece
CELLS = 1024  # of a tile
DRAWN_CELLS = 4096  # a draw reads a class block by block, up to 100,000 tokens: few large blocks
NO_TOKEN = tl.constexpr(2**31 - 1)
INFINITY, MINUS_INFINITY = tl.constexpr(float("inf")), tl.constexpr(float("-inf"))
FAR = tl.constexpr(-87.0)  # exponentials of what is further below the highest are left out, as on the CPU


class Pieces(NamedTuple):
    """The classes of a vocabulary, cut up."""

    classes: int
    order: torch.Tensor  # int32 [V]
    starts: torch.Tensor  # int32 [K + 1]: where each class begins in `order`
    firsts: torch.Tensor  # int32 [P]: where each piece begins in `order`; pieces of a tile's width are together
    ends: torch.Tensor  # int32 [P]
    slots: (
        torch.Tensor
    )  # int32 [P]: the column that a piece is written to, its class or, if that has several, K and above
    tiles: tuple[int, int, int]  # how many there are of each width
    parts: torch.Tensor  # int32 [S, 3]: the classes that have several pieces, and the slots of these, from and to
    slot_count: int
    most: int  # pieces of a class


class ClassBest(NamedTuple):
    """Of each row and class. A class without tokens has -inf, -1 and 0; one with NaN or +inf among its logits NaN, -1 and NaN."""

    highest: torch.Tensor  # float32 [B, K]
    tokens: torch.Tensor  # int32 [B, K]: of equal logits the first
    sums: torch.Tensor  # float32 [B, K]: the sum of exp(logit - highest), 0 where that is -inf


class Row(NamedTuple):
    """What the tiles of one row read and write, as pointers."""

    logits: Any  # to the first column
    column_stride: Any
    order: Any
    firsts: Any
    ends: Any
    slots: Any
    highest: Any  # to the row's first slot
    tokens: Any
    sums: Any


def pieces_of(order: np.ndarray, starts: np.ndarray, device: torch.device) -> Pieces:
    """`order` int32 [V]: all tokens, class by class, ascending within each; `starts` int [K + 1]: where each class begins there."""
    sizes, widest = np.diff(starts), WIDTHS[-1]
    classes = len(sizes)
    counts = np.maximum(1, -(-sizes // widest))  # a class without tokens is an empty piece
    owners = np.repeat(np.arange(classes), counts)
    numbers = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)  # of a piece within its class
    firsts = starts[owners] + numbers * widest
    ends = np.minimum(firsts + widest, starts[owners + 1])
    is_part = counts[owners] > 1
    slots = np.where(is_part, classes + np.cumsum(is_part) - 1, owners)
    kinds = np.searchsorted(WIDTHS, ends - firsts)
    by_width = np.argsort(kinds, kind="stable")
    places, tiles = [], []
    for kind, width in enumerate(WIDTHS):
        own = by_width[kinds[by_width] == kind]
        tiles.append(-(-len(own) * width // CELLS))
        places.append(np.pad(own, (0, tiles[-1] * (CELLS // width) - len(own)), constant_values=-1))
    place = np.concatenate(places)  # -1 fills the last tile of each width
    split = np.flatnonzero(counts > 1)
    last = classes + np.cumsum(counts[split])
    parts = np.stack([split, last - counts[split], last], 1)

    def there(array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, np.int32)).to(device)

    is_piece = place >= 0
    return Pieces(
        classes,
        there(order),
        there(starts),
        there(np.where(is_piece, firsts[place], 0)),
        there(np.where(is_piece, ends[place], 0)),
        there(np.where(is_piece, slots[place], -1)),
        (tiles[0], tiles[1], tiles[2]),
        there(parts),
        classes + int(is_part.sum()),
        int(counts.max(initial=1)),
    )


def class_best(logits: torch.Tensor, pieces: Pieces, rows: torch.Tensor | None = None) -> ClassBest:
    """Of logits [L, at least V] (float32, float16, bfloat16; any strides), or of those `rows` of them (int64 [B])."""
    batch = len(logits) if rows is None else len(rows)
    shape, tiles = (batch, pieces.slot_count), sum(pieces.tiles)
    kinds = torch.float32, torch.int32, torch.float32
    found = [torch.empty(shape, dtype=kind, device=logits.device) for kind in kinds]
    if batch and tiles:
        with current(logits.device):
            _reduce[(batch * tiles,)](
                logits, *logits.stride(), rows, pieces.order, pieces.firsts, pieces.ends, pieces.slots, *found,
                pieces.slot_count, tiles, pieces.tiles[0], pieces.tiles[1], CELLS, *WIDTHS, num_warps=4,
            )  # fmt: skip
            if len(pieces.parts):
                _combine[(batch * len(pieces.parts),)](
                    pieces.parts, len(pieces.parts), *found, pieces.slot_count,
                    triton.next_power_of_2(pieces.most), num_warps=1,
                )  # fmt: skip
    return ClassBest(*(each[:, : pieces.classes] for each in found))


def drawn_members(
    logits: torch.Tensor,
    pieces: Pieces,
    best: ClassBest,
    classes: torch.Tensor,
    shares: torch.Tensor,
    rows: torch.Tensor | None = None,
) -> torch.Tensor:
    """int32 [B]: of classes[b] (int64 [B]) the first token up to which exponentials sum to more than shares[b] (float32 [B], below
    1) of the class's. `best` is of the same rows."""
    drawn = torch.empty(len(classes), dtype=torch.int32, device=logits.device)
    if len(classes):
        highest, sums = (values.gather(1, classes[:, None])[:, 0] for values in (best.highest, best.sums))
        with current(logits.device):
            _draw[(len(classes),)](
                logits, *logits.stride(), rows, pieces.order, pieces.starts, classes, highest, sums * shares, drawn,
                DRAWN_CELLS, num_warps=8,
            )  # fmt: skip
    return drawn


@triton.jit
def _exponentials(x, top):
    """exp(x - top), 0 far below; NaN where top is NaN."""
    below = x - tl.where(top == MINUS_INFINITY, 0.0, top)
    return tl.where(below < FAR, 0.0, tl.exp(below))


@triton.jit
def _tile(row, piece, COUNT: tl.constexpr, WIDTH: tl.constexpr):
    """COUNT pieces of at most WIDTH tokens, from `piece` on, of a row."""
    number = piece + tl.arange(0, COUNT)
    slot = tl.load(row.slots + number)
    place = tl.load(row.firsts + number)[:, None] + tl.arange(0, WIDTH)[None, :]
    inside = place < tl.load(row.ends + number)[:, None]
    token = tl.load(row.order + place, mask=inside, other=NO_TOKEN)
    x = tl.load(row.logits + token.to(tl.int64) * row.column_stride, mask=inside, other=MINUS_INFINITY).to(tl.float32)
    top = tl.max(tl.where(x < INFINITY, x, INFINITY), 1)
    top = tl.where(top < INFINITY, top, float("nan"))
    first = tl.min(tl.where(x == top[:, None], token, NO_TOKEN), 1)
    total = tl.sum(_exponentials(x, top[:, None]), 1)
    tl.store(row.highest + slot, top, mask=slot >= 0)
    tl.store(row.tokens + slot, tl.where(first == NO_TOKEN, -1, first), mask=slot >= 0)
    tl.store(row.sums + slot, total, mask=slot >= 0)


@triton.jit(do_not_specialize=["slot_count", "tiles", "narrow", "middle"])
def _reduce(
    logits, row_stride, column_stride, rows, order, firsts, ends, slots, highest, tokens, sums,
    slot_count, tiles, narrow, middle,
    CELLS: tl.constexpr, NARROW: tl.constexpr, MIDDLE: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Tile id % tiles of row id // tiles: `narrow` tiles of pieces of NARROW tokens come first, then `middle` ones of MIDDLE."""
    program = tl.program_id(0)
    index = (program // tiles).to(tl.int64)
    tile = program % tiles
    own = index if rows is None else tl.load(rows + index).to(tl.int64)
    slot = index * slot_count
    row = Row(
        logits + own * row_stride, column_stride, order, firsts, ends, slots, highest + slot, tokens + slot, sums + slot
    )
    if tile < narrow:
        _tile(row, tile * (CELLS // NARROW), CELLS // NARROW, NARROW)
    elif tile < narrow + middle:
        piece = narrow * (CELLS // NARROW) + (tile - narrow) * (CELLS // MIDDLE)
        _tile(row, piece, CELLS // MIDDLE, MIDDLE)
    else:
        piece = narrow * (CELLS // NARROW) + middle * (CELLS // MIDDLE) + (tile - narrow - middle) * (CELLS // WIDE)
        _tile(row, piece, CELLS // WIDE, WIDE)


@triton.jit(do_not_specialize=["part_count", "slot_count"])
def _combine(parts, part_count, highest, tokens, sums, slot_count, MOST: tl.constexpr):
    """Class id % part_count of those with several pieces, row id // part_count: the results of its pieces become one."""
    program = tl.program_id(0)
    own = (program // part_count).to(tl.int64) * slot_count
    part = parts + program % part_count * 3
    slot = tl.load(part + 1) + tl.arange(0, MOST)
    inside = slot < tl.load(part + 2)
    tops = tl.load(highest + own + slot, mask=inside, other=MINUS_INFINITY)
    firsts = tl.load(tokens + own + slot, mask=inside, other=NO_TOKEN)
    totals = tl.load(sums + own + slot, mask=inside, other=0)
    top = tl.max(tl.where(tops < INFINITY, tops, INFINITY), 0)
    top = tl.where(top < INFINITY, top, float("nan"))
    first = tl.min(tl.where(tops == top, firsts, NO_TOKEN), 0)
    total = tl.sum(totals * _exponentials(tops, top), 0)
    place = own + tl.load(part)
    tl.store(highest + place, top)
    tl.store(tokens + place, tl.where(first == NO_TOKEN, -1, first))
    tl.store(sums + place, total)


@triton.jit
def _draw(
    logits, row_stride, column_stride, rows, order, starts, classes, highest, targets, drawn, CELLS: tl.constexpr
):
    """One program: one row. Tokens of its class are read from the first on until their sum exceeds the target; if it never does,
    the last that added anything is drawn."""
    index = tl.program_id(0)
    row = index.to(tl.int64) if rows is None else tl.load(rows + index).to(tl.int64)
    own = logits + row * row_stride
    kind = tl.load(classes + index)
    place, end = tl.load(starts + kind), tl.load(starts + kind + 1)
    top, target = tl.load(highest + index), tl.load(targets + index)
    found, last = NO_TOKEN, tl.load(order + place, mask=place < end, other=-1)
    total = tl.full((), 0.0, tl.float32)
    while (place < end) & (found == NO_TOKEN):
        at = place + tl.arange(0, CELLS)
        token = tl.load(order + at, mask=at < end, other=0)
        x = tl.load(own + token.to(tl.int64) * column_stride, mask=at < end, other=MINUS_INFINITY).to(tl.float32)
        added = _exponentials(x, top)
        sums = total + tl.cumsum(added, 0)
        found = tl.min(tl.where((added > 0) & (sums > target), token, NO_TOKEN), 0)
        last = tl.maximum(last, tl.max(tl.where(added > 0, token, -1), 0))
        total += tl.sum(added, 0)
        place += CELLS
    tl.store(drawn + index, tl.where(found == NO_TOKEN, last, found))
