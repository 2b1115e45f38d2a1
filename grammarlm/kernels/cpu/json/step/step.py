"""One byte of a JSON text under a schema: the transition function.

`step(arena, c, x, y, f, byte, way)` -> (c', x', y', f'): the thread after the byte, c' = DEAD if it is rejected. If a byte can be
read in several ways (several alternatives of a value, an item that counts for `contains` or not), `way` selects one, and MORE is
set in the arena if there is another. A thread is alive iff it can be completed: every step checks that.

A closing byte that leads out of the barrier frame is not read: c' = CROSS, and the caller decides (kernels/cpu/json/rows/walk.py).
"""

import numpy as np
from numba import carray, int64

from grammarlm.kernels.cpu.jit import inlined, part, pointer
from grammarlm.kernels.cpu.json.places import key_range, longs, thread
from grammarlm.layout.json import (
    AFTER_COLON,
    AFTER_COMMA,
    AFTER_OPEN,
    ANY_STRING,
    ARRAY_BIT,
    BARRIER,
    BEFORE_CLOSE,
    BEHIND,
    BRACKET,
    CAN_START,
    CROSS,
    DEAD,
    ESCAPE,
    FIELD,
    FOLLOWS,
    FURTHER,
    GAP,
    INLINE,
    NO_FRAME,
    Array,
    At,
    Frame,
    Key,
    Kind,
    Object,
    Shape,
)

from .arrays import array_closes, array_continues, array_row, way_fits, ways_at, with_item
from .keys import (
    any_open,
    extend_chain,
    is_other,
    new_frame,
    object_closes,
    object_continues,
    one_open,
    open_object,
    others_open,
    used_up,
    with_key,
    with_other,
)
from .languages import (
    after,
    after_point,
    case_of,
    first_point,
    length_fits,
    narrow,
    narrow_point,
    next_point,
    takes_some,
)
from .numbers import number_ends, number_start, number_step
from .text import BODY, DONE, PART, QUOTE, RANGES, RAW, WRONG, escape_range, text_step, utf8_byte, utf8_length
from .unique import (
    is_literal_new,
    is_unique,
    is_word_new,
    number_can_differ,
    number_ended,
    read_item,
    string_can_differ,
    with_text,
)

NO_LANGUAGE = (1 << 28) - 1  # of a key: no other key has this prefix
LITERALS = np.frombuffer(b" truefalsenull", np.uint8)  # `sub` of a literal is the index of the next byte
ROW = (1 << 24) - 1


@inlined
def blank_index(byte):
    index = int64(-1)
    if byte == 32:
        index = int64(0)
    elif byte == 9:
        index = int64(1)
    elif byte == 10:
        index = int64(2)
    elif byte == 13:
        index = int64(3)
    return index


@inlined
def blanks(arena, state, index):
    """The white space state after one more white space byte, -1: not allowed; index 4: what may follow, see FOLLOWS."""
    return int64(carray(pointer(arena[At.BLANKS]), 1 << 20, np.int16)[state * 5 + index])


@inlined
def may_follow(arena, state, byte):
    """May this byte, no white space, follow the white space?"""
    return blanks(arena, state, int64(4)) & (BRACKET if byte == 93 or byte == 125 else FOLLOWS) != 0


@inlined
def gap_state(arena, c, y, f):
    """The white space state of a thread: at the start of a gap, the initial state of that gap."""
    if y != GAP or arena[At.NATURAL] == 0:
        return int64(y)
    return natural_gap(arena, c, f)


@part
def natural_gap(arena, c, f):
    """The initial state of natural white space here. After it a frame must close, or continue: there is none if the frame
    cannot.
    """
    kind, found = c & 31, int64(CAN_START)
    if kind == Kind.VALUE:
        found = int64(AFTER_COLON)
    elif kind == Kind.KEYS or kind == Kind.ENTRY:
        if c >> 5 & 63 != 0:
            found = int64(AFTER_COMMA)
        elif object_continues(arena, f) if kind == Kind.KEYS else array_continues(arena, f):
            found = int64(AFTER_OPEN)
    elif kind == Kind.AFTER and f > BARRIER:
        frames = longs(arena, At.FRAMES)
        if frames[f * Frame.LENGTH] == BARRIER:
            note_behind(arena, f)
        is_array = frames[f * Frame.LENGTH + Frame.ROW] & ARRAY_BIT != 0
        if array_closes(arena, f) if is_array else object_closes(arena, f):
            found = int64(BEFORE_CLOSE)
    return found


@inlined
def dead():
    return int64(DEAD), int64(0), int64(0), int64(0)


@part
def step(arena, c, x, y, f, byte, way):
    """See the module docstring."""
    arena[At.MORE] = 0
    kind = c & 31
    if kind == Kind.KEY:
        return key_step(arena, c, x, y, f, byte)
    if kind == Kind.STRING or kind == Kind.WORD or kind == Kind.LITERAL:
        if kind == Kind.STRING:
            c2, x2, y2, f2 = string_step(arena, c, x, y, f, byte)
        elif kind == Kind.WORD:
            c2, x2, y2, f2 = word_step(arena, c, x, y, f, byte)
        else:
            c2, x2, y2, f2 = literal_step(c, f, byte)
        if c2 != DEAD and is_unique(arena, f):
            f2 = read_item(arena, c, y, f, byte)
            if f2 < 0 or (c2 & 31 == Kind.STRING and not string_can_differ(arena, c2, x2, y2, f2)):
                return dead()
        return c2, x2, y2, f2
    if kind == Kind.NUMBER:
        row = arena[At.PROGRAM] + (c >> 11 & ROW) * 8
        x2, y2 = number_step(row, arena[At.PROGRAM], x, y, byte)
        if x2 >= 0:
            if is_unique(arena, f):
                f = with_text(arena, f, byte)
                if not number_can_differ(arena, row, x2, y2, f):
                    return dead()
            return c, x2, y2, f
        if byte != 44 and byte != 93 and byte != 125 and blank_index(byte) < 0:
            return dead()
        if not number_ends(row, arena[At.PROGRAM], x, y):
            return dead()
        if f == BARRIER:
            return int64(CROSS), int64(0), int64(0), f
        if is_unique(arena, f):
            f = number_ended(arena, f)
            if f < 0:
                return dead()
        return after_step(arena, int64(0), f, byte)
    if kind == Kind.AFTER:
        return after_step(arena, y, f, byte)
    # The remaining kinds begin with white space.
    index = blank_index(byte)
    if index >= 0:
        y2 = blanks(arena, gap_state(arena, c, y, f), index)
        return (c, x, y2, f) if y2 >= 0 else dead()
    if not may_follow(arena, y, byte):
        return dead()
    row = c >> 11 & ROW
    if kind == Kind.COLON:
        return (thread(Kind.VALUE, 0, row, 0), int64(0), int64(0), f) if byte == 58 else dead()
    if kind == Kind.VALUE:
        return begin(arena, row, f, byte, way)
    if kind == Kind.KEYS:
        return keys_step(arena, c, f, byte)
    return entry_step(arena, c, f, byte, way)


@inlined
def literal_step(c, f, byte):
    at = c >> 5 & 63
    c2 = c + 32
    if LITERALS[at] != byte:
        c2 = int64(DEAD)
    elif at == 4 or at == 9 or at == 13:
        c2 = thread(Kind.AFTER, 0, 0, 0)
    return c2, int64(0), int64(0), f


@part
def after_step(arena, y, f, byte):
    """After a value, within the enclosing frame."""
    index = blank_index(byte)
    if index >= 0:
        y2 = blanks(arena, gap_state(arena, thread(Kind.AFTER, 0, 0, 0), y, f), index)
        return (thread(Kind.AFTER, 0, 0, 0), int64(0), y2, f) if y2 >= 0 else dead()
    if f == NO_FRAME or not may_follow(arena, y, byte):
        return dead()
    if f == BARRIER:
        return int64(CROSS), int64(0), int64(0), f
    frames = longs(arena, At.FRAMES)
    row = frames[f * Frame.LENGTH + Frame.ROW]
    if frames[f * Frame.LENGTH] == BARRIER:
        note_behind(arena, f)
    if row & ARRAY_BIT:
        if byte == 44 and array_continues(arena, f):
            return thread(Kind.ENTRY, 1, row & ROW, 0), int64(0), int64(0), f
        if byte == 93 and array_closes(arena, f):
            return thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), frames[f * Frame.LENGTH]
        return dead()
    if byte == 44 and object_continues(arena, f):
        return thread(Kind.KEYS, 1, row, 0), int64(0), int64(0), f
    if byte == 125 and object_closes(arena, f):
        return thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), frames[f * Frame.LENGTH]
    return dead()


@part
def note_behind(arena, f):
    """Notes that the row being computed reads its own frame after a value: see kernels/cpu/json/rows/rows.py."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    row, seen = frames[f * Frame.LENGTH + Frame.ROW], frames[f * Frame.LENGTH + Frame.SEEN]
    arena[At.BEYOND] |= BEHIND
    if seen != arena[At.VIEW_SEEN] and row & ARRAY_BIT == 0:
        if program[row + Object.COUNT] > INLINE or seen & ~arena[At.VIEW_SEEN] != 0:
            arena[At.BEYOND] |= FURTHER


@part
def begin(arena, node, f, byte, way):
    """The first byte of a value, read as alternative number `way` of those that can begin with it."""
    program = longs(arena, At.PROGRAM)
    left = way
    c, x, y, g = dead()
    for i in range(program[node]):
        kind, row = program[node + 2 + 2 * i], program[node + 3 + 2 * i]
        fits = False
        if kind == Shape.STRING or kind == Shape.WORDS:
            fits = byte == 34
        elif kind == Shape.OBJECT:
            fits = byte == 123
        elif kind == Shape.ARRAY:
            fits = byte == 91
        elif kind == Shape.LITERAL:
            fits = byte == LITERALS[1 if row == 1 else 5 if row == 2 else 10]
        elif byte == 45 or 48 <= byte <= 57:
            x2, y2 = number_start(arena[At.PROGRAM] + row * 8)
            x2, y2 = number_step(arena[At.PROGRAM] + row * 8, arena[At.PROGRAM], x2, y2, byte)
            fits = x2 >= 0
        if not fits:
            continue
        if left < 0:
            arena[At.MORE] = 1
            break
        left -= 1
        if left >= 0:
            continue
        unique = kind != Shape.OBJECT and kind != Shape.ARRAY and is_unique(arena, f)
        if unique:
            f = with_text(arena, f, byte)
        if kind == Shape.STRING:
            counted = program[row] > 0 or program[row + 1] >= 0 or program[row + 3] != 0
            c, x, y, g = thread(Kind.STRING, 0, row if counted else ANY_STRING, 0), program[row + 2], int64(0), f
        elif kind == Shape.WORDS:
            c, x, y, g = (
                thread(Kind.WORD, 0, program[row], 0),
                key_range(program[row + 1], program[row + 2], 0),
                int64(0),
                f,
            )
        elif kind == Shape.OBJECT:
            c, x, y, g = thread(Kind.KEYS, 0, row, 0), int64(0), int64(0), open_object(arena, f, row)
        elif kind == Shape.ARRAY:
            c, x, y, g = thread(Kind.ENTRY, 0, row, 0), int64(0), int64(0), new_frame(arena, f, row | ARRAY_BIT)
        elif kind == Shape.LITERAL:
            c, x, y, g = thread(Kind.LITERAL, 2 if row == 1 else 6 if row == 2 else 11, 0, 0), int64(0), int64(0), f
        else:
            c, x, y, g = thread(Kind.NUMBER, 0, row, 0), x2, y2, f
        if unique and not begins_new(arena, c, x, y, f, byte):
            c, x, y, g = dead()
    return c, x, y, g


@part
def begins_new(arena, c, x, y, f, byte):
    """Can a scalar that has just begun become an item not present yet?"""
    kind, row = c & 31, c >> 11 & ROW
    if kind == Kind.STRING:
        return string_can_differ(arena, c, x, y, f)
    if kind == Kind.WORD:
        return is_word_new(arena, f, row, x & FIELD, x >> 21 & FIELD)
    if kind == Kind.LITERAL:
        return is_literal_new(arena, f, byte)
    return number_can_differ(arena, arena[At.PROGRAM] + row * 8, x, y, f)


@inlined
def begins(arena, node, byte):
    """The number of alternatives of a node that can begin with the byte."""
    program = longs(arena, At.PROGRAM)
    count = int64(0)
    for i in range(program[node]):
        kind, row = program[node + 2 + 2 * i], program[node + 3 + 2 * i]
        if kind == Shape.STRING or kind == Shape.WORDS:
            count += byte == 34
        elif kind == Shape.OBJECT:
            count += byte == 123
        elif kind == Shape.ARRAY:
            count += byte == 91
        elif kind == Shape.LITERAL:
            count += byte == LITERALS[1 if row == 1 else 5 if row == 2 else 10]
        elif byte == 45 or 48 <= byte <= 57:
            x2, y2 = number_start(arena[At.PROGRAM] + row * 8)
            x2, y2 = number_step(arena[At.PROGRAM] + row * 8, arena[At.PROGRAM], x2, y2, byte)
            count += x2 >= 0
    return count


@part
def entry_step(arena, c, f, byte, way):
    """The first byte of an item, or the end of an empty array (sub 0)."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    if byte == 93:
        if c >> 5 & 63 == 0 and array_closes(arena, f):
            return thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), frames[f * Frame.LENGTH]
        return dead()
    if not array_continues(arena, f):
        return dead()
    row = array_row(frames, f)
    ways = ways_at(program, row, frames[f * Frame.LENGTH + Frame.COUNT])
    counted = program[row + Array.CONTAINS] != 0
    left = way
    for i in range(program[ways]):
        node, kinds = program[ways + 1 + 2 * i], program[ways + 2 + 2 * i]
        if counted and not way_fits(arena, f, kinds):
            continue
        count = begins(arena, node, byte)
        if left >= count:
            left -= count
            continue
        c2, x2, y2, f2 = begin(arena, node, with_item(arena, f, kinds), byte, left)
        if left + 1 == count:  # is there another way besides this one?
            arena[At.MORE] = 0
            for j in range(i + 1, program[ways]):
                other, kinds_there = program[ways + 1 + 2 * j], program[ways + 2 + 2 * j]
                if (not counted or way_fits(arena, f, kinds_there)) and begins(arena, other, byte) > 0:
                    arena[At.MORE] = 1
        return c2, x2, y2, f2
    return dead()


@part
def keys_step(arena, c, f, byte):
    """The quote before a key, or the end of an empty object (sub 0)."""
    program, frames = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)
    if byte == 125:
        if c >> 5 & 63 == 0 and object_closes(arena, f):
            return thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), frames[f * Frame.LENGTH]
        return dead()
    if byte != 34 or not object_continues(arena, f):
        return dead()
    row = frames[f * Frame.LENGTH + Frame.ROW]
    state = program[row + Object.LANGUAGE] if others_open(arena, f) else int64(NO_LANGUAGE)
    return thread(Kind.KEY, 0, row, state), key_range(0, program[row + Object.COUNT], 0), int64(0), f


@part
def string_step(arena, c, x, y, f, byte):
    program = longs(arena, At.PROGRAM)
    row, sub, count, escape = c >> 11 & ROW, c >> 5 & 63, y >> 24, y & ESCAPE
    least, most, lengths = program[row], program[row + 1], program[row + 3]
    sub2, escape2, what = text_step(sub, escape, byte, arena[At.PLAIN])
    if what == WRONG:
        return dead()
    if what == QUOTE:
        if count < least or (x != 0 and case_of(arena, x) == 0):
            return dead()
        return thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), f
    if sub == BODY and (least > 0 or most >= 0):
        if most >= 0:
            count += 1
            if count > most:
                return dead()
        else:
            count = min(count + 1, least)
    if x != 0:
        if what == RAW:
            x = after(arena, x, byte)
        elif what == DONE:
            x = after_point(arena, x, escape2)
        else:
            alive = False
            for i in range(RANGES):
                low, high = escape_range(sub2, escape2, arena[At.PLAIN], i)
                alive = alive or takes_some(arena, x, low, high, lengths, least, most, count)
            if not alive:
                return dead()
        if x == 0 or (lengths != 0 and what != PART and not length_fits(arena, x, least, most, count)):
            return dead()
    if what == DONE:
        escape2 = int64(0)
    return thread(Kind.STRING, sub2, row, 0), x, count << 24 | escape2, f


@part
def word_step(arena, c, x, y, f, byte):
    program = longs(arena, At.PROGRAM)
    table, sub = c >> 11 & ROW, c >> 5 & 63
    low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
    sub2, escape2, what = text_step(sub, y & ESCAPE, byte, arena[At.PLAIN])
    if what == WRONG:
        return dead()
    if what == QUOTE:
        if program[table + low * Key.LENGTH + Key.SIZE] != read:
            return dead()
        return thread(Kind.AFTER, 0, 0, 0), int64(0), int64(0), f
    if what == RAW:
        low, high = narrow(arena, table, low, high, read, byte)
        read += 1
    elif what == DONE:
        low, high, read = narrow_point(arena, table, low, high, read, escape2)
        escape2 = int64(0)
    elif not range_takes(arena, f, table, low, high, read, sub2, escape2):
        return dead()
    if low >= high or (what != PART and is_unique(arena, f) and not is_word_new(arena, f, table, low, high)):
        return dead()
    return thread(Kind.WORD, sub2, table, 0), key_range(low, high, read), escape2, f


@part
def range_takes(arena, f, table, low, high, read, sub, escape):
    """Does one of the words low to high - 1 continue with a character that an incomplete escape can become? A new word, if
    items are unique.
    """
    unique = is_unique(arena, f)
    for i in range(low, high):
        if can_become(arena, sub, escape, next_point(arena, table, i, read)):
            if not unique or is_word_new(arena, f, table, i, i + 1):
                return True
    return False


@part
def can_become(arena, sub, escape, point):
    """Can an incomplete escape become this code point?"""
    for i in range(RANGES):
        first, last = escape_range(sub, escape, arena[At.PLAIN], i)
        if first <= point <= last:
            return True
    return False


@part
def open_range_takes(arena, frame, table, low, high, read, sub, escape):
    """The same for keys that may come."""
    first, last = escape_range(sub, escape, arena[At.PLAIN], int64(0))
    if first == 0 and last == 0x10FFFF and low < high:  # any character, so every key except one that is read to its end
        program = longs(arena, At.PROGRAM)
        return any_open(arena, frame, low + (program[table + low * Key.LENGTH + Key.SIZE] == read), high)
    for i in range(low, high):
        if can_become(arena, sub, escape, next_point(arena, table, i, read)) and one_open(arena, frame, i):
            return True
    return False


@part
def key_step(arena, c, x, y, f, byte):
    """In a key. `sub`, key range and language advance in parallel; the chain is built if other keys may come."""
    program = longs(arena, At.PROGRAM)
    row, sub, state = c >> 11 & ROW, c >> 5 & 63, c >> 35
    low, high, read = x & FIELD, x >> 21 & FIELD, x >> 42 & FIELD
    chain = y >> 24
    table = program[row + Object.KEYS]
    sub2, escape2, what = text_step(sub, y & ESCAPE, byte, arena[At.PLAIN])
    if what == WRONG:
        return dead()
    if what == QUOTE:
        return key_ends(arena, row, state, low, high, read, chain, f)
    others = state != NO_LANGUAGE
    if what == PART:
        alive = open_range_takes(arena, f, table, low, high, read, sub2, escape2)
        if not alive and others:
            alive = state == 0
            for i in range(RANGES):
                first, last = escape_range(sub2, escape2, arena[At.PLAIN], i)
                alive = alive or takes_other(arena, f, table, state, chain, low, high, read, first, last)
        return (thread(Kind.KEY, sub2, row, state), x, chain << 24 | escape2, f) if alive else dead()
    if what == RAW:
        if low < high:
            low, high = narrow(arena, table, low, high, read, byte)
        read += 1
        if others:
            chain = extend_chain(arena, chain, byte)
            if state != 0:
                state = after(arena, state, byte)
                if state == 0:
                    state, others = int64(NO_LANGUAGE), False
    else:
        length = utf8_length(escape2)
        for i in range(length):
            piece = utf8_byte(escape2, length, i)
            if low < high:
                low, high = narrow(arena, table, low, high, read + i, piece)
            if others:
                chain = extend_chain(arena, chain, piece)
        read += length
        if others and state != 0:
            state = after_point(arena, state, escape2)
            if state == 0:
                state, others = int64(NO_LANGUAGE), False
    if others and state != 0 and used_up(arena, f, state, chain, low, high, read):
        state, others = int64(NO_LANGUAGE), False
    if low < high and not any_open(arena, f, low, high):
        if not others:
            return dead()
        # A key that is not allowed is no other key either: the range is kept unless none of its keys is this long.
    if low >= high:
        if not others:
            return dead()
        low, high, read = int64(0), int64(0), int64(0)
    if not others:
        chain = int64(0)
    return thread(Kind.KEY, sub2, row, state), key_range(low, high, read), chain << 24, f


@part
def takes_other(arena, f, table, state, chain, low, high, read, point, last):
    """Can a key without a place of its own continue with a character of point..last?"""
    chains_before = arena[At.CHAIN_COUNT]
    point = first_point(arena, state, point, last)
    while point <= last:
        behind, longer, length = after_point(arena, state, point), chain, utf8_length(point)
        for i in range(length):
            longer = extend_chain(arena, longer, utf8_byte(point, length, i))
        first, end, now = narrow_point(arena, table, low, high, read, point)
        gone = used_up(arena, f, behind, longer, first, end, now)
        arena[At.CHAIN_COUNT] = chains_before
        if not gone:
            return True
        point = first_point(arena, state, point + 1, last)
    return False


@part
def key_ends(arena, row, state, low, high, read, chain, f):
    """The closing quote of a key."""
    program = longs(arena, At.PROGRAM)
    if low < high:
        key = program[row + Object.KEYS] + low * Key.LENGTH
        if program[key + Key.SIZE] == read:
            if not one_open(arena, f, low):
                return dead()
            return thread(Kind.COLON, 0, program[key + Key.NODE], 0), int64(0), int64(0), with_key(arena, f, low)
    if state == NO_LANGUAGE:
        return dead()
    node = program[row + Object.OTHERS]
    if state != 0:
        case = case_of(arena, state)
        if case == 0:
            return dead()
        if node == -2:
            node = program[program[row + Object.CASES] + case - 1]
    if longs(arena, At.FRAMES)[f * Frame.LENGTH] == BARRIER and f != arena[At.VIEW_FRAME]:
        arena[At.BEYOND] |= FURTHER
    if is_other(arena, f, chain):
        return dead()
    return thread(Kind.COLON, 0, node, 0), int64(0), int64(0), with_other(arena, f, chain)
