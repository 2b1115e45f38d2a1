"""Ends of frames that the walk of a survey meets, by **group**: a way in which frames end, (label, border), see surveys.py.

TALLY counts what the walk has found: tokens of the row, leaves, groups; then it has the label and border of each group.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, ints, missing, octets
from grammarlm.layout.stack import ANY, EXIT, EXPANDED, HAS_THREADS, NEED_BORDER, TOO_WIDE, Field
from grammarlm.layout.stack_calls import GROUPS, MOST_CLASSES


@part
def group_of(address, tally, admits, label, border):
    """The number of a group, assigned at its first use, or a missing code. admits[group, column]: does the border accept
    that byte class?
    """
    group = int64(tally[2])
    for known in range(group):
        if tally[3 + 2 * known] == label and tally[4 + 2 * known] == border:
            return int64(known)
    if group == GROUPS:
        return missing(TOO_WIDE, 3)
    arena = arena_of(address)
    classes = int64(arena[Field.CLASSES])
    if border != ANY and octets(arena, Field.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return missing(NEED_BORDER, border)
    after = ints(arena, Field.B_NEXT, (border + 1) * classes)[border * classes :]
    for column in range(min(classes, MOST_CLASSES)):
        admits[group, column] = border == ANY or after[column] != 0
    tally[3 + 2 * group], tally[4 + 2 * group] = label, border
    tally[2] = group + 1
    return group


@part
def ends_of(address, config, tally, admits, ends):
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
        group = group_of(address, tally, admits, label, border)
        if group < 0:
            return group
        ends[3 + many] = group
        many += 1
    ends[0], ends[1], ends[2] = config, sure, many
    return int64(0)
