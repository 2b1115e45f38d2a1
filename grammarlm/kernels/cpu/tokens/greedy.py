"""Greedy tokenization: cuts bytes into tokens, always the longest match. Not a tokenizer's own encoding, but any vocabulary
has it.
"""

import numpy as np
from numba import carray, int32, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import kernel, pointer
from grammarlm.kernels.cpu.table.walk import trie_arrays
from grammarlm.layout.table import Arena


@kernel("int64(int64, int64, int64, int64)")
def cut(arena_address, data_address, length, tokens_address):
    """Writes the tokens and returns their count; -1 - p if no token matches at byte p. `tokens`, int32, is as long as the data.

    Only the trie's part of the arena is read.
    """
    arena = carray(pointer(arena_address), int64(Arena.LENGTH), np.int64)
    nodes, byte, _, end, token = trie_arrays(arena)
    nothing = uint32(arena[Arena.NOTHING])
    data = carray(pointer(data_address), length, np.uint8)
    tokens = carray(pointer(tokens_address), length, np.int32)

    count, start = 0, int64(0)
    while start < length:
        found, after = nothing, start
        child, behind = uint64(0), nodes  # the children of a node are the subtrees in child .. behind
        for i in range(start, length):
            while child < behind and byte[child] != data[i]:
                child = uint64(end[child])
            if child >= behind:
                break
            if token[child] != nothing:
                found, after = token[child], i + 1
            behind = uint64(end[child])
            child += uint64(1)
        if after == start:
            return int64(-1) - start
        tokens[count] = int32(found)
        count += 1
        start = after
    return int64(count)
