"""In a key: one with an entry, any other, or a prefix of both: the thread after one more byte."""

from numba import int64

from grammarlm.kernels.cpu.jit import part
from grammarlm.kernels.cpu.json.fields import key_range, longs, thread
from grammarlm.layout.json import BARRIER, ESCAPE, FIELD, FURTHER, NO_LANGUAGE, ROW, At, Frame, Key, Kind, Object

from .frames import extend_chain, is_other
from .keys import any_open, one_open, used_up, with_key, with_other
from .languages import after, after_point, case_of, first_point, narrow, narrow_point, next_point
from .lexemes import can_become, dead
from .text import PART, QUOTE, RANGES, RAW, WRONG, escape_range, text_step, utf8_byte, utf8_length


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
    length = int64(1) if what == RAW else utf8_length(escape2)
    for i in range(length):
        piece = int64(byte) if what == RAW else utf8_byte(escape2, length, i)
        if low < high:
            low, high = narrow(arena, table, low, high, read + i, piece)
        if others:
            chain = extend_chain(arena, chain, piece)
            if state != 0:
                state = after(arena, state, piece)
                if state == 0:
                    state, others = int64(NO_LANGUAGE), False
    read += length
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
    """Can a key without an entry continue with a character of point..last?"""
    chains_before = arena[At.CHAIN_COUNT]
    point = first_point(arena, state, point, last)
    while point <= last:
        there, longer, length = after_point(arena, state, point), chain, utf8_length(point)
        for i in range(length):
            longer = extend_chain(arena, longer, utf8_byte(point, length, i))
        first, end, now = narrow_point(arena, table, low, high, read, point)
        gone = used_up(arena, f, there, longer, first, end, now)
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
