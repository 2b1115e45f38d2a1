"""Accessors of the arena of the kernel that reads frozen schemas (layout/schema.py)."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.json.places import longs
from grammarlm.layout.schema import Read, Tape


@inlined
def read_arena(address):
    return carray(pointer(address), int64(Read.LENGTH), np.int64)


@inlined
def ints(arena, place):
    return carray(pointer(arena[place]), 1 << 40, np.int32)


@inlined
def bytes_at(arena, place):
    return carray(pointer(arena[place]), 1 << 40, np.uint8)


@inlined
def template(arena, which):
    """A row that every program has."""
    return longs(arena, Read.TEMPLATES)[which]


@inlined
def of(value, column):
    """Index of a column of a value in the tape."""
    return int64(value) * int64(Tape.LENGTH) + int64(column)


@part
def tell(arena, value, column):
    """Reads a column of a value in the tape."""
    return int64(ints(arena, Read.TAPE)[of(value, column)])
