"""Masks and steps of the pushdown machine, built on pushdown.py; calls.py makes a kernel of them.

`fill_row` is the loop of vocab/byte_trie.py over configs. Like walk.py it stops where something is missing, saves its position in
`scratch` (the config after each number of bytes; in the last entry the trie node to resume at), and resumes at the next call.
"""

import numpy as np
from numba import carray, int32, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.table.walk import set_bit
from grammarlm.layout.stack import FULL, NEED_LIVE, NEED_STATE, NEEDED, Field
from grammarlm.layout.stack_calls import DONE, STEPS_KEPT

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
def after_byte(address, config, byte):
    """The config after a byte, cached in the config's row of transitions, or a missing code."""
    arena = arena_of(address)
    number = row_of(address, config)
    if number < 0:
        return number
    classes = arena[Field.CLASSES]
    cell = number * classes + int64(octets(arena, Field.CLASS_OF, 256)[byte])
    table = ints(arena, Field.C_NEXT, cell + 1)
    if table[cell] < 0:
        after = step(address, config, cell - number * classes)
        if after < 0:
            return after
        table[cell] = after
    return int64(table[cell])


@inlined
def note_missing(arena, code):
    """Notes a missing state, so that the walk can continue and all are computed together; False if something else is missing."""
    reason, index = -code & 7, -code >> 3
    if reason != NEED_STATE and reason != NEED_LIVE:
        return False
    needed = ints(arena, Field.NEEDED, NEEDED)
    count = arena[Field.NEEDED_COUNT]
    for i in range(count):
        if needed[i] == index:
            return True
    if count < NEEDED:
        needed[count] = index
        arena[Field.NEEDED_COUNT] = count + 1
    return True


@part
def fill_row(address, scratch_address, scratch_length, row_address):
    """Sets the bits of all tokens that can be read from config scratch[0]; the row has one spare word. Returns 0, or a
    missing code.
    """
    arena = arena_of(address)
    nodes = uint64(arena[Field.NODES])
    byte = carray(pointer(arena[Field.BYTE]), nodes, np.uint8)
    depth = carray(pointer(arena[Field.DEPTH]), nodes, np.uint16)
    end = carray(pointer(arena[Field.END]), nodes, np.int32)
    token = carray(pointer(arena[Field.TOKEN]), nodes, np.uint32)
    row = carray(pointer(row_address), int64(arena[Field.NOTHING] // 32 + 1), np.int32)
    scratch = carray(pointer(scratch_address), scratch_length, np.int32)
    classes, class_of = uint64(arena[Field.CLASSES]), octets(arena, Field.CLASS_OF, 256)
    rows = ints(arena, Field.C_ROW, arena[Field.C_CAPACITY])
    table = ints(arena, Field.C_NEXT, arena[Field.R_CAPACITY] * int64(classes))

    node = uint64(scratch[scratch_length - 1])
    while node < nodes:
        here = uint64(depth[node])
        before = scratch[here - uint64(1)]
        if rows[uint64(before)] < 0:
            made = row_of(address, int64(before))
            if made < 0:
                scratch[scratch_length - 1] = int32(node)
                return made
        cell = uint64(rows[uint64(before)]) * classes + uint64(class_of[byte[node]])
        after = table[cell]
        if after <= 0:
            if after < 0:
                found = step(address, int64(before), int64(class_of[byte[node]]))
                if found < 0:
                    scratch[scratch_length - 1] = int32(node)
                    return found
                table[cell] = found
                continue
            node = uint64(end[node])
            continue
        scratch[here] = after
        set_bit(row, token[node])
        node += uint64(1)

    twins = carray(pointer(arena[Field.TWINS]), (arena[Field.TWIN_COUNT], 2), np.int32)
    for i in range(len(twins)):
        same = twins[i, 1]
        if row[same >> 5] >> (same & 31) & 1:
            set_bit(row, uint32(twins[i, 0]))
    return int64(DONE)


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
