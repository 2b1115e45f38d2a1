"""Ends of frames that the walk of a survey meets, by **group**: a way in which frames end, (label, border), see surveys.py.

TALLY counts what the walk has found: tokens of the row, leaves, groups; then it has the label and border of each group.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, ints, missing, mixed, octets
from grammarlm.kernels.cpu.stack.walk import after_byte, note_missing
from grammarlm.layout.stack import ANY, EXIT, EXPANDED, HAS_EXITS, HAS_THREADS, NEED_BORDER, STAYING, TOO_WIDE, Field
from grammarlm.layout.stack_calls import GROUPS, MOST_CLASSES, SLOTS
from grammarlm.layout.utf8 import WORD_BYTES, WORDS


@part
def group_of(address, tally, slots, admits, label, border):
    """The number of a group, assigned at its first use, or a missing code. admits[group, column]: does the border accept
    that byte class?
    """
    at = int64(mixed(label, border) & uint64(SLOTS - 1))
    while slots[at] >= 0:
        group = int64(slots[at])
        if tally[3 + 2 * group] == label and tally[4 + 2 * group] == border:
            return group
        at = (at + 1) & (SLOTS - 1)
    group = int64(tally[2])
    if group == GROUPS:
        return missing(TOO_WIDE, 3)
    arena = arena_of(address)
    classes = int64(arena[Field.CLASSES])
    if border != ANY and octets(arena, Field.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return missing(NEED_BORDER, border)
    after = ints(arena, Field.B_NEXT, (border + 1) * classes)[border * classes :]
    for column in range(min(classes, MOST_CLASSES)):
        admits[group, column] = border == ANY or after[column] != 0
    slots[at] = group
    tally[3 + 2 * group], tally[4 + 2 * group] = label, border
    tally[2] = group + 1
    return group


@part
def ends_of(address, config, tally, slots, admits, ends):
    """Computes the groups of a config's ends. `ends`: the config, 1 if a token may surely end there, number of groups, the groups.

    Returns 0, or a missing code.
    """
    arena = arena_of(address)
    offset = int64(ints(arena, Field.C_OFFSET, config + 1)[config])
    length = int64(ints(arena, Field.C_LENGTH, config + 1)[config])
    threads = carray(pointer(arena[Field.THREADS]), (offset + length, 3), np.int32)
    terminals = arena[Field.LR_TERMINALS]
    sure = octets(arena, Field.C_KIND, config + 1)[config] & HAS_THREADS != 0
    many = 0
    for i in range(offset, offset + length):
        if threads[i, 0] != EXIT:
            continue
        label, border = int64(threads[i, 1]), int64(threads[i, 2])
        if 0 < label <= terminals and border == ANY:
            sure = True
        group = group_of(address, tally, slots, admits, label, border)
        if group < 0:
            return group
        ends[3 + many] = group
        many += 1
    ends[0], ends[1], ends[2] = config, sure, many
    return int64(0)


@part
def find_staying(address, config, staying, tally, slots, admits, above):
    """Caches on which kinds of word bytes a config loops: each byte leads back to it, lets no frame end, and a token may end
    after it. Returns 0, or a missing code.
    """
    arena = arena_of(address)
    known = staying[config & (STAYING - 1)]
    known[0], known[1] = -1, 0
    for probe in (0x7A, 0x65):  # `z`, `e`: they differ for keywords and hexadecimal digits
        after = after_byte(address, config, probe)
        if after < 0:
            return after
        if after != config:
            known[0] = config
            return int64(0)
    groups = int64(0)
    if octets(arena, Field.C_KIND, config + 1)[config] & HAS_EXITS:
        if above[0] != config:
            code = ends_of(address, config, tally, slots, admits, above)
            if code < 0:
                return code
        groups = above[2]
    class_of, kinds = octets(arena, Field.CLASS_OF, 256), octets(arena, Field.KINDS, 256)
    found, code = int64(WORDS), int64(0)
    for i in range(len(WORD_BYTES)):
        byte = int64(WORD_BYTES[i])
        after = after_byte(address, config, byte)
        if after < 0:
            code = after
            if not note_missing(arena, after):
                return after
            continue
        stays = after == config and (groups == 0 or above[1] == 1)
        for g in range(groups):
            stays &= admits[above[3 + g], class_of[byte]] == 0
        if not stays:
            found &= ~(int64(1) << int64(kinds[byte]))
    if code < 0:
        return code
    known[0], known[1] = config, found
    return int64(0)
