"""The best of many entries: a heap with the worst of those kept on top.

Entries compare by key, equal ones by their tokens, as kernels/reference_items.py orders them. The tokens are read from the rows
only where two keys are equal.
"""

from collections import namedtuple

import numpy as np
from numba import int64

from .item_rows import NO_TOKEN, prefix_token
from .jit import part

Heap = namedtuple("Heap", ["keys", "scores", "parents", "tokens", "depths", "open", "ranges", "order", "count"])
Parents = namedtuple("Parents", ["depths", "ranges"])  # of one search's entries, one level before


@part
def new_heap(width, segments):
    """Room for `width` entries, and one that is being offered."""
    slots = width + 1
    order = np.arange(slots)
    return Heap(
        np.empty(slots, np.float64),
        np.empty(slots, np.float64),
        np.empty(slots, np.int64),
        np.empty(slots, np.int64),
        np.empty(slots, np.int64),
        np.empty(slots, np.int64),
        np.empty((slots, segments, 2), np.int64),
        order,
        np.zeros(1, np.int64),
    )


@part
def letter(heap, slot, parents, segments, place):
    """Token `place` of a slot's entry; -1 behind an item's last, 0 behind an open prefix."""
    parent = heap.parents[slot]
    depth = parents.depths[parent]
    if place < depth:
        return prefix_token(segments, parents.ranges[parent], place)
    if place == depth:
        return heap.tokens[slot]
    return int64(0 if heap.open[slot] else NO_TOKEN)


@part
def is_better(heap, a, b, parents, segments):
    if heap.keys[a] != heap.keys[b]:
        return heap.keys[a] > heap.keys[b]
    place = int64(0)
    if heap.parents[a] == heap.parents[b]:
        place = parents.depths[heap.parents[a]]
    while True:
        first, second = letter(heap, a, parents, segments, place), letter(heap, b, parents, segments, place)
        if first != second:
            return first < second
        if first == NO_TOKEN:
            return False
        place += 1


@part
def sink(heap, place, parents, segments):
    """Moves an entry down until none below is worse."""
    order, count = heap.order, heap.count[0]
    while True:
        worst = place
        for below in range(2 * place + 1, min(2 * place + 3, count)):
            if is_better(heap, order[worst], order[below], parents, segments):
                worst = below
        if worst == place:
            return
        order[place], order[worst] = order[worst], order[place]
        place = worst


@part
def rise(heap, place, parents, segments):
    order = heap.order
    while place > 0 and is_better(heap, order[(place - 1) // 2], order[place], parents, segments):
        order[place], order[(place - 1) // 2] = order[(place - 1) // 2], order[place]
        place = (place - 1) // 2


@part
def push(heap, width, child, parents, segments):
    """Keeps the entry in the free slot, whose ranges are `child`, if it is among the best `width`."""
    count = heap.count[0]
    slot = heap.order[count]
    if count == width and not is_better(heap, slot, heap.order[0], parents, segments):
        return
    for s in range(len(segments)):
        heap.ranges[slot, s, 0], heap.ranges[slot, s, 1] = child[s, 0], child[s, 1]
    if count < width:
        heap.count[0] = count + 1
        rise(heap, count, parents, segments)
    else:
        heap.order[0], heap.order[width] = slot, heap.order[0]
        sink(heap, int64(0), parents, segments)


@part
def sort_best_first(heap, parents, segments):
    """Leaves the slots of all entries in heap.order, the best first; says how many."""
    count = heap.count[0]
    for last in range(count - 1, 0, -1):
        heap.order[0], heap.order[last] = heap.order[last], heap.order[0]
        heap.count[0] = last
        sink(heap, int64(0), parents, segments)
    return count
