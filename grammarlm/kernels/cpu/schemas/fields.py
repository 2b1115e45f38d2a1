"""Accessors of the arena of the kernel that reads frozen schemas (layout/schema.py)."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.json.fields import ints, longs
from grammarlm.layout.schema import Fix, Queued, Read, Tape


@inlined
def read_arena(address):
    return carray(pointer(address), int64(Read.LENGTH), np.int64)


@inlined
def queued(arena, number):
    return carray(pointer(arena[Read.QUEUE] + 4 * Queued.LENGTH * number), int64(Queued.LENGTH), np.int32)


@inlined
def fix_of(arena, number):
    return carray(pointer(arena[Read.FIXES] + 8 * number * Fix.LENGTH), int64(Fix.LENGTH), np.int64)


@inlined
def template(arena, which):
    """A row that every program has."""
    return longs(arena, Read.TEMPLATES)[which]


@inlined
def tape_at(value, column):
    """Index of a column of a value in the tape."""
    return int64(value) * int64(Tape.LENGTH) + int64(column)


@part
def taped(arena, value, column):
    """Reads a column of a value in the tape."""
    return int64(ints(arena, Read.TAPE)[tape_at(value, column)])
