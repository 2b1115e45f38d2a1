"""Tokens that close a string: the parts after the quote form a small trie of remainders, walked after the string.

What a frame allows after a value is cached like a row (`end_of_string`). With a filter (a bit for each closing token, set by the
string's own language) only tokens in the filter count.
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.json.fields import clear_bit, has_bit, ints, is_short, longs, octets, set_bit, thread
from grammarlm.kernels.cpu.json.step.frames import copy_frame
from grammarlm.kernels.cpu.json.step.keys import names_may_end
from grammarlm.kernels.cpu.json.step.step import step
from grammarlm.kernels.cpu.json.step.unique import is_unique
from grammarlm.layout.json import (
    AFTER_VALUE,
    ARRAY_BIT,
    BARRIER,
    DEAD,
    FURTHER,
    ROW,
    At,
    Frame,
    Kind,
    Object,
    Store,
    Trie,
    Want,
)
from grammarlm.layout.json_calls import BODY_REMAINDERS

from .rows import (
    AFTER_VIEW,
    KEY_WORDS,
    MARK,
    WHOLE_FRAME,
    copy_base,
    emptied,
    find_row,
    keep_row,
    mark_row,
    put,
    row_at,
    take_row,
    view_after,
    view_key,
)
from .tries import AT_NODE, set_node
from .walk import walk

BASE_ZERO, BASE_BODY = 0, 1
OTHER_KEYS = -5  # in place of a thread, in the key of a row: any other key
CLOSERS = -6  # in place of a thread, in the key of a row: the end of any string


@part
def cross(arena, which, node, blank, how, g, out):
    """Continues beyond the barrier: frame g is the real one."""
    after = thread(Kind.AFTER, 0, 0, 0)
    trie = longs(arena, At.TRIES)
    if how == AT_NODE:
        walk(arena, which, node, after, int64(0), blank, g, out)
        return
    byte = int64(octets(trie, which * Trie.LENGTH + Trie.BYTE)[node])
    c, x, y, f = step(arena, after, int64(0), int64(0), g, byte, int64(0))
    if c != DEAD:
        set_node(arena, which, node, out)
        walk(arena, which, node, c, x, y, f, out)


@inlined
def store_of(arena, shared):
    return carray(pointer(arena[At.SHARED_STORE] if shared else arena[At.STORE]), int64(Store.LENGTH), np.int64)


@part
def closers_after(arena, which, c, f, out):
    """Adds the tokens that close a string and continue as the thread can; trie `which` has the remainders."""
    trie = longs(arena, At.TRIES)
    ends = ints(trie, which * Trie.LENGTH + Trie.FIRST)
    tokens = ints(trie, which * Trie.LENGTH + Trie.LIST)
    for i in range(ends[0], ends[1]):
        set_bit(out, int64(tokens[i]))
    walk(arena, which, int64(-1), c, int64(0), int64(0), f, out)


@inlined
def has_obligations(arena, row):
    return longs(arena, At.PROGRAM)[row + Object.OBLIGATIONS] != 0


@part
def closers_key(arena, level, which, frame, key):
    kept = view_key(arena, level, int64(Kind.AFTER), int64(0), int64(0), frame, key)
    key[0], key[1] = CLOSERS, which
    return kept


@part
def inner_frame(arena, f):
    """A copy of the frame without those around it, and without the keys that have no place of their own."""
    frames = longs(arena, At.FRAMES)
    inner = copy_frame(arena, f)
    frames[inner * Frame.LENGTH] = BARRIER
    if frames[inner * Frame.LENGTH + Frame.ROW] & ARRAY_BIT == 0:
        frames[inner * Frame.LENGTH + Frame.OTHERS] = 0
    return inner


@part
def end_of_string(arena, which, f, out):
    """Adds the tokens that close a string in frame f; cached by what the frame allows after it."""
    frames = longs(arena, At.FRAMES)
    after = thread(Kind.AFTER, 0, 0, 0)
    own = frames[f * Frame.LENGTH + Frame.ROW] & ROW
    is_object = frames[f * Frame.LENGTH + Frame.ROW] & ARRAY_BIT == 0
    if (
        f <= BARRIER
        or is_unique(arena, f)
        or (is_object and (names_may_end(arena, own) or has_obligations(arena, own)))
    ):
        closers_after(arena, which, after, f, out)
        return
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    outer, inner = frames[f * Frame.LENGTH], inner_frame(arena, f)
    key = carray(pointer(arena[At.SET_B]), int64(KEY_WORDS), np.int64)
    store = store_of(arena, own < arena[At.SHARED_END])
    level = int64(AFTER_VIEW) if is_object else int64(WHOLE_FRAME)
    kept = closers_key(arena, level, which, inner, key)
    found = find_row(store, key)[1] if kept else int64(-1)
    if found == MARK:
        level = int64(WHOLE_FRAME)
        kept = closers_key(arena, level, which, inner, key)
        found = find_row(store, key)[1] if kept else int64(-1)
    if found < 0:
        if level == WHOLE_FRAME and (not kept or frames[f * Frame.LENGTH + Frame.OTHERS] != 0):
            arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
            closers_after(arena, which, after, f, out)  # a token continues into the next key, which may repeat another
            return
        arena[At.FRESH] += 1
        arena[At.CROSS_COUNT] = 0
        row = ints(arena, At.CLOSER_ROW)
        copy_base(arena, int64(BASE_ZERO), row)
        arena[At.BEYOND], arena[At.VIEW_FRAME] = 0, -1
        arena[At.VIEW_SEEN] = frames[inner * Frame.LENGTH + Frame.SEEN]
        filter_on = arena[At.FILTER_ON]
        arena[At.FILTER_ON] = 0
        closers_after(arena, which, after, inner, row)
        if is_short(arena):
            return
        if arena[At.BEYOND] & FURTHER != 0 and level == AFTER_VIEW:
            kept = mark_row(arena, store, key) and closers_key(arena, int64(WHOLE_FRAME), which, inner, key)
        found = find_row(store, key)[1]
        if kept and found == -1:
            keep_row(arena, store, key, int64(BASE_ZERO), int64(-1), row)
            found = find_row(store, key)[1]
        arena[At.FILTER_ON] = filter_on
        if found < 0 or frames[f * Frame.LENGTH + Frame.OTHERS] != 0:
            arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
            closers_after(arena, which, after, f, out)
            return
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
    if level == WHOLE_FRAME and is_object and frames[f * Frame.LENGTH + Frame.OTHERS] != 0:
        closers_after(arena, which, after, f, out)
        return
    pool = ints(store, Store.POOL)
    at = found + 5
    for _ in range(pool[found + 1]):
        out[pool[at]] |= pool[at + 1]
        at += 2
    for _ in range(pool[found + 2]):
        cross(arena, int64(pool[at + 1]), int64(pool[at]), int64(pool[at + 2]), int64(pool[at + 3]), outer, out)
        at += 4


@part
def other_keys(arena, node, after_key, own, f, row):
    """In a key without an entry, whose value has this node. The same for all such keys: cached if nothing is counted."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    key = carray(pointer(arena[At.SET_B]), int64(KEY_WORDS), np.int64)
    store = store_of(arena, own < arena[At.SHARED_END])
    free = program[own + Object.MOST] < 0 and program[own + Object.LEAST] == 0 and arena[At.MODE] == 0
    free = free and not has_obligations(arena, own)
    found, level = int64(-1), int64(AFTER_VIEW)
    key[0], key[1], key[2], key[3] = OTHER_KEYS, node, 0, own
    key[4], key[5], key[6] = 0, -1 - level, view_after(arena, after_key)
    if free:
        found = find_row(store, key)[1]
        if found == MARK:
            level = int64(WHOLE_FRAME)
            key[4], key[5] = frames[f * Frame.LENGTH + Frame.SEEN], frames[f * Frame.LENGTH + Frame.LAST]
            key[6] = 0
            found = find_row(store, key)[1]
    before = arena[At.BEYOND]
    if found >= 0:
        arena[At.BEYOND] = before | AFTER_VALUE | (FURTHER if level == WHOLE_FRAME else 0)
        take_row(arena, store, found, row)
        return
    arena[At.BEYOND] = 0
    copy_base(arena, int64(BASE_BODY), row)
    closers_after(arena, int64(BODY_REMAINDERS), thread(Kind.COLON, 0, node, 0), after_key, row)
    further = arena[At.BEYOND] & FURTHER != 0
    arena[At.BEYOND] |= before
    if free and not is_short(arena):
        if further and level == AFTER_VIEW:
            free = mark_row(arena, store, key)
            key[4], key[5] = frames[f * Frame.LENGTH + Frame.SEEN], frames[f * Frame.LENGTH + Frame.LAST]
            key[6] = 0
        if free:
            keep_row(arena, store, key, int64(BASE_BODY), int64(-1), row)


@part
def filtered_closers(arena, f, out):
    """Adds the tokens that close the string, if both its language and what follows allow them."""
    bits, closers, other = ints(arena, At.FILTER), ints(arena, At.CLOSERS), closing_row(arena, f)
    for i in range(arena[At.CLOSER_COUNT]):
        token = int64(closers[2 * i])
        if has_bit(bits, i) and has_bit(other, token):
            set_bit(out, token)


@part
def closing_row(arena, f):
    """The tokens that close a string in frame f, as a row."""
    row = emptied(ints(arena, At.SECOND_ROW), arena[At.BASE_WORDS])
    end_of_string(arena, int64(BODY_REMAINDERS), f, row)
    return row


@part
def keep_filtered(arena, row):
    """Removes the tokens that close a string and are not in the filter."""
    filtered, closers = ints(arena, At.FILTER), ints(arena, At.CLOSERS)
    for i in range(arena[At.CLOSER_COUNT]):
        if not has_bit(filtered, i):
            clear_bit(row, int64(closers[2 * i]))


@part
def strings_mask(arena, c, x, y, f, out, first):
    """In the body of a string of no language: nothing to cache, all rows are base rows."""
    program = longs(arena, At.PROGRAM)
    own, count = c >> 11 & ROW, y >> 24
    least, most, far = program[own], program[own + 1], arena[At.MOST_CHARACTERS]
    left = most - count if most >= 0 else far
    if left >= far:
        body = longs(arena, At.BASES)[BASE_BODY]
    else:
        body = longs(arena, At.LIMITED)[left]
        if body == 0:
            arena[At.WANTED] |= Want.LIMITED | left << 8
            return
    put(first, out, row_at(body), arena[At.BASE_WORDS])
    if count >= least and left >= far:
        end_of_string(arena, int64(BODY_REMAINDERS), f, out)
        return
    closers, other = ints(arena, At.CLOSERS), closing_row(arena, f)
    for i in range(arena[At.CLOSER_COUNT]):
        token, characters = closers[2 * i], closers[2 * i + 1]
        if has_bit(other, token) and count + characters >= least and (most < 0 or characters <= left):
            set_bit(out, token)
