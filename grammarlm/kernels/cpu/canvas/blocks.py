"""Partition refinement: the coarsest partition in which states of a block do alike (masks/canvas/json/automaton.py). Compared by
hashes, which the caller checks."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.layout.stack_sets import Refine

MIX = 0x9E3779B97F4A7C15


@inlined
def scrambled(word):
    found = (word ^ word >> uint64(30)) * uint64(0xBF58476D1CE4E5B9)
    found = (found ^ found >> uint64(27)) * uint64(0x94D049BB133111EB)
    return found ^ found >> uint64(31)


@kernel("int64(int64, int64, int64, int64)", seconds=1)
def byte_columns(table_address, states, hashes_address, like_address):
    """Adds to HASHES (uint64 [256]) those of the columns of a table int32 [states, 256]. Or, given LIKE (int64 [256]): is each
    column like that one?"""
    table = carray(pointer(table_address), (states, 256), np.int32)
    if like_address:
        like = carray(pointer(like_address), 256, np.int64)
        for s in range(states):
            for b in range(256):
                if table[s, b] != table[s, like[b]]:
                    return int64(0)
        return int64(1)
    hashes = carray(pointer(hashes_address), 256, np.uint64)
    for s in range(states):
        weight = scrambled(uint64(s + 1) * uint64(MIX))
        for b in range(256):
            hashes[b] += uint64(int64(table[s, b])) * weight
    return int64(1)


@part
def name_steps(address, turn):
    """VALUES: the name of each state's block, of no step, and of each special step by all that it may do."""
    arena = carray(pointer(address), int64(Refine.LENGTH), np.int64)
    states, specials = arena[Refine.STATES], arena[Refine.SPECIALS]
    block = carray(pointer(arena[Refine.BLOCK]), states, np.int64)
    values = carray(pointer(arena[Refine.VALUES]), states + 1 + specials, np.uint64)
    parts = carray(pointer(arena[Refine.PART]), (arena[Refine.PARTS], 4), np.int64)
    for s in range(states):
        values[s] = scrambled(uint64(block[s] + 1) * uint64(MIX) + uint64(turn))
    values[states] = scrambled(uint64(turn))
    for i in range(specials):
        values[states + 1 + i] = uint64(0)
    for i in range(len(parts)):
        done = values[parts[i, 2]] * uint64(3) + values[parts[i, 3]] ^ uint64(parts[i, 1])
        values[states + 1 + parts[i, 0]] += scrambled(done)


@part
def number_hashes(address):
    """NEXT: numbers of equal hashes, in the order of the first state of each. Returns how many."""
    arena = carray(pointer(address), int64(Refine.LENGTH), np.int64)
    states, mask = arena[Refine.STATES], arena[Refine.SLOTS] - 1
    slots = carray(pointer(arena[Refine.SLOT]), arena[Refine.SLOTS], np.int64)
    hashes = carray(pointer(arena[Refine.HASHES]), states, np.uint64)
    after = carray(pointer(arena[Refine.NEXT]), states, np.int64)
    slots[:] = 0
    found = int64(0)
    for s in range(states):
        at = int64(hashes[s] >> uint64(20)) & mask
        while slots[at] and hashes[slots[at] - 1] != hashes[s]:
            at = (at + 1) & mask
        if slots[at] == 0:
            slots[at], after[s] = s + 1, found
            found += 1
        else:
            after[s] = after[slots[at] - 1]
    return found


@kernel("int64(int64)", seconds=2)
def refine_blocks(address):
    """Fills BLOCK, whose numbers begin at 0 in the order of states. Returns how many there are."""
    arena = carray(pointer(address), int64(Refine.LENGTH), np.int64)
    states, columns = arena[Refine.STATES], arena[Refine.COLUMNS]
    steps = carray(pointer(arena[Refine.STEPS]), (states, columns), np.int32)
    weights = carray(pointer(arena[Refine.WEIGHTS]), columns, np.uint64)
    values = carray(pointer(arena[Refine.VALUES]), states + 1 + arena[Refine.SPECIALS], np.uint64)
    block = carray(pointer(arena[Refine.BLOCK]), states, np.int64)
    after = carray(pointer(arena[Refine.NEXT]), states, np.int64)
    hashes = carray(pointer(arena[Refine.HASHES]), states, np.uint64)
    blocks, turn = int64(0), int64(0)
    while True:
        turn += 1
        name_steps(address, turn)
        for s in range(states):
            hashed = scrambled(values[s])
            for c in range(columns):
                hashed += values[steps[s, c]] * weights[c]
            hashes[s] = hashed
        found = number_hashes(address)
        for s in range(states):
            block[s] = after[s]
        if found == blocks:
            return found
        blocks = found
