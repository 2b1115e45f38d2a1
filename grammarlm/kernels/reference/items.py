"""Definitions of the item set kernels in plain numpy.

A search has entries: open prefixes of items, and finished items. `item_step` replaces each open prefix by all its children and
keeps the best. The row range of a prefix is found by comparing whole columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grammarlm.layout.items import END, FINISHED, LOW_BITS, NO_TOKEN, Beams, Level, Segment, Selection, Sets


class Child(NamedTuple):
    """A possible successor of an entry."""

    key: float  # the sort key
    order: tuple[int, ...]  # its tokens; among equal keys the least comes first
    score: float
    parent: int
    token: int
    depth: int
    is_open: bool
    ranges: np.ndarray


def column(segment: Segment, depth: int) -> np.ndarray:
    """int64 [N]: the cells of one column."""
    cells = segment.low[depth].astype(np.int64)
    if segment.high_bits:
        bits = np.unpackbits(segment.high[depth], bitorder="little").reshape(-1, segment.high_bits)[: len(cells)]
        cells |= (bits.astype(np.int64) << np.arange(segment.high_bits)).sum(axis=1) << LOW_BITS
    return cells


def is_selected(selection: Selection, count: int) -> np.ndarray:
    """bool [N]"""
    if not len(selection.words):
        return np.ones(count, bool)
    return np.unpackbits(selection.words.view(np.uint8), bitorder="little")[:count].astype(bool)


def rows_with(sets: Sets, search: int, ranges: np.ndarray, depth: int, cell: int) -> np.ndarray:
    """int64 [S, 2]: those rows of some ranges whose cell in column `depth` is this (after the last column: END)."""
    found = np.zeros_like(ranges)
    for s, (segment, selection) in enumerate(zip(sets.segments, sets.selections[search], strict=True)):
        length, count = segment.low.shape
        cells = column(segment, depth) - segment.shift + 1 if depth < length else np.full(count, END)
        here = cells == cell
        here &= (np.arange(count) >= ranges[s, 0]) & (np.arange(count) < ranges[s, 1])
        end = np.flatnonzero(here)[-1:] + 1
        here &= is_selected(selection, count)
        if here.any():
            found[s] = np.flatnonzero(here)[0], end[0]
    return found


def children(sets: Sets, search: int, ranges: np.ndarray, depth: int) -> list[tuple[int, np.ndarray]]:
    """(token, ranges) of each token that can come next, sorted; NO_TOKEN if an item ends here."""
    cells: set[int] = set()
    for s, segment in enumerate(sets.segments):
        low, high = ranges[s]
        here = (
            column(segment, depth)[low:high] - segment.shift + 1 if depth < len(segment.low) else [END] * (high - low)
        )
        cells |= {int(cell) for cell in here}
    found = [(cell - 1, rows_with(sets, search, ranges, depth, cell)) for cell in sorted(cells)]
    return [(token, rows) for token, rows in found if (rows[:, 0] < rows[:, 1]).any()]


def tokens_of(sets: Sets, ranges: np.ndarray, depth: int) -> tuple[int, ...]:
    """The prefix shared by all rows of the ranges."""
    s = int(np.flatnonzero(ranges[:, 0] < ranges[:, 1])[0])
    segment = sets.segments[s]
    return tuple(int(column(segment, d)[ranges[s, 0]]) - segment.shift for d in range(depth))


def item_step(sets: Sets, beams: Beams, level: Level, out: Beams) -> tuple[np.ndarray, np.ndarray]:
    """Writes each search's best entries of the next level. Returns the tokens appended to open ones, and their parents' rows."""
    tokens: list[int] = []
    parents: list[int] = []
    for search, count in enumerate(beams.counts):
        found: list[Child] = []
        for entry in range(count):
            found += _successors(sets, beams, level, search, entry)
        found.sort(key=lambda child: (-child.key, child.order))
        kept = found[: level.width]
        out.counts[search] = len(kept)
        for place, child in enumerate(kept):
            out.scores[search, place], out.depths[search, place] = child.score, child.depth
            out.ranges[search, place] = child.ranges
            out.parents[search, place], out.tokens[search, place] = child.parent, child.token
            out.rows[search, place] = len(tokens) if child.is_open else FINISHED
            if child.is_open:
                tokens.append(child.token)
                parents.append(int(beams.rows[search, child.parent]))
    return np.array(tokens, np.int64), np.array(parents, np.int64)


def _successors(sets: Sets, beams: Beams, level: Level, search: int, entry: int) -> list[Child]:
    score, ranges, depth = float(beams.scores[search, entry]), beams.ranges[search, entry], level.depth
    row = int(beams.rows[search, entry])
    if row == FINISHED:
        own = int(beams.depths[search, entry])
        order = (*tokens_of(sets, ranges, own), NO_TOKEN)
        return [Child(score, order, score, entry, NO_TOKEN, own, False, ranges.copy())]
    prefix = tokens_of(sets, ranges, depth) if depth else ()
    made = []
    for token, rows in children(sets, search, ranges, depth):
        gain = _log_probability(level, row, level.stop if token == NO_TOKEN else token)
        if not gain > -np.inf:
            continue
        if token == NO_TOKEN:  # only if a stop token ends items: otherwise ranges have no rows that end
            made.append(Child(score + gain, (*prefix, NO_TOKEN), score + gain, entry, NO_TOKEN, depth, False, rows))
            continue
        key = score + gain - (float(level.penalties[search, token]) if level.penalties.size else 0.0)
        ends, going_on = (rows, rows) if level.stop >= 0 else split(sets, search, rows, depth + 1)
        if level.stop < 0 and (ends[:, 0] < ends[:, 1]).any():
            order = (*prefix, token, NO_TOKEN)
            made.append(Child(key, order, score + gain, entry, token, depth + 1, False, ends))
        if (going_on[:, 0] < going_on[:, 1]).any():
            order = (*prefix, token, 0)  # after the item that ends here
            made.append(Child(key, order, score + gain, entry, token, depth + 1, True, going_on))
    return made


def _log_probability(level: Level, row: int, token: int) -> float:
    return float(level.logits[row, token]) - (float(level.norms[row]) if level.norms.size else 0.0)


def split(sets: Sets, search: int, ranges: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Splits rows that share `depth` tokens: those that end there, and those that continue."""
    ends, going_on = rows_with(sets, search, ranges, depth, END), ranges.copy()
    for s, (segment, selection) in enumerate(zip(sets.segments, sets.selections[search], strict=True)):
        length, count = segment.low.shape
        low, high = ranges[s]
        cells = column(segment, depth) - segment.shift + 1 if depth < length else np.zeros(count, np.int64)
        places = np.arange(count)
        goes_on = (places >= low) & (places < high) & (cells != END) & is_selected(selection, count)
        going_on[s] = (np.flatnonzero(goes_on)[0], high) if goes_on.any() else (0, 0)
    return ends, going_on


def allowed_norms(sets: Sets, beams: Beams, level: Level, norms: np.ndarray) -> None:
    """norms[row] = log-sum-exp of the logits of what can come next: -inf if nothing can."""
    for search, count in enumerate(beams.counts):
        for entry in range(count):
            row = int(beams.rows[search, entry])
            if row == FINISHED:
                continue
            found = children(sets, search, beams.ranges[search, entry], level.depth)
            at = [level.stop if token == NO_TOKEN else token for token, _ in found]
            logits = level.logits[row, at].astype(np.float64)
            logits = logits[logits > -np.inf]
            peak = logits.max(initial=-np.inf)
            norms[row] = peak + np.log(np.exp(logits - peak).sum()) if len(logits) else -np.inf
