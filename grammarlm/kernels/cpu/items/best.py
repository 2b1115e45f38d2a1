"""The best of many candidates: collected in a buffer of twice the number to keep, and sorted whenever it is full.

Candidates compare by key, equal ones by their tokens, in the order of kernels/reference/items.py. Tokens are read from the rows
only if two keys are equal.
"""

from collections import namedtuple

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer

from .rows import NO_TOKEN, prefix_token

RANKED = 512  # up to so many are sorted by rank, comparing each with each

# Of the candidates, by slot. `order` is a permutation of all slots: those of candidates, then free ones; `sorting` holds keys.
Candidates = namedtuple(
    "Candidates", ["keys", "scores", "parents", "tokens", "depths", "open", "order", "spare", "sorting", "ranges"]
)
Parents = namedtuple("Parents", ["depths", "ranges"])  # one search's entries of the previous level


@inlined
def room_for(address, width, segments):
    """Slots for twice as many candidates as are kept, and two more: one `offer` may add two
    (`words_of_room` in layout/items.py).

    The caller owns the memory: arrays that a kernel allocates are reference-counted at each call of a part, which costs more than
    the calls.
    """
    slots = 2 * width + 2
    step = 8 * slots
    return Candidates(
        carray(pointer(address), slots, np.float64),
        carray(pointer(address + step), slots, np.float64),
        carray(pointer(address + 2 * step), slots, np.int64),
        carray(pointer(address + 3 * step), slots, np.int64),
        carray(pointer(address + 4 * step), slots, np.int64),
        carray(pointer(address + 5 * step), slots, np.int64),
        carray(pointer(address + 6 * step), slots, np.int64),
        carray(pointer(address + 7 * step), slots, np.int64),
        carray(pointer(address + 8 * step), slots, np.float64),
        carray(pointer(address + 9 * step), (slots, segments, 2), np.int64),
    )


@part
def letter(candidates, slot, parents, segments, place):
    """Token `place` of a candidate; -1 after an item's last, 0 after an open prefix."""
    parent = candidates.parents[slot]
    depth = parents.depths[parent]
    if place < depth:
        return prefix_token(segments, parents.ranges[parent], place)
    if place == depth:
        return int64(candidates.tokens[slot])
    return int64(0 if candidates.open[slot] else NO_TOKEN)


@part
def has_lesser_tokens(candidates, a, b, parents, segments):
    place = int64(0)
    if candidates.parents[a] == candidates.parents[b]:
        place = int64(parents.depths[candidates.parents[a]])
    while True:
        first = letter(candidates, a, parents, segments, place)
        second = letter(candidates, b, parents, segments, place)
        if first != second:
            return first < second
        if first == NO_TOKEN:
            return False
        place += 1


@part
def rank(keys, count, ranked):
    """Computes the rank of each key, greatest first. False if two are equal.

    All pairs are compared, vectorised and branch-free. Equal keys share a rank, which leaves another one empty.
    """
    for place in range(count):
        ranked[place] = -1
    for i in range(count):
        key, better = keys[i], int64(0)
        for j in range(count):
            better += keys[j] > key
        ranked[better] = i
    for place in range(count):
        if ranked[place] < 0:
            return False
    return True


@part
def sort_best_first(candidates, count, parents, segments):
    """Sorts the first `count` of `order`: a few by rank, more by bottom-up merge sort."""
    keys, order, spare, sorting = candidates.keys, candidates.order, candidates.spare, candidates.sorting
    if count <= RANKED:
        for place in range(count):
            sorting[place] = keys[order[place]]
        if rank(sorting, count, spare):
            for place in range(count):
                spare[place] = order[spare[place]]
            for place in range(count):
                order[place] = spare[place]
            return
    length = int64(1)
    while length < count:
        for start in range(0, count, 2 * length):
            middle, stop = min(start + length, count), min(start + 2 * length, count)
            left, right = start, middle
            for place in range(start, stop):
                take_right = left == middle
                if left < middle and right < stop:
                    a, b = keys[order[left]], keys[order[right]]
                    take_right = b > a
                    if a == b:
                        take_right = has_lesser_tokens(candidates, order[right], order[left], parents, segments)
                if take_right:
                    spare[place] = order[right]
                    right += 1
                else:
                    spare[place] = order[left]
                    left += 1
        for place in range(count):
            order[place] = spare[place]
        length *= 2
