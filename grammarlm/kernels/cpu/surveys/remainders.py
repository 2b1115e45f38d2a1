"""Tries of remainders: all that can follow a frame's end, wherever in a token the frame ended.

The leaves of a group (walk.py) are nodes of one trie: the first bytes after a frame's end. Their subtrees are merged. Nodes
reached by the same bytes are in POOL, sorted by their own byte; those with equal bytes become one node of the new trie, a
**draft**, and their children are pooled next. A subtree without a counterpart is copied as it is. The group's border is advanced
along: the same bytes lead to all nodes that are merged.

A draft whose entries equal those of a known trie is replaced by that trie.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.stack.arena import (
    arena_of,
    entry_of,
    first_slot,
    ints,
    key_of_words,
    longs,
    missing,
    nodes_of,
    octets,
    same_words,
)
from grammarlm.kernels.cpu.stack.borders import border_after
from grammarlm.layout.stack import ANY, EXPANDED, FULL, NEED_BORDER, NUMBER, TOO_WIDE, Field
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
    _, byte, _, _, _, _ = nodes_of(arena, trie)
    room = arena[Field.POOL_CAPACITY]
    pool = carray(pointer(arena[Field.POOL]), (room, 2), np.int32)
    top = int64(0)
    if high - low > room:
        return missing(FULL, FULL_POOL)
    for i in range(low, high):
        node = int64(leaves[i]) >> 1
        if leaves[i] & 1:
            entries = draft_tokens(address, trie, node, node + 1, int64(0), counts[1])
            if entries < 0:
                return entries
            counts[1] = entries
        else:
            pool[top, 0], pool[top, 1] = byte[node], node
            top += 1
    return top


@part
def pool_children(address, trie, low, high, border, top):
    """Appends to the pool, from `top` on, the children of the nodes pool[low:high] that the border accepts. Returns the new
    top, or a missing code.
    """
    arena = arena_of(address)
    _, byte, _, end, _, _ = nodes_of(arena, trie)
    if border != ANY and octets(arena, Field.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return missing(NEED_BORDER, border)
    classes, class_of = int64(arena[Field.CLASSES]), octets(arena, Field.CLASS_OF, 256)
    admits = ints(arena, Field.B_NEXT, (border + 1) * classes)[border * classes :]
    room = arena[Field.POOL_CAPACITY]
    pool = carray(pointer(arena[Field.POOL]), (room, 2), np.int32)
    for i in range(low, high):
        child, last = int64(pool[i, 1]) + 1, int64(end[pool[i, 1]])
        while child < last:
            if border == ANY or admits[class_of[byte[child]]]:
                if top >= room:
                    return missing(FULL, FULL_POOL)
                pool[top, 0], pool[top, 1] = byte[child], child
                top += 1
            child = int64(end[child])
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
def draft_tokens(address, trie, node, last, depth_there, entries):
    """Appends the tokens of the nodes `node` to `last` - 1 to a draft as entries; the first node is `depth_there` bytes deep in the
    draft. Returns the new count, or a missing code.
    """
    arena = arena_of(address)
    room = arena[Field.DRAFT_TOKEN_CAPACITY]
    draft = carray(pointer(arena[Field.DRAFT_TOKEN]), (room, 2), np.int32)
    _, _, depth, _, first, source = nodes_of(arena, trie)
    gone = int64(depth[node]) - depth_there
    if entries + first[last] - first[node] > room:
        return missing(FULL, FULL_DRAFT_ENTRIES)
    for i in range(first[node], first[last]):
        draft[entries, 0], draft[entries, 1] = source[i, 0], source[i, 1] + gone
        entries += 1
    return int64(entries)


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
    _, byte, depth, end, first, _ = nodes_of(arena, trie)
    last, room = int64(end[top]), arena[Field.DRAFT_NODE_CAPACITY]
    if counts[0] + last - top >= room:
        return missing(FULL, FULL_DRAFT_NODES)
    entries = draft_tokens(address, trie, top, last, depth_there, counts[1])
    if entries < 0:
        return entries
    ends = ints(arena, Field.DRAFT_END, room)
    up, before = int64(depth[top]) - depth_there, counts[1] - int64(first[top])
    shift = counts[0] - top
    for node in range(top, last):
        draft_node(arena, node + shift, byte[node], int64(depth[node]) - up, before + int64(first[node]))
        ends[node + shift] = int64(end[node]) + shift
    counts[0], counts[1] = last + shift, entries
    return int64(0)


@part
def draft_trie(address, trie, low, high, border, counts):
    """Drafts the trie of the remainders at the leaves BY_GROUP[low:high] of a trie.

    `counts` become its nodes and its entries. Returns 0, or a missing code.
    """
    arena = arena_of(address)
    deepest = arena[Field.PATH_LENGTH]
    levels = np.empty((deepest + 1, 4), np.int64)  # next position in its part of the pool, its end; border; parent node
    room = arena[Field.DRAFT_NODE_CAPACITY]
    ends = ints(arena, Field.DRAFT_END, room)
    counts[0], counts[1] = 0, 0
    top = pool_leaves(address, trie, low, high, counts)
    if top < 0:
        return top
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
        if new + 1 >= room:
            return missing(FULL, FULL_DRAFT_NODES)
        draft_node(arena, new, byte, level + 1, counts[1])
        counts[0] = new + 1
        for i in range(at, next_):
            entries = draft_tokens(address, trie, int64(pool[i, 1]), int64(pool[i, 1]) + 1, level + 1, counts[1])
            if entries < 0:
                return entries
            counts[1] = entries
        top = pool_children(address, trie, at, next_, after, stop)
        if top < 0:
            return top
        if top > stop:
            code = sort_pool(address, stop, top)
            if code < 0:
                return code
        level += 1
        if level > deepest:
            return missing(TOO_WIDE, 2)
        levels[level, 0], levels[level, 1], levels[level, 2], levels[level, 3] = stop, top, after, new
    ints(arena, Field.DRAFT_FIRST, room)[counts[0]] = counts[1]
    return int64(0)


@part
def known_trie(address, counts):
    """Interns a draft: the number of the trie with the same entries, known or new, or a missing code."""
    arena = arena_of(address)
    nodes, count = counts[0], counts[1]
    draft = ints(arena, Field.DRAFT_TOKEN, 2 * count)
    total, most = arena[Field.TRIE_COUNT], arena[Field.TRIE_CAPACITY]
    tries = carray(pointer(arena[Field.TRIES]), (most, 4), np.int32)
    room = arena[Field.X_TOKEN_CAPACITY]
    entries = ints(arena, Field.X_TOKEN, 2 * room)
    size = arena[Field.TRIE_HASH_SIZE]
    table = longs(arena, Field.TRIE_HASH, size)
    hashed = entry_of(key_of_words(draft, 0, 2 * count), total)
    slot = first_slot(hashed, size)
    while table[slot] >= 0:
        known = table[slot] & NUMBER
        is_alike = table[slot] >> 32 == hashed >> 32 and tries[known, 3] == count and tries[known, 1] == nodes
        if is_alike and same_words(entries, 2 * int64(tries[known, 2]), draft, 2 * count):
            return known
        slot = (slot + 1) & (size - 1)
    first, entry = arena[Field.X_NODES], arena[Field.X_TOKENS]
    node_room, end = arena[Field.X_NODE_CAPACITY], arena[Field.X_NODES] + nodes + 1
    if total >= most:
        return missing(FULL, FULL_TRIES)
    if entry + count > room:
        return missing(FULL, FULL_ENTRIES)
    if end > node_room:
        return missing(FULL, FULL_NODES)
    entries[2 * entry : 2 * (entry + count)] = draft
    octets(arena, Field.X_BYTE, node_room)[first:end] = octets(arena, Field.DRAFT_BYTE, nodes + 1)
    depths = carray(pointer(arena[Field.X_DEPTH]), node_room, np.uint16)
    depths[first:end] = carray(pointer(arena[Field.DRAFT_DEPTH]), nodes + 1, np.uint16)
    ints(arena, Field.X_END, node_room)[first:end] = ints(arena, Field.DRAFT_END, nodes + 1)
    ints(arena, Field.X_FIRST, node_room)[first:end] = ints(arena, Field.DRAFT_FIRST, nodes + 1)
    tries[total, 0], tries[total, 1], tries[total, 2], tries[total, 3] = first, nodes, entry, count
    table[slot] = hashed
    arena[Field.X_NODES], arena[Field.X_TOKENS], arena[Field.TRIE_COUNT] = end, entry + count, total + 1
    return int64(total)
