"""Validation of tries read from a file: no walk leaves its trie, no entry is out of bounds."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import kernel, pointer


@kernel("int64(int64, int64, int64, int64, int64, int64, int64, int64)")
def tries_are_sound(tries_address, tries, nodes, depth_address, end_address, first_address, count_address, deepest):
    """1 if they are. Tries are concatenated, in the format of Field.TRIES; trie 0, the vocabulary's, has none of these nodes."""
    table = carray(pointer(tries_address), (tries, 5), np.int32)
    depth = carray(pointer(depth_address), nodes, np.uint16)
    end = carray(pointer(end_address), nodes, np.int32)
    begins = carray(pointer(first_address), nodes, np.int32)
    counts = carray(pointer(count_address), nodes, np.int32)
    at = int64(0)
    for trie in range(1, tries):
        first, many, entries = int64(table[trie, 0]), int64(table[trie, 1]), int64(table[trie, 3])
        if first != at or many < 0 or at + many > nodes:
            return int64(0)
        before = int64(0)
        for node in range(many):
            here = int64(depth[at + node])
            if here < 1 or here > before + 1 or here >= deepest:
                return int64(0)
            before = here
            if end[at + node] <= node or end[at + node] > many:
                return int64(0)
            if begins[at + node] < 0 or counts[at + node] < 0:
                return int64(0)
            if int64(begins[at + node]) + int64(counts[at + node]) > entries:
                return int64(0)
        at += many
    return int64(at == nodes)


@kernel("int64(int64, int64, int64, int64)")
def entries_are_sound(entries_address, entries, offsets_address, vocabulary):
    """1 if each entry is a token of the vocabulary and consumes no more bytes than it has."""
    table = carray(pointer(entries_address), (entries, 2), np.int32)
    offsets = carray(pointer(offsets_address), vocabulary + 1, np.int64)
    for i in range(entries):
        token = int64(table[i, 0])
        if token < 0 or token >= vocabulary:
            return int64(0)
        if table[i, 1] < 0 or table[i, 1] > offsets[token + 1] - offsets[token]:
            return int64(0)
    return int64(1)
