"""Byte-pair encoding of each token alone, and which pairs of adjacent tokens it would join.

BPE repeatedly merges the adjacent pair whose merge has the lowest rank, leftmost first. Two adjacent tokens a b are each merged as
if alone until a merge joins them. Until then their merges interleave by lowest rank: a's merge comes before b's iff the greatest
rank up to it, its **time**, is no greater than that of b's. The merge that joins them is of a piece x, then the end of a, and a
piece y, then the beginning of b. Each end of a and each beginning of b exists for a while:

    first        when it is made, -1: from the start
    last         when it is merged further, FOREVER: never
    patience     the greatest rank of what its token merges meanwhile, its own further merge included

If x is made last, (x, y) of rank c is at some moment the next to be merged iff  c < patience of x,  c <= last of y;  if y is, iff
c < last of x,  c <= patience of y.  (At equal ranks it is the same merge twice, and the left one comes first.)

The beginnings of all tokens are indexed by piece, so computing a token's row costs a walk over the merges of its few ends.
"""

import numpy as np
from numba import carray, int32, int64

from grammarlm.kernels.cpu.jit import kernel, part, pointer

FOREVER = 2**31 - 1


@part
def place_of(keys, key):
    """Binary search: index of the first entry of a sorted array that is not less than the key."""
    low, high = int64(0), int64(len(keys))
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@part
def merge_of(keys, left, right):
    """Index of the merge of two pieces, -1 if there is none."""
    key = int64(left) << 32 | int64(right)
    place = place_of(keys, key)
    return place if place < len(keys) and keys[place] == key else int64(-1)


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64)")
def merge_each(
    merges_address, merge_count, symbols_address, offsets_address, tokens, left_address, right_address, counts_address
):
    """Encodes each token's symbols alone.

    `left` and `right`, int32 [symbols, 4], receive the beginnings and ends of token t from offsets[t] on: piece, first, last,
    patience. `counts`, int32 [tokens, 3]: their numbers, and the single piece that the token becomes, -1 if several remain.
    `merges`, int64 [3, merges]: left << 32 | right, sorted; rank; result.
    """
    merges = carray(pointer(merges_address), (3, merge_count), np.int64)
    keys = merges[0]
    offsets = carray(pointer(offsets_address), tokens + 1, np.int64)
    symbols = carray(pointer(symbols_address), offsets[tokens], np.int32)
    left = carray(pointer(left_address), (offsets[tokens], 4), np.int32)
    right = carray(pointer(right_address), (offsets[tokens], 4), np.int32)
    counts = carray(pointer(counts_address), (tokens, 3), np.int32)
    longest = int64(1)
    for t in range(tokens):
        longest = max(longest, offsets[t + 1] - offsets[t])
    pieces = np.empty(longest, np.int32)
    places = np.empty(longest, np.int64)  # index of the merge of each piece with the next one
    for t in range(tokens):
        start, count = offsets[t], offsets[t + 1] - offsets[t]
        counts[t, 0], counts[t, 1], counts[t, 2] = 0, 0, -1
        if count == 0:
            continue
        for i in range(count):
            pieces[i] = symbols[start + i]
        for i in range(count - 1):
            places[i] = merge_of(keys, pieces[i], pieces[i + 1])
        lefts, rights = start, start  # the entries that currently exist
        set_entry(left, lefts, pieces[0], int64(-1))
        set_entry(right, rights, pieces[count - 1], int64(-1))
        time, left_patience, right_patience = int64(-1), int64(-1), int64(-1)
        while count > 1:
            best, rank = int64(-1), int64(FOREVER)
            for i in range(count - 1):
                if places[i] >= 0 and merges[1, places[i]] < rank:
                    best, rank = int64(i), merges[1, places[i]]
            if best < 0:
                break
            made = int32(merges[2, places[best]])
            time = max(time, rank)
            left_patience, right_patience = max(left_patience, rank), max(right_patience, rank)
            if best == 0:
                left[lefts, 2], left[lefts, 3] = time, left_patience
                lefts, left_patience = lefts + 1, int64(-1)
                set_entry(left, lefts, made, time)
            if best == count - 2:
                right[rights, 2], right[rights, 3] = time, right_patience
                rights, right_patience = rights + 1, int64(-1)
                set_entry(right, rights, made, time)
            pieces[best] = made
            count -= 1
            for i in range(best + 1, count):
                pieces[i], places[i] = pieces[i + 1], places[i + 1]
            if best > 0:
                places[best - 1] = merge_of(keys, pieces[best - 1], made)
            if best < count - 1:
                places[best] = merge_of(keys, made, pieces[best + 1])
        counts[t, 0], counts[t, 1] = lefts - start + 1, rights - start + 1
        if count == 1:
            counts[t, 2] = pieces[0]


@part
def set_entry(table, at, piece, time):
    table[at, 0], table[at, 1], table[at, 2], table[at, 3] = piece, time, FOREVER, FOREVER


@kernel("void(int64, int64, int64, int64, int64, int64, int64, int64)")
def mark_joined(
    merges_address, merge_count, ends_address, ends, starts_address, pieces, beginnings_address, joined_address
):
    """Sets joined[b] = 1 for each token b that BPE would join with the token whose ends, int32 [ends, 4], are given.

    `beginnings`, int32 [.., 4]: those of all tokens that begin with piece p are at starts[p] to starts[p + 1], with the token in
    place of the piece.
    """
    merges = carray(pointer(merges_address), (3, merge_count), np.int64)
    keys = merges[0]
    own = carray(pointer(ends_address), (ends, 4), np.int32)
    starts = carray(pointer(starts_address), pieces + 1, np.int64)
    beginnings = carray(pointer(beginnings_address), (starts[pieces], 4), np.int32)
    joined = carray(pointer(joined_address), pieces, np.uint8)
    for i in range(ends):
        first, last, patience = own[i, 1], own[i, 2], own[i, 3]
        place = place_of(keys, int64(own[i, 0]) << 32)
        while place < merge_count and keys[place] >> 32 == own[i, 0]:
            rank, piece = merges[1, place], keys[place] & 0xFFFFFFFF
            place += 1
            if rank >= last:
                continue
            for j in range(starts[piece], starts[piece + 1]):
                other = beginnings[j]
                if first > other[1]:
                    together = first <= other[2] and rank < patience and rank <= other[2]
                else:
                    together = last > other[1] and rank <= other[3]
                if together:
                    joined[other[0]] = 1
