"""What configs are after bytes and tokens, kept in rows of transitions."""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.layout.stack import FULL, Field
from grammarlm.layout.stack_calls import STEPS_KEPT

from .arena import arena_of, ints, missing, mixed, octets
from .configs import step

NEVER_READ, READ_ONCE = -1, -2  # states of a config without a row


@part
def row_of(address, config):
    """The number of the config's row of transitions; allocates one if there is none."""
    arena = arena_of(address)
    rows = ints(arena, Field.C_ROW, arena[Field.C_CAPACITY])
    if rows[config] < 0:
        new = arena[Field.R_COUNT]
        if new >= arena[Field.R_CAPACITY]:
            return missing(FULL, 3)
        classes = arena[Field.CLASSES]
        table = ints(arena, Field.C_NEXT, (new + 1) * classes)
        for column in range(classes):
            table[new * classes + column] = -1
        rows[config] = new
        arena[Field.R_COUNT] = new + 1
    return int64(rows[config])


@part
def read(address, config, byte):
    """The config after a byte. A config read from twice gets a row of transitions: the inside of a string, not each nesting."""
    arena = arena_of(address)
    column = int64(octets(arena, Field.CLASS_OF, 256)[byte])
    rows = ints(arena, Field.C_ROW, arena[Field.C_CAPACITY])
    row = int64(rows[config])
    if row == NEVER_READ:
        rows[config] = READ_ONCE
        return step(address, config, column)
    if row < 0:
        row = row_of(address, config)
        if row < 0:
            return row
    cell = row * arena[Field.CLASSES] + column
    table = ints(arena, Field.C_NEXT, cell + 1)
    if table[cell] < 0:
        found = step(address, config, column)
        if found < 0:
            return found
        table[cell] = found
    return int64(table[cell])


@part
def advance(address, config, token):
    """The config after a token, 0 if it is rejected, or a missing code."""
    arena = arena_of(address)
    count = arena[Field.VOCABULARY]
    if token < 0 or token >= count:
        return int64(0)
    if octets(arena, Field.IS_TEXT, count)[token] == 0:
        return int64(0)
    steps = carray(pointer(arena[Field.STEPS]), (STEPS_KEPT, 2), np.int64)
    key = int64(config) << 32 | token
    slot = int64(mixed(config, token) & uint64(STEPS_KEPT - 1))
    if steps[slot, 0] == key:
        return steps[slot, 1]
    offsets = carray(pointer(arena[Field.OFFSETS]), count + 1, np.int64)
    data = octets(arena, Field.DATA, arena[Field.DATA_LENGTH])
    for i in range(offsets[token], offsets[token + 1]):
        config = read(address, config, int64(data[i]))
        if config <= 0:
            break
    if config >= 0:
        steps[slot, 0], steps[slot, 1] = key, config
    return config


@part
def advance_bytes(address, config, data_address, length):
    """The config after a byte string, 0 if it is rejected, or a missing code."""
    data = carray(pointer(data_address), length, np.uint8)
    for i in range(length):
        config = read(address, config, int64(data[i]))
        if config <= 0:
            break
    return config
