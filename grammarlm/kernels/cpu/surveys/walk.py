"""The walk of a survey: what tokens do from a state when only the class of the stack is known.

It computes a row (draft_row.py) and the leaves, by group (frame_ends.py). The leaves of a group are the children of the nodes at
which a frame ends, and those nodes themselves if a token ends there too.

A walk that misses a state looks ahead a little, collecting further missing states but no results.
"""

import numpy as np
from numba import carray, int32, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import copy_bytes, part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, ints, missing, octets
from grammarlm.kernels.cpu.stack.configs import step
from grammarlm.kernels.cpu.stack.walk import note_missing, row_of
from grammarlm.kernels.cpu.table.walk import set_bit
from grammarlm.kernels.cpu.tokens.byte_kinds import find_inside
from grammarlm.layout.stack import FULL, HAS_EXITS, STAYING, Field
from grammarlm.layout.stack_calls import FEW, FULL_LEAVES, GROUPS, MOST_CLASSES, SLOTS, SUSPENDED_LENGTH, TALLY
from grammarlm.layout.utf8 import WORDS

from .draft_row import (
    CLEAN,
    CONFIG,
    HOW,
    INSIDE,
    KEY,
    NODE,
    OUTSIDE,
    RESUMABLE,
    STALE,
    count_row,
    empty_row,
    note_token,
    suspend,
    take_out,
)
from .frame_ends import ends_of, find_staying

WORTH_A_ROW = 1000  # size of a remainder trie from which configs get rows of transitions
MANY_WORDS = 8  # size of a subtree from which it pays to test whether a config loops on all of it
LOOK_ON = 3000  # how many nodes to look ahead after one that misses a state


@part
def walk_vocabulary(address, start, tally, slots, admits, above, ends):
    """Walks the vocabulary's trie from path[0], or resumes at node `start`. Returns 0, or a missing code; then the walk is
    suspended.

    Most subtrees consist of words: if a config loops on all their bytes, as within a name, all their tokens are added. If most
    tokens reach a config `inside` a text that accepts most characters, the row starts with all tokens; a subtree that stays inside
    is skipped, and of the nodes visited, those that do not belong are removed.
    """
    arena = arena_of(address)
    suspended = carray(pointer(arena[Field.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    inside, outside = uint64(suspended[INSIDE]), suspended[OUTSIDE]
    kinds_below = carray(pointer(arena[Field.KINDS_BELOW]), uint64(arena[Field.NODES]), np.int64)
    staying = carray(pointer(arena[Field.STAYING]), (STAYING, 2), np.int64)
    nodes = uint64(arena[Field.NODES])
    byte, end = octets(arena, Field.BYTE, nodes), ints(arena, Field.END, nodes)
    depth = carray(pointer(arena[Field.DEPTH]), nodes, np.uint16)
    token = carray(pointer(arena[Field.TOKEN]), nodes, np.uint32)
    nothing = uint32(arena[Field.NOTHING])
    row = ints(arena, Field.DRAFT_ROW, arena[Field.NOTHING] // 32 + 1)
    listed = ints(arena, Field.DRAFT_TOKENS, FEW + 1)
    path = ints(arena, Field.PATH, arena[Field.PATH_LENGTH])
    capacity = arena[Field.C_CAPACITY]
    kinds, rows = octets(arena, Field.C_KIND, capacity), ints(arena, Field.C_ROW, capacity)
    classes, class_of = uint64(arena[Field.CLASSES]), octets(arena, Field.CLASS_OF, 256)
    table = ints(arena, Field.C_NEXT, arena[Field.R_CAPACITY] * int64(classes))
    room = arena[Field.LEAVES_CAPACITY]
    leaves = carray(pointer(arena[Field.LEAVES]), (room, 2), np.int32)
    count, leaf, first_missing = int64(tally[0]), int64(tally[1]), int64(0)
    node, stop = uint64(start), nodes
    while node < stop:
        here = uint64(depth[node])
        before = uint64(path[here - uint64(1)])
        if before == inside and kinds_below[node] & outside == 0 and byte[node] & 0xC0 != 0x80:
            node = uint64(end[node])
            continue
        if rows[before] < 0:
            made = row_of(address, int64(before))
            if made < 0:
                if first_missing == 0:
                    suspend(address, int64(node), int64(here), tally, count, leaf)
                return made if first_missing == 0 else first_missing
        if (
            kinds_below[node] & ~int64(WORDS) == 0
            and first_missing == 0
            and uint64(end[node]) - node > uint64(MANY_WORDS)
        ):
            slot = before & uint64(STAYING - 1)
            if uint64(staying[slot, 0]) != before:
                code = find_staying(address, int64(before), staying, tally, slots, admits, above)
                if code < 0:
                    suspend(address, int64(node), int64(here), tally, count, leaf)
                    return code
            if kinds_below[node] & ~staying[slot, 1] == 0:
                for below in range(node, uint64(0) if inside else uint64(end[node])):
                    set_bit(row, token[below])
                    listed[min(count, FEW)] = int32(token[below])
                    count += int64(token[below] != nothing)
                node = uint64(end[node])
                continue
        column = uint64(class_of[byte[node]])
        cell = uint64(rows[before]) * classes + column
        after = table[cell]
        if after < 0:
            found = step(address, int64(before), int64(column))
            if found < 0:
                if first_missing == 0:
                    suspend(address, int64(node), int64(here), tally, count, leaf)
                    first_missing = found
                    stop = min(nodes, node + uint64(LOOK_ON))
                if not note_missing(arena, found):
                    return first_missing
                node = uint64(end[node])
                continue
            table[cell] = found
            continue
        if first_missing:
            if after:
                path[here] = after
                node += uint64(1)
            else:
                node = uint64(end[node])
            continue
        leaf_before = leaf
        if kinds[before] & HAS_EXITS:
            if above[0] != before:
                code = ends_of(address, int64(before), tally, slots, admits, above)
                if code < 0:
                    suspend(address, int64(node), int64(here), tally, count, leaf)
                    return code
            if leaf + above[2] > room:
                suspend(address, int64(node), int64(here), tally, count, leaf)
                return missing(FULL, FULL_LEAVES)
            for i in range(above[2]):
                if admits[above[3 + i], column]:
                    leaves[leaf, 0], leaves[leaf, 1] = above[3 + i], 2 * node
                    leaf += 1
        if after == 0:
            if inside:
                take_out(row, token, int64(node), int64(end[node]))
            node = uint64(end[node])
            continue
        path[here] = after
        sure = True
        if kinds[uint64(after)] & HAS_EXITS:
            if ends[0] != after:
                code = ends_of(address, int64(after), tally, slots, admits, ends)
                if code < 0:
                    suspend(address, int64(node), int64(here), tally, count, leaf_before)
                    return code
            sure = ends[1] == 1
            if not sure and token[node] != nothing:
                if leaf + ends[2] > room:
                    suspend(address, int64(node), int64(here), tally, count, leaf_before)
                    return missing(FULL, FULL_LEAVES)
                for i in range(ends[2]):
                    leaves[leaf, 0], leaves[leaf, 1] = ends[3 + i], 2 * node + 1
                    leaf += 1
        if sure:  # whether a token ends here is unpredictable: branch-free
            set_bit(row, token[node])
            listed[min(count, FEW)] = int32(token[node])
            count += int64(token[node] != nothing)
        elif inside:
            take_out(row, token, int64(node), int64(node) + 1)
        node += uint64(1)
    if first_missing == 0:
        tally[0], tally[1] = count, leaf
    return first_missing


@part
def walk_remainders(address, trie, start, tally, slots, admits, above, ends):
    """The same on a trie of remainders."""
    arena = arena_of(address)
    tries = carray(pointer(arena[Field.TRIES]), (trie + 1, 5), np.int32)
    first, nodes, entry = int64(tries[trie, 0]), int64(tries[trie, 1]), int64(tries[trie, 2])
    node_end = first + nodes
    byte, end = octets(arena, Field.X_BYTE, node_end), ints(arena, Field.X_END, node_end)
    depth = carray(pointer(arena[Field.X_DEPTH]), node_end, np.uint16)
    begins, counts = ints(arena, Field.X_FIRST, node_end), ints(arena, Field.X_COUNT, node_end)
    entries = carray(pointer(arena[Field.X_TOKEN]), (arena[Field.X_TOKENS], 2), np.int32)
    row = ints(arena, Field.DRAFT_ROW, arena[Field.NOTHING] // 32 + 1)
    listed = ints(arena, Field.DRAFT_TOKENS, FEW)
    path = ints(arena, Field.PATH, arena[Field.PATH_LENGTH])
    capacity = arena[Field.C_CAPACITY]
    kinds, rows = octets(arena, Field.C_KIND, capacity), ints(arena, Field.C_ROW, capacity)
    classes, class_of = int64(arena[Field.CLASSES]), octets(arena, Field.CLASS_OF, 256)
    table = ints(arena, Field.C_NEXT, arena[Field.R_CAPACITY] * classes)
    room = arena[Field.LEAVES_CAPACITY]
    leaves = carray(pointer(arena[Field.LEAVES]), (room, 2), np.int32)
    count, leaf, first_missing = int64(tally[0]), int64(tally[1]), int64(0)
    node, stop = int64(start), nodes
    while node < stop:
        here = int64(depth[first + node])
        before = int64(path[here - 1])
        column = int64(class_of[byte[first + node]])
        if rows[before] < 0 and nodes > WORTH_A_ROW:
            made = row_of(address, before)
            if made < 0:
                if first_missing == 0:
                    suspend(address, node, here, tally, count, leaf)
                return made if first_missing == 0 else first_missing
        cell = int64(rows[before]) * classes + column
        after = int64(table[cell]) if rows[before] >= 0 else int64(-1)
        if after < 0:
            after = step(address, before, column)
            if after < 0:
                if first_missing == 0:
                    suspend(address, node, here, tally, count, leaf)
                    first_missing = after
                    stop = min(nodes, node + LOOK_ON)
                if not note_missing(arena, after):
                    return first_missing
                node = int64(end[first + node])
                continue
            if rows[before] >= 0:
                table[cell] = after
        if first_missing:
            if after:
                path[here] = after
                node += 1
            else:
                node = int64(end[first + node])
            continue
        leaf_before = leaf
        if kinds[before] & HAS_EXITS:
            if above[0] != before:
                code = ends_of(address, before, tally, slots, admits, above)
                if code < 0:
                    suspend(address, node, here, tally, count, leaf)
                    return code
            if leaf + above[2] > room:
                suspend(address, node, here, tally, count, leaf)
                return missing(FULL, FULL_LEAVES)
            for i in range(above[2]):
                if admits[above[3 + i], column]:
                    leaves[leaf, 0], leaves[leaf, 1] = above[3 + i], 2 * node
                    leaf += 1
        if after == 0:
            node = int64(end[first + node])
            continue
        path[here] = after
        many = int64(counts[first + node])
        if many:
            sure = True
            if kinds[after] & HAS_EXITS:
                if ends[0] != after:
                    code = ends_of(address, after, tally, slots, admits, ends)
                    if code < 0:
                        suspend(address, node, here, tally, count, leaf_before)
                        return code
                sure = ends[1] == 1
                if not sure:
                    if leaf + ends[2] > room:
                        suspend(address, node, here, tally, count, leaf_before)
                        return missing(FULL, FULL_LEAVES)
                    for i in range(ends[2]):
                        leaves[leaf, 0], leaves[leaf, 1] = ends[3 + i], 2 * node + 1
                        leaf += 1
            if sure:
                at = entry + int64(begins[first + node])
                for j in range(at, at + many):
                    if row[entries[j, 0] >> 5] >> (entries[j, 0] & 31) & 1 == 0:
                        count = note_token(row, listed, count, entries[j, 0])
        node += 1
    if first_missing == 0:
        tally[0], tally[1] = count, leaf
    return first_missing


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
def find_leaves(address, trie, q, b, k, config):
    """Runs the walk of either kind; its counters are in TALLY. Returns 0, or a missing code: then it is suspended, and the
    next call resumes it.
    """
    arena = arena_of(address)
    suspended = carray(pointer(arena[Field.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    tally = carray(pointer(arena[Field.TALLY]), TALLY, np.int64)
    slots = carray(pointer(arena[Field.SLOTS]), SLOTS, np.int16)
    admits = carray(pointer(arena[Field.ADMITS]), (GROUPS, MOST_CLASSES), np.uint8)
    ends_above = carray(pointer(arena[Field.ENDS]), (2, 3 + GROUPS), np.int64)
    path = ints(arena, Field.PATH, arena[Field.PATH_LENGTH])
    goes_on = suspended[HOW] == RESUMABLE and suspended[CONFIG] == config
    goes_on = goes_on and suspended[KEY] == trie and suspended[KEY + 1] == q
    goes_on = goes_on and suspended[KEY + 2] == b and suspended[KEY + 3] == k
    node = int64(0)
    if goes_on:
        node = suspended[NODE]
        path[:] = ints(arena, Field.SUSPENDED_PATH, arena[Field.PATH_LENGTH])
    else:
        if suspended[HOW] != CLEAN:
            empty_row(address, -1)
        suspended[KEY], suspended[KEY + 1], suspended[KEY + 2], suspended[KEY + 3] = trie, q, b, k
        suspended[CONFIG] = config
        slots[:] = -1
        path[0] = config
        tally[:3] = 0
        carray(pointer(arena[Field.STAYING]), (STAYING, 2), np.int64)[:] = -1
        suspended[HOW] = STALE
        if trie == 0:
            code = begin_inside(address, config, suspended)
            if code < 0:
                return code
    suspended[HOW] = STALE
    ends_above[0, 0], ends_above[1, 0] = -1, -1
    if trie:
        return walk_remainders(address, trie, node, tally, slots, admits, ends_above[0], ends_above[1])
    code = walk_vocabulary(address, node, tally, slots, admits, ends_above[0], ends_above[1])
    if code == 0 and suspended[INSIDE]:
        tally[0] = count_row(address)
    return code
