"""Rows of sorted items: cells, bounds of a range, the next selected row, and the children of a prefix.

A prefix is a range of rows in each segment, given by positions `pos` and `end`. In a range of one row the child is one cell; in a
longer one the end of a run is found by galloping (exponential, then binary search), so a run costs the logarithm of its length.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer

LOW, HIGH, STARTS, ROWS, LENGTH, BITS, STRIDE, SHIFT, LARGEST = range(9)  # indices into a segment's description
WORDS, SUMMARY, COUNT = range(3)  # indices into a selection's
LOW_BITS = 16
END = 0
NO_TOKEN = -1
NOTHING = -2  # there is no further child


@inlined
def low_column(segment, depth):
    """The lower bits of all cells of a column."""
    return carray(pointer(segment[LOW] + 2 * depth * segment[ROWS]), segment[ROWS], np.uint16)


@part
def cell_at(segment, depth, row):
    """The cell of a row in column `depth`."""
    value = int64(low_column(segment, depth)[row])
    bits = segment[BITS]
    if bits:
        stride = segment[STRIDE]
        at = row * bits
        byte = int64(carray(pointer(segment[HIGH] + depth * stride), stride, np.uint8)[at >> 3])
        value |= ((byte >> (at & 7)) & ((int64(1) << bits) - 1)) << LOW_BITS
    return value


@part
def first_not_less(segment, depth, low, high, cell):
    """The first row from `low` on whose cell is not less; `high` if there is none. The rows share `depth` tokens."""
    if low >= high:
        return high
    if depth == 0:  # the first column has a table
        if cell > segment[LARGEST]:
            return high
        starts = carray(pointer(segment[STARTS]), segment[LARGEST] + 2, np.int32)
        return min(high, max(low, int64(starts[cell])))
    if cell_at(segment, depth, low) >= cell:
        return low
    step = int64(1)
    while low + step < high and cell_at(segment, depth, low + step) < cell:
        low += step
        step *= 2
    high = min(high, low + step)
    low += 1
    while low < high:
        middle = (low + high) >> 1
        if cell_at(segment, depth, middle) < cell:
            low = middle + 1
        else:
            high = middle
    return low


@part
def lowest_bit(bits):
    """The index of the lowest set bit; there must be one."""
    place = int64(0)
    for width in (32, 16, 8, 4, 2, 1):
        if bits & ((uint64(1) << uint64(width)) - uint64(1)) == uint64(0):
            bits >>= uint64(width)
            place += width
    return place


@part
def next_selected(selection, row, end):
    """The first selected row from `row` on; `end` if there is none before it."""
    if selection[WORDS] == 0 or row >= end:
        return row
    count = selection[COUNT]
    words = carray(pointer(selection[WORDS]), count, np.uint64)
    bits = words[row >> 6] >> uint64(row & 63)
    if bits:
        return min(end, row + lowest_bit(bits))
    word = (row >> 6) + 1
    last = (end - 1) >> 6
    summaries = (count + 63) >> 6
    summary = carray(pointer(selection[SUMMARY]), summaries, np.uint64)
    while word <= last:
        some = summary[word >> 6] >> uint64(word & 63)
        if some:
            word += lowest_bit(some)
            return min(end, (word << 6) + lowest_bit(words[word])) if word <= last else end
        word = ((word >> 6) + 1) << 6
    return end


@part
def end_of_ends(segment, depth, low, high):
    """In a range of rows that share `depth` tokens: the first row whose item continues."""
    if depth >= segment[LENGTH]:
        return high
    if segment[SHIFT] == 0:
        return low
    return first_not_less(segment, depth, low, high, int64(END + 1))


@part
def take_ends(segments, selections, depth, pos, end, child):
    """Moves the rows that end here from the ranges to `child`; is one of them selected?"""
    found = False
    for s in range(len(segments)):
        child[s, 0], child[s, 1] = 0, 0
        if pos[s] < end[s]:
            behind = end_of_ends(segments[s], depth, pos[s], end[s])
            if behind > pos[s]:
                child[s, 0], child[s, 1] = pos[s], behind
                pos[s] = next_selected(selections[s], behind, end[s])
                found = True
    return found


@part
def next_child(segments, selections, depth, pos, end, child):
    """The least token that can come next; its rows are moved from the ranges to `child`; NOTHING if none is left.

    Each range begins with a selected row, before and after, or is empty. None holds rows that end here.
    """
    token = int64(1) << 62
    for s in range(len(segments)):
        if pos[s] < end[s]:
            token = min(token, cell_at(segments[s], depth, pos[s]) - segments[s, SHIFT])
    if token == int64(1) << 62:
        return int64(NOTHING)
    for s in range(len(segments)):
        child[s, 0], child[s, 1] = 0, 0
        if pos[s] < end[s] and cell_at(segments[s], depth, pos[s]) - segments[s, SHIFT] == token:
            behind = pos[s] + 1
            if behind < end[s]:
                behind = first_not_less(segments[s], depth, pos[s], end[s], token + segments[s, SHIFT] + 1)
            child[s, 0], child[s, 1] = pos[s], behind
            pos[s] = next_selected(selections[s], behind, end[s])
    return token


@part
def child_of(segments, selections, depth, token, pos, end, child):
    """Moves the rows of one token to `child`, and drops those of lesser tokens; is one of its rows selected?"""
    found = False
    for s in range(len(segments)):
        child[s, 0], child[s, 1] = 0, 0
        cell = token + segments[s, SHIFT]
        low = first_not_less(segments[s], depth, pos[s], end[s], cell)
        if low < end[s] and cell_at(segments[s], depth, low) == cell:
            behind = first_not_less(segments[s], depth, low, end[s], cell + 1)
            first = next_selected(selections[s], low, behind)
            if first < behind:
                child[s, 0], child[s, 1] = first, behind
                found = True
            low = behind
        pos[s] = low
    return found


@part
def prefix_token(segments, ranges, place):
    """Token `place` of the prefix shared by all rows of the ranges."""
    for s in range(len(segments)):
        if ranges[s, 0] < ranges[s, 1]:
            return cell_at(segments[s], place, ranges[s, 0]) - segments[s, SHIFT]
    return int64(NO_TOKEN)
