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
from grammarlm.kernels.cpu.stack.configs import config_of
from grammarlm.kernels.cpu.stack.places import arena_of, ints, lacks, mixed, octets
from grammarlm.kernels.cpu.stack.stacks import push
from grammarlm.kernels.cpu.stack.turns import begin_beside, claim, end_beside
from grammarlm.kernels.cpu.table.walk import set_bit
from grammarlm.layout.stack import (
    ANY,
    EXPANDED,
    FOR_FIRST_BYTES,
    FOR_SURVEY,
    FULL,
    NEED_BORDER,
    NEED_LOCK,
    WIDEST,
    Place,
)

from .leaf_lists import note_leaves, trie_of_leaves
from .remainders import (
    FULL_DENSE,
    FULL_EXITS,
    FULL_SPARSE,
    FULL_SURVEYS,
    border_after,
    draft_trie,
    known_trie,
)
from .walk import CLEAN, FEW, GROUPS, HOW, STALE, SUSPENDED_LENGTH, TAKEN, empty_row, find_leaves, wait_at_end

DENSE, SPARSE = 1, 0  # formats of rows: bits, or a list of tokens


@part
def sort_leaves(address, taken, starts):
    """Counting sort of the leaves by group into BY_GROUP; group g has those from starts[g] to starts[g + 1]."""
    arena = arena_of(address)
    room = arena[Place.LEAVES_CAPACITY]
    leaves = carray(pointer(arena[Place.LEAVES]), (room, 2), np.int32)
    by_group = ints(arena, Place.BY_GROUP, room)
    groups = taken[2]
    starts[: groups + 3] = 0
    for i in range(taken[1]):
        starts[leaves[i, 0] + 2] += 1
    for g in range(2, groups + 3):
        starts[g] += starts[g - 1]
    for i in range(taken[1]):
        group = leaves[i, 0] + 1
        by_group[starts[group]] = leaves[i, 1]
        starts[group] += 1


@part
def draft_exits(address, trie, taken):
    """Drafts the exits of a survey. Returns 0, or a missing code."""
    arena = arena_of(address)
    drafts = carray(pointer(arena[Place.DRAFTS]), (GROUPS, 9), np.int64)
    starts = np.empty(GROUPS + 3, np.int64)
    sort_leaves(address, taken, starts)
    many = int64(0)
    node = entry = int64(0)
    for group in range(taken[2]):
        counts, border = drafts[many, 2:7], taken[4 + 2 * group]
        low, high = starts[group], starts[group + 1]
        below = trie_of_leaves(address, trie, border, low, high)
        if below >= 0:
            drafts[many, 0], drafts[many, 1], drafts[many, 2] = taken[3 + 2 * group], border, -1 - below
            drafts[many, 7], drafts[many, 8] = high, high
            many += 1
            continue
        counts[0], counts[1] = node, entry
        code = draft_trie(address, trie, low, high, border, counts)
        if code < 0:
            return code
        if counts[3] == entry:
            continue
        drafts[many, 0], drafts[many, 1] = taken[3 + 2 * group], border
        drafts[many, 7], drafts[many, 8] = low, high
        if arena[Place.READ_ONLY]:
            node, entry = counts[2], counts[3]
        else:  # at once, so that the next draft reuses the same small memory
            below = known_trie(address, counts)
            if below < 0:
                return below
            counts[0] = -1 - below
        many += 1
    arena[Place.DRAFTS_COUNT] = many
    return int64(0)


@part
def note_exits(address):
    """Appends the drafted exits to EXITS. Returns their number, or a missing code."""
    arena = arena_of(address)
    room, first, many = arena[Place.EXIT_CAPACITY], arena[Place.EXIT_COUNT], arena[Place.DRAFTS_COUNT]
    exits = carray(pointer(arena[Place.EXITS]), (room, 3), np.int32)
    trie = carray(pointer(arena[Place.DRAFT]), 5, np.int64)[0]
    drafts = carray(pointer(arena[Place.DRAFTS]), (GROUPS, 9), np.int64)
    if first + many > room:
        return lacks(FULL, FULL_EXITS)
    for i in range(many):
        below = -1 - drafts[i, 2] if drafts[i, 2] < 0 else known_trie(address, drafts[i, 2:])
        if below < 0:
            return below
        low, high = drafts[i, 7], drafts[i, 8]
        if low < high:
            note_leaves(address, trie, drafts[i, 1], low, high, below)
        at = first + i
        exits[at, 0], exits[at, 1], exits[at, 2] = drafts[i, 0], drafts[i, 1], below
    return many


@part
def note_row(address, survey, many):
    """Stores the row of a survey, which has `many` tokens, and its position in `survey`. Returns 0, or a missing code."""
    arena = arena_of(address)
    words = int64(arena[Place.NOTHING] // 32)
    if many > FEW:
        at, room = arena[Place.DENSE_COUNT], arena[Place.DENSE_CAPACITY]
        if at >= room:
            return lacks(FULL, FULL_DENSE)
        ints(arena, Place.DENSE, room * words)[at * words : (at + 1) * words] = ints(arena, Place.DRAFT_ROW, words)
        arena[Place.DENSE_COUNT] = at + 1
        survey[0] = DENSE
    else:
        at, room = arena[Place.SPARSE_COUNT], arena[Place.SPARSE_CAPACITY]
        if at + many > room:
            return lacks(FULL, FULL_SPARSE)
        ints(arena, Place.SPARSE, room)[at : at + many] = ints(arena, Place.DRAFT_TOKENS, FEW)[:many]
        arena[Place.SPARSE_COUNT] = at + many
        survey[0] = SPARSE
    survey[1], survey[2] = at, many
    return int64(0)


@part
def draft_survey(address, trie, q, b, k):
    """Computes a survey into the scratch. Returns 0, or a missing code; then the walk is suspended."""
    arena = arena_of(address)
    bottom = push(address, 0, -1 - k)
    if bottom < 0:
        return bottom
    kept = carray(pointer(arena[Place.KEPT]), (WIDEST, 3), np.int32)
    kept[0, 0], kept[0, 1], kept[0, 2] = q, bottom, b
    config = config_of(address, 1)
    if config < 0:
        return config
    code = find_leaves(address, trie, q, b, k, config)
    if code < 0:
        return code
    taken = carray(pointer(arena[Place.TAKEN]), TAKEN, np.int64)
    code = draft_exits(address, trie, taken)
    if code < 0:
        wait_at_end(address)
        return code
    draft = carray(pointer(arena[Place.DRAFT]), 5, np.int64)
    draft[0], draft[1], draft[2], draft[3], draft[4] = trie, q, b, k, taken[0]
    return int64(0)


@part
def publish_survey(address):
    """Stores the survey in the scratch and clears its row. Returns the survey's number, or a missing code."""
    arena = arena_of(address)
    draft = carray(pointer(arena[Place.DRAFT]), 5, np.int64)
    one, two = draft[0] << 32 | draft[1], draft[2] << 32 | draft[3]
    slot = slot_of_survey(arena, one, two)
    table = ints(arena, Place.SURVEY_HASH, arena[Place.SURVEY_HASH_SIZE])
    if table[slot] >= 0:  # another worker was faster
        empty_row(address, draft[4])
        return int64(table[slot])
    number, room = arena[Place.SURVEY_COUNT], arena[Place.SURVEY_CAPACITY]
    if number >= room:
        return lacks(FULL, FULL_SURVEYS)
    survey = carray(pointer(arena[Place.SURVEY]), (room, 5), np.int32)
    many = note_exits(address)
    if many < 0:
        return many
    code = note_row(address, survey[number], draft[4])
    if code < 0:
        return code
    empty_row(address, draft[4])
    survey[number, 3], survey[number, 4] = arena[Place.EXIT_COUNT], many
    arena[Place.EXIT_COUNT] += many
    keys = carray(pointer(arena[Place.SURVEY_KEY]), (room, 2), np.int64)
    keys[number, 0], keys[number, 1] = one, two
    table[slot] = number
    arena[Place.SURVEY_COUNT] = number + 1
    return int64(number)


@part
def publish_beside(address):
    """Publishes a seat's drafted survey in its epoch. Returns its number, or the code that it must be handed over to Python."""
    if not begin_beside(address):
        return lacks(NEED_LOCK, FOR_SURVEY)
    made = publish_survey(arena_of(address)[Place.EPOCH])
    end_beside(address)
    return made if made >= 0 else lacks(NEED_LOCK, FOR_SURVEY)


@part
def draft_first_bytes(address, border):
    """Puts the tokens whose first byte the border accepts into the scratch row. Returns 0, or a missing code."""
    arena = arena_of(address)
    suspended = carray(pointer(arena[Place.SUSPENDED]), SUSPENDED_LENGTH, np.int64)
    if suspended[HOW] != CLEAN:
        empty_row(address, int64(-1))
    row = ints(arena, Place.DRAFT_ROW, arena[Place.NOTHING] // 32 + 1)
    nodes = int64(arena[Place.NODES])
    byte, end = octets(arena, Place.BYTE, nodes), ints(arena, Place.END, nodes)
    token = carray(pointer(arena[Place.TOKEN]), nodes, np.uint32)
    nothing = uint32(arena[Place.NOTHING])
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
def note_first_bytes(address, border):
    """Stores the scratch row as a survey without exits and clears the scratch. Returns its number, or a missing code."""
    arena = arena_of(address)
    one, two = int64(0), int64(border) << 32
    slot = slot_of_survey(arena, one, two)
    table = ints(arena, Place.SURVEY_HASH, arena[Place.SURVEY_HASH_SIZE])
    number, room = arena[Place.SURVEY_COUNT], arena[Place.SURVEY_CAPACITY]
    if table[slot] >= 0:
        empty_row(address, int64(-1))
        return int64(table[slot])
    if number >= room:
        return lacks(FULL, FULL_SURVEYS)
    survey = carray(pointer(arena[Place.SURVEY]), (room, 5), np.int32)
    code = note_row(address, survey[number], int64(FEW + 1))
    if code < 0:
        return code
    empty_row(address, int64(-1))
    survey[number, 2], survey[number, 3], survey[number, 4] = 0, arena[Place.EXIT_COUNT], 0
    keys = carray(pointer(arena[Place.SURVEY_KEY]), (room, 2), np.int64)
    keys[number, 0], keys[number, 1] = one, two
    table[slot] = number
    arena[Place.SURVEY_COUNT] = number + 1
    return int64(number)


@part
def first_bytes_of(address, border):
    """The number of the survey of a border's first bytes, computed if it is missing, or a missing code."""
    arena = arena_of(address)
    slot = slot_of_survey(arena, int64(0), int64(border) << 32)
    table = ints(arena, Place.SURVEY_HASH, arena[Place.SURVEY_HASH_SIZE])
    if table[slot] >= 0:
        return int64(table[slot])
    code = draft_first_bytes(address, border)
    if code < 0:
        return code
    if not arena[Place.READ_ONLY]:
        return note_first_bytes(address, border)
    if begin_beside(address):
        number = note_first_bytes(arena[Place.EPOCH], border)
        end_beside(address)
        if number >= 0:
            return number
    carray(pointer(arena[Place.PAIR]), 3, np.int64)[0] = border
    return lacks(NEED_LOCK, FOR_FIRST_BYTES)


@inlined
def slot_of_survey(arena, one, two):
    """Slot of a survey in the hash table, or the empty slot for it. A seat ignores surveys added since it last looked."""
    keys = carray(pointer(arena[Place.SURVEY_KEY]), (arena[Place.SURVEY_CAPACITY], 2), np.int64)
    size = arena[Place.SURVEY_HASH_SIZE]
    table = ints(arena, Place.SURVEY_HASH, size)
    at = int64(mixed(one, two) & uint64(size - 1))
    while table[at] >= 0 and not (
        table[at] < arena[Place.SURVEY_COUNT] and keys[table[at], 0] == one and keys[table[at], 1] == two
    ):
        at = (at + 1) & (size - 1)
    return at


@part
def survey_of(address, trie, q, b, k):
    """The number of a survey, computed if it is missing, or a missing code."""
    arena = arena_of(address)
    one, two = int64(trie) << 32 | int64(q), int64(b) << 32 | int64(k)
    slot = slot_of_survey(arena, one, two)
    table = ints(arena, Place.SURVEY_HASH, arena[Place.SURVEY_HASH_SIZE])
    if table[slot] >= 0:
        return int64(table[slot])
    if trie == 0 and arena[Place.READ_ONLY]:
        code = claim(address, one, two)
        if code < 0:
            return code
        slot = slot_of_survey(arena, one, two)
        if table[slot] >= 0:
            return int64(table[slot])
    code = draft_survey(address, trie, q, b, k)
    if code < 0:
        return code
    if arena[Place.READ_ONLY]:
        return publish_beside(address)
    made = publish_survey(address)
    if made < 0:
        wait_at_end(address)
    return made


@part
def takes_one_byte(address, border):
    """1 if the border constrains the next byte only: after each byte it is violated or satisfied. 0 if not, or a missing code."""
    arena = arena_of(address)
    if octets(arena, Place.B_STATUS, border + 1)[border] & EXPANDED == 0:
        return lacks(NEED_BORDER, border)
    classes = arena[Place.CLASSES]
    after = ints(arena, Place.B_NEXT, (border + 1) * classes)
    for column in range(classes):
        if after[border * classes + column] > ANY:
            return int64(0)
    return int64(1)
