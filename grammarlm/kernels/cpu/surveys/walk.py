"""The walk of a survey: what tokens do from a state when only the class of the stack is known.

It computes a row, DRAFT_ROW, and the leaves, by group. A group is a way in which frames end: (label, border), see surveys.py. Its
leaves are the children of the nodes at which a frame ends, and those nodes themselves if a token ends there too. Besides a bit for
each token of the row, the first FEW tokens are listed.

A walk that misses something is **suspended**: its results stay in the scratch, with the node and the path to it, and the next call
resumes there. If it misses a state, it looks ahead a little, collecting further missing states but no results.
"""

import numpy as np
from numba import carray, int32, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import copy_bytes, inlined, part, pointer
from grammarlm.kernels.cpu.stack.configs import step
from grammarlm.kernels.cpu.stack.places import arena_of, ints, lacks, mixed, octets
from grammarlm.kernels.cpu.stack.walk import after_byte, noted, row_of
from grammarlm.kernels.cpu.table.walk import set_bit
from grammarlm.kernels.cpu.tokens.byte_kinds import WORD_BYTES, WORDS, find_inside
from grammarlm.layout.stack import (
    ANY,
    EXIT,
    EXPANDED,
    FULL,
    HAS_EXITS,
    HAS_THREADS,
    NEED_BORDER,
    STAYING,
    TOO_WIDE,
    Place,
)

FEW = 400  # most tokens of a row stored as a list
GROUPS = 512  # most groups of one survey
SLOTS = 2048  # size of the hash table of groups
WORTH_A_ROW = 1000  # size of a remainder trie from which configs get rows of transitions
TAKEN = 3 + 2 * GROUPS  # counters of the walk: tokens of the row, leaves, groups; then label and border of each group
FULL_LEAVES = 16
MANY_WORDS = 8  # size of a subtree from which it pays to test whether a config loops on all of it
MOST_CLASSES = 256  # of bytes; the columns after them are special tokens
LOOK_ON = 3000  # how many nodes to look ahead after one that misses a state
CLEAN, WAITS, STALE = (
    0,
    1,
    2,
)  # HOW: scratch is empty; holds a suspended walk; holds one that cannot resume, whose row must be cleared
# Indices into SUSPENDED. KEY: trie, q, b, k. INSIDE: the config that most tokens reach and stay in, 0 if none. OUTSIDE: the kinds
# of bytes that lead out of it (byte_kinds.py).
HOW, KEY, NODE, CONFIG, INSIDE, OUTSIDE = 0, 1, 5, 6, 7, 8
SUSPENDED_LENGTH = 9


@inlined
def bits_of(word):
    """Population count: sums of pairs, of fours, then a product that adds the bytes."""
    word = word - (word >> uint32(1) & uint32(0x55555555))
    word = (word & uint32(0x33333333)) + (word >> uint32(2) & uint32(0x33333333))
    word = word + (word >> uint32(4)) & uint32(0x0F0F0F0F)
    return int64(uint32(word * uint32(0x01010101)) >> uint32(24))


@inlined
def note_token(row, listed, count, token):
    """Adds a token to the row. Returns the new count."""
    set_bit(row, uint32(token))
    if count < FEW:
        listed[count] = token
    return count + 1


@part
def group_of(address, taken, slots, lets_on, label, border):
    """The number of a group, assigned at its first use, or a missing code. lets_on[group, column]: does the border accept
    that byte class?
    """
    at = int64(mixed(label, border) & uint64(SLOTS - 1))
    while slots[at] >= 0:
        group = int64(slots[at])
        if taken[3 + 2 * group] == label and taken[4 + 2 * group] == border:
            return group
        at = (at + 1) & (SLOTS - 1)
    group = int64(taken[2])
    if group == GROUPS:
        return lacks(TOO_WIDE, 3)
    arena = arena_of(address)
    classes = int64(arena[Place.CLASSES])
    if border != ANY and octets(arena, Place.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return lacks(NEED_BORDER, border)
    after = ints(arena, Place.B_NEXT, (border + 1) * classes)[border * classes :]
    for column in range(min(classes, MOST_CLASSES)):
        lets_on[group, column] = border == ANY or after[column] != 0
    slots[at] = group
    taken[3 + 2 * group], taken[4 + 2 * group] = label, border
    taken[2] = group + 1
    return group


@part
def ends_of(address, config, taken, slots, lets_on, ends):
    """Computes the groups of a config's ends. `ends`: the config, 1 if a token may surely end there, number of groups, the groups.

    Returns 0, or a missing code.
    """
    arena = arena_of(address)
    offset = int64(ints(arena, Place.C_OFFSET, config + 1)[config])
    length = int64(ints(arena, Place.C_LENGTH, config + 1)[config])
    threads = carray(pointer(arena[Place.THREADS]), (offset + length, 3), np.int32)
    terminals = arena[Place.LR_TERMINALS]
    sure = octets(arena, Place.C_KIND, config + 1)[config] & HAS_THREADS != 0
    many = 0
    for i in range(offset, offset + length):
        if threads[i, 0] != EXIT:
            continue
        label, border = int64(threads[i, 1]), int64(threads[i, 2])
        if 0 < label <= terminals and border == ANY:
            sure = True
        group = group_of(address, taken, slots, lets_on, label, border)
        if group < 0:
            return group
        ends[3 + many] = group
        many += 1
    ends[0], ends[1], ends[2] = config, sure, many
    return int64(0)


@part
def find_staying(address, config, staying, taken, slots, lets_on, above):
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
    if octets(arena, Place.C_KIND, config + 1)[config] & HAS_EXITS:
        if above[0] != config:
            code = ends_of(address, config, taken, slots, lets_on, above)
            if code < 0:
                return code
        groups = above[2]
    class_of, kinds = octets(arena, Place.CLASS_OF, 256), octets(arena, Place.KINDS, 256)
    found, lacking = int64(WORDS), int64(0)
    for i in range(len(WORD_BYTES)):
        byte = int64(WORD_BYTES[i])
        after = after_byte(address, config, byte)
        if after < 0:
            lacking = after
            if not noted(arena, after):
                return after
            continue
        stays = after == config and (groups == 0 or above[1] == 1)
        for g in range(groups):
            stays &= lets_on[above[3 + g], class_of[byte]] == 0
        if not stays:
            found &= ~(int64(1) << int64(kinds[byte]))
    if lacking < 0:
        return lacking
    known[0], known[1] = config, found
    return int64(0)


@part
def suspend(address, node, path_length, taken, count, leaf):
    """Stores where to resume: the node, the path of `path_length` bytes to it, the numbers of tokens and leaves."""
    arena = arena_of(address)
    suspended = carray(pointer(arena[Place.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    path, kept = ints(arena, Place.PATH, path_length), ints(arena, Place.SUSPENDED_PATH, path_length)
    for i in range(path_length):
        kept[i] = path[i]
    suspended[HOW], suspended[NODE] = WAITS, node
    taken[0], taken[1] = count, leaf


@part
def stop_waiting(address):
    """Invalidates the results of a suspended walk."""
    arena = arena_of(address)
    if arena[Place.SUSPENDED]:
        suspended = carray(pointer(arena[Place.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
        if suspended[HOW] == WAITS:
            suspended[HOW] = STALE


@part
def take_out(row, token, first, end):
    """Removes the tokens of the nodes first to end - 1 from the row."""
    for node in range(first, end):
        row[token[node] >> 5] &= ~(int32(1) << int32(token[node] & 31))


@part
def walk_vocabulary(address, start, taken, slots, lets_on, above, ends):
    """Walks the vocabulary's trie from path[0], or resumes at node `start`. Returns 0, or a missing code; then the walk is
    suspended.

    Most subtrees consist of words: if a config loops on all their bytes, as within a name, all their tokens are added. If most
    tokens reach a config `inside` a text that accepts most characters, the row starts with all tokens; a subtree that stays inside
    is skipped, and of the nodes visited, those that do not belong are removed.
    """
    arena = arena_of(address)
    suspended = carray(pointer(arena[Place.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    inside, outside = uint64(suspended[INSIDE]), suspended[OUTSIDE]
    kinds_below = carray(pointer(arena[Place.KINDS_BELOW]), uint64(arena[Place.NODES]), np.int64)
    staying = carray(pointer(arena[Place.STAYING]), (STAYING, 2), np.int64)
    nodes = uint64(arena[Place.NODES])
    byte, end = octets(arena, Place.BYTE, nodes), ints(arena, Place.END, nodes)
    depth = carray(pointer(arena[Place.DEPTH]), nodes, np.uint16)
    token = carray(pointer(arena[Place.TOKEN]), nodes, np.uint32)
    nothing = uint32(arena[Place.NOTHING])
    row = ints(arena, Place.DRAFT_ROW, arena[Place.NOTHING] // 32 + 1)
    listed = ints(arena, Place.DRAFT_TOKENS, FEW + 1)
    path = ints(arena, Place.PATH, arena[Place.PATH_LENGTH])
    capacity = arena[Place.C_CAPACITY]
    kinds, rows = octets(arena, Place.C_KIND, capacity), ints(arena, Place.C_ROW, capacity)
    classes, class_of = uint64(arena[Place.CLASSES]), octets(arena, Place.CLASS_OF, 256)
    table = ints(arena, Place.C_NEXT, arena[Place.R_CAPACITY] * int64(classes))
    room = arena[Place.LEAVES_CAPACITY]
    leaves = carray(pointer(arena[Place.LEAVES]), (room, 2), np.int32)
    count, leaf, lacked = int64(taken[0]), int64(taken[1]), int64(0)
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
                if lacked == 0:
                    suspend(address, int64(node), int64(here), taken, count, leaf)
                return made if lacked == 0 else lacked
        if kinds_below[node] & ~int64(WORDS) == 0 and lacked == 0 and uint64(end[node]) - node > uint64(MANY_WORDS):
            slot = before & uint64(STAYING - 1)
            if uint64(staying[slot, 0]) != before:
                code = find_staying(address, int64(before), staying, taken, slots, lets_on, above)
                if code < 0:
                    suspend(address, int64(node), int64(here), taken, count, leaf)
                    return code
            if kinds_below[node] & ~staying[slot, 1] == 0:
                for below in range(node, uint64(0) if inside else uint64(end[node])):
                    set_bit(row, token[below])
                    listed[min(count, FEW)] = int32(token[below])
                    count += int64(token[below] != nothing)
                node = uint64(end[node])
                continue
        column = uint64(class_of[byte[node]])
        place = uint64(rows[before]) * classes + column
        after = table[place]
        if after < 0:
            found = step(address, int64(before), int64(column))
            if found < 0:
                if lacked == 0:
                    suspend(address, int64(node), int64(here), taken, count, leaf)
                    lacked = found
                    stop = min(nodes, node + uint64(LOOK_ON))
                if not noted(arena, found):
                    return lacked
                node = uint64(end[node])
                continue
            table[place] = found
            continue
        if lacked:
            if after:
                path[here] = after
                node += uint64(1)
            else:
                node = uint64(end[node])
            continue
        leaf_before = leaf
        if kinds[before] & HAS_EXITS:
            if above[0] != before:
                code = ends_of(address, int64(before), taken, slots, lets_on, above)
                if code < 0:
                    suspend(address, int64(node), int64(here), taken, count, leaf)
                    return code
            if leaf + above[2] > room:
                suspend(address, int64(node), int64(here), taken, count, leaf)
                return lacks(FULL, FULL_LEAVES)
            for i in range(above[2]):
                if lets_on[above[3 + i], column]:
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
                code = ends_of(address, int64(after), taken, slots, lets_on, ends)
                if code < 0:
                    suspend(address, int64(node), int64(here), taken, count, leaf_before)
                    return code
            sure = ends[1] == 1
            if not sure and token[node] != nothing:
                if leaf + ends[2] > room:
                    suspend(address, int64(node), int64(here), taken, count, leaf_before)
                    return lacks(FULL, FULL_LEAVES)
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
    if lacked == 0:
        taken[0], taken[1] = count, leaf
    return lacked


@part
def walk_remainders(address, trie, start, taken, slots, lets_on, above, ends):
    """The same on a trie of remainders."""
    arena = arena_of(address)
    tries = carray(pointer(arena[Place.TRIES]), (trie + 1, 5), np.int32)
    first, nodes, entry = int64(tries[trie, 0]), int64(tries[trie, 1]), int64(tries[trie, 2])
    node_end = first + nodes
    byte, end = octets(arena, Place.X_BYTE, node_end), ints(arena, Place.X_END, node_end)
    depth = carray(pointer(arena[Place.X_DEPTH]), node_end, np.uint16)
    begins, counts = ints(arena, Place.X_FIRST, node_end), ints(arena, Place.X_COUNT, node_end)
    entries = carray(pointer(arena[Place.X_TOKEN]), (arena[Place.X_TOKENS], 2), np.int32)
    row = ints(arena, Place.DRAFT_ROW, arena[Place.NOTHING] // 32 + 1)
    listed = ints(arena, Place.DRAFT_TOKENS, FEW)
    path = ints(arena, Place.PATH, arena[Place.PATH_LENGTH])
    capacity = arena[Place.C_CAPACITY]
    kinds, rows = octets(arena, Place.C_KIND, capacity), ints(arena, Place.C_ROW, capacity)
    classes, class_of = int64(arena[Place.CLASSES]), octets(arena, Place.CLASS_OF, 256)
    table = ints(arena, Place.C_NEXT, arena[Place.R_CAPACITY] * classes)
    room = arena[Place.LEAVES_CAPACITY]
    leaves = carray(pointer(arena[Place.LEAVES]), (room, 2), np.int32)
    count, leaf, lacked = int64(taken[0]), int64(taken[1]), int64(0)
    node, stop = int64(start), nodes
    while node < stop:
        here = int64(depth[first + node])
        before = int64(path[here - 1])
        column = int64(class_of[byte[first + node]])
        if rows[before] < 0 and nodes > WORTH_A_ROW:
            made = row_of(address, before)
            if made < 0:
                if lacked == 0:
                    suspend(address, node, here, taken, count, leaf)
                return made if lacked == 0 else lacked
        place = int64(rows[before]) * classes + column
        after = int64(table[place]) if rows[before] >= 0 else int64(-1)
        if after < 0:
            after = step(address, before, column)
            if after < 0:
                if lacked == 0:
                    suspend(address, node, here, taken, count, leaf)
                    lacked = after
                    stop = min(nodes, node + LOOK_ON)
                if not noted(arena, after):
                    return lacked
                node = int64(end[first + node])
                continue
            if rows[before] >= 0:
                table[place] = after
        if lacked:
            if after:
                path[here] = after
                node += 1
            else:
                node = int64(end[first + node])
            continue
        leaf_before = leaf
        if kinds[before] & HAS_EXITS:
            if above[0] != before:
                code = ends_of(address, before, taken, slots, lets_on, above)
                if code < 0:
                    suspend(address, node, here, taken, count, leaf)
                    return code
            if leaf + above[2] > room:
                suspend(address, node, here, taken, count, leaf)
                return lacks(FULL, FULL_LEAVES)
            for i in range(above[2]):
                if lets_on[above[3 + i], column]:
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
                    code = ends_of(address, after, taken, slots, lets_on, ends)
                    if code < 0:
                        suspend(address, node, here, taken, count, leaf_before)
                        return code
                sure = ends[1] == 1
                if not sure:
                    if leaf + ends[2] > room:
                        suspend(address, node, here, taken, count, leaf_before)
                        return lacks(FULL, FULL_LEAVES)
                    for i in range(ends[2]):
                        leaves[leaf, 0], leaves[leaf, 1] = ends[3 + i], 2 * node + 1
                        leaf += 1
            if sure:
                at = entry + int64(begins[first + node])
                for j in range(at, at + many):
                    if row[entries[j, 0] >> 5] >> (entries[j, 0] & 31) & 1 == 0:
                        count = note_token(row, listed, count, entries[j, 0])
        node += 1
    if lacked == 0:
        taken[0], taken[1] = count, leaf
    return lacked


@part
def empty_row(address, count):
    """Clears the tokens of the row: `count` of them, or an unknown number if that is negative."""
    arena = arena_of(address)
    row = ints(arena, Place.DRAFT_ROW, arena[Place.NOTHING] // 32 + 1)
    if 0 <= count <= FEW:
        listed = ints(arena, Place.DRAFT_TOKENS, FEW)
        for i in range(count):
            row[listed[i] >> 5] = 0
    else:
        row[:] = 0
    carray(pointer(arena[Place.SUSPENDED]), SUSPENDED_LENGTH, np.int64)[HOW] = CLEAN


@part
def begin_inside(address, config, suspended):
    """Fills the row with all tokens if most of them reach a config inside a text and stay there. Returns 0, or a missing code."""
    arena = arena_of(address)
    code = find_inside(address, config, suspended[INSIDE:])
    if code < 0:
        return code
    if suspended[INSIDE]:
        copy_bytes(arena[Place.DRAFT_ROW], arena[Place.TEXT_ROW], 4 * (arena[Place.NOTHING] // 32))
    return int64(0)


@part
def count_row(address):
    """Counts the tokens of the row and lists the first ones."""
    arena = arena_of(address)
    words = int64(arena[Place.NOTHING] // 32)
    row, listed = ints(arena, Place.DRAFT_ROW, words), ints(arena, Place.DRAFT_TOKENS, FEW + 1)
    count = int64(0)
    for word in range(words):
        if row[word] and count < FEW:
            for bit in range(32):
                if row[word] >> bit & 1:
                    listed[min(count, FEW)] = 32 * word + bit
                    count += 1
        else:
            count += bits_of(uint32(row[word]))
    return count


@part
def find_leaves(address, trie, q, b, k, config):
    """Runs the walk of either kind; its counters are in TAKEN. Returns 0, or a missing code: then it is suspended, and the
    next call resumes it.
    """
    arena = arena_of(address)
    suspended = carray(pointer(arena[Place.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    taken = carray(pointer(arena[Place.TAKEN]), TAKEN, np.int64)
    slots = carray(pointer(arena[Place.SLOTS]), SLOTS, np.int16)
    lets_on = carray(pointer(arena[Place.LETS_ON]), (GROUPS, MOST_CLASSES), np.uint8)
    ends_above = carray(pointer(arena[Place.ENDS]), (2, 3 + GROUPS), np.int64)
    path = ints(arena, Place.PATH, arena[Place.PATH_LENGTH])
    goes_on = suspended[HOW] == WAITS and suspended[CONFIG] == config
    goes_on = goes_on and suspended[KEY] == trie and suspended[KEY + 1] == q
    goes_on = goes_on and suspended[KEY + 2] == b and suspended[KEY + 3] == k
    node = int64(0)
    if goes_on:
        node = suspended[NODE]
        kept = ints(arena, Place.SUSPENDED_PATH, arena[Place.PATH_LENGTH])
        path[:] = kept
    else:
        if suspended[HOW] != CLEAN:
            empty_row(address, -1)
        suspended[KEY], suspended[KEY + 1], suspended[KEY + 2], suspended[KEY + 3] = trie, q, b, k
        suspended[CONFIG] = config
        slots[:] = -1
        path[0] = config
        taken[:3] = 0
        carray(pointer(arena[Place.STAYING]), (STAYING, 2), np.int64)[:] = -1
        suspended[HOW] = STALE
        if trie == 0:
            code = begin_inside(address, config, suspended)
            if code < 0:
                return code
    suspended[HOW] = STALE
    ends_above[0, 0], ends_above[1, 0] = -1, -1
    if trie:
        return walk_remainders(address, trie, node, taken, slots, lets_on, ends_above[0], ends_above[1])
    code = walk_vocabulary(address, node, taken, slots, lets_on, ends_above[0], ends_above[1])
    if code == 0 and suspended[INSIDE]:
        taken[0] = count_row(address)
    return code


@part
def wait_at_end(address):
    """Suspends a finished walk whose further processing misses something, so that the walk is not repeated."""
    arena = arena_of(address)
    suspended = carray(pointer(arena[Place.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    suspended[HOW], suspended[NODE] = WAITS, int64(1) << 40
