"""The single kernel of the JSON machine, and its entry points."""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import copy_bytes, kernel, part, pointer
from grammarlm.kernels.cpu.json.rows.rows import find_row, row_at
from grammarlm.kernels.cpu.json.rows.walk import visit, walk
from grammarlm.layout.json import BARRIER, At, Store
from grammarlm.layout.json_calls import (
    ADVANCE,
    ENDS,
    FILL,
    FORGET,
    KEY_WORDS,
    MOVE,
    NODES,
    PLACE,
    READ,
    REHASH,
    RESTS,
    SURVEY,
    Nodes,
)

from .ends import survey_tokens
from .fields import arena_of, longs
from .masks import fill_mask
from .number_rests import rests_of_number
from .reads import may_end, read_bytes, read_token


@part
def base_row(address, node, c, row_address):
    """The row of a node of the vocabulary's trie and all below it (-1: of the whole vocabulary), for a thread before the barrier;
    crossings are left to the caller.
    """
    arena = arena_of(address)
    row = row_at(row_address)
    arena[At.CROSS_COUNT] = 0
    if node < 0:
        walk(arena, int64(0), node, c, int64(0), int64(0), int64(BARRIER), row)
    else:
        visit(arena, node, c, int64(0), int64(0), int64(BARRIER), row)
    return arena[At.CROSS_COUNT]


@part
def rehash(address, table_address, size):
    """Inserts the entries of an old table into the store, which has room for them."""
    store = carray(pointer(address), int64(Store.LENGTH), np.int64)
    old = carray(pointer(table_address), 1 << 40, np.int64)
    table = longs(store, Store.TABLE)
    for i in range(size):
        at = i * (KEY_WORDS + 1)
        if old[at + KEY_WORDS] != -1:
            key = carray(pointer(table_address + 8 * at), int64(KEY_WORDS), np.int64)
            slot = find_row(store, key)[0]
            for j in range(KEY_WORDS + 1):
                table[slot + j] = old[at + j]
            store[Store.COUNT] += 1
    return store[Store.COUNT]


# The following change what calls of other threads read. Each is one call, because others may run between any two steps of Python.


@part
def move(address, order_address):
    """int64 [5]: index of the address, index of the capacity, new address, new capacity, bytes per entry."""
    arena, order = arena_of(address), carray(pointer(order_address), 5, np.int64)
    copy_bytes(order[2], arena[order[0]], arena[order[1]] * order[4])
    arena[order[0]], arena[order[1]] = order[2], order[3]
    return int64(0)


@part
def put_in_place(address, pairs_address, count):
    arena, pairs = arena_of(address), carray(pointer(pairs_address), 2 * count, np.int64)
    for i in range(count):
        arena[pairs[2 * i]] = pairs[2 * i + 1]
    return int64(0)


@part
def forget(address):
    store = carray(pointer(address), int64(Store.LENGTH), np.int64)
    table = longs(store, Store.TABLE)
    for i in range(store[Store.SIZE] * (KEY_WORDS + 1)):
        table[i] = -1
    store[Store.COUNT], store[Store.USED] = 0, 0
    return int64(0)


@part
def fill_nodes(address, record, nodes_address):
    """The masks of a draft tree, as FILL and ADVANCE make them one by one, zeros where a token is refused; 0.

    Anything else: something must be made first, and the masks are as good as unwritten.
    """
    facts = carray(pointer(nodes_address), int64(Nodes.LENGTH), np.int64)
    count, mask, row_bytes = facts[Nodes.COUNT], facts[Nodes.MASK], facts[Nodes.ROW_BYTES]
    all_facts = carray(pointer(nodes_address), int64(Nodes.FIRST) + 3 * count + 1, np.int64)
    first, parents, records = int64(Nodes.FIRST), int64(Nodes.FIRST) + count, int64(Nodes.FIRST) + 2 * count
    for row in range(count + 1):
        after = record
        if row:
            before = all_facts[records + all_facts[parents + row - 1] + 1]
            after = read_token(address, before, all_facts[first + row - 1]) if before else int64(0)
            if after < 0:
                return after
        all_facts[records + row] = after
        if after:
            found = fill_mask(address, after, mask + row * row_bytes)
            if found:
                return found
        else:
            words = carray(pointer(mask + row * row_bytes), row_bytes // 4, np.int32)
            words[:] = 0
    return int64(0)


@kernel("int64(int64, int64, int64, int64, int64)", holds_gil=True, seconds=40)
def json_call(address, what, first, second, third):
    """One kernel for all operations, since all include `step`, which takes long to compile:

    FILL     record, mask row            writes the mask        ADVANCE  record, token           the record after it
    ENDS     record                      may the text end?      READ     record, bytes, length   likewise
    BASE     node, thread word, row      a row of the vocabulary, from the root (-1) or a node of the trie
    SURVEY   survey                      targets of tokens (ends.py)
    NODES    record, nodes               the masks of a draft tree
    RESTS    rests                       texts that end a number (number_rests.py)
    REHASH   table, its size             inserts a table's rows into the store given as address
    MOVE     order                       moves a part of the arena to a larger array
    PLACE    pairs, their count          writes into the arena
    FORGET                               empties the store given as address
    """
    if what == FILL:
        return fill_mask(address, first, second)
    if what == ADVANCE:
        return read_token(address, first, second)
    if what == READ:
        return read_bytes(address, first, second, third)
    if what == ENDS:
        return may_end(address, first)
    if what == SURVEY:
        return survey_tokens(address, first)
    if what == NODES:
        return fill_nodes(address, first, second)
    if what == RESTS:
        return rests_of_number(address, first)
    if what == REHASH:
        return rehash(address, first, second)
    if what == MOVE:
        return move(address, first)
    if what == PLACE:
        return put_in_place(address, first, second)
    if what == FORGET:
        return forget(address)
    return base_row(address, first, second, third)
