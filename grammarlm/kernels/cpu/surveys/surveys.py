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
from numba import carray, int64

from grammarlm.kernels.cpu.jit import part, pointer
from grammarlm.kernels.cpu.stack.arena import arena_of, entry_of, first_slot, ints, longs, missing, mixed, put
from grammarlm.kernels.cpu.stack.configs import config_of
from grammarlm.kernels.cpu.stack.stacks import push
from grammarlm.layout.stack import FULL, NUMBER, WIDEST, Field
from grammarlm.layout.stack_calls import (
    DENSE,
    FEW,
    FULL_DENSE,
    FULL_EXITS,
    FULL_SPARSE,
    FULL_SURVEYS,
    GROUPS,
    SPARSE,
    TALLY,
)

from .draft_row import empty_row, suspend_at_end
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
    """Writes the exits of a survey behind EXITS, their tries made. Returns their number, or a missing code."""
    arena = arena_of(address)
    first, room = arena[Field.EXIT_COUNT], arena[Field.EXIT_CAPACITY]
    exits = carray(pointer(arena[Field.EXITS]), (room, 3), np.int32)
    starts = np.empty(GROUPS + 3, np.int64)
    counts = np.empty(2, np.int64)
    sort_leaves(address, tally, starts)
    many = int64(0)
    for group in range(tally[2]):
        border, low, high = tally[4 + 2 * group], starts[group], starts[group + 1]
        below = trie_of_leaves(address, trie, border, low, high)
        if below < 0:
            code = draft_trie(address, trie, low, high, border, counts)
            if code < 0:
                return code
            if counts[1] == 0:
                continue
            below = known_trie(address, counts)
            if below < 0:
                return below
            note_leaves(address, trie, border, low, high, below)
        if first + many >= room:
            return missing(FULL, FULL_EXITS)
        exits[first + many, 0], exits[first + many, 1], exits[first + many, 2] = tally[3 + 2 * group], border, below
        many += 1
    return many


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
    code = find_leaves(address, trie, config, False)
    if code < 0:
        return code
    exits = draft_exits(address, trie, carray(pointer(arena[Field.TALLY]), TALLY, np.int64))
    if exits < 0:
        suspend_at_end(address)
    return exits


@part
def store_survey(address, one, two, exits):
    """Stores the survey in the scratch under its key, and clears its row. Returns the survey's number, or FULL."""
    arena = arena_of(address)
    number, room = arena[Field.SURVEY_COUNT], arena[Field.SURVEY_CAPACITY]
    if number >= room:
        return missing(FULL, FULL_SURVEYS)
    many = carray(pointer(arena[Field.TALLY]), TALLY, np.int64)[0]
    survey = carray(pointer(arena[Field.SURVEY]), (room, 5), np.int32)
    code = note_row(address, survey[number], many)
    if code < 0:
        return code
    empty_row(address, many)
    survey[number, 3], survey[number, 4] = arena[Field.EXIT_COUNT], exits
    arena[Field.EXIT_COUNT] += exits
    keys = carray(pointer(arena[Field.SURVEY_KEY]), (room, 2), np.int64)
    keys[number, 0], keys[number, 1] = one, two
    put(arena[Field.SURVEY_HASH], arena[Field.SURVEY_HASH_SIZE], entry_of(mixed(one, two), number))
    arena[Field.SURVEY_COUNT] = number + 1
    return int64(number)


@part
def survey_of(address, trie, q, b, k):
    """The number of a survey, computed if it is missing, or a missing code."""
    arena = arena_of(address)
    one, two = int64(trie) << 32 | int64(q), int64(b) << 32 | int64(k)
    keys = carray(pointer(arena[Field.SURVEY_KEY]), (arena[Field.SURVEY_COUNT], 2), np.int64)
    size = arena[Field.SURVEY_HASH_SIZE]
    table = longs(arena, Field.SURVEY_HASH, size)
    at = first_slot(entry_of(mixed(one, two), 0), size)
    while table[at] >= 0:
        known = table[at] & NUMBER
        if keys[known, 0] == one and keys[known, 1] == two:
            return known
        at = (at + 1) & (size - 1)
    exits = draft_survey(address, trie, q, b, k)
    if exits < 0:
        return exits
    made = store_survey(address, one, two, exits)
    if made < 0:
        suspend_at_end(address)
    return made
