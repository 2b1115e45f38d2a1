"""Which threads are one state, and which frames one: those that the same bytes complete, where that is cheap to see.

Counts that no bound asks for, keys that are behind in the schema's order, and numbers by `number_key` tell no states apart.
"""

import numpy as np
from numba import int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, part
from grammarlm.kernels.cpu.json.fields import ints, key_range, longs
from grammarlm.kernels.cpu.json.step.numbers import number_key
from grammarlm.layout.json import (
    ARRAY_BIT,
    BARRIER,
    ESCAPE,
    FIELD,
    INLINE,
    NO_LANGUAGE,
    ROW,
    At,
    Frame,
    Kind,
    Object,
)
from grammarlm.layout.json_canvas import (
    COMPLETE,
    DIGITS_AHEAD,
    EXPONENT_AHEAD,
    NO_ROOM,
    NONE,
    RANGE,
    STATE_WORDS,
    TOO_MANY_STATES,
    Explore,
)

from .keys import least_passed, narrowed_to_open

DEEPEST = 64  # frames that one byte can make, one around the other


@inlined
def mixed(known, word):
    known = (known ^ uint64(word)) * uint64(0x9E3779B97F4A7C15)
    return known ^ known >> uint64(29)


@part
def shared_thread(arena, work, c, x, y, f, track):
    """The thread without what no longer matters: x, y and tracked keys to go on from, x and y to compare."""
    kind, row = c & 31, c >> 11 & ROW
    known_x, known_y = x, y
    if kind == Kind.NUMBER:
        at = arena[At.PROGRAM] + row * 8
        known_x, known_y = number_key(at, x, y, int64(DIGITS_AHEAD), int64(EXPONENT_AHEAD))
    elif kind == Kind.KEY:
        escape, state, mark = y & ESCAPE, c >> 35, track & ~int64(RANGE)
        track &= int64(RANGE)
        low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
        first, last, begun = track & FIELD, track >> 21 & FIELD, track >> 42 & FIELD
        if state == NO_LANGUAGE:
            low, high = narrowed_to_open(arena, f, low, high)
        x = key_range(low, high, read) if low < high else key_range(0, 0, 0)
        track = key_range(first, last, begun) if first < last else int64(0)
        if first >= last or state == NO_LANGUAGE:
            first, last, track = int64(0), int64(0), int64(0)
        y = escape
        known_x, known_y = x, y
        if state != NO_LANGUAGE:
            track |= mark
    return x, y, track, known_x, known_y


@part
def implied_keys(arena, row):
    """Bit set of keys that some other key requires."""
    program = longs(arena, At.PROGRAM)
    implied, found = program[row + Object.IMPLIED], int64(0)
    if implied != 0:
        for i in range(program[implied]):
            found |= program[implied + 2 + 2 * i]
    return found


@part
def kept_frame(arena, work, parent, f, last):
    """The number of a kept frame that is equal to f within `parent`, but for the keys read, and LAST; 0: there is no room."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    at = f * Frame.LENGTH
    row, seen, count = frames[at + Frame.ROW], frames[at + Frame.SEEN], frames[at + Frame.COUNT]
    if row & ARRAY_BIT == 0:
        if program[row + Object.MOST] < 0:
            count = min(count, max(program[row + Object.LEAST], int64(0)))
        if arena[At.MODE] == 1 and program[row + Object.COUNT] <= INLINE:
            may_come = program[program[row + Object.RANKS] + last]
            seen &= implied_keys(arena, row) | may_come
    needed, text = frames[at + Frame.NEEDED], frames[at + Frame.TEXT]
    hashed = mixed(mixed(mixed(mixed(mixed(mixed(mixed(uint64(0), parent), row), seen), count), last), needed), text)
    table, size = ints(work, Explore.FRAME_TABLE), uint64(work[Explore.FRAME_SIZE] - 1)
    slot = hashed & size
    while table[slot] != 0:
        known = int64(table[slot])
        k = known * Frame.LENGTH
        if (
            frames[k] == parent
            and frames[k + Frame.ROW] == row
            and frames[k + Frame.SEEN] == seen
            and frames[k + Frame.COUNT] == count
            and frames[k + Frame.LAST] == last
            and frames[k + Frame.NEEDED] == needed
            and frames[k + Frame.TEXT] == text
        ):
            return known
        slot = (slot + uint64(1)) & size
    made = work[Explore.KEPT_FRAMES]
    if made + 1 >= work[Explore.SCRATCH_FRAMES] or 2 * (made + 1) >= work[Explore.FRAME_SIZE]:
        work[Explore.STOPPED] = NO_ROOM
        return int64(0)
    work[Explore.KEPT_FRAMES] = made + 1
    table[slot] = int32(made)
    k = made * Frame.LENGTH
    for i in range(Frame.LENGTH):
        frames[k + i] = 0
    frames[k], frames[k + Frame.ROW], frames[k + Frame.SEEN] = parent, row, seen
    frames[k + Frame.COUNT], frames[k + Frame.LAST], frames[k + Frame.NEEDED] = count, last, needed
    frames[k + Frame.TEXT] = text
    return made


@part
def shared_frame(arena, work, f):
    """The kept frame for a frame of a step, with those around it."""
    frames, first = longs(arena, At.FRAMES), work[Explore.SCRATCH_FRAMES]
    stack = np.empty(DEEPEST, np.int64)
    depth = int64(0)
    while f >= first and depth < DEEPEST:
        stack[depth] = f
        depth += 1
        f = frames[f * Frame.LENGTH]
    while depth > 0:
        depth -= 1
        f = kept_frame(arena, work, f, stack[depth], frames[stack[depth] * Frame.LENGTH + Frame.LAST])
    return f


@part
def key_frame(arena, work, row, x, f):
    """The frame around a key: in the schema's order that of all keys read so far after which the key has the same future."""
    frames = longs(arena, At.FRAMES)
    if arena[At.MODE] != 1 or f <= BARRIER:
        return f
    last = least_passed(arena, row, x & FIELD, x >> 21 & FIELD, f)
    if last == frames[f * Frame.LENGTH + Frame.LAST]:
        return f
    return kept_frame(arena, work, frames[f * Frame.LENGTH], f, last)


@part
def state_of(arena, work, c, x, y, f, track):
    """The number of a thread's state, made if it is new; NONE: there is no room, or it is left out."""
    x, y, track, known_x, known_y = shared_thread(arena, work, c, x, y, f, track)
    if c & 31 == Kind.KEY:
        f = key_frame(arena, work, c >> 11 & ROW, x, f)
    if work[Explore.STOPPED] != COMPLETE:
        return int64(NONE)
    hashed = mixed(mixed(mixed(mixed(mixed(uint64(0), c), known_x), known_y), f), track)
    states, table = longs(work, Explore.STATES), ints(work, Explore.STATE_TABLE)
    size = uint64(work[Explore.STATE_SIZE] - 1)
    slot = hashed & size
    while table[slot] != 0:
        number = int64(table[slot]) - 1
        at = number * STATE_WORDS
        same = states[at] == c and states[at + 1] == known_x and states[at + 2] == known_y
        if same and states[at + 3] == f and states[at + 4] == track:
            return number
        slot = (slot + uint64(1)) & size
    number = work[Explore.STATE_COUNT]
    if number >= work[Explore.MOST_STATES]:
        work[Explore.STOPPED] = TOO_MANY_STATES
        return int64(NONE)
    if number >= work[Explore.STATE_CAPACITY]:
        work[Explore.STOPPED] = NO_ROOM
        return int64(NONE)
    work[Explore.STATE_COUNT] = number + 1
    table[slot] = int32(number + 1)
    at = number * STATE_WORDS
    states[at], states[at + 1], states[at + 2], states[at + 3] = c, known_x, known_y, f
    states[at + 4], states[at + 5], states[at + 6] = track, x, y
    return number
