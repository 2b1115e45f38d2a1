"""Masks from surveys: what a state does with all tokens, found once for all stacks.

How tokens continue a thread (q, s, b) hangs on the stack only where a frame under the thread's feet ends: a rule returns, a lexeme
is shifted. So a **survey** walks a trie from (q, b) with nothing known of the stack but its class k, and finds

    a row      the tokens that can be read without an end of that frame, or whose last byte is one that certainly can be
    exits      (label, border, trie): the frame ends in this way, and these parts of tokens are still to be read behind it

A mask is then: for each thread of the config the survey of the vocabulary's trie; its row; for each exit the threads behind it, on
the real stack, and for each of them the survey of the exit's trie, and so on. A trie of a few nodes is walked outright.

Surveys, their tries and rows belong to the grammar and the vocabulary, never to a text: a second text finds them made. They hang on
(trie, q, b, k). Tries of equal content are one, so a stack of any depth meets the same few.

    label 0          the frame of a rule ends             label 1 + t      a lexeme of terminal t ends
    label 1 + T      the LR parser meets the end of its text (T terminals)
    label 2 + T + w  a line ends and the next one begins in column w
"""

import numpy as np
from numba import carray, int32, int64, uint32, uint64

from .jit import inlined, part, pointer
from .pushdown import (
    ACCEPT,
    ACCEPTS,
    ANY,
    EXIT,
    EXPANDED,
    FULL,
    HAS_EXITS,
    HAS_THREADS,
    LR_BASE,
    NEED_BORDER,
    ROOT,
    TOO_WIDE,
    WIDEST,
    Place,
    arena_of,
    at_end,
    close_threads,
    config_of,
    ints,
    key_of,
    lacks,
    lr_state,
    mixed,
    narrowed_class,
    next_line,
    octets,
    push,
    shift,
    stack_class,
    step,
)
from .pushdown_walk import row_of
from .walk import set_bit

DENSE, SPARSE = 1, 0
FEW = 400  # tokens of a row that is kept as a list
SMALL = 4  # nodes of a trie that is walked outright
WORTH_A_ROW = 1000  # nodes of a trie for whose walk configs get rows of transitions
GROUPS = 512  # different exits of one survey
AGENDA_LENGTH = 8192
FULL_NODES, FULL_ENTRIES, FULL_TRIES, FULL_SURVEYS, FULL_SPARSE, FULL_DENSE, FULL_EXITS = 4, 5, 6, 7, 8, 9, 10


@inlined
def triples(arena, place, count):
    return carray(pointer(arena[place]), (count, 3), np.int32)


@part
def border_after(address, border, byte):
    """The border behind a byte, 0 where it cannot be satisfied, or what is lacking."""
    if border == ANY:
        return int64(ANY)
    arena = arena_of(address)
    if octets(arena, Place.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return lacks(NEED_BORDER, border)
    classes = arena[Place.CLASSES]
    column = int64(octets(arena, Place.CLASS_OF, 256)[byte])
    return int64(ints(arena, Place.B_NEXT, (border + 1) * classes)[border * classes + column])


@part
def behind_exit(address, stack, label, border):
    """How many threads lie in KEPT: those behind an exit, on the real stack; or what is lacking."""
    arena = arena_of(address)
    work = triples(arena, Place.WORK, WIDEST)
    capacity = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    terminals = arena[Place.LR_TERMINALS]
    if label > 0 and label != terminals + 1:
        lexeme = label <= terminals
        after = shift(address, stack, label - 1, 0) if lexeme else next_line(address, stack, label - 2 - terminals)
        if after <= 0:
            return after
        start = ints(arena, Place.LR_LEXER, arena[Place.LR_STATES])[lr_state(symbols[after])]
        work[0, 0], work[0, 1], work[0, 2] = start, after, border
        return close_threads(address, 1)
    under = int64(stack)
    if label > terminals:
        under = at_end(address, stack)
        if under < 0:
            return int64(0) if under == -1 else under
    symbol = int64(symbols[under])
    if symbol == ROOT:
        if octets(arena, Place.B_STATUS, border + 1)[border] & ACCEPTS == 0:
            return int64(0)
        work[0, 0], work[0, 1], work[0, 2] = ACCEPT, 0, 0
    else:
        work[0, 0], work[0, 1], work[0, 2] = symbol, parents[under], border
    return close_threads(address, 1)


@part
def find_leaves(address, trie, config, path_address, taken_address):
    """Walks a trie from a config.

    FOUND gets (-1, token, 0) for each token of the row, and (group, token, bytes gone) for tokens that end with an exit; LEAVES
    gets (group, node) for each exit. `taken` returns how many tokens, how many leaves, how many groups, and then the groups
    (label, border) themselves.
    """
    arena = arena_of(address)
    taken = carray(pointer(taken_address), 4 + 2 * GROUPS, np.int64)
    groups = carray(pointer(taken_address + 32), (GROUPS, 2), np.int64)
    path = carray(pointer(path_address), arena[Place.PATH_LENGTH], np.int32)
    capacity = arena[Place.C_CAPACITY]
    kinds, rows = octets(arena, Place.C_KIND, capacity), ints(arena, Place.C_ROW, capacity)
    offsets, lengths = ints(arena, Place.C_OFFSET, capacity), ints(arena, Place.C_LENGTH, capacity)
    threads = triples(arena, Place.THREADS, arena[Place.T_CAPACITY])
    classes, class_of = int64(arena[Place.CLASSES]), octets(arena, Place.CLASS_OF, 256)
    table = ints(arena, Place.C_NEXT, arena[Place.R_CAPACITY] * classes)
    found, leaves = (
        triples(arena, Place.FOUND, arena[Place.FOUND_CAPACITY]),
        carray(pointer(arena[Place.LEAVES]), (arena[Place.LEAVES_CAPACITY], 2), np.int32),
    )
    most, most_leaves = arena[Place.FOUND_CAPACITY], arena[Place.LEAVES_CAPACITY]
    terminals = arena[Place.LR_TERMINALS]
    whole = trie == 0
    tries = carray(pointer(arena[Place.TRIES]), (trie + 1, 5), np.int32)
    first = int64(0) if whole else int64(tries[trie, 0])
    nodes = int64(arena[Place.NODES]) if whole else int64(tries[trie, 1])
    entry = int64(0) if whole else int64(tries[trie, 2])
    node_end = first + nodes
    byte = octets(arena, Place.BYTE if whole else Place.X_BYTE, node_end)
    depth = carray(pointer(arena[Place.DEPTH if whole else Place.X_DEPTH]), node_end, np.uint16)
    end = ints(arena, Place.END if whole else Place.X_END, node_end)
    token = carray(pointer(arena[Place.TOKEN]), nodes, np.uint32)
    ends = ints(arena, Place.X_FIRST, node_end)
    counts = ints(arena, Place.X_COUNT, node_end)
    entries = carray(pointer(arena[Place.X_TOKEN]), (arena[Place.X_TOKEN_CAPACITY], 2), np.int32)
    nothing = int64(arena[Place.NOTHING])

    path[0] = config
    tokens, leaf_count, group_count = int64(0), int64(0), int64(0)
    node = int64(0)
    while node < nodes:
        here = int64(depth[first + node])
        before = int64(path[here - 1])
        if rows[before] < 0 and nodes > WORTH_A_ROW:
            made = row_of(address, before)
            if made < 0:
                return made
        after = int64(-1)
        place = int64(rows[before]) * classes + int64(class_of[byte[first + node]])
        if place >= 0:
            after = int64(table[place])
        if after < 0:
            after = step(address, before, int64(class_of[byte[first + node]]))
            if after < 0:
                return after
            if place >= 0:
                table[place] = after
        if after == 0:
            node = int64(end[first + node])
            continue
        path[here] = after
        kind = kinds[after]
        many = int64(int64(token[node]) != nothing) if whole else int64(counts[first + node])
        if tokens + many + 1 >= most or leaf_count + 1 >= most_leaves:
            return lacks(TOO_WIDE, 2)
        sure = kind & HAS_THREADS != 0
        if kind & HAS_EXITS:
            offset = int64(offsets[after])
            for i in range(offset, offset + int64(lengths[after])):
                if threads[i, 0] != EXIT:
                    continue
                label, border = int64(threads[i, 1]), int64(threads[i, 2])
                if 0 < label <= terminals and border == ANY:
                    sure = True
                group = int64(0)
                while group < group_count and not (groups[group, 0] == label and groups[group, 1] == border):
                    group += 1
                if group == group_count:
                    if group_count == GROUPS:
                        return lacks(TOO_WIDE, 3)
                    groups[group, 0], groups[group, 1] = label, border
                    group_count += 1
                leaves[leaf_count, 0], leaves[leaf_count, 1] = group, node
                leaf_count += 1
                if leaf_count + 1 >= most_leaves:
                    return lacks(TOO_WIDE, 2)
            if not sure:
                for i in range(offset, offset + int64(lengths[after])):
                    if threads[i, 0] != EXIT:
                        continue
                    group = int64(0)
                    while not (groups[group, 0] == threads[i, 1] and groups[group, 1] == threads[i, 2]):
                        group += 1
                    for j in range(many):
                        if tokens + 1 >= most:
                            return lacks(TOO_WIDE, 2)
                        found[tokens, 0] = group
                        if whole:
                            found[tokens, 1], found[tokens, 2] = int32(token[node]), here
                        else:
                            at = entry + int64(ends[first + node]) + j
                            found[tokens, 1], found[tokens, 2] = entries[at, 0], entries[at, 1] + here
                        tokens += 1
        if sure:
            if whole:
                if many:
                    found[tokens, 0], found[tokens, 1] = -1, int32(token[node])
                    tokens += 1
            else:
                for j in range(many):
                    found[tokens, 0], found[tokens, 1] = -1, entries[entry + int64(ends[first + node]) + j, 0]
                    tokens += 1
        node += 1
    taken[0], taken[1], taken[2] = tokens, leaf_count, group_count
    return int64(0)


@part
def find_remainders(address, trie, path_address, taken_address):
    """For each leaf the tokens below it that its border lets on, as (group, token, bytes gone) behind what FOUND holds already."""
    arena = arena_of(address)
    taken = carray(pointer(taken_address), 4, np.int64)
    groups = carray(pointer(taken_address + 32), (GROUPS, 2), np.int64)
    path = carray(pointer(path_address), arena[Place.PATH_LENGTH], np.int32)
    found = triples(arena, Place.FOUND, arena[Place.FOUND_CAPACITY])
    leaves = carray(pointer(arena[Place.LEAVES]), (arena[Place.LEAVES_CAPACITY], 2), np.int32)
    most = arena[Place.FOUND_CAPACITY]
    whole = trie == 0
    tries = carray(pointer(arena[Place.TRIES]), (trie + 1, 5), np.int32)
    first = int64(0) if whole else int64(tries[trie, 0])
    nodes = int64(arena[Place.NODES]) if whole else int64(tries[trie, 1])
    entry = int64(0) if whole else int64(tries[trie, 2])
    node_end = first + nodes
    byte = octets(arena, Place.BYTE if whole else Place.X_BYTE, node_end)
    depth = carray(pointer(arena[Place.DEPTH if whole else Place.X_DEPTH]), node_end, np.uint16)
    end = ints(arena, Place.END if whole else Place.X_END, node_end)
    token = carray(pointer(arena[Place.TOKEN]), nodes, np.uint32)
    ends = ints(arena, Place.X_FIRST, node_end)
    counts = ints(arena, Place.X_COUNT, node_end)
    entries = carray(pointer(arena[Place.X_TOKEN]), (arena[Place.X_TOKEN_CAPACITY], 2), np.int32)
    nothing = int64(arena[Place.NOTHING])
    classes, class_of = int64(arena[Place.CLASSES]), octets(arena, Place.CLASS_OF, 256)
    borders = int64(1) << 20
    border_status, border_next = octets(arena, Place.B_STATUS, borders), ints(arena, Place.B_NEXT, borders * classes)
    tokens = taken[0]
    for leaf in range(taken[1]):
        group, top = int64(leaves[leaf, 0]), int64(leaves[leaf, 1])
        border = groups[group, 1]
        gone = int64(depth[first + top])
        path[gone] = border
        node = top + 1
        last = int64(end[first + top])
        while node < last:
            here = int64(depth[first + node])
            after = int64(path[here - 1])
            if after != ANY:
                if border_status[after] & EXPANDED == 0:
                    return lacks(NEED_BORDER, after)
                after = int64(border_next[after * classes + int64(class_of[byte[first + node]])])
                if after == 0:
                    node = int64(end[first + node])
                    continue
            path[here] = after
            if whole:
                if int64(token[node]) != nothing:
                    if tokens >= most:
                        return lacks(TOO_WIDE, 2)
                    found[tokens, 0], found[tokens, 1], found[tokens, 2] = group, int32(token[node]), gone
                    tokens += 1
            else:
                for j in range(counts[first + node]):
                    if tokens >= most:
                        return lacks(TOO_WIDE, 2)
                    at = entry + int64(ends[first + node]) + j
                    found[tokens, 0], found[tokens, 1] = group, entries[at, 0]
                    found[tokens, 2] = entries[at, 1] + gone
                    tokens += 1
            node += 1
    taken[0] = tokens
    return int64(0)


@inlined
def remains_before(data, offsets, token_a, gone_a, token_b, gone_b):
    """Does what remains of a stand before what remains of b?"""
    i, j = offsets[token_a] + gone_a, offsets[token_b] + gone_b
    last_i, last_j = offsets[token_a + 1], offsets[token_b + 1]
    while i < last_i and j < last_j:
        if data[i] != data[j]:
            return data[i] < data[j]
        i += 1
        j += 1
    return i == last_i and j < last_j


@part
def merge_run(data, offsets, entries, other, low, high):
    """Sorts a run of (token, bytes gone) by what remains, by merging ever longer pieces. Runs of blanks make long ones."""
    width = 1
    while width < high - low:
        left = low
        while left < high:
            middle, right = min(left + width, high), min(left + 2 * width, high)
            i, j = left, middle
            for k in range(left, right):
                from_right = i >= middle
                if not from_right and j < right:
                    from_right = remains_before(
                        data, offsets, entries[j, 0], entries[j, 1], entries[i, 0], entries[i, 1]
                    )
                if from_right:
                    other[k, 0], other[k, 1] = entries[j, 0], entries[j, 1]
                    j += 1
                else:
                    other[k, 0], other[k, 1] = entries[i, 0], entries[i, 1]
                    i += 1
            left = right
        for k in range(low, high):
            entries[k, 0], entries[k, 1] = other[k, 0], other[k, 1]
        width *= 2


@part
def sort_remainders(address, low, high):
    """Sorts SORTED[low:high] by what remains of each token: by eight bytes as one number, then by the rest."""
    arena = arena_of(address)
    offsets = carray(pointer(arena[Place.OFFSETS]), arena[Place.VOCABULARY] + 1, np.int64)
    data = octets(arena, Place.DATA, arena[Place.DATA_LENGTH])
    entries = triples(arena, Place.SORTED, arena[Place.FOUND_CAPACITY])
    count = high - low
    keys = np.empty(count, np.uint64)
    for i in range(count):
        token = entries[low + i, 1]
        start, stop = offsets[token] + entries[low + i, 2], offsets[token + 1]
        key = uint64(0)
        for k in range(8):
            key = key << uint64(8) | (uint64(data[start + k]) if start + k < stop else uint64(0))
        keys[i] = key
    order = np.argsort(keys)
    copy = np.empty((count, 2), np.int32)
    sorted_keys = np.empty(count, np.uint64)
    for i in range(count):
        copy[i, 0], copy[i, 1] = entries[low + order[i], 1], entries[low + order[i], 2]
        sorted_keys[i] = keys[order[i]]
    other = np.empty((count, 2), np.int32)
    i = 0
    while i < count:
        j = i + 1
        while j < count and sorted_keys[j] == sorted_keys[i]:
            j += 1
        if j - i > 1:
            merge_run(data, offsets, copy, other, i, j)
        i = j
    for i in range(count):
        entries[low + i, 1], entries[low + i, 2] = copy[i, 0], copy[i, 1]


@part
def trie_of(address, low, high):
    """The number of the trie of what remains of SORTED[low:high]; a trie of the same content, or a new one."""
    arena = arena_of(address)
    offsets = carray(pointer(arena[Place.OFFSETS]), arena[Place.VOCABULARY] + 1, np.int64)
    data = octets(arena, Place.DATA, arena[Place.DATA_LENGTH])
    sorted_ = triples(arena, Place.SORTED, arena[Place.FOUND_CAPACITY])
    node_room = arena[Place.X_NODE_CAPACITY]
    byte = octets(arena, Place.X_BYTE, node_room)
    depth = carray(pointer(arena[Place.X_DEPTH]), node_room, np.uint16)
    end, ends = ints(arena, Place.X_END, node_room), ints(arena, Place.X_FIRST, node_room)
    counts = ints(arena, Place.X_COUNT, node_room)
    entry_room = arena[Place.X_TOKEN_CAPACITY]
    entries = carray(pointer(arena[Place.X_TOKEN]), (entry_room, 2), np.int32)
    first, entry = arena[Place.X_NODES], arena[Place.X_TOKENS]
    count = high - low
    if entry + count > entry_room:
        return lacks(FULL, FULL_ENTRIES)
    deepest = arena[Place.PATH_LENGTH]
    open_nodes = np.empty(deepest, np.int32)
    nodes, height, empty = int64(0), int64(0), int64(0)
    key = uint64(count)
    for i in range(count):
        token, gone = int64(sorted_[low + i, 1]), int64(sorted_[low + i, 2])
        entries[entry + i, 0], entries[entry + i, 1] = token, gone
        key = mixed(key ^ uint64(token), gone)
        start = offsets[token] + gone
        length = offsets[token + 1] - start
        if length == 0:
            empty += 1
            continue
        shared = int64(0)
        if i > 0:
            other = int64(sorted_[low + i - 1, 1])
            begin = offsets[other] + int64(sorted_[low + i - 1, 2])
            room = min(length, offsets[other + 1] - begin)
            while shared < room and data[start + shared] == data[begin + shared]:
                shared += 1
        while height > shared:
            height -= 1
            end[first + open_nodes[height]] = nodes
        if first + nodes + length - shared > node_room:
            return lacks(FULL, FULL_NODES)
        for k in range(shared, length):
            byte[first + nodes], depth[first + nodes] = data[start + k], k + 1
            ends[first + nodes], counts[first + nodes] = i, 0
            open_nodes[height] = nodes
            height += 1
            nodes += 1
        counts[first + open_nodes[height - 1]] += 1
    while height > 0:
        height -= 1
        end[first + open_nodes[height]] = nodes
    total = arena[Place.TRIE_COUNT]
    tries = carray(pointer(arena[Place.TRIES]), (arena[Place.TRIE_CAPACITY], 5), np.int32)
    keys = carray(pointer(arena[Place.TRIE_KEY]), arena[Place.TRIE_CAPACITY], np.uint64)
    for known in range(1, total):
        if keys[known] != key or tries[known, 3] != count or tries[known, 1] != nodes:
            continue
        same = True
        at = int64(tries[known, 2])
        for i in range(count):
            if entries[at + i, 0] != entries[entry + i, 0] or entries[at + i, 1] != entries[entry + i, 1]:
                same = False
                break
        if same:
            return int64(known)
    if total >= arena[Place.TRIE_CAPACITY]:
        return lacks(FULL, FULL_TRIES)
    tries[total, 0], tries[total, 1], tries[total, 2], tries[total, 3] = first, nodes, entry, count
    tries[total, 4] = empty
    keys[total] = key
    arena[Place.X_NODES], arena[Place.X_TOKENS], arena[Place.TRIE_COUNT] = first + nodes, entry + count, total + 1
    return int64(total)


@part
def make_survey(address, trie, q, b, k):
    """A new survey, or what is lacking."""
    arena = arena_of(address)
    number = arena[Place.SURVEY_COUNT]
    if number >= arena[Place.SURVEY_CAPACITY]:
        return lacks(FULL, FULL_SURVEYS)
    bottom = push(address, 0, -1 - k)
    if bottom < 0:
        return bottom
    kept = triples(arena, Place.KEPT, WIDEST)
    kept[0, 0], kept[0, 1], kept[0, 2] = q, bottom, b
    config = config_of(address, 1)
    if config < 0:
        return config
    path_address = arena[Place.PATH]
    taken = np.zeros(4 + 2 * GROUPS, np.int64)
    groups = taken[4:].reshape(GROUPS, 2)
    code = find_leaves(address, trie, config, path_address, taken.ctypes.data)
    if code < 0:
        return code
    code = find_remainders(address, trie, path_address, taken.ctypes.data)
    if code < 0:
        return code

    total, group_count = taken[0], taken[2]
    found = triples(arena, Place.FOUND, arena[Place.FOUND_CAPACITY])
    sorted_ = triples(arena, Place.SORTED, arena[Place.FOUND_CAPACITY])
    starts = np.zeros(group_count + 2, np.int64)  # by counting: the row first, then each group
    for i in range(total):
        starts[found[i, 0] + 2] += 1
    for g in range(1, group_count + 2):
        starts[g] += starts[g - 1]
    place = starts.copy()
    for i in range(total):
        at = place[found[i, 0] + 1]
        place[found[i, 0] + 1] = at + 1
        for j in range(3):
            sorted_[at, j] = found[i, j]

    exits = triples(arena, Place.EXITS, arena[Place.EXIT_CAPACITY])
    first_exit = arena[Place.EXIT_COUNT]
    exit_count = int64(0)
    for g in range(group_count):
        low, high = starts[g + 1], starts[g + 2]
        if low == high:
            continue
        if first_exit + exit_count >= arena[Place.EXIT_CAPACITY]:
            return lacks(FULL, FULL_EXITS)
        sort_remainders(address, low, high)
        below = trie_of(address, low, high)
        if below < 0:
            return below
        at = first_exit + exit_count
        exits[at, 0], exits[at, 1], exits[at, 2] = groups[g, 0], groups[g, 1], below
        exit_count += 1

    survey = carray(pointer(arena[Place.SURVEY]), (arena[Place.SURVEY_CAPACITY], 5), np.int32)
    many = starts[1]
    words = int64(arena[Place.NOTHING] // 32)
    if many > FEW:
        if arena[Place.DENSE_COUNT] >= arena[Place.DENSE_CAPACITY]:
            return lacks(FULL, FULL_DENSE)
        offset = arena[Place.DENSE_COUNT]
        dense = ints(arena, Place.DENSE, (offset + 1) * words)[offset * words :]
        for w in range(words):
            dense[w] = 0
        for i in range(many):
            set_bit(dense, uint32(sorted_[i, 1]))
        arena[Place.DENSE_COUNT] = offset + 1
        survey[number, 0], survey[number, 1] = DENSE, offset
    else:
        offset = arena[Place.SPARSE_COUNT]
        if offset + many > arena[Place.SPARSE_CAPACITY]:
            return lacks(FULL, FULL_SPARSE)
        sparse = ints(arena, Place.SPARSE, offset + many)
        for i in range(many):
            sparse[offset + i] = sorted_[i, 1]
        arena[Place.SPARSE_COUNT] = offset + many
        survey[number, 0], survey[number, 1] = SPARSE, offset
    survey[number, 2], survey[number, 3], survey[number, 4] = many, first_exit, exit_count
    arena[Place.EXIT_COUNT] = first_exit + exit_count
    arena[Place.SURVEY_COUNT] = number + 1
    return int64(number)


@part
def survey_of(address, trie, q, b, k):
    """The number of a survey, made where there is none, or what is lacking."""
    arena = arena_of(address)
    keys = carray(pointer(arena[Place.SURVEY_KEY]), (arena[Place.SURVEY_CAPACITY], 2), np.int64)
    size = arena[Place.SURVEY_HASH_SIZE]
    table = ints(arena, Place.SURVEY_HASH, size)
    one, two = int64(trie) << 32 | int64(q), int64(b) << 32 | int64(k)
    at = int64(mixed(one, two) & uint64(size - 1))
    while table[at] >= 0:
        found = int64(table[at])
        if keys[found, 0] == one and keys[found, 1] == two:
            return found
        at = (at + 1) & (size - 1)
    made = make_survey(address, trie, q, b, k) if q else make_first_bytes(address, b)
    if made >= 0:
        keys[made, 0], keys[made, 1] = one, two
        table[at] = made
    return made


@part
def walk_small(address, trie, q, s, b, row_address):
    """Sets the bits of the tokens of a small trie that the thread can read, on its real stack."""
    arena = arena_of(address)
    row = carray(pointer(row_address), int64(arena[Place.NOTHING] // 32 + 1), np.int32)
    tries = carray(pointer(arena[Place.TRIES]), (trie + 1, 5), np.int32)
    first, nodes, entry = int64(tries[trie, 0]), int64(tries[trie, 1]), int64(tries[trie, 2])
    byte = octets(arena, Place.X_BYTE, first + nodes)
    depth = carray(pointer(arena[Place.X_DEPTH]), first + nodes, np.uint16)
    end, ends = ints(arena, Place.X_END, first + nodes), ints(arena, Place.X_FIRST, first + nodes)
    counts = ints(arena, Place.X_COUNT, first + nodes)
    entries = carray(pointer(arena[Place.X_TOKEN]), (arena[Place.X_TOKEN_CAPACITY], 2), np.int32)
    path = ints(arena, Place.PATH, arena[Place.PATH_LENGTH])
    class_of = octets(arena, Place.CLASS_OF, 256)
    kept = triples(arena, Place.KEPT, WIDEST)
    kept[0, 0], kept[0, 1], kept[0, 2] = q, s, b
    config = config_of(address, 1)
    if config < 0:
        return config
    path[0] = config
    node = int64(0)
    while node < nodes:
        here = int64(depth[first + node])
        after = step(address, int64(path[here - 1]), int64(class_of[byte[first + node]]))
        if after < 0:
            return after
        if after == 0:
            node = int64(end[first + node])
            continue
        path[here] = after
        at = entry + int64(ends[first + node])
        for j in range(counts[first + node]):
            set_bit(row, uint32(entries[at + j, 0]))
        node += 1
    return int64(0)


@part
def takes_one_byte(address, border):
    """1 where the border is about the next byte only: behind each it is broken or satisfied. 0 where not, or what is lacking."""
    arena = arena_of(address)
    if octets(arena, Place.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return lacks(NEED_BORDER, border)
    classes = arena[Place.CLASSES]
    after = ints(arena, Place.B_NEXT, (border + 1) * classes)
    for column in range(classes):
        if after[border * classes + column] > ANY:
            return int64(0)
    return int64(1)


@part
def make_first_bytes(address, border):
    """A survey that is only a row: the vocabulary's tokens whose first byte the border lets on."""
    arena = arena_of(address)
    number = arena[Place.SURVEY_COUNT]
    if number >= arena[Place.SURVEY_CAPACITY]:
        return lacks(FULL, FULL_SURVEYS)
    offset = arena[Place.DENSE_COUNT]
    if offset >= arena[Place.DENSE_CAPACITY]:
        return lacks(FULL, FULL_DENSE)
    words = int64(arena[Place.NOTHING] // 32)
    dense = ints(arena, Place.DENSE, (offset + 1) * words)[offset * words :]
    for w in range(words):
        dense[w] = 0
    nodes = int64(arena[Place.NODES])
    byte = octets(arena, Place.BYTE, nodes)
    end = ints(arena, Place.END, nodes)
    token = carray(pointer(arena[Place.TOKEN]), nodes, np.uint32)
    nothing = uint32(arena[Place.NOTHING])
    top = int64(0)
    while top < nodes:
        after = border_after(address, border, int64(byte[top]))
        if after < 0:
            return after
        if after > 0:
            for node in range(top, int64(end[top])):
                if token[node] != nothing:
                    set_bit(dense, token[node])
        top = int64(end[top])
    survey = carray(pointer(arena[Place.SURVEY]), (arena[Place.SURVEY_CAPACITY], 5), np.int32)
    survey[number, 0], survey[number, 1], survey[number, 2] = DENSE, offset, 0
    survey[number, 3], survey[number, 4] = arena[Place.EXIT_COUNT], 0
    arena[Place.DENSE_COUNT] = offset + 1
    arena[Place.SURVEY_COUNT] = number + 1
    return int64(number)


@part
def add_thread(address, trie, q, s, b, row_address):
    """Sets the bits of the trie's tokens that the thread can read. 0, or what is lacking."""
    arena = arena_of(address)
    row = carray(pointer(row_address), int64(arena[Place.NOTHING] // 32 + 1), np.int32)
    words = int64(arena[Place.NOTHING] // 32)
    agenda = carray(pointer(arena[Place.AGENDA]), (AGENDA_LENGTH, 4), np.int32)
    symbols = ints(arena, Place.S_SYMBOL, arena[Place.S_CAPACITY])
    kept = triples(arena, Place.KEPT, WIDEST)
    agenda[0, 0], agenda[0, 1], agenda[0, 2], agenda[0, 3] = trie, q, s, b
    count = int64(1)
    while count > 0:
        count -= 1
        trie, q = int64(agenda[count, 0]), int64(agenda[count, 1])
        s, b = int64(agenda[count, 2]), int64(agenda[count, 3])
        if trie > 0 and carray(pointer(arena[Place.TRIES]), (trie + 1, 5), np.int32)[trie, 1] <= SMALL:
            code = walk_small(address, trie, q, s, b, row_address)
            if code < 0:
                return code
            continue
        k = int64(0)
        if symbols[s] >= LR_BASE:
            k = stack_class(address, s)
            if k < 0:
                return k
            k = narrowed_class(address, k, q)
            if k < 0:
                return k
        number = survey_of(address, trie, q, b, k)
        if number < 0:
            return number
        survey = carray(pointer(arena[Place.SURVEY]), (number + 1, 5), np.int32)
        start, many = int64(survey[number, 1]), int64(survey[number, 2])
        if survey[number, 0] == DENSE:
            dense = ints(arena, Place.DENSE, (start + 1) * words)[start * words :]
            for w in range(words):
                row[w] |= dense[w]
        else:
            sparse = ints(arena, Place.SPARSE, start + many)
            for i in range(start, start + many):
                set_bit(row, uint32(sparse[i]))
        first, exits = int64(survey[number, 3]), int64(survey[number, 4])
        table = triples(arena, Place.EXITS, first + exits)
        for e in range(first, first + exits):
            below = int64(table[e, 2])
            behind = behind_exit(address, s, int64(table[e, 0]), int64(table[e, 1]))
            if behind < 0:
                return behind
            if behind == 0:
                continue
            tries = carray(pointer(arena[Place.TRIES]), (below + 1, 5), np.int32)
            entries = carray(pointer(arena[Place.X_TOKEN]), (arena[Place.X_TOKEN_CAPACITY], 2), np.int32)
            for i in range(tries[below, 2], tries[below, 2] + tries[below, 4]):
                set_bit(row, uint32(entries[i, 0]))
            if tries[below, 1] == 0:
                continue
            for i in range(behind):
                if kept[i, 0] <= EXIT:
                    continue
                if count >= AGENDA_LENGTH:
                    return lacks(TOO_WIDE, 4)
                agenda[count, 0], agenda[count, 1], agenda[count, 2] = below, kept[i, 0], kept[i, 1]
                agenda[count, 3] = kept[i, 2]
                count += 1
    return int64(0)


@part
def forget_since(address, stacks, configs, threads):
    """Takes back the stacks and configs made since there were so many: what a mask made on its way.

    Taken back in reverse order, so that linear probing finds each table as it was.
    """
    arena = arena_of(address)
    capacity = arena[Place.S_CAPACITY]
    parents, symbols = ints(arena, Place.S_PARENT, capacity), ints(arena, Place.S_SYMBOL, capacity)
    size = arena[Place.S_HASH_SIZE]
    table = ints(arena, Place.S_HASH, size)
    for stack in range(arena[Place.S_COUNT] - 1, stacks - 1, -1):
        at = int64(mixed(parents[stack], symbols[stack]) & uint64(size - 1))
        while table[at] != stack:
            at = (at + 1) & (size - 1)
        table[at] = -1
    arena[Place.S_COUNT] = stacks
    arena[Place.LINE_STACK] = -1
    most = arena[Place.C_CAPACITY]
    offsets, lengths = ints(arena, Place.C_OFFSET, most), ints(arena, Place.C_LENGTH, most)
    list_ = triples(arena, Place.THREADS, arena[Place.T_CAPACITY])
    size = arena[Place.C_HASH_SIZE]
    table = ints(arena, Place.C_HASH, size)
    for config in range(arena[Place.C_COUNT] - 1, configs - 1, -1):
        at = int64(key_of(list_, int64(offsets[config]), int64(lengths[config])) & uint64(size - 1))
        while table[at] != config:
            at = (at + 1) & (size - 1)
        table[at] = -1
    arena[Place.C_COUNT], arena[Place.T_COUNT] = configs, threads


@part
def fill_from_surveys(address, config, row_address):
    """Sets the bits of all tokens that the config can read; two rows behind each other, each with a word to spare, the second is
    scratch. 0, or what is lacking: then call again.

    A thread whose border is about the next byte only is the same thread without it, cut to the tokens with such a first byte: one
    survey serves all borders.
    """
    arena = arena_of(address)
    words = int64(arena[Place.NOTHING] // 32)
    rows = carray(pointer(row_address), 2 * (words + 1), np.int32)
    other_address = row_address + 4 * (words + 1)
    threads = triples(arena, Place.THREADS, arena[Place.T_CAPACITY])
    stacks, configs, threads_before = arena[Place.S_COUNT], arena[Place.C_COUNT], arena[Place.T_COUNT]
    made_before = arena[Place.SURVEY_COUNT] + arena[Place.R_COUNT]
    offset = int64(ints(arena, Place.C_OFFSET, config + 1)[config])
    length = int64(ints(arena, Place.C_LENGTH, config + 1)[config])
    for i in range(offset, offset + length):
        q, s, b = int64(threads[i, 0]), int64(threads[i, 1]), int64(threads[i, 2])
        if q <= EXIT:
            continue
        first_byte = int64(0) if b == ANY else takes_one_byte(address, b)
        if first_byte < 0:
            return first_byte
        if first_byte == 0:
            code = add_thread(address, 0, q, s, b, row_address)
            if code < 0:
                return code
            continue
        number = survey_of(address, 0, 0, b, 0)
        if number < 0:
            return number
        for w in range(words + 1, 2 * (words + 1)):
            rows[w] = 0
        code = add_thread(address, 0, q, s, ANY, other_address)
        if code < 0:
            return code
        start = int64(carray(pointer(arena[Place.SURVEY]), (number + 1, 5), np.int32)[number, 1])
        dense = ints(arena, Place.DENSE, (start + 1) * words)[start * words :]
        for w in range(words):
            rows[w] |= rows[words + 1 + w] & dense[w]
    if arena[Place.SURVEY_COUNT] + arena[Place.R_COUNT] == made_before:  # surveys keep what they are made from
        forget_since(address, stacks, configs, threads_before)

    row = rows[: words + 1]
    twins = carray(pointer(arena[Place.TWINS]), (arena[Place.TWIN_COUNT], 2), np.int32)
    for i in range(len(twins)):
        same = twins[i, 1]
        if row[same >> 5] >> (same & 31) & 1:
            set_bit(row, uint32(twins[i, 0]))
    return int64(0)
