"""Surveys: cached results of walking a trie of tokens from one state, independent of the stack.

How tokens continue a thread (q, s, b) depends on the stack only where the current frame ends: a rule returns, or a lexeme is
shifted. So a **survey** walks a trie from (q, b), knowing only the class k of the stack, and finds

    a row      tokens that end inside that frame, or whose last byte is a frame end that is certain to be valid
    exits      (label, border, trie): the frame ends in this way, and the trie holds the remainders of tokens still to be read

A mask (masks.py) takes, for each thread of the config, the survey of the vocabulary's trie: its row, and for each exit the
threads after it on the real stack; for each of those the survey of the exit's trie, and so on.

Surveys, tries and rows belong to the grammar and the vocabulary, not to a text, so later texts reuse them. Their key is (trie, q,
b, k). Tries with equal content are stored once, so stacks of any depth need the same few surveys.

    label 0          the frame of a rule ends             label 1 + t      a lexeme of terminal t ends
    label 1 + T      the LR parser meets the end of its text (T terminals)
    label 2 + T + w  a line ends and the next one begins in column w
"""

import numpy as np
from numba import carray, int64, uint32, uint64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, ints, missing, mixed, octets
from grammarlm.kernels.cpu.stack.borders import border_after
from grammarlm.kernels.cpu.stack.configs import config_of
from grammarlm.kernels.cpu.stack.stacks import push
from grammarlm.kernels.cpu.table.walk import set_bit
from grammarlm.layout.stack import (
    FULL,
    WIDEST,
    Field,
)
from grammarlm.layout.stack_calls import (
    DENSE,
    FEW,
    FULL_DENSE,
    FULL_EXITS,
    FULL_SPARSE,
    FULL_SURVEYS,
    GROUPS,
    SPARSE,
    SUSPENDED_LENGTH,
    TALLY,
)

from .draft_row import CLEAN, HOW, STALE, empty_row, suspend_at_end
from .leaf_lists import note_leaves, trie_of_leaves
from .remainders import draft_trie, known_trie
from .walk import find_leaves


@part
def sort_leaves(address, tally, starts):
    """Counting sort of the leaves by group into BY_GROUP; group g has those from starts[g] to starts[g + 1]."""
    arena = arena_of(address)
    room = arena[Field.LEAVES_CAPACITY]
    leaves = carray(pointer(arena[Field.LEAVES]), (room, 2), np.int32)
    by_group = ints(arena, Field.BY_GROUP, room)
    groups = tally[2]
    starts[: groups + 3] = 0
    for i in range(tally[1]):
        starts[leaves[i, 0] + 2] += 1
    for g in range(2, groups + 3):
        starts[g] += starts[g - 1]
    for i in range(tally[1]):
        group = leaves[i, 0] + 1
        by_group[starts[group]] = leaves[i, 1]
        starts[group] += 1


@part
def draft_exits(address, trie, tally):
    """Puts the exits of a survey into DRAFTS, their tries made. Returns their number, or a missing code."""
    arena = arena_of(address)
    drafts = carray(pointer(arena[Field.DRAFTS]), (GROUPS, 5), np.int64)
    starts = np.empty(GROUPS + 3, np.int64)
    counts = np.empty(3, np.int64)
    sort_leaves(address, tally, starts)
    many = int64(0)
    for group in range(tally[2]):
        border, low, high = tally[4 + 2 * group], starts[group], starts[group + 1]
        below = trie_of_leaves(address, trie, border, low, high)
        if below >= 0:
            low = high  # its leaves are note_missing already
        else:
            code = draft_trie(address, trie, low, high, border, counts)
            if code < 0:
                return code
            if counts[1] == 0:
                continue
            below = known_trie(address, counts)
            if below < 0:
                return below
        drafts[many, 0], drafts[many, 1], drafts[many, 2] = tally[3 + 2 * group], border, below
        drafts[many, 3], drafts[many, 4] = low, high
        many += 1
    return many


@part
def note_exits(address, trie, many):
    """Appends the drafted exits to EXITS. Returns 0, or FULL."""
    arena = arena_of(address)
    room, first = arena[Field.EXIT_CAPACITY], arena[Field.EXIT_COUNT]
    exits = carray(pointer(arena[Field.EXITS]), (room, 3), np.int32)
    drafts = carray(pointer(arena[Field.DRAFTS]), (GROUPS, 5), np.int64)
    if first + many > room:
        return missing(FULL, FULL_EXITS)
    for i in range(many):
        if drafts[i, 3] < drafts[i, 4]:
            note_leaves(address, trie, drafts[i, 1], drafts[i, 3], drafts[i, 4], drafts[i, 2])
        at = first + i
        exits[at, 0], exits[at, 1], exits[at, 2] = drafts[i, 0], drafts[i, 1], drafts[i, 2]
    return int64(0)


@part
def note_row(address, survey, many):
    """Stores the row of a survey, which has `many` tokens, and its position in `survey`. Returns 0, or a missing code."""
    arena = arena_of(address)
    words = int64(arena[Field.NOTHING] // 32)
    if many > FEW:
        at, room = arena[Field.DENSE_COUNT], arena[Field.DENSE_CAPACITY]
        if at >= room:
            return missing(FULL, FULL_DENSE)
        ints(arena, Field.DENSE, room * words)[at * words : (at + 1) * words] = ints(arena, Field.DRAFT_ROW, words)
        arena[Field.DENSE_COUNT] = at + 1
        survey[0] = DENSE
    else:
        at, room = arena[Field.SPARSE_COUNT], arena[Field.SPARSE_CAPACITY]
        if at + many > room:
            return missing(FULL, FULL_SPARSE)
        ints(arena, Field.SPARSE, room)[at : at + many] = ints(arena, Field.DRAFT_TOKENS, FEW)[:many]
        arena[Field.SPARSE_COUNT] = at + many
        survey[0] = SPARSE
    survey[1], survey[2] = at, many
    return int64(0)


@part
def draft_survey(address, trie, q, b, k):
    """Computes a survey into the scratch. Returns the number of its exits, or a missing code; then the walk is suspended."""
    arena = arena_of(address)
    bottom = push(address, 0, -1 - k)
    if bottom < 0:
        return bottom
    closed = carray(pointer(arena[Field.CLOSURE]), (WIDEST, 3), np.int32)
    closed[0, 0], closed[0, 1], closed[0, 2] = q, bottom, b
    config = config_of(address, 1)
    if config < 0:
        return config
    code = find_leaves(address, trie, q, b, k, config)
    if code < 0:
        return code
    exits = draft_exits(address, trie, carray(pointer(arena[Field.TALLY]), TALLY, np.int64))
    if exits < 0:
        suspend_at_end(address)
    return exits


@part
def store_survey(address, one, two, trie, exits):
    """Stores the survey in the scratch under its key, and clears its row. Returns the survey's number, or FULL."""
    arena = arena_of(address)
    number, room = arena[Field.SURVEY_COUNT], arena[Field.SURVEY_CAPACITY]
    if number >= room:
        return missing(FULL, FULL_SURVEYS)
    many = carray(pointer(arena[Field.TALLY]), TALLY, np.int64)[0]
    survey = carray(pointer(arena[Field.SURVEY]), (room, 5), np.int32)
    code = note_exits(address, trie, exits)
    if code < 0:
        return code
    code = note_row(address, survey[number], many)
    if code < 0:
        return code
    empty_row(address, many)
    survey[number, 3], survey[number, 4] = arena[Field.EXIT_COUNT], exits
    arena[Field.EXIT_COUNT] += exits
    return note_key(arena, one, two)


@inlined
def note_key(arena, one, two):
    """Gives the survey just stored its key. Returns its number."""
    number = arena[Field.SURVEY_COUNT]
    keys = carray(pointer(arena[Field.SURVEY_KEY]), (arena[Field.SURVEY_CAPACITY], 2), np.int64)
    keys[number, 0], keys[number, 1] = one, two
    ints(arena, Field.SURVEY_HASH, arena[Field.SURVEY_HASH_SIZE])[slot_of_survey(arena, one, two)] = number
    arena[Field.SURVEY_COUNT] = number + 1
    return int64(number)


@part
def draft_first_bytes(address, border):
    """Puts the tokens whose first byte the border accepts into the scratch row. Returns 0, or a missing code."""
    arena = arena_of(address)
    suspended = carray(pointer(arena[Field.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    if suspended[HOW] != CLEAN:
        empty_row(address, int64(-1))
    row = ints(arena, Field.DRAFT_ROW, arena[Field.NOTHING] // 32 + 1)
    nodes = int64(arena[Field.NODES])
    byte, end = octets(arena, Field.BYTE, nodes), ints(arena, Field.END, nodes)
    token = carray(pointer(arena[Field.TOKEN]), nodes, np.uint32)
    nothing = uint32(arena[Field.NOTHING])
    suspended[HOW] = STALE
    top = int64(0)
    while top < nodes:
        after = border_after(address, border, int64(byte[top]))
        if after < 0:
            return after
        if after > 0:
            node = top
            while token[node] == nothing:  # every subtree has some token
                node += 1
            last = token[node]
            for other in range(node, int64(end[top])):  # half of the nodes have tokens: a branch would mispredict
                last = token[other] if token[other] != nothing else last
                set_bit(row, last)
        top = int64(end[top])
    return int64(0)


@part
def first_bytes_of(address, border):
    """The number of the survey of a border's first bytes, computed if it is missing, or a missing code.

    It has a dense row and no exits. Its length is 0: no signature lists it as a row.
    """
    arena = arena_of(address)
    one, two = int64(0), int64(border) << 32
    known = known_survey(arena, one, two)
    if known >= 0:
        return known
    code = draft_first_bytes(address, border)
    if code < 0:
        return code
    number, room = arena[Field.SURVEY_COUNT], arena[Field.SURVEY_CAPACITY]
    if number >= room:
        return missing(FULL, FULL_SURVEYS)
    survey = carray(pointer(arena[Field.SURVEY]), (room, 5), np.int32)
    code = note_row(address, survey[number], int64(FEW + 1))
    if code < 0:
        return code
    empty_row(address, int64(-1))
    survey[number, 2], survey[number, 3], survey[number, 4] = 0, arena[Field.EXIT_COUNT], 0
    return note_key(arena, one, two)


@inlined
def slot_of_survey(arena, one, two):
    """Slot of a survey in the hash table, or the empty slot for it."""
    keys = carray(pointer(arena[Field.SURVEY_KEY]), (arena[Field.SURVEY_CAPACITY], 2), np.int64)
    size = arena[Field.SURVEY_HASH_SIZE]
    table = ints(arena, Field.SURVEY_HASH, size)
    at = int64(mixed(one, two) & uint64(size - 1))
    while table[at] >= 0 and not (keys[table[at], 0] == one and keys[table[at], 1] == two):
        at = (at + 1) & (size - 1)
    return at


@inlined
def known_survey(arena, one, two):
    """The number of the survey with this key, -1 if there is none."""
    return int64(ints(arena, Field.SURVEY_HASH, arena[Field.SURVEY_HASH_SIZE])[slot_of_survey(arena, one, two)])


@part
def survey_of(address, trie, q, b, k):
    """The number of a survey, computed if it is missing, or a missing code."""
    arena = arena_of(address)
    one, two = int64(trie) << 32 | int64(q), int64(b) << 32 | int64(k)
    known = known_survey(arena, one, two)
    if known >= 0:
        return known
    exits = draft_survey(address, trie, q, b, k)
    if exits < 0:
        return exits
    made = store_survey(address, one, two, trie, exits)
    if made < 0:
        suspend_at_end(address)
    return made
