"""The walk of a survey: what tokens do from a config, which may stand on an unknown stack of a known class.

It computes a row (draft_row.py) and the leaves, by group (frame_ends.py). The leaves of a group are the children of the nodes at
which a frame ends, and those nodes themselves if a token ends there too. On a whole stack no frame ends: all is in the row.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import copy_bytes, inlined, part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, ints, longs, missing, nodes_of, octets
from grammarlm.kernels.cpu.stack.configs import step
from grammarlm.kernels.cpu.stack.steps import row_of
from grammarlm.kernels.cpu.tokens.byte_kinds import find_inside
from grammarlm.layout.stack import FULL, HAS_EXITS, Field
from grammarlm.layout.stack_calls import FULL_LEAVES, GROUPS, MOST_CLASSES, SUSPENDED_LENGTH, TALLY

from .draft_row import (
    CLEAN,
    CONFIG,
    HOW,
    INSIDE,
    MORE,
    NODE,
    OUTSIDE,
    RESUMABLE,
    STALE,
    TRIE,
    count_row,
    empty_row,
    note_tokens,
    take_out_tokens,
)
from .frame_ends import ends_of

WORTH_A_ROW = 1000  # size of a trie, in nodes, from which configs get rows of transitions


@inlined
def walk(address, trie, tally, admits, above, ends, frames_end):
    """Walks a trie from path[0], or resumes where it was suspended. Returns 0, or a missing code; then it is suspended.

    It is compiled twice, for whole stacks without what concerns the ends of frames: a fifth of the time.
    The entries of the nodes in a row that are all accepted stand side by side, so their tokens are added together. If most tokens
    reach a config `inside` a text that accepts most characters, the row starts with all tokens; a subtree that stays inside is
    skipped, and of the nodes visited, those that do not belong are removed.
    """
    arena = arena_of(address)
    suspended = longs(arena, Field.SUSPENDED, SUSPENDED_LENGTH)
    inside, outside = uint64(suspended[INSIDE]), suspended[OUTSIDE]
    kinds_below = longs(arena, Field.KINDS_BELOW, uint64(arena[Field.NODES]))
    nodes, byte, depth, end, first, entries = nodes_of(arena, trie)
    row = ints(arena, Field.DRAFT_ROW, arena[Field.NOTHING] // 32)
    listed = ints(arena, Field.DRAFT_TOKENS, MORE)
    path = ints(arena, Field.PATH, arena[Field.PATH_LENGTH])
    capacity = arena[Field.C_CAPACITY]
    kinds, rows = octets(arena, Field.C_KIND, capacity), ints(arena, Field.C_ROW, capacity)
    classes, class_of = uint64(arena[Field.CLASSES]), octets(arena, Field.CLASS_OF, 256)
    table = ints(arena, Field.C_NEXT, arena[Field.R_CAPACITY] * int64(classes))
    room = arena[Field.LEAVES_CAPACITY]
    leaves = carray(pointer(arena[Field.LEAVES]), (room, 2), np.int32)
    count, leaf, code = tally[0], tally[1], int64(0)
    node, stop = uint64(min(suspended[NODE], nodes)), uint64(nodes)
    run = node  # the nodes from here on are accepted, and their tokens are not added yet
    while node < stop:
        here = uint64(depth[node])
        before = uint64(path[here - uint64(1)])
        if before == inside and kinds_below[node] & outside == 0 and byte[node] & 0xC0 != 0x80:
            node = uint64(end[node])
            continue
        column, number, after = uint64(class_of[byte[node]]), int64(rows[before]), int64(-1)
        if number < 0 and stop > WORTH_A_ROW:
            number = code = row_of(address, int64(before))
            if code < 0:
                break
        if number >= 0:
            after = int64(table[uint64(number) * classes + column])
        if after < 0:
            after = step(address, int64(before), int64(column))
            if after < 0:
                code = after
                break
            if number >= 0:
                table[uint64(number) * classes + column] = after
        leaf_before = leaf
        if frames_end and kinds[before] & HAS_EXITS:
            if above[0] != before:
                code = ends_of(address, int64(before), tally, admits, above)
                if code < 0:
                    break
            if leaf + above[2] > room:
                code = missing(FULL, FULL_LEAVES)
                break
            for i in range(above[2]):
                if admits[above[3 + i], column]:
                    leaves[leaf, 0], leaves[leaf, 1] = above[3 + i], 2 * node
                    leaf += 1
        refused, behind = after == 0, node + uint64(1)
        if refused:
            behind = uint64(end[node])
        else:
            path[here] = after
            if frames_end and kinds[uint64(after)] & HAS_EXITS:
                if ends[0] != after:
                    code = ends_of(address, after, tally, admits, ends)
                    if code < 0:
                        leaf = leaf_before
                        break
                refused = ends[1] == 0
                if refused and first[node] < first[behind]:
                    if leaf + ends[2] > room:
                        code, leaf = missing(FULL, FULL_LEAVES), leaf_before
                        break
                    for i in range(ends[2]):
                        leaves[leaf, 0], leaves[leaf, 1] = ends[3 + i], 2 * node + uint64(1)
                        leaf += 1
        if refused:
            if inside:
                take_out_tokens(row, entries, first[node], first[behind])
            elif run < node:
                count = note_tokens(row, listed, count, entries, first[run], first[node])
            run = behind
        node = behind
    if inside == 0:
        count = note_tokens(row, listed, count, entries, first[run], first[node])
    tally[0], tally[1], suspended[NODE] = count, leaf, int64(node)
    if code < 0:
        suspended[HOW] = RESUMABLE
    return min(code, int64(0))


@part
def begin_inside(address, config, suspended):
    """Fills the row with all tokens if most of them reach a config inside a text and stay there. Returns 0, or a missing code."""
    arena = arena_of(address)
    code = find_inside(address, config, suspended[INSIDE:])
    if code < 0:
        return code
    if suspended[INSIDE]:
        copy_bytes(arena[Field.DRAFT_ROW], arena[Field.TEXT_ROW], 4 * (arena[Field.NOTHING] // 32))
    return int64(0)


@part
def find_leaves(address, trie, config, is_whole):
    """Runs the walk; its counters are in TALLY. Returns 0, or a missing code: then the next call resumes it.

    `is_whole`: the config stands on whole stacks.
    """
    arena = arena_of(address)
    suspended = longs(arena, Field.SUSPENDED, SUSPENDED_LENGTH)
    tally = longs(arena, Field.TALLY, TALLY)
    admits = carray(pointer(arena[Field.ADMITS]), (GROUPS, MOST_CLASSES), np.uint8)
    ends_above = carray(pointer(arena[Field.ENDS]), (2, 3 + GROUPS), np.int64)
    if suspended[HOW] != RESUMABLE or suspended[TRIE] != trie or suspended[CONFIG] != config:
        if suspended[HOW] != CLEAN:
            empty_row(address, int64(-1))
        suspended[TRIE], suspended[CONFIG], suspended[NODE], suspended[INSIDE] = trie, config, 0, 0
        ints(arena, Field.PATH, 1)[0] = config
        tally[:3] = 0
        suspended[HOW] = STALE
        if trie == 0:
            code = begin_inside(address, config, suspended)
            if code < 0:
                return code
    suspended[HOW] = STALE
    ends_above[0, 0], ends_above[1, 0] = -1, -1
    if is_whole:
        code = walk(address, trie, tally, admits, ends_above[0], ends_above[1], False)
    else:
        code = walk(address, trie, tally, admits, ends_above[0], ends_above[1], True)
    if code == 0 and suspended[INSIDE]:
        tally[0] = count_row(address)
    return code
