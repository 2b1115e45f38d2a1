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
    Crossing,
    Frame,
    KeptRow,
    Kind,
    Object,
    Store,
    Trie,
    Want,
)
from grammarlm.layout.json_calls import BODY_REMAINDERS, KEY_WORDS

from .rows import (
    AFTER_VIEW,
    WHOLE_FRAME,
    copy_base,
    emptied,
    find_level,
    keep_at_level,
    put,
    row_at,
    take_row,
)
from .tries import AT_NODE, set_node
from .walk import walk

BASE_ZERO, BASE_BODY = 0, 1
AFTER_STRING, AFTER_OTHER_KEY = 1, 2  # in the keys of rows, in place of the position of a thread after a value


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
    after, key_thread = thread(Kind.AFTER, 0, 0, 0), thread(Kind.AFTER, AFTER_STRING, 0, 0)
    own = frames[f * Frame.LENGTH + Frame.ROW] & ROW
    is_object = frames[f * Frame.LENGTH + Frame.ROW] & ARRAY_BIT == 0
    may_keep = f > BARRIER and not is_unique(arena, f)
    may_keep = may_keep and not (is_object and (names_may_end(arena, own) or has_obligations(arena, own)))
    # Where a token goes on to the next key, which may repeat one of these, the row is not enough.
    has_others = is_object and frames[f * Frame.LENGTH + Frame.OTHERS] != 0
    store, found = store_of(arena, own < arena[At.SHARED_END]), int64(-1)
    level = int64(AFTER_VIEW) if is_object else int64(WHOLE_FRAME)
    if may_keep:
        frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
        inner, key = inner_frame(arena, f), carray(pointer(arena[At.SET_B]), int64(KEY_WORDS), np.int64)
        level, kept, found = find_level(arena, store, level, key_thread, which, int64(0), inner, key)
        if found < 0 and kept and not (level == WHOLE_FRAME and has_others):
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
            level, found = keep_at_level(
                arena, store, level, key_thread, which, int64(0), inner, key, int64(BASE_ZERO), int64(-1), row
            )
            arena[At.FILTER_ON] = filter_on
        arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
    if found < 0 or (level == WHOLE_FRAME and has_others):
        closers_after(arena, which, after, f, out)
        return
    pool, outer = ints(store, Store.POOL), frames[f * Frame.LENGTH]
    at = found + KeptRow.LENGTH
    for _ in range(pool[found + KeptRow.EXCEPTIONS]):
        out[pool[at]] |= pool[at + 1]
        at += 2
    for _ in range(pool[found + KeptRow.CROSSINGS]):
        node, trie = int64(pool[at + Crossing.NODE]), int64(pool[at + Crossing.TRIE])
        cross(arena, trie, node, int64(pool[at + Crossing.BLANKS]), int64(pool[at + Crossing.HOW]), outer, out)
        at += Crossing.LENGTH


@part
def other_keys(arena, node, after_key, own, row):
    """In a key without an entry, whose value has this node. The same for all such keys: cached if nothing is counted."""
    program = longs(arena, At.PROGRAM)
    key, key_thread = (
        carray(pointer(arena[At.SET_B]), int64(KEY_WORDS), np.int64),
        thread(Kind.AFTER, AFTER_OTHER_KEY, node, 0),
    )
    store, level, found, kept = store_of(arena, own < arena[At.SHARED_END]), int64(AFTER_VIEW), int64(-1), False
    free = program[own + Object.MOST] < 0 and program[own + Object.LEAST] == 0 and arena[At.MODE] == 0
    if free and not has_obligations(arena, own):
        level, kept, found = find_level(arena, store, level, key_thread, int64(0), int64(0), after_key, key)
    before = arena[At.BEYOND]
    if found >= 0:
        arena[At.BEYOND] = before | AFTER_VALUE | (FURTHER if level == WHOLE_FRAME else 0)
        take_row(arena, store, found, row)
        return
    arena[At.BEYOND] = 0
    copy_base(arena, int64(BASE_BODY), row)
    closers_after(arena, int64(BODY_REMAINDERS), thread(Kind.COLON, 0, node, 0), after_key, row)
    if kept and not is_short(arena):
        keep_at_level(
            arena, store, level, key_thread, int64(0), int64(0), after_key, key, int64(BASE_BODY), int64(-1), row
        )
    arena[At.BEYOND] |= before


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
