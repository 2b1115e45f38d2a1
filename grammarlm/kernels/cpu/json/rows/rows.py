"""Cache of mask rows, keyed by what they depend on.

A row's key is the thread without what a row never reads: the frames below the barrier, the bytes of the key read so far (repeated
keys are removed at each call); numbers by `number_key`, counters by what one token can reach. So texts of one shape share their
rows, whatever their names, values and nesting.

Most rows read very little of an object's frame: within a key, which keys with this prefix may still come; after a value, whether
the object may close, whether it may continue, and with which kind of key. These are its **views**. While a row is computed, BEYOND
records whether it read more of its own frame (the one whose parent is the barrier). The row is cached under the lowest level that
covers what it read:

    level 0   within a key, if no other keys may come: by the open keys of its range     BEYOND is 0: no token ends the value
    level 1   ... and by what may follow the value                   AFTER_VALUE
    level 2   by the whole frame                                     FURTHER: a token continues into the next key

Where a row would belong at a lower level, a mark (-2) redirects to the next level. What is read is determined by what was read
before, so all frames with the same views find the same marks.

`find_level` looks a row up, `keep_at_level` keeps one. layout/json.py has what a row in the pool consists of (KeptRow).
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import copy_bytes, inlined, part, pointer
from grammarlm.kernels.cpu.json.fields import ints, longs
from grammarlm.kernels.cpu.json.step.keys import (
    any_open,
    object_closes,
    one_open,
    open_keys,
    others_open,
    with_key,
    with_other,
)
from grammarlm.kernels.cpu.json.step.numbers import number_key
from grammarlm.layout.json import (
    ARRAY_BIT,
    ESCAPE,
    FIELD,
    FURTHER,
    INLINE,
    NO_LANGUAGE,
    ROW,
    Array,
    At,
    Crossing,
    Frame,
    KeptRow,
    Key,
    Kind,
    Object,
    Store,
    Want,
)
from grammarlm.layout.json_calls import KEY_WORDS

MARK = -2
KEY_VIEW, AFTER_VIEW, WHOLE_FRAME = range(3)  # levels


@inlined
def row_at(address):
    return carray(pointer(address), 1 << 40, np.int32)


@inlined
def emptied(row, count):
    for i in range(count):
        row[i] = 0
    return row


@inlined
def put(first, out, row, count):
    """The row becomes the mask, or is ORed into it."""
    if first:
        copy_bytes(out.ctypes.data, row.ctypes.data, 4 * count)
    else:
        for i in range(count):
            out[i] |= row[i]


@part
def view_of_count(count, least, most, far):
    """The part of a counter that one token, of at most `far` units, can distinguish."""
    below = min(max(least - count, int64(0)), far + 1)
    above = min(most - count, far + 1) if most >= 0 else far + 1
    return below << 24 | above


@part
def row_key(arena, c, x, y, f, key):
    """Computes the key of the thread's row. False if it depends on too much to be cached."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    kind, row = c & 31, c >> 11 & ROW
    key[0], key[1], key[2] = c, x, y
    for i in range(3, KEY_WORDS):
        key[i] = 0
    if kind == Kind.NUMBER:
        at = arena[At.PROGRAM] + row * 8
        key[1], key[2] = number_key(at, x, y, arena[At.DIGITS_MOST], arena[At.DIGITS_AFTER])
    elif kind == Kind.STRING:
        far = arena[At.MOST_CHARACTERS]
        key[2] = y & ESCAPE | view_of_count(y >> 24, program[row], program[row + 1], far) << 24
    elif kind == Kind.KEY:
        key[2] = y & ESCAPE
    if kind == Kind.AFTER or kind == Kind.KEYS or kind == Kind.KEY or kind == Kind.ENTRY:
        at = f * Frame.LENGTH
        row = frames[at + Frame.ROW]
        key[3], key[4], key[5] = row, frames[at + Frame.SEEN], frames[at + Frame.LAST]
        count, far = frames[at + Frame.COUNT], arena[At.MOST_ITEMS]
        if row & ARRAY_BIT:
            row &= ROW
            prefix = program[row + Array.PREFIX]
            key[6] = view_of_count(count, program[row + Array.LEAST], program[row + Array.MOST], far)
            key[4] = min(count, prefix)
        else:
            if program[row + Object.COUNT] > INLINE:
                return False
            least, most = program[row + Object.LEAST], program[row + Object.MOST]
            if least > 0 or most >= 0:
                key[6] = view_of_count(count, least, most, far + program[row + Object.COUNT]) + 1
    return True


@part
def view_after(arena, frame):
    """What tokens can distinguish of an object's frame after a value: may it close, has it open keys, may other keys come?"""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    count = program[frames[frame * Frame.LENGTH + Frame.ROW] + Object.COUNT]
    bits = int64(object_closes(arena, frame))
    bits |= int64(any_open(arena, frame, int64(0), count)) << 1
    return bits | int64(others_open(arena, frame)) << 2


@part
def views_of(arena, c, x, y, frame):
    """The same for the frames after the key being read: if it is the declared one, and if it is any other."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    if c & 31 != Kind.KEY:
        return view_after(arena, frame)
    frames_before, chains_before = arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT]
    low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
    bits = int64(0)
    if low < high:
        key = program[frames[frame * Frame.LENGTH + Frame.ROW] + Object.KEYS] + low * Key.LENGTH
        if program[key + Key.SIZE] == read and one_open(arena, frame, low):
            bits |= view_after(arena, with_key(arena, frame, low)) | 8
    if c >> 35 != NO_LANGUAGE:
        bits |= view_after(arena, with_other(arena, frame, y >> 24)) << 4
    arena[At.FRAME_COUNT], arena[At.CHAIN_COUNT] = frames_before, chains_before
    return bits


@part
def seen_at_end(arena, c, x, frame):
    """Bit set of the keys seen after the key being read, as known to the views."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    seen = frames[frame * Frame.LENGTH + Frame.SEEN]
    row, low = frames[frame * Frame.LENGTH + Frame.ROW], x & FIELD
    if program[row + Object.COUNT] > INLINE:
        return seen  # the index of its bit set: no two sets have the same
    if c & 31 == Kind.KEY and low < x >> 21 & FIELD:
        key = program[row + Object.KEYS] + low * Key.LENGTH
        if program[key + Key.SIZE] == x >> 42 & FIELD:
            seen |= int64(1) << low
    return seen


@part
def open_in_range(arena, x, frame):
    """Bit set of the open keys of a range; -1 if the range is too wide."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    low, high = x & FIELD, x >> 21 & FIELD
    if low >= high:
        return int64(0)
    if program[frames[frame * Frame.LENGTH + Frame.ROW] + Object.COUNT] <= INLINE:
        return (open_keys(arena, frame) >> low) & ((int64(1) << (high - low)) - 1)
    if high - low > INLINE:
        return int64(-1)
    bits = int64(0)
    for i in range(low, high):
        bits |= int64(one_open(arena, frame, i)) << (i - low)
    return bits


@part
def view_key(arena, level, c, x, y, frame, key):
    """Computes the key of a row in an object's frame at a level. False if it depends on too much to be cached."""
    if level == WHOLE_FRAME:
        return row_key(arena, c, x, y, frame, key)
    key[0], key[1], key[2] = c, x, y & ESCAPE if c & 31 == Kind.KEY else y
    key[3] = longs(arena, At.FRAMES)[frame * Frame.LENGTH + Frame.ROW]
    key[4], key[5], key[6] = 0, -1 - level, 0
    if c & 31 == Kind.KEY:
        key[4] = open_in_range(arena, x, frame)
    if level == AFTER_VIEW:
        key[6] = views_of(arena, c, x, y, frame)
    return key[4] >= 0


@part
def mark_row(arena, store, key):
    """Stores the mark: the key redirects to the next level. False if there is no room."""
    slot, found = find_row(store, key)
    if found == -1:
        if 2 * store[Store.COUNT] >= store[Store.SIZE]:
            arena[At.FULL] = 1
            return False
        put_entry(store, key, slot, int64(MARK))
    return True


@part
def find_level(arena, store, level, c, x, y, frame, key):
    """The lowest level, from the given one on, at which the thread's row is kept or would be; can it be kept there (the key is
    computed); the row's offset in the pool, -1: it is not there.
    """
    kept = view_key(arena, level, c, x, y, frame, key)
    found = find_row(store, key)[1] if kept else int64(-1)
    while level < WHOLE_FRAME and (found == MARK or not kept):
        level += 1
        kept = view_key(arena, level, c, x, y, frame, key)
        found = find_row(store, key)[1] if kept else int64(-1)
    return int64(level), kept, int64(found)


@part
def keep_at_level(arena, store, level, c, x, y, frame, key, base, remainders, row):
    """Caches a row that has just been computed at the level that covers what it read (BEYOND), with marks below. Returns that
    level, and the row's offset in the pool; -1: it could not be kept.
    """
    beyond, kept = arena[At.BEYOND], True
    least = int64(KEY_VIEW) if beyond == 0 else int64(WHOLE_FRAME) if beyond & FURTHER else int64(AFTER_VIEW)
    while kept and level < least:
        level += 1
        kept = mark_row(arena, store, key) and view_key(arena, level, c, x, y, frame, key)
    found = int64(-1)
    if kept and find_row(store, key)[1] < 0:
        keep_row(arena, store, key, base, remainders, row)
    if kept:
        found = int64(find_row(store, key)[1])
    return int64(level), found


@inlined
def put_entry(store, key, slot, found):
    table = longs(store, Store.TABLE)
    for i in range(KEY_WORDS):
        table[slot + i] = key[i]
    table[slot + KEY_WORDS] = found
    store[Store.COUNT] += 1


@inlined
def hash_of(key):
    mixed = uint64(0)
    for i in range(KEY_WORDS):
        mixed = (mixed ^ uint64(key[i])) * uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> uint64(29)
    return mixed


@part
def find_row(store, key):
    """(slot in the store's hash table, offset of the row; -1: not found)."""
    table = longs(store, Store.TABLE)
    mask = uint64(store[Store.SIZE] - 1)
    slot = hash_of(key) & mask
    while True:
        at = int64(slot) * (KEY_WORDS + 1)
        if table[at + KEY_WORDS] == -1:
            return at, int64(-1)
        same = True
        for i in range(KEY_WORDS):
            same = same and table[at + i] == key[i]
        if same:
            return at, table[at + KEY_WORDS]
        slot = (slot + uint64(1)) & mask


@part
def keep_row(arena, store, key, base, remainders, row):
    """Caches a row in the store's pool, if there is room; the caller has the row in any case."""
    used = store[Store.USED]
    count, crossings = arena[At.BASE_WORDS], arena[At.CROSS_COUNT]
    source = ints(longs(arena, At.BASES), base)
    filtered = (arena[At.CLOSER_COUNT] + 31) >> 5 if arena[At.FILTER_ON] != 0 else int64(0)
    most = KeptRow.LENGTH + 2 * count + Crossing.LENGTH * crossings + filtered
    if used + most > store[Store.CAPACITY] or 2 * store[Store.COUNT] >= store[Store.SIZE]:
        arena[At.FULL] = 1
        return
    pool = ints(store, Store.POOL)
    first = used + KeptRow.LENGTH
    at = first
    halves = count >> 2  # sixteen bytes at a time: most equal the base row
    mine = carray(pointer(row.ctypes.data), 2 * halves, np.uint64)
    base_words = carray(pointer(source.ctypes.data), 2 * halves, np.uint64)
    for half in range(halves):
        if (mine[2 * half] ^ base_words[2 * half]) | (mine[2 * half + 1] ^ base_words[2 * half + 1]) != uint64(0):
            for i in range(4 * half, 4 * half + 4):
                if row[i] != source[i]:
                    pool[at], pool[at + 1] = int32(i), row[i] ^ source[i]
                    at += 2
    for i in range(4 * halves, count):
        if row[i] != source[i]:
            pool[at], pool[at + 1] = int32(i), row[i] ^ source[i]
            at += 2
    pool[used + KeptRow.BASE], pool[used + KeptRow.EXCEPTIONS] = int32(base), int32((at - first) >> 1)
    pool[used + KeptRow.CROSSINGS], pool[used + KeptRow.REMAINDERS] = int32(crossings), int32(remainders)
    pool[used + KeptRow.FILTER] = int32(filtered)
    crossed = longs(arena, At.CROSSED)
    for i in range(crossings * Crossing.LENGTH):
        pool[at + i] = int32(crossed[i])
    at += crossings * Crossing.LENGTH
    bits = ints(arena, At.FILTER)
    for i in range(filtered):
        pool[at + i] = bits[i]
    at += filtered
    put_entry(store, key, find_row(store, key)[0], used)
    store[Store.USED] = at


@part
def copy_base(arena, base, row):
    copy_bytes(row.ctypes.data, longs(arena, At.BASES)[base], 4 * arena[At.BASE_WORDS])


@part
def take_row(arena, store, found, row):
    """Expands a cached row; its crossings are noted. Returns where its filter is."""
    pool, crossed = ints(store, Store.POOL), longs(arena, At.CROSSED)
    copy_base(arena, int64(pool[found + KeptRow.BASE]), row)
    at, first, more = found + KeptRow.LENGTH, arena[At.CROSS_COUNT], int64(pool[found + KeptRow.CROSSINGS])
    for _ in range(pool[found + KeptRow.EXCEPTIONS]):
        row[pool[at]] ^= pool[at + 1]
        at += 2
    if first + more >= arena[At.CROSS_CAPACITY]:
        arena[At.WANTED] |= Want.CROSSED
        return at
    for i in range(more * Crossing.LENGTH):
        crossed[first * Crossing.LENGTH + i] = int64(pool[at + i])
    arena[At.CROSS_COUNT] = first + more
    return at + more * Crossing.LENGTH
