"""Tries of remainders: all that can follow a frame's end, wherever in a token the frame ended.

The leaves of a group (walk.py) are nodes of one trie: the first bytes after a frame's end. Their subtrees are merged. Nodes
reached by the same bytes are in POOL, sorted by their own byte; those with equal bytes become one node of the new trie, a
**draft**, and their children are pooled next. A subtree without a counterpart is copied as it is. The group's border is advanced
along: the same bytes lead to all nodes that are merged.

A draft whose entries equal those of a known trie is replaced by that trie.
"""

import numpy as np
from numba import carray, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, ints, missing, mixed, octets
from grammarlm.kernels.cpu.stack.borders import border_after
from grammarlm.layout.stack import ANY, EXPANDED, FULL, NEED_BORDER, TOO_WIDE, Field
from grammarlm.layout.stack_calls import (
    FULL_DRAFT_ENTRIES,
    FULL_DRAFT_NODES,
    FULL_ENTRIES,
    FULL_NODES,
    FULL_POOL,
    FULL_TRIES,
)

SORTED_BY_INSERTION = 24


@part
def pool_leaves(address, trie, low, high, counts):
    """Puts the leaves BY_GROUP[low:high] into the pool; tokens that end at the frame's end go into the draft. Returns the
    pool's top, or a missing code.
    """
    arena = arena_of(address)
    leaves = ints(arena, Field.BY_GROUP, high)
    first = int64(0)
    if trie:
        first = int64(carray(pointer(arena[Field.TRIES]), (trie + 1, 5), np.int32)[trie, 0])
    byte = octets(arena, Field.X_BYTE if trie else Field.BYTE, arena[Field.X_NODES] if trie else arena[Field.NODES])
    room = arena[Field.POOL_CAPACITY]
    pool = carray(pointer(arena[Field.POOL]), (room, 2), np.int32)
    top = int64(0)
    if high - low > room:
        return missing(FULL, FULL_POOL)
    for i in range(low, high):
        node = int64(leaves[i]) >> 1
        if leaves[i] & 1:
            entries = draft_tokens(address, trie, node, int64(0), counts[1])
            if entries < 0:
                return entries
            counts[1] = entries
        else:
            pool[top, 0], pool[top, 1] = byte[first + node], node
            top += 1
    return top


@part
def pool_children(address, trie, low, high, border, top):
    """Appends to the pool, from `top` on, the children of the nodes pool[low:high] that the border accepts. Returns the new
    top, or a missing code.
    """
    arena = arena_of(address)
    first = int64(0)
    if trie:
        first = int64(carray(pointer(arena[Field.TRIES]), (trie + 1, 5), np.int32)[trie, 0])
    total = arena[Field.X_NODES] if trie else arena[Field.NODES]
    byte = octets(arena, Field.X_BYTE if trie else Field.BYTE, total)
    end = ints(arena, Field.X_END if trie else Field.END, total)
    if border != ANY and octets(arena, Field.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return missing(NEED_BORDER, border)
    classes, class_of = int64(arena[Field.CLASSES]), octets(arena, Field.CLASS_OF, 256)
    admits = ints(arena, Field.B_NEXT, (border + 1) * classes)[border * classes :]
    room = arena[Field.POOL_CAPACITY]
    pool = carray(pointer(arena[Field.POOL]), (room, 2), np.int32)
    for i in range(low, high):
        child, last = int64(pool[i, 1]) + 1, int64(end[first + pool[i, 1]])
        while child < last:
            if border == ANY or admits[class_of[byte[first + child]]]:
                if top >= room:
                    return missing(FULL, FULL_POOL)
                pool[top, 0], pool[top, 1] = byte[first + child], child
                top += 1
            child = int64(end[first + child])
    return top


@part
def sort_pool(address, low, high):
    """Stable sort of pool[low:high] by byte: insertion or counting sort. The latter needs room for a copy after it, else
    returns FULL.
    """
    arena = arena_of(address)
    room = arena[Field.POOL_CAPACITY]
    pool = carray(pointer(arena[Field.POOL]), (room, 2), np.int32)
    if high - low <= SORTED_BY_INSERTION:
        for i in range(low + 1, high):
            byte, node = pool[i, 0], pool[i, 1]
            j = i - 1
            while j >= low and pool[j, 0] > byte:
                pool[j + 1, 0], pool[j + 1, 1] = pool[j, 0], pool[j, 1]
                j -= 1
            pool[j + 1, 0], pool[j + 1, 1] = byte, node
        return int64(0)
    if 2 * high - low > room:
        return missing(FULL, FULL_POOL)
    starts = np.zeros(257, np.int64)
    for i in range(low, high):
        starts[pool[i, 0] + 1] += 1
    for byte in range(256):
        starts[byte + 1] += starts[byte]
    for i in range(low, high):
        at = high + starts[pool[i, 0]]
        starts[pool[i, 0]] += 1
        pool[at, 0], pool[at, 1] = pool[i, 0], pool[i, 1]
    for i in range(high - low):
        pool[low + i, 0], pool[low + i, 1] = pool[high + i, 0], pool[high + i, 1]
    return int64(0)


@part
def draft_tokens(address, trie, node, depth_there, entries):
    """Appends a node's tokens to a draft as entries; the node is `depth_there` bytes deep in the draft. Returns the new
    count, or a missing code.
    """
    arena = arena_of(address)
    room = arena[Field.DRAFT_TOKEN_CAPACITY]
    draft = carray(pointer(arena[Field.DRAFT_TOKEN]), (room, 2), np.int32)
    if trie == 0:
        token = carray(pointer(arena[Field.TOKEN]), node + 1, np.uint32)[node]
        if int64(token) != arena[Field.NOTHING]:
            if entries >= room:
                return missing(FULL, FULL_DRAFT_ENTRIES)
            depth = int64(carray(pointer(arena[Field.DEPTH]), node + 1, np.uint16)[node])
            draft[entries, 0], draft[entries, 1] = int64(token), depth - depth_there
            entries += 1
        return entries
    tries = carray(pointer(arena[Field.TRIES]), (trie + 1, 5), np.int32)
    at = int64(tries[trie, 0]) + node
    begin = int64(tries[trie, 2]) + int64(ints(arena, Field.X_FIRST, at + 1)[at])
    count = int64(ints(arena, Field.X_COUNT, at + 1)[at])
    source = carray(pointer(arena[Field.X_TOKEN]), (begin + count, 2), np.int32)
    gone = int64(carray(pointer(arena[Field.X_DEPTH]), at + 1, np.uint16)[at]) - depth_there
    if entries + count > room:
        return missing(FULL, FULL_DRAFT_ENTRIES)
    for i in range(begin, begin + count):
        draft[entries, 0], draft[entries, 1] = source[i, 0], source[i, 1] + gone
        entries += 1
    return entries


@inlined
def draft_node(arena, at, byte, depth, first_entry):
    room = arena[Field.DRAFT_NODE_CAPACITY]
    octets(arena, Field.DRAFT_BYTE, room)[at] = byte
    carray(pointer(arena[Field.DRAFT_DEPTH]), room, np.uint16)[at] = depth
    ints(arena, Field.DRAFT_FIRST, room)[at] = first_entry


@part
def copy_subtree(address, trie, top, depth_there, counts):
    """Appends a node's subtree to the draft, its root `depth_there` bytes deep. Returns 0, or a missing code.

    `counts`: the nodes and entries of the draft so far.
    """
    arena = arena_of(address)
    whole = trie == 0
    first = int64(0)
    if not whole:
        first = int64(carray(pointer(arena[Field.TRIES]), (trie + 1, 5), np.int32)[trie, 0])
    total = arena[Field.NODES] if whole else arena[Field.X_NODES]
    byte = octets(arena, Field.BYTE if whole else Field.X_BYTE, total)
    depth = carray(pointer(arena[Field.DEPTH if whole else Field.X_DEPTH]), total, np.uint16)
    end = ints(arena, Field.END if whole else Field.X_END, total)
    last = int64(end[first + top])
    room = arena[Field.DRAFT_NODE_CAPACITY]
    if counts[0] + last - top > room:
        return missing(FULL, FULL_DRAFT_NODES)
    ends, many = ints(arena, Field.DRAFT_END, room), ints(arena, Field.DRAFT_COUNT, room)
    at, entries = counts[0], counts[1]
    up = int64(depth[first + top]) - depth_there
    shift = at - top
    for node in range(top, last):
        draft_node(arena, at, byte[first + node], int64(depth[first + node]) - up, entries)
        ends[at] = int64(end[first + node]) + shift
        before = entries
        entries = draft_tokens(address, trie, node, int64(depth[first + node]) - up, entries)
        if entries < 0:
            return entries
        many[at] = entries - before
        at += 1
    counts[0], counts[1] = at, entries
    return int64(0)


@part
def draft_trie(address, trie, low, high, border, counts):
    """Drafts the trie of the remainders at the leaves BY_GROUP[low:high] of a trie.

    `counts` become its nodes, its entries, and those of them with an empty remainder. Returns 0, or a missing code.
    """
    arena = arena_of(address)
    deepest = arena[Field.PATH_LENGTH]
    levels = np.empty((deepest + 1, 4), np.int64)  # next position in its part of the pool, its end; border; parent node
    room = arena[Field.DRAFT_NODE_CAPACITY]
    ends, many = ints(arena, Field.DRAFT_END, room), ints(arena, Field.DRAFT_COUNT, room)
    counts[0], counts[1] = 0, 0
    top = pool_leaves(address, trie, low, high, counts)
    if top < 0:
        return top
    counts[2] = counts[1]
    code = sort_pool(address, int64(0), top)
    if code < 0:
        return code
    levels[0, 0], levels[0, 1], levels[0, 2], levels[0, 3] = 0, top, border, -1
    level = int64(0)
    while level >= 0:
        pool = carray(pointer(arena[Field.POOL]), (arena[Field.POOL_CAPACITY], 2), np.int32)
        at, stop = levels[level, 0], levels[level, 1]
        if at == stop:
            if level > 0:
                ends[levels[level, 3]] = counts[0]
            level -= 1
            continue
        byte = int64(pool[at, 0])
        next_ = at + 1
        while next_ < stop and pool[next_, 0] == byte:
            next_ += 1
        levels[level, 0] = next_
        after = border_after(address, levels[level, 2], byte)
        if after < 0:
            return after
        if next_ == at + 1 and after == ANY:
            code = copy_subtree(address, trie, int64(pool[at, 1]), level + 1, counts)
            if code < 0:
                return code
            continue
        new = counts[0]
        if new >= room:
            return missing(FULL, FULL_DRAFT_NODES)
        draft_node(arena, new, byte, level + 1, counts[1])
        counts[0] = new + 1
        before = counts[1]
        for i in range(at, next_):
            entries = draft_tokens(address, trie, int64(pool[i, 1]), level + 1, counts[1])
            if entries < 0:
                return entries
            counts[1] = entries
        top = pool_children(address, trie, at, next_, after, stop)
        if top < 0:
            return top
        many[new] = counts[1] - before
        if top > stop:
            code = sort_pool(address, stop, top)
            if code < 0:
                return code
        level += 1
        if level > deepest:
            return missing(TOO_WIDE, 2)
        levels[level, 0], levels[level, 1], levels[level, 2], levels[level, 3] = stop, top, after, new
    return int64(0)


@inlined
def key_of_entries(entries, count):
    key = uint64(count)
    for i in range(count):
        key = mixed(key ^ uint64(entries[i, 0]), entries[i, 1])
    return key


@part
def known_trie(address, counts):
    """Interns a draft: the number of the trie with the same entries, known or new, or a missing code."""
    arena = arena_of(address)
    nodes, count = counts[0], counts[1]
    draft = carray(pointer(arena[Field.DRAFT_TOKEN]), (count, 2), np.int32)
    total, most = arena[Field.TRIE_COUNT], arena[Field.TRIE_CAPACITY]
    tries = carray(pointer(arena[Field.TRIES]), (most, 5), np.int32)
    keys = carray(pointer(arena[Field.TRIE_KEY]), most, np.uint64)
    room = arena[Field.X_TOKEN_CAPACITY]
    entries = carray(pointer(arena[Field.X_TOKEN]), (room, 2), np.int32)
    size = arena[Field.TRIE_HASH_SIZE]
    table = ints(arena, Field.TRIE_HASH, size)
    key = key_of_entries(draft, count)
    slot = int64(key & uint64(size - 1))
    while table[slot] >= 0:
        known = int64(table[slot])
        if keys[known] == key and tries[known, 3] == count and tries[known, 1] == nodes:
            at = int64(tries[known, 2])
            same = True
            for i in range(count):
                if entries[at + i, 0] != draft[i, 0] or entries[at + i, 1] != draft[i, 1]:
                    same = False
                    break
            if same:
                return known
        slot = (slot + 1) & (size - 1)
    first, entry = arena[Field.X_NODES], arena[Field.X_TOKENS]
    node_room = arena[Field.X_NODE_CAPACITY]
    if total >= most:
        return missing(FULL, FULL_TRIES)
    if entry + count > room:
        return missing(FULL, FULL_ENTRIES)
    if first + nodes > node_room:
        return missing(FULL, FULL_NODES)
    for i in range(count):
        entries[entry + i, 0], entries[entry + i, 1] = draft[i, 0], draft[i, 1]
    end = first + nodes
    octets(arena, Field.X_BYTE, node_room)[first:end] = octets(arena, Field.DRAFT_BYTE, nodes)
    depths = carray(pointer(arena[Field.X_DEPTH]), node_room, np.uint16)
    depths[first:end] = carray(pointer(arena[Field.DRAFT_DEPTH]), nodes, np.uint16)
    ints(arena, Field.X_END, node_room)[first:end] = ints(arena, Field.DRAFT_END, nodes)
    ints(arena, Field.X_FIRST, node_room)[first:end] = ints(arena, Field.DRAFT_FIRST, nodes)
    ints(arena, Field.X_COUNT, node_room)[first:end] = ints(arena, Field.DRAFT_COUNT, nodes)
    tries[total, 0], tries[total, 1], tries[total, 2], tries[total, 3] = first, nodes, entry, count
    tries[total, 4] = counts[2]
    keys[total] = key
    table[slot] = total
    arena[Field.X_NODES], arena[Field.X_TOKENS], arena[Field.TRIE_COUNT] = first + nodes, entry + count, total + 1
    return int64(total)
