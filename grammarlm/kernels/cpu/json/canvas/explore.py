"""All states that bytes lead to from some states: the machine's own step, driven by every byte, as a table.

Equal futures become one state where that is cheap to see (states.py). What a step opens or closes outside the barrier is a special
entry: a push has as its symbol the frame to which the closing bracket returns, a pop leads wherever its symbol says.
"""

import numpy as np
from numba import carray, int32, int64

from grammarlm.kernels.cpu.jit import kernel, part, pointer
from grammarlm.kernels.cpu.json.fields import arena_of, ints, is_short, key_range, longs, octets, thread
from grammarlm.kernels.cpu.json.reads import accepts, verdict
from grammarlm.kernels.cpu.json.step.frames import copy_frame
from grammarlm.kernels.cpu.json.step.languages import narrow, narrow_point, table_of
from grammarlm.kernels.cpu.json.step.step import step
from grammarlm.kernels.cpu.json.step.text import DONE, RAW, text_step
from grammarlm.layout.json import (
    ARRAY_BIT,
    BARRIER,
    DEAD,
    ESCAPE,
    FIELD,
    ROW,
    SHARED_BIT,
    At,
    Frame,
    Key,
    Kind,
)
from grammarlm.layout.json_canvas import (
    COMPLETE,
    FRESH,
    MARK,
    NO_ROOM,
    NONE,
    POP,
    PUSH,
    RANGE,
    SPECIAL,
    STATE_WORDS,
    STEP,
    Explore,
)

from .groups import ALONE, GROUPS, mark_lone, place_of
from .marks import bit_of, has_ended, is_mark, mark_after, marked_state
from .states import shared_frame, state_of

MOST_LIKE = 48  # groups of bytes that are told apart in a language


@part
def add_special(work, entry, operation, symbol, state):
    """Puts an operation before those of a byte; returns the new entry of NEXT."""
    count = work[Explore.SPECIAL_COUNT]
    if count >= work[Explore.SPECIAL_CAPACITY]:
        work[Explore.STOPPED] = NO_ROOM
        return entry
    work[Explore.SPECIAL_COUNT] = count + 1
    specials = ints(work, Explore.SPECIALS)
    specials[4 * count], specials[4 * count + 1] = int32(operation), int32(symbol)
    specials[4 * count + 2], specials[4 * count + 3] = int32(state), int32(entry)
    return int64(SPECIAL) - count


@part
def target_of(arena, work, entry, c, x, y, f, track):
    """The entry of NEXT after adding one thread that a byte leads to."""
    frames = longs(arena, At.FRAMES)
    kind = c & 31
    if kind == Kind.AFTER and f == BARRIER:
        return add_special(work, entry, int64(POP), int64(0), int64(NONE))
    operation, symbol = int64(STEP), int64(0)
    if (kind == Kind.KEYS or kind == Kind.ENTRY) and c >> 5 & 63 == 0 and f >= work[Explore.SCRATCH_FRAMES]:
        row = frames[f * Frame.LENGTH + Frame.ROW]
        if octets(work, Explore.PUSHES)[row & ~int64(ARRAY_BIT)] != 0:
            operation = int64(PUSH)
            around = shared_frame(arena, work, frames[f * Frame.LENGTH])
            symbol = state_of(arena, work, thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), around, int64(0))
            frames[f * Frame.LENGTH] = BARRIER
    f = shared_frame(arena, work, f)
    state = state_of(arena, work, c, x, y, f, track)
    if state == NONE or symbol == NONE:
        return entry
    if operation == STEP and entry == NONE:
        return state
    if entry >= 0:  # the second of several
        entry = add_special(work, int64(NONE), int64(STEP), int64(0), entry)
    return add_special(work, entry, operation, symbol, state)


@part
def tracked(arena, work, c, y, track, byte):
    """The range of tracked keys after one more byte of a key; of a key's end as it is."""
    _, escape2, what = text_step(c >> 5 & 63, y & ESCAPE, byte, arena[At.PLAIN])
    mark = mark_after(track)
    track &= int64(RANGE)
    low, high, read = track & FIELD, track >> 21 & FIELD, track >> 42 & FIELD
    if low < high and what == RAW:
        low, high = narrow(arena, work[Explore.WORDS], low, high, read, byte)
        read += 1
    elif low < high and what == DONE:
        low, high, read = narrow_point(arena, work[Explore.WORDS], low, high, read, escape2)
    return mark | (key_range(low, high, read) if low < high else int64(0))


@part
def with_bit(arena, f, bit):
    """The frame with one more tracked key or item; -1: it has it already."""
    frames = longs(arena, At.FRAMES)
    if frames[f * Frame.LENGTH + Frame.TEXT] >> bit & 1:
        return int64(-1)
    made = copy_frame(arena, f)
    frames[made * Frame.LENGTH + Frame.TEXT] |= int64(1) << bit
    return made


@part
def with_tracked_key(arena, work, track, f):
    """The frame after a key that is not declared; -1: it was read before."""
    mark = track >> MARK
    if has_ended(mark):
        f = with_bit(arena, f, bit_of(work, mark))
    track &= int64(RANGE)
    low, high, read = track & FIELD, track >> 21 & FIELD, track >> 42 & FIELD
    if f >= 0 and low < high and longs(arena, At.PROGRAM)[work[Explore.WORDS] + low * Key.LENGTH + Key.SIZE] == read:
        return with_bit(arena, f, low)
    return f


@part
def item_bit(arena, work, c, x, f):
    """The bit of the item that ends, within an array whose items must differ; -1: none."""
    if work[Explore.ITEM_COUNT] == 0 or f <= BARRIER:
        return int64(-1)
    value, kind = c >> 11 & ROW, c & 31
    if kind == Kind.WORD:
        value += (x & FIELD) * Key.LENGTH
    elif kind == Kind.LITERAL:
        value = c >> 5 & 63
    elif kind != Kind.NUMBER:
        return int64(-1)
    row = longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.ROW]
    items = longs(work, Explore.ITEMS)
    for i in range(work[Explore.ITEM_COUNT]):
        if items[3 * i] == row and items[3 * i + 1] == value:
            return items[3 * i + 2]
    return int64(-1)


@part
def tracked_step(arena, work, state, byte, way):
    """A step of a state, with what is tracked: c, x, y, f, range of tracked keys."""
    states = longs(work, Explore.STATES)
    at = state * STATE_WORDS
    c, x, y, f, track = states[at], states[at + 5], states[at + 6], states[at + 3], states[at + 4]
    kind = c & 31
    c2, x2, y2, f2 = step(arena, c, x, y, f, byte, way)
    if c2 == DEAD:
        return c2, x2, y2, f2, int64(0)
    kind2, more = c2 & 31, arena[At.MORE]
    if kind == Kind.KEY and kind2 == Kind.KEY:
        return c2, x2, y2, f2, tracked(arena, work, c, y, track, byte)
    if kind == Kind.KEY and longs(arena, At.FRAMES)[f2 * Frame.LENGTH + Frame.OTHERS] != 0:
        f2 = with_tracked_key(arena, work, track, f2)
        return c2 if f2 >= 0 else int64(DEAD), x2, y2, f2, int64(0)
    if kind2 == Kind.KEY:
        fresh = int64(FRESH) << MARK if work[Explore.MARKS] else int64(0)
        return c2, x2, y2, f2, fresh | key_range(0, work[Explore.WORD_COUNT], 0)
    if kind != kind2 and (kind == Kind.WORD or kind == Kind.LITERAL or kind == Kind.NUMBER):
        bit = item_bit(arena, work, c, x, f)
        if bit >= 0:
            f = with_bit(arena, f, bit)
            if f < 0:
                return int64(DEAD), x2, y2, f2, int64(0)
            c2, x2, y2, f2 = step(arena, c, x, y, f, byte, way)
            arena[At.MORE] = more
    return c2, x2, y2, f2, int64(0)


@part
def explore_state(arena, work, state):
    """The steps of one state by every byte. False: something is missing or there is no room; then nothing is kept."""
    states, row = longs(work, Explore.STATES), ints(work, Explore.NEXT)
    at, specials_before = state * STATE_WORDS, work[Explore.SPECIAL_COUNT]
    lone, like = (
        np.zeros(256, np.uint8),
        np.empty((MOST_LIKE, 3), np.int64),
    )  # group, state of the language after it, byte
    place, likes, latest = place_of(states[at] & 31, states[at] >> 5 & 63), int64(0), int64(0)
    language = mark_lone(arena, work, state, lone)
    for byte in range(256):
        entry, way = int64(NONE), int64(0)
        if work[Explore.MARKS] and is_mark(byte):
            track = marked_state(arena, work, state, int64(byte))
            if track >= 0:
                c, x, y, f = states[at], states[at + 5], states[at + 6], states[at + 3]
                entry = int64(state) if track == states[at + 4] else state_of(arena, work, c, x, y, f, track)
                if work[Explore.STOPPED] != COMPLETE:
                    work[Explore.SPECIAL_COUNT] = specials_before
                    return False
            row[256 * state + byte] = int32(entry)
            continue
        group, target = GROUPS[place, byte], int64(0)
        if group != ALONE and lone[byte] == 0 and likes < MOST_LIKE:
            if language > 0:
                target = int64(table_of(arena, language)[(language & (SHARED_BIT - 1)) * 256 + byte])
            if (
                likes == 0 or like[latest, 0] != group or like[latest, 1] != target
            ):  # bytes beside each other are mostly alike
                latest = int64(0)
                while latest < likes and (like[latest, 0] != group or like[latest, 1] != target):
                    latest += 1
            if latest < likes:
                row[256 * state + byte] = row[256 * state + like[latest, 2]]
                continue
            like[likes, 0], like[likes, 1], like[likes, 2] = group, target, byte
            likes += 1
        while True:
            arena[At.FRAME_COUNT] = work[Explore.SCRATCH_FRAMES]
            arena[At.CHAIN_COUNT] = 1
            c, x, y, f, track = tracked_step(arena, work, state, int64(byte), way)
            more = arena[At.MORE]
            if is_short(arena):
                work[Explore.SPECIAL_COUNT] = specials_before
                return False
            if c != DEAD:
                entry = target_of(arena, work, entry, c, x, y, f, track)
                if work[Explore.STOPPED] != COMPLETE:
                    work[Explore.SPECIAL_COUNT] = specials_before
                    return False
            if more == 0:
                break
            way += 1
        row[256 * state + byte] = int32(entry)
    c, x, f = states[at], states[at + 5], states[at + 3]
    octets(work, Explore.ACCEPTS)[state] = np.uint8(accepts(arena, c, x, states[at + 6], f))
    return True


@kernel("int64(int64, int64, int64)", holds_gil=True, seconds=40)
def explore_json(address, work_address, begin):
    """Explores until all steps of all states are known, or something is missing. The verdict of a call (reads.py).

    `begin`: not 0, the address of a thread (c, x, y, f, tracked keys) from which to begin: its state's number is returned, or NONE;
    where c is DEAD the number of its frame alone.
    """
    arena = arena_of(address)
    work = carray(pointer(work_address), int64(Explore.LENGTH), np.int64)
    arena[At.WANTED] = longs(arena, At.MISSING)[0] = 0
    work[Explore.STOPPED] = COMPLETE
    if begin != 0:
        words = carray(pointer(begin), 5, np.int64)
        f = shared_frame(arena, work, words[3]) if words[3] > BARRIER else words[3]
        if work[Explore.STOPPED] != COMPLETE:
            return int64(NONE)
        if words[0] == DEAD:
            return f
        return state_of(arena, work, words[0], words[1], words[2], f, words[4])
    while work[Explore.DONE] < work[Explore.STATE_COUNT]:
        if not explore_state(arena, work, work[Explore.DONE]):
            break
        work[Explore.DONE] += 1
    return verdict(arena)
