"""All states that bytes lead to from some states: the machine's own step, driven by every byte, as a table.

Equal futures become one state where that is cheap to see: counts that no bound asks for, keys that are behind in the schema's
order, escapes in strings of any text, numbers by `number_key`. What a step opens or closes outside the barrier is a special entry:
a push has as its symbol the frame to which the closing bracket returns, a pop leads wherever its symbol says.
"""

import numpy as np
from numba import carray, int32, int64, uint64

from grammarlm.kernels.cpu.jit import inlined, kernel, part, pointer
from grammarlm.kernels.cpu.json.fields import arena_of, ints, is_short, key_range, longs, octets
from grammarlm.kernels.cpu.json.reads import verdict
from grammarlm.kernels.cpu.json.step.blanks import blank_index
from grammarlm.kernels.cpu.json.step.languages import next_point
from grammarlm.kernels.cpu.json.step.lexemes import can_become
from grammarlm.kernels.cpu.json.step.number_values import EXPONENT
from grammarlm.kernels.cpu.json.step.step import after_step, step
from grammarlm.layout.json import (
    ARRAY_BIT,
    BARRIER,
    DEAD,
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
    LOOSE,
    NO_ROOM,
    NONE,
    POP,
    PUSH,
    SPECIAL,
    STATE_WORDS,
    STEP,
    TOO_MANY_STATES,
    Explore,
)
from grammarlm.layout.json_strings import HEX, LOW_HEX

from .lexemes import is_long, plain_text_escape, shared_number

DEEPEST = 64  # frames that one byte can make, one around the other


@inlined
def mixed(known, word):
    known = (known ^ uint64(word)) * uint64(0x9E3779B97F4A7C15)
    return known ^ known >> uint64(29)


@part
def key_takes(arena, table, low, high, read, sub, escape):
    """Can the incomplete escape become the next character of one of these keys?"""
    for i in range(low, high):
        if can_become(arena, sub, escape, next_point(arena, table, i, read)):
            return True
    return False


@part
def shared_thread(arena, c, x, y):
    """The thread without what no longer matters: c, x and y to go on from, x and y to compare."""
    program = longs(arena, At.PROGRAM)
    kind, sub, row = c & 31, c >> 5 & 63, c >> 11 & ROW
    known_x, known_y = x, y
    if kind == Kind.NUMBER:
        if x != LOOSE:
            return shared_number(arena[At.PROGRAM] + row * 8, arena[At.PROGRAM], x, y)
    elif kind == Kind.STRING:
        if x == 0 and arena[At.PLAIN] == 0:
            y = (y >> 24) << 24 | plain_text_escape(sub, y & ESCAPE)
        known_y = y
    elif kind == Kind.KEY:
        escape, state = y & ESCAPE, c >> 35
        low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
        if sub >= HEX and sub <= LOW_HEX + 3 and low < high and state != NO_LANGUAGE:
            if not key_takes(arena, program[row + Object.KEYS], low, high, read, sub, escape):
                low = high
        if low >= high:
            x = key_range(0, 0, 0)
            if state == 0 and arena[At.PLAIN] == 0:
                escape = plain_text_escape(sub, escape)
        y = escape
        known_x, known_y = x, y
    return x, y, known_x, known_y


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
def kept_frame(arena, work, parent, f):
    """The number of a kept frame that is equal to f within `parent`, but for the keys read; 0: there is no room."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    at = f * Frame.LENGTH
    row, seen, count = frames[at + Frame.ROW], frames[at + Frame.SEEN], frames[at + Frame.COUNT]
    if row & ARRAY_BIT == 0:
        if program[row + Object.MOST] < 0:
            count = min(count, max(program[row + Object.LEAST], int64(0)))
        if arena[At.MODE] == 1 and program[row + Object.COUNT] <= INLINE:
            seen &= implied_keys(arena, row)
    last, needed = frames[at + Frame.LAST], frames[at + Frame.NEEDED]
    hashed = mixed(mixed(mixed(mixed(mixed(mixed(uint64(0), parent), row), seen), count), last), needed)
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
        f = kept_frame(arena, work, f, stack[depth])
    return f


@part
def state_of(arena, work, c, x, y, f):
    """The number of a thread's state, made if it is new; NONE: there is no room."""
    x, y, known_x, known_y = shared_thread(arena, c, x, y)
    hashed = mixed(mixed(mixed(mixed(uint64(0), c), known_x), known_y), f)
    states, table = longs(work, Explore.STATES), ints(work, Explore.STATE_TABLE)
    size = uint64(work[Explore.STATE_SIZE] - 1)
    slot = hashed & size
    while table[slot] != 0:
        number = int64(table[slot]) - 1
        at = number * STATE_WORDS
        if states[at] == c and states[at + 1] == known_x and states[at + 2] == known_y and states[at + 3] == f:
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
    states[at + 4], states[at + 5] = x, y
    return number


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
def target_of(arena, work, entry, c, x, y, f):
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
            symbol = shared_frame(arena, work, frames[f * Frame.LENGTH])
            frames[f * Frame.LENGTH] = BARRIER
    f = shared_frame(arena, work, f)
    state = state_of(arena, work, c, x, y, f)
    if state == NONE:
        return entry
    if operation == STEP and entry == NONE:
        return state
    if entry >= 0:  # the second of several
        entry = add_special(work, int64(NONE), int64(STEP), int64(0), entry)
    return add_special(work, entry, operation, symbol, state)


@part
def number_or_step(arena, c, x, y, f, byte, way):
    """A step; of numbers, what is no longer followed is LOOSE."""
    if c & 31 != Kind.NUMBER:
        return step(arena, c, x, y, f, byte, way)
    if x == LOOSE:
        arena[At.MORE] = 0
        if 48 <= byte <= 57 or byte == 43 or byte == 45 or byte == 46 or byte == 69 or byte == 101:
            return c, x, y, f
        if byte == 44 or byte == 93 or byte == 125 or blank_index(byte) >= 0:
            return after_step(arena, int64(0), f, byte)
        return int64(DEAD), int64(0), int64(0), int64(0)
    c2, x2, y2, f2 = step(arena, c, x, y, f, byte, way)
    if c2 & 31 == Kind.NUMBER and c2 != DEAD and x2 & 15 == EXPONENT:
        if is_long(arena[At.PROGRAM] + (c >> 11 & ROW) * 8, x):
            x2, y2 = int64(LOOSE), int64(0)
    return c2, x2, y2, f2


@part
def explore_state(arena, work, state):
    """The steps of one state by every byte. False: something is missing or there is no room; then nothing is kept."""
    states, row = longs(work, Explore.STATES), ints(work, Explore.NEXT)
    at, specials_before = state * STATE_WORDS, work[Explore.SPECIAL_COUNT]
    c, x, y, f = states[at], states[at + 4], states[at + 5], states[at + 3]
    for byte in range(256):
        entry, way = int64(NONE), int64(0)
        while True:
            arena[At.FRAME_COUNT] = work[Explore.SCRATCH_FRAMES]
            arena[At.CHAIN_COUNT] = 1
            c2, x2, y2, f2 = number_or_step(arena, c, x, y, f, int64(byte), way)
            more = arena[At.MORE]
            if is_short(arena):
                work[Explore.SPECIAL_COUNT] = specials_before
                return False
            if c2 != DEAD:
                entry = target_of(arena, work, entry, c2, x2, y2, f2)
                if work[Explore.STOPPED] != COMPLETE:
                    work[Explore.SPECIAL_COUNT] = specials_before
                    return False
            if more == 0:
                break
            way += 1
        row[256 * state + byte] = int32(entry)
    return True


@kernel("int64(int64, int64, int64)", holds_gil=True, seconds=40)
def explore_json(address, work_address, begin):
    """Explores until all steps of all states are known, or something is missing. The verdict of a call (reads.py).

    `begin`: not 0, the address of a thread (c, x, y, f) from which to begin: its state's number is returned, or NONE.
    """
    arena = arena_of(address)
    work = carray(pointer(work_address), int64(Explore.LENGTH), np.int64)
    arena[At.WANTED] = longs(arena, At.MISSING)[0] = 0
    work[Explore.STOPPED] = COMPLETE
    if begin != 0:
        words = carray(pointer(begin), 4, np.int64)
        f = shared_frame(arena, work, words[3]) if words[3] > BARRIER else words[3]
        return state_of(arena, work, words[0], words[1], words[2], f)
    while work[Explore.DONE] < work[Explore.STATE_COUNT]:
        if not explore_state(arena, work, work[Explore.DONE]):
            break
        work[Explore.DONE] += 1
    return verdict(arena)
