"""Borders: what the rest of a text must satisfy. A border is a state of an automaton over bytes whose rows Python makes."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.stack import ANY, EXPANDED, NEED_AND, NEED_BORDER, Field

from .arena import arena_of, ints, missing, mixed, octets


@part
def both(address, b, c):
    """The border that is satisfied iff both are, or a missing code."""
    if b == c or c == ANY:
        return int64(b)
    if b == ANY:
        return int64(c)
    arena = arena_of(address)
    size = arena[Field.B_AND_SIZE]
    table = carray(pointer(arena[Field.B_AND]), (size, 2), np.int64)
    key = (int64(b) << 32 | int64(c)) if b < c else (int64(c) << 32 | int64(b))
    at = int64(mixed(key, 7) & uint64(size - 1))
    while table[at, 0] >= 0:
        if table[at, 0] == key:
            return table[at, 1]
        at = (at + 1) & (size - 1)
    pair = carray(pointer(arena[Field.PAIR]), 3, np.int64)
    pair[0], pair[1] = b, c
    return missing(NEED_AND, 0)


@part
def border_after(address, border, byte):
    """The border after a byte, 0 if it is violated, or a missing code."""
    if border == ANY:
        return int64(ANY)
    arena = arena_of(address)
    if octets(arena, Field.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return missing(NEED_BORDER, border)
    classes = arena[Field.CLASSES]
    column = int64(octets(arena, Field.CLASS_OF, 256)[byte])
    return int64(ints(arena, Field.B_NEXT, (border + 1) * classes)[border * classes + column])


@part
def takes_one_byte(address, border):
    """1 if the border constrains the next byte only: after each byte it is violated or satisfied. 0 if not, or a missing code."""
    arena = arena_of(address)
    if octets(arena, Field.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return missing(NEED_BORDER, border)
    classes = arena[Field.CLASSES]
    after = ints(arena, Field.B_NEXT, (border + 1) * classes)
    for column in range(classes):
        if after[border * classes + column] > ANY:
            return int64(0)
    return int64(1)
