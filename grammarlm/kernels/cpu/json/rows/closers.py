"""Tokens that close a string: the parts after the quote form a small trie of remainders, walked after the string.

What a frame allows after a value is cached like a row (`end_of_string`). With a filter (a bit for each closing token, set by the
string's own language) only tokens in the filter count.
"""

import numpy as np
from numba import carray, int32, int64

from grammarlm.kernels.cpu.jit import copy_bytes, inlined, part, pointer
from grammarlm.kernels.cpu.json.places import longs, thread
from grammarlm.kernels.cpu.json.step.keys import copy_frame, names_may_end
from grammarlm.kernels.cpu.json.step.step import ROW, step
from grammarlm.kernels.cpu.json.step.unique import is_unique
from grammarlm.layout.json import ARRAY_BIT, BARRIER, DEAD, FURTHER, At, Frame, Kind, Store, Trie

from .rows import (
    BEHIND_VIEW,
    KEY_WORDS,
    MARK,
    WHOLE_FRAME,
    copy_base,
    find_row,
    keep_row,
    mark_row,
    view_key,
    words,
)
from .walk import ALONG, set_node, set_token, walk

BASE_ZERO, BASE_BODY = 0, 1
CLOSERS = -6  # in place of a thread, in the key of a row: the end of any string
BODY_REMAINDERS = 1  # the trie of remainders after a string's closing quote
WANT_LIMITED = 4  # bit of WANTED; with a number above bit 8


@part
def cross(arena, which, node, blank, how, g, out):
    """Continues beyond the barrier: frame g is the real one."""
    after = thread(Kind.AFTER, 0, 0, 0)
    trie = longs(arena, At.TRIES)
    if how == ALONG:
        walk(arena, which, node, after, int64(0), blank, g, out)
        return
    byte = int64(carray(pointer(trie[which * Trie.LENGTH + Trie.BYTE]), 1 << 40, np.uint8)[node])
    c, x, y, f = step(arena, after, int64(0), int64(0), g, byte, int64(0))
    if c != DEAD:
        set_node(arena, which, node, out)
        walk(arena, which, node, c, x, y, f, out)


@inlined
def store_of(arena, shared):
    return carray(pointer(arena[At.SHARED_STORE] if shared else arena[At.STORE]), int64(Store.LENGTH), np.int64)


@part
def closers_behind(arena, which, c, f, out):
    """Adds the tokens that close a string and continue as the thread can; trie `which` has the remainders."""
    trie = longs(arena, At.TRIES)
    ends = words(trie[which * Trie.LENGTH + Trie.FIRST], int64(1 << 30))
    tokens = words(trie[which * Trie.LENGTH + Trie.LIST], int64(1 << 30))
    for i in range(ends[0], ends[1]):
        set_token(out, int64(tokens[i]))
    walk(arena, which, int64(-1), c, int64(0), int64(0), f, out)


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
    if f <= BARRIER or is_unique(arena, f) or (is_object and names_may_end(arena, own)):
        closers_behind(arena, which, after, f, out)
        return
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    outer, inner = frames[f * Frame.LENGTH], inner_frame(arena, f)
    key = carray(pointer(arena[At.SET_B]), int64(KEY_WORDS), np.int64)
    store = store_of(arena, own < arena[At.SHARED_END])
    level = int64(BEHIND_VIEW) if is_object else int64(WHOLE_FRAME)
    kept = closers_key(arena, level, which, inner, key)
    found = find_row(store, key)[1] if kept else int64(-1)
    if found == MARK:
        level = int64(WHOLE_FRAME)
        kept = closers_key(arena, level, which, inner, key)
        found = find_row(store, key)[1] if kept else int64(-1)
    if found < 0:
        if level == WHOLE_FRAME and (not kept or frames[f * Frame.LENGTH + Frame.OTHERS] != 0):
            arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
            closers_behind(arena, which, after, f, out)  # a token continues into the next key, which may repeat another
            return
        arena[At.FRESH] += 1
        arena[At.CROSS_COUNT] = 0
        row = words(arena[At.CLOSER_ROW], arena[At.BASE_WORDS] + 1)
        copy_base(arena, int64(BASE_ZERO), row)
        arena[At.BEYOND], arena[At.VIEW_FRAME] = 0, -1
        arena[At.VIEW_SEEN] = frames[inner * Frame.LENGTH + Frame.SEEN]
        filter_on = arena[At.FILTER_ON]
        arena[At.FILTER_ON] = 0
        closers_behind(arena, which, after, inner, row)
        missing = carray(pointer(arena[At.MISSING]), 1, np.int64)
        if missing[0] != 0 or arena[At.WANTED] != 0:
            return
        if arena[At.BEYOND] & FURTHER != 0 and level == BEHIND_VIEW:
            kept = mark_row(arena, store, key) and closers_key(arena, int64(WHOLE_FRAME), which, inner, key)
        place, found = find_row(store, key)
        if kept and found == -1:
            keep_row(arena, store, key, place, int64(BASE_ZERO), int64(-1), row)
            found = find_row(store, key)[1]
        arena[At.FILTER_ON] = filter_on
        if found < 0 or frames[f * Frame.LENGTH + Frame.OTHERS] != 0:
            arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
            closers_behind(arena, which, after, f, out)
            return
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
    if level == WHOLE_FRAME and is_object and frames[f * Frame.LENGTH + Frame.OTHERS] != 0:
        closers_behind(arena, which, after, f, out)
        return
    pool = words(store[Store.POOL], int64(1 << 40))
    at = found + 5
    for _ in range(pool[found + 1]):
        out[pool[at]] |= pool[at + 1]
        at += 2
    for _ in range(pool[found + 2]):
        cross(arena, int64(pool[at + 1]), int64(pool[at]), int64(pool[at + 2]), int64(pool[at + 3]), outer, out)
        at += 4


@part
def filtered_closers(arena, f, out):
    """Adds the tokens that close the string, if both its language and what follows allow them."""
    width, count = arena[At.BASE_WORDS], arena[At.CLOSER_COUNT]
    other = words(arena[At.SECOND_ROW], width + 1)
    for i in range(width):
        other[i] = 0
    end_of_string(arena, int64(BODY_REMAINDERS), f, other)
    bits, closers = words(arena[At.FILTER], (count + 31) >> 5), words(arena[At.CLOSERS], 2 * count)
    for i in range(count):
        if bits[i >> 5] >> (i & 31) & 1:
            token = int64(closers[2 * i])
            if other[token >> 5] >> (token & 31) & 1:
                set_token(out, token)


@part
def keep_filtered(filtered, closers, count, row):
    """Removes the tokens that close a string and are not in the filter."""
    for i in range(count):
        if filtered[i >> 5] >> (i & 31) & 1 == 0:
            token = int64(closers[2 * i])
            row[token >> 5] &= ~(int32(1) << int32(token & 31))


@inlined
def put(first, out, row, count):
    """The row becomes the mask, or is ORed into it."""
    if first:
        copy_bytes(out.ctypes.data, row.ctypes.data, 4 * count)
    else:
        for i in range(count):
            out[i] |= row[i]


@part
def strings_mask(arena, c, x, y, f, out, first):
    """In the body of a string of no language: nothing to cache, all rows are base rows."""
    program = longs(arena, At.PROGRAM)
    own, count = c >> 11 & ROW, y >> 24
    least, most, far = program[own], program[own + 1], arena[At.MOST_CHARACTERS]
    left = most - count if most >= 0 else far
    width = arena[At.BASE_WORDS]
    if left >= far:
        body = longs(arena, At.BASES)[BASE_BODY]
    else:
        body = longs(arena, At.LIMITED)[left]
        if body == 0:
            arena[At.WANTED] |= WANT_LIMITED | left << 8
            return
    put(first, out, words(body, width), width)
    if count >= least and left >= far:
        end_of_string(arena, int64(BODY_REMAINDERS), f, out)
        return
    other = words(arena[At.SECOND_ROW], width + 1)
    for i in range(width):
        other[i] = 0
    end_of_string(arena, int64(BODY_REMAINDERS), f, other)
    closers = words(arena[At.CLOSERS], 2 * arena[At.CLOSER_COUNT])
    for i in range(arena[At.CLOSER_COUNT]):
        token, characters = closers[2 * i], closers[2 * i + 1]
        if other[token >> 5] >> (token & 31) & 1 and count + characters >= least and (most < 0 or characters <= left):
            out[token >> 5] |= int32(1) << int32(token & 31)
