"""One byte of a JSON text under a schema: the transition function.

`step(arena, c, x, y, f, byte, way)` -> (c', x', y', f'): the thread after the byte, c' = DEAD if it is rejected. If a byte can be
read in several ways (several alternatives of a value, an item that counts for `contains` or not), `way` selects one, and MORE is
set in the arena if there is another. A thread is alive iff it can be completed: every step checks that.

A closing byte that leads out of the barrier frame is not read: c' = CROSS, and the caller decides (kernels/cpu/json/rows/walk.py).
"""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.kernels.cpu.json.fields import key_range, longs, thread
from grammarlm.layout.json import (
    ANY_STRING,
    ARRAY_BIT,
    BARRIER,
    CROSS,
    DEAD,
    FIELD,
    NO_FRAME,
    NO_LANGUAGE,
    ROW,
    Array,
    At,
    Frame,
    Kind,
    Object,
    Shape,
)

from .arrays import array_closes, array_continues, array_row, way_fits, ways_at, with_item
from .blanks import blank_index, blanks, gap_state, may_follow, note_after_value
from .frames import new_frame
from .key_step import key_step
from .keys import (
    meeting,
    object_closes,
    object_continues,
    obligations_of,
    open_object,
    others_open,
)
from .lexemes import LITERALS, dead, is_literal_new, literal_step, string_step, word_step
from .numbers import number_ends, number_step
from .unique import (
    is_unique,
    is_word_new,
    number_can_differ,
    number_ended,
    read_item,
    string_can_differ,
    with_text,
)


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
        x2, y2 = number_step(row, x, y, byte)
        if x2 >= 0:
            if is_unique(arena, f):
                f = with_text(arena, f, byte)
                if not number_can_differ(arena, row, x2, y2, f):
                    return dead()
            return c, x2, y2, f
        if byte != 44 and byte != 93 and byte != 125 and blank_index(byte) < 0:
            return dead()
        if not number_ends(row, x, y):
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
    if not may_follow(arena, gap_state(arena, c, y, f), byte):
        return dead()
    row = c >> 11 & ROW
    if kind == Kind.COLON:
        return (thread(Kind.VALUE, 0, row, 0), int64(0), int64(0), f) if byte == 58 else dead()
    if kind == Kind.VALUE:
        return begin(arena, row, f, byte, way)
    if kind == Kind.KEYS:
        return keys_step(arena, c, f, byte)
    return entry_step(arena, c, f, byte, way)


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
        note_after_value(arena, f)
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
def begin(arena, node, f, byte, way):
    """The first byte of a value, read as alternative number `way` of those that can begin with it. Values that meet obligations of
    the object come first: the text can go on after them in all ways that it can after the others.
    """
    obligations = obligations_of(arena, f)
    if obligations == 0:
        return begin_in(arena, node, f, byte, way)
    program, needed = longs(arena, At.PROGRAM), longs(arena, At.FRAMES)[f * Frame.LENGTH + Frame.NEEDED]
    left, more = way, int64(0)
    c, x, y, g = dead()
    for i in range(program[obligations] + 1):
        source, bits = node, int64(0)
        if i < program[obligations]:
            at = obligations + 1 + 3 * i
            if program[at + 1] != node or needed & program[at] == 0:
                continue
            bits, source = program[at], program[at + 2]
        count = count_beginning(arena, source, byte)
        if left < 0:
            more |= int64(count > 0)
        elif left < count:
            c, x, y, g = begin_in(arena, source, f if bits == 0 else meeting(arena, f, bits), byte, left)
            more, left = arena[At.MORE], int64(-1)
        else:
            left -= count
    arena[At.MORE] = more
    return c, x, y, g


@part
def begin_in(arena, node, f, byte, way):
    """The same among the alternatives of one node."""
    program = longs(arena, At.PROGRAM)
    left = way
    c, x, y, g = dead()
    for i in range(program[node]):
        kind, row = program[node + 2 + 2 * i], program[node + 3 + 2 * i]
        if not begins(arena, kind, row, byte):
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
            x = key_range(program[row + 1], program[row + 2], 0)
            c, y, g = thread(Kind.WORD, 0, program[row], 0), int64(0), f
        elif kind == Shape.OBJECT:
            c, x, y, g = thread(Kind.KEYS, 0, row, 0), int64(0), int64(0), open_object(arena, f, row)
        elif kind == Shape.ARRAY:
            c, x, y, g = thread(Kind.ENTRY, 0, row, 0), int64(0), int64(0), new_frame(arena, f, row | ARRAY_BIT)
        elif kind == Shape.LITERAL:
            c, x, y, g = thread(Kind.LITERAL, 2 if row == 1 else 6 if row == 2 else 11, 0, 0), int64(0), int64(0), f
        else:
            x, y = number_step(arena[At.PROGRAM] + row * 8, int64(0), int64(0), byte)
            c, g = thread(Kind.NUMBER, 0, row, 0), f
        if unique and not begins_new(arena, c, x, y, f):
            c, x, y, g = dead()
    return c, x, y, g


@part
def begins_new(arena, c, x, y, f):
    """Can a scalar that has just begun become an item not present yet?"""
    kind, row = c & 31, c >> 11 & ROW
    if kind == Kind.STRING:
        return string_can_differ(arena, c, x, y, f)
    if kind == Kind.WORD:
        return is_word_new(arena, f, row, x & FIELD, x >> 21 & FIELD)
    if kind == Kind.LITERAL:
        return is_literal_new(arena, f, c >> 5 & 63)
    return number_can_differ(arena, arena[At.PROGRAM] + row * 8, x, y, f)


@part
def begins(arena, kind, row, byte):
    """Can an alternative of a value begin with the byte?"""
    if kind == Shape.STRING or kind == Shape.WORDS:
        return byte == 34
    if kind == Shape.OBJECT:
        return byte == 123
    if kind == Shape.ARRAY:
        return byte == 91
    if kind == Shape.LITERAL:
        return byte == LITERALS[1 if row == 1 else 5 if row == 2 else 10]
    is_first = byte == 45 or 48 <= byte <= 57
    return is_first and number_step(arena[At.PROGRAM] + row * 8, int64(0), int64(0), byte)[0] >= 0


@part
def count_beginning(arena, node, byte):
    """The number of alternatives of a node that can begin with the byte."""
    program, count = longs(arena, At.PROGRAM), int64(0)
    for i in range(program[node]):
        count += begins(arena, program[node + 2 + 2 * i], program[node + 3 + 2 * i], byte)
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
        count = count_beginning(arena, node, byte)
        if left >= count:
            left -= count
            continue
        c2, x2, y2, f2 = begin(arena, node, with_item(arena, f, kinds), byte, left)
        if left + 1 == count:  # is there another way besides this one?
            arena[At.MORE] = 0
            for j in range(i + 1, program[ways]):
                other, kinds_there = program[ways + 1 + 2 * j], program[ways + 2 + 2 * j]
                if (not counted or way_fits(arena, f, kinds_there)) and count_beginning(arena, other, byte) > 0:
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
