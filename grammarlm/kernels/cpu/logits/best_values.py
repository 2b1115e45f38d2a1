"""The greatest values of a row, in order: which continuations of a text are the best.

Most rows have few values above the least of those found so far, so the row is looked through in blocks, whose comparison with it is
vectorised. `reference.best_values` defines the result.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, kernel, pointer

BLOCK = 64


@inlined
def is_worse(numbers, one, other):
    """Is the value at `one` less than that at `other`, or equal and further back?"""
    return numbers[one] < numbers[other] or (numbers[one] == numbers[other] and one > other)


@inlined
def sift(numbers, heap, size):
    """Moves the first index of a heap, whose first is the worst, to its place."""
    at = int64(0)
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and is_worse(numbers, heap[below + 1], heap[below]):
            below += 1
        if not is_worse(numbers, heap[below], heap[at]):
            break
        heap[at], heap[below] = heap[below], heap[at]
        at = below


@inlined
def lift(numbers, heap, at):
    """Moves the index at this place of the heap up to where it belongs."""
    while at > 0 and is_worse(numbers, heap[at], heap[(at - 1) // 2]):
        heap[at], heap[(at - 1) // 2] = heap[(at - 1) // 2], heap[at]
        at = (at - 1) // 2


@kernel("int64(int64, int64, int64, int64)")
def best_values(values, width, count, out):
    """Writes the indexes (int64) of the `count` greatest of float32 [width] above -inf, best first, ties in order; how many."""
    numbers, heap = carray(pointer(values), width, np.float32), carray(pointer(out), count, np.int64)
    size, least = int64(0), np.float32(-np.inf)
    for begin in range(0, width if count > 0 else 0, BLOCK):
        end = min(begin + BLOCK, width)
        greater = 0
        for i in range(begin, end):
            greater |= int64(numbers[i] > least)
        if not greater:
            continue
        for i in range(begin, end):
            if numbers[i] <= least:  # also where the heap is full: an equal one further back is worse
                continue
            if size < count:
                heap[size] = i
                size += 1
                lift(numbers, heap, size - 1)
            else:
                heap[0] = i
                sift(numbers, heap, size)
            if size == count:
                least = numbers[heap[0]]
    for left in range(size - 1, 0, -1):  # the worst goes to the end of what is left
        heap[0], heap[left] = heap[left], heap[0]
        sift(numbers, heap, left)
    return size
